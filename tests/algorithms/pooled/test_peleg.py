import copy
import json
import math

import numpy as np
import pytest
from numpy.random import SeedSequence
from tests.breadth import first_rows

import surepick as sp
from surepick.ahead.noise import Bernoulli
from surepick.algorithms import get
from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.compiled import kernels as pooled_kernels
from surepick.algorithms.pooled.compiled import market
from surepick.algorithms.pooled.compiled.market import CompiledMarket
from surepick.algorithms.pooled.fit import Scales, block_fit, least_squares
from surepick.algorithms.pooled.kinds.known import GaussianPayoff
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.market import DOUBT, NEARNESS
from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.algorithms.pooled.state import PooledState
from surepick.errors import CertificateError, InvalidInputError
from surepick.proof.payoffs import kernels as payoff_kernels
from surepick.proof.payoffs.normal import log_payoff
from surepick.proof.payoffs.stakes import ACCOUNTS, PRECISIONS
from surepick.run import Run
from surepick.run.certificate import fingerprint
from surepick.simulate import Gaussian, instances, published, trials
from surepick.simulate.conformance.tools import chance, failures
from surepick.simulate.trials import drive, trial

GAUSSIAN = GaussianPayoff(PRECISIONS)

# Mean pulls of the public RAGE code and of the public oracle that knows theta; delta = 0.1.
PUBLIC = [
    (instances.standard(0.2), 12546, 10123, 0.33),
    (instances.standard(0.5), 1713, 1524, 0.33),
    (instances.confounding(2), 23572, 13301, 0.2),
    (instances.confounding(5), 23847, 14888, 0.2),
    (instances.confounding(10), 27722, 16097, 0.2),
]


def solved(instance, seed=0, **settings):
    run = PooledPeleg(**{"delta": 0.1, **settings}).start(instance.problem)
    drive(run, instance, np.random.default_rng(seed), Gaussian())
    return run


def wrong_answers(algorithm, instance, seed, noise):
    """Whether a trial ends in a wrong answer, by its number."""

    def wrong(i):
        return not trial(algorithm, instance, SeedSequence(seed, spawn_key=(i,)), noise)["correct"]

    return wrong


# -- pulls -----------------------------------------------------------------------------------
@pytest.mark.validation
@pytest.mark.parametrize(
    ("instance", "rage", "oracle", "share"),
    first_rows(1, PUBLIC),
    ids=lambda v: getattr(v, "name", ""),
)
def test_pulls_are_a_fraction_of_rage_and_of_the_oracle(instance, rage, oracle, share):
    """The standard error is 13 % at most; an error rate of 40 % is caught nine times in ten."""
    table = trials(PooledPeleg(0.1), instance, n=40, seed=1)
    assert table["samples"].mean() <= min(share * rage, 0.6 * oracle)
    assert (~table["correct"]).sum() <= chance(40, 0.1)


@pytest.mark.some(1)
@pytest.mark.parametrize(("d", "rage", "oracle"), [(10, 8558, 3991), (30, 8918, 4977)])
def test_pulls_on_the_unit_sphere(d, rage, oracle):
    rows = [trials(PooledPeleg(0.1), instances.unit_sphere(d, rng=i), n=1) for i in range(12)]
    assert np.mean([row["samples"][0] for row in rows]) <= min(0.33 * rage, 0.6 * oracle)
    assert all(row["correct"][0] for row in rows)


@pytest.mark.validation
@pytest.mark.parametrize(("delta", "most"), first_rows(1, [(1e-12, 1.22), (1e-20, 1.18)]))
def test_pulls_approach_the_lower_bound(delta, most):
    """The standard error of the mean is 5 % of the bound at most."""
    instance = instances.confounding(5)
    bound = sp.design.complexity(instance.problem, instance.theta).lower_bound(delta)
    table = trials(PooledPeleg(delta), instance, n=40, seed=2)
    assert table["samples"].mean() <= most * bound
    assert table["correct"].all()


def test_a_huge_gap_takes_hardly_more_than_a_look_at_every_direction():
    instance = instances.standard(100.0, d=5)
    assert solved(instance).samples <= 4 * 5


def test_a_wrongly_dropped_best_arm_does_not_keep_the_run_going():
    instance = instances.standard(0.5)
    clean = np.mean([solved(instance, seed).samples for seed in range(10)])
    taken = []
    for seed in range(10):
        run = PooledPeleg(0.1).start(instance.problem)
        run.tell(run.ask(), sums=np.array([-8.0, 0.0, 0.0, 0.0, 0.0]))
        run.state.question.dropped_at[0] = 10  # as if the capital had reached 1/delta by bad luck
        drive(run, instance, np.random.default_rng(seed), Gaussian())
        taken.append(run.samples)
    # the others are exactly tied: left to themselves they would never stop
    assert np.mean(taken) <= 6 * clean


# -- the guarantee ---------------------------------------------------------------------------
class Mischief(PooledState):
    """Blocks chosen to make the first candidate look bad; ties keep every bet fair."""

    def propose_ahead(self, budget, out):
        planned = super().propose_ahead(budget, out)
        if not self.blocks:
            return planned
        # Pull little while candidate 0 is unlucky, a lot to wash out luck that was good.
        unlucky = self.suggested.market.gaps[0] > 0
        size = 1 if unlucky else 1 + len(self.blocks) % 7
        wild = np.random.default_rng(len(self.blocks)).integers(0, 3, self.problem.n_arms) * size
        wild[self.problem.spanning_arms] += size
        return Pulls.from_counts(np.minimum(wild, budget))


@pytest.mark.some(1)
@pytest.mark.parametrize("arms", ["basis", "generic"])
def test_any_design_that_looks_at_the_past_only_keeps_the_error_rate(arms, monkeypatch):
    """Bets that err twice as often as they may are caught with probability 98 %."""
    delta, n = 0.25, 100
    rng = np.random.default_rng(3)
    table = np.eye(3) if arms == "basis" else rng.normal(size=(5, 3))
    problem = sp.Problem(table, noise=1.0)

    def lost(i):
        state = Mischief(PooledPeleg(delta), problem)
        draws = np.random.default_rng([7, i])
        for _ in range(20):
            if state.finished or state.question.dropped_at[0]:
                break
            pulls = state.propose(10**9)
            # all candidates are worth 0, so each of them is the best
            state.observe(pulls, np.sqrt(pulls.counts) * draws.standard_normal(len(pulls.arms)))
        return state.question.dropped_at[0]

    most = chance(n, delta)
    assert 0 < failures(lost, n, most) <= most


@pytest.mark.validation
def test_capital_against_the_best_has_mean_at_most_one():
    """The standard error is 2 %: a mean that is off by 11 % passes once in a thousand times."""
    problem = sp.Problem(np.eye(3), noise=1.0)
    capital = []
    for i in range(600):
        state = PooledState(PooledPeleg(1e-200), problem)
        draws = np.random.default_rng([11, i])
        for _ in range(4):
            pulls = state.propose(10**9)
            state.observe(pulls, np.sqrt(pulls.counts) * draws.standard_normal(len(pulls.arms)))
        capital.append(np.exp(state.question.against()))
    mean = np.mean(capital, axis=0)
    error = np.std(capital, axis=0) / math.sqrt(len(capital))
    assert (mean <= 1 + 4 * error).all()
    assert (mean >= 1 - 4 * error).all()  # at a tie every bet is fair


@pytest.mark.validation
def test_bernoulli_rewards():
    instance = sp.simulate.Instance(sp.Problem(np.eye(4), noise=0.5), [0.7, 0.5, 0.4, 0.3])
    most = chance(40, 0.1)
    assert failures(wrong_answers(PooledPeleg(0.1), instance, 4, Bernoulli()), 40, most) <= most


# -- bets ------------------------------------------------------------------------------------
def test_payoffs_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    problem = sp.Problem(rng.normal(size=(6, 3)), noise=1.0)
    points = problem.targets
    blocks = [(rng.integers(1, 9, 6), rng.normal(size=6)) for _ in range(3)]
    first = block_fit(problem, Rows.from_counts(*blocks[0]), Scales())
    past = least_squares(
        problem, blocks[0][0] + blocks[1][0], blocks[0][1] + blocks[1][1], Scales()
    )
    scale = 3 / blocks[0][0].sum()
    market = CompiledMarket.by_features(points, past, first, scale)
    capital = np.zeros((6, 2))
    everyone = np.ones(6, dtype=bool)
    market.settle(
        capital, everyone, block_fit(problem, Rows.from_counts(*blocks[2]), Scales()), GAUSSIAN
    )

    def gram(counts):
        return np.linalg.inv((problem.features.T * counts) @ problem.features)

    theta = gram(blocks[2][0]) @ problem.features.T @ blocks[2][1]
    old = gram(blocks[0][0] + blocks[1][0])
    leader, felt = int(np.argmax(points @ past.theta)), False
    for x in range(6):
        units, trails, paid = [], [], []
        for r in range(6):
            if r == x:
                continue
            y, z = points[r] - points[x], points[leader] - points[r]
            trails.append(0.0 if r == leader else (z @ past.theta) ** 2 / (z @ old @ z))
            unit = scale / (y @ gram(blocks[0][0]) @ y)
            told, known = 1 / (y @ gram(blocks[2][0]) @ y), 1 / (y @ old @ y)
            units.append(unit)
            precision = known + unit * np.array(PRECISIONS)
            paid.append(log_payoff(known * y @ past.theta, precision, told * y @ theta, told))
        weights = np.minimum(units, NEARNESS * min(units)) * np.exp(-DOUBT * np.array(trails))
        felt |= max(units) > NEARNESS * min(units)
        expected = np.log(np.average(np.exp(paid), axis=0, weights=weights))
        assert capital[x] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert felt
    assert market.rivals[0] == leader


def test_a_block_says_nothing_about_directions_it_did_not_measure():
    problem = sp.Problem(np.eye(3), noise=1.0)
    points = problem.targets
    first = block_fit(problem, Rows.from_counts(np.array([2, 2, 2]), np.zeros(3)), Scales())
    past = least_squares(problem, np.array([2, 2, 2]), np.array([1.0, 0.5, 0.0]), Scales())
    market = CompiledMarket.by_features(points, past, first, 0.5)
    capital = np.zeros((3, 2))
    market.settle(
        capital,
        np.ones(3, dtype=bool),
        block_fit(
            problem, Rows.from_counts(np.array([50, 50, 0]), np.array([90.0, 0, 0])), Scales()
        ),
        GAUSSIAN,
    )
    # 0 − 1 was measured, 0 − 2 and 1 − 2 were not
    assert (capital[1] > 1.0).all()
    assert capital[2] == pytest.approx(0.0, abs=1e-12)


def test_compiled_psi_is_the_one_of_the_boundary():
    from surepick.proof.payoffs.normal import log_psi

    grid = np.concatenate([np.linspace(-60, 60, 2401), [-1e6, 1e6, -30.0, 30.0]])
    compiled = np.array([payoff_kernels.log_psi(z) for z in grid])
    assert compiled == pytest.approx(log_psi(grid), rel=1e-11, abs=1e-12)


# -- designs ---------------------------------------------------------------------------------
@pytest.mark.parametrize("d", [5, 20])
def test_designs_are_within_a_few_percent_of_the_best(d):
    instance = instances.unit_sphere(d, k=60, rng=3)
    others = np.arange(60) != instance.best
    x, gaps = instance.problem.features, instance.gaps[others]
    y = (x[instance.best] - x[others]) / gaps[:, None]
    shares = np.full(59, 1 / 59)
    weights, value = pooled_kernels.solve_design(x, y, np.full(60, 1 / 60), shares, 300, 0.03)
    best = sp.design.minimax(x, y, tol=1e-4)
    assert best.lower_bound <= value <= 1.031 * best.value
    inverse = np.linalg.inv((x.T * weights) @ x)
    assert np.einsum("pi,ij,pj->p", y, inverse, y).max() == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("n", [1, 5, 7, 50, 1000])
def test_whole_pulls_add_up_and_the_first_block_spans(n):
    problem = instances.unit_sphere(5, k=30, rng=1).problem
    state = PooledPeleg(0.1, min_batch=n).start(problem).state
    pulls = state.propose(n)
    assert pulls.total == n
    assert np.linalg.matrix_rank(problem.features[pulls.arms]) == min(n, 5)


# -- batches ---------------------------------------------------------------------------------
def test_batches_are_within_the_limits_and_fill_whole_plates():
    instance = instances.unit_sphere(6, k=20, rng=2)
    run = PooledPeleg(0.1, min_batch=24, max_batch=24).start(instance.problem)
    drive(run, instance, np.random.default_rng(0), Gaussian())
    sizes = [told.pulls.total for told in run.told()]
    assert set(sizes) == {24}
    assert run.answer.arm == instance.best
    assert max(block["batches"] for block in run.state.blocks) > 1
    sp.verify(run.answer.certificate())


@pytest.mark.validation
def test_small_batches_cost_hardly_more_pulls():
    instance = instances.confounding(5)
    free = trials(PooledPeleg(0.1), instance, n=30, seed=6)["samples"]
    plates = trials(PooledPeleg(0.1, max_batch=96), instance, n=30, seed=6)["samples"]
    error = np.hypot(*(np.std(some) / np.sqrt(30) for some in (free, plates)))
    assert plates.mean() <= free.mean() + 2 * error  # the same but for chance


def test_a_block_told_in_pieces_counts_as_one():
    problem = instances.standard(0.4).problem
    whole, pieces = (PooledState(PooledPeleg(0.1), problem) for _ in range(2))
    rng = np.random.default_rng(8)
    for _ in range(6):
        pulls = whole.propose(10**9)
        sums = rng.normal(size=len(pulls.arms))
        whole.observe(pulls, sums)
        assert (pieces.propose(10**9).counts == pulls.counts).all()
        for i in range(len(pulls.arms)):  # arm by arm
            pieces.observe(Pulls(pulls.arms[i : i + 1], pulls.counts[i : i + 1]), sums[i : i + 1])
    assert pieces.question.capital.tolist() == whole.question.capital.tolist()
    assert [block["batches"] for block in pieces.blocks] == [5] * 6


def test_saving_in_the_middle_of_a_block_changes_nothing():
    instance = instances.confounding(3)
    algorithm = PooledPeleg(0.1, max_batch=7, epsilon=0.001)
    run = algorithm.start(instance.problem)
    again = algorithm.start(instance.problem)
    rng = np.random.default_rng(1)
    for _ in range(40):
        batch = run.ask()
        sums = np.zeros(4)
        sums[batch.pulls.arms] = rng.normal(size=len(batch.pulls.arms))
        again = Run.from_json(again.to_json())
        other = again.ask()
        assert (other.counts == batch.counts).all()
        run.tell(batch, sums=sums)
        again.tell(other, sums=sums)
    assert again.state.question.capital.tolist() == run.state.question.capital.tolist()


def test_the_state_stays_small():
    instance = instances.standard(0.05)
    run = solved(instance)
    assert run.samples > 10_000
    assert len(json.dumps(Run.from_json(run.to_json()).state.blocks)) < 200 * run.batches + 1000


@pytest.mark.parametrize(
    "settings",
    [
        {"batch_growth": 0.0},
        {"batch_growth": "much"},
        {"min_batch": 0},
        {"max_batch": 0},
        {"min_batch": 10, "max_batch": 9},
    ],
)
def test_bad_settings_are_refused(settings):
    name = next(iter(settings)) if "max_batch" not in settings else "max_batch"
    with pytest.raises((InvalidInputError, TypeError), match=name):
        PooledPeleg(0.1, **settings)


def test_settings_rebuild_it():
    algorithm = PooledPeleg(0.1, batch_growth=0.2, min_batch=8, max_batch=96, epsilon=0.5)
    assert get(algorithm.registered_name(), **algorithm.settings()) == algorithm


# -- epsilon, budget, candidates -------------------------------------------------------------
def test_epsilon_stops_between_candidates_that_are_nearly_tied():
    theta = [1.0, 0.999, 0.2, 0.0]
    instance = sp.simulate.Instance(sp.Problem(np.eye(4), noise=1.0), theta)
    for seed in range(5):
        run = solved(instance, seed, epsilon=0.4)
        assert run.answer.guarantee.kind == "eps-pac"
        assert instance.is_correct(run.answer.arm, 0.4)
        assert {0, 1} <= set(run.answer.survivors)
        sp.verify(run.answer.certificate())


@pytest.mark.validation
def test_epsilon_error_rate_when_everything_is_just_not_good_enough():
    instance = sp.simulate.Instance(sp.Problem(np.eye(3), noise=1.0), [0.41, 0.0, 0.0])
    most = chance(60, 0.2)
    wrong = wrong_answers(PooledPeleg(0.2, epsilon=0.4), instance, 6, Gaussian())
    assert failures(wrong, 60, most) <= most


def test_separate_candidates_are_measured_through_the_arms():
    arms = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 9.0]]
    candidates = [[1.0, 0.3, 0.0], [0.3, 1.0, 0.0], [0.5, 0.5, 0.0]]
    instance = sp.simulate.Instance(sp.Problem(arms, candidates, noise=1.0), [0.6, 0.1, 5.0])
    run = solved(instance)
    assert run.answer.arm == 0
    # nothing depends on the third feature, so next to nothing is spent on it
    assert run.pulls[2] + run.pulls[3] <= 0.2 * run.samples
    sp.verify(run.answer.certificate())


# -- certificates ----------------------------------------------------------------------------
def test_certificates_of_larger_runs_verify():
    for instance in (instances.unit_sphere(12, k=40, rng=5), instances.confounding(4)):
        run = solved(instance, seed=3)
        result = sp.verify(run.answer.certificate())
        assert result.candidate == run.answer.arm
        assert result.risk == pytest.approx(0.1)
        assert result.checked == len(instance.problem.arms) - 1


def spoil_rivals(body):
    block = body["evidence"]["blocks"][-1]
    block["rivals"] = block["rivals"][::-1]


def spoil_prior(body):
    body["evidence"]["precisions"] = [1.0, 150.0]


def spoil_accounts(body):
    body["evidence"]["accounts"] = [1.0, 1.0]


def spoil_blocks(body):
    blocks = body["evidence"]["blocks"]
    blocks[0]["batches"] += 1
    del blocks[1]


def spoil_capital(body):
    entry = next(b["dropped"][0] for b in body["evidence"]["blocks"] if b["dropped"])
    entry["log_capital"] += 1.0


def drop_too_early(body):
    blocks = body["evidence"]["blocks"]
    last = next(b for b in reversed(blocks) if b["dropped"])
    blocks[1]["dropped"].append(last["dropped"].pop())


@pytest.mark.parametrize(
    "change",
    [spoil_rivals, spoil_prior, spoil_accounts, spoil_blocks, spoil_capital, drop_too_early],
)
def test_changed_certificates_are_refused(change):
    body = copy.deepcopy(solved(instances.confounding(3), seed=2).answer.certificate())
    sp.verify(body)
    change(body)
    body["digest"] = fingerprint(body)
    with pytest.raises(CertificateError):
        sp.verify(body)


def test_accounts_start_with_all_the_capital_there_is():
    assert sum(ACCOUNTS) == pytest.approx(1.0)
    assert len(ACCOUNTS) == len(PRECISIONS)


def test_a_budget_that_cuts_the_first_block_short_still_answers():
    problem = instances.unit_sphere(5, k=9, rng=0).problem
    run = PooledPeleg(0.1, max_samples=3).start(problem)
    batch = run.ask()
    assert batch.size == 3
    run.tell(batch, sums=np.where(batch.counts > 0, 1.0, 0.0))
    assert run.stopped
    assert run.answer.guarantee.kind == "none"
    sp.verify(run.answer.certificate())


@pytest.mark.some(6)
@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("noise", [None, "equal"])
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e-3])
def test_precise_rewards_need_few_pulls(large, noise, scale):
    """Every block measures what it bets on, however clear the leads are; exact rewards too."""
    arms = np.random.default_rng(0).normal(size=(8, 2))
    rng = np.random.default_rng(1)
    run = PooledPeleg(0.05, max_samples=100).start(sp.Problem(arms, noise=noise, large=large))
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, arms[batch.arms] @ [1.0, 0.3] + scale * rng.standard_normal(batch.size))
    assert run.samples <= 24
    # Where nothing varies, nobody can tell whether one draw was counted often.
    assert bool(run.answer.guarantee) == (scale > 0)
    assert run.answer.arm == int(np.argmax(arms @ [1.0, 0.3]))


@pytest.mark.validation
def test_twins_do_not_take_the_capital_of_others(monkeypatch):
    """Where nearly all candidates are alike, most bets would be on twins."""
    instance = published.many_arms(200)
    problem, pulls = instance.problem, {}
    for nearness in (10.0, math.inf):
        monkeypatch.setattr(market, "NEARNESS", nearness)
        runs = [PooledPeleg(delta=0.01).start(problem) for _ in range(12)]
        for seed, run in enumerate(runs):
            drive(run, instance, np.random.default_rng(seed))
            assert run.answer.arm == instance.best
        if nearness == 10.0:
            sp.verify(runs[0].answer.certificate())
        else:  # it cannot be checked by the other rule
            with pytest.raises(CertificateError, match="the log capital against"):
                sp.verify(runs[0].answer.certificate())
        pulls[nearness] = np.mean([run.samples for run in runs])
    assert pulls[10.0] < 0.9 * pulls[math.inf]

"""The best of those that keep limits: bets, answers, and what an allocation serves."""

import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.limits.capital import Capital, Paid, Surest
from surepick.algorithms.limits.marks import total
from surepick.errors import InvalidInputError
from surepick.proof.accepting import ACCEPTING, RACING


class Site:
    """Options with a reward and further numbers, which may depend on each other."""

    def __init__(self, rewards, seed=0, spread=0.1, **means):
        self.rewards, self.means = np.array(rewards), {k: np.array(v) for k, v in means.items()}
        self.spread, self.rng = spread, np.random.default_rng(seed)

    def __call__(self, arms):
        shared = self.rng.standard_normal(len(arms))  # a good reward goes with large numbers
        y = np.clip(self.rewards[arms] + self.spread * shared, 0, 1)
        told = [{"reward": float(one)} for one in y]
        for name, means in self.means.items():
            own = 0.6 * shared + 0.8 * self.rng.standard_normal(len(arms))
            values = np.clip(means[arms] + self.spread * own, 0, 1)
            for one, value in zip(told, values):
                one[name] = float(value)
        return told

    def ask(self, keep, labels=None, **more):
        labels = labels or [f"o{i}" for i in range(len(self.rewards))]
        numbers = dict.fromkeys(self.means, (0, 1))
        problem = sp.Problem.unstructured(labels, noise=(0, 1), numbers=numbers)
        more = {"seed": 1, "max_samples": 20_000} | more
        return sp.identify(problem, measure_batch=self, keep=keep, **more)


# -- answers ---------------------------------------------------------------------------------
def test_a_better_one_that_breaks_the_limit_is_not_chosen():
    answer = Site([0.4, 0.6, 0.8], cost=[0.2, 0.4, 0.7]).ask(["cost <= 0.5"])
    assert (answer.label, answer.guarantee.kind) == ("o1", "pac")
    kept = answer.limits["cost <= 0.5"]
    assert kept["o1"].verdict == "keeps"
    assert kept["o2"].verdict == "breaks"
    assert kept["o1"].high <= 0.5 <= kept["o2"].low
    assert "the best of those that keep cost <= 0.5 with probability" in answer.guarantee


def test_nobody_keeps_the_limit():
    answer = Site([0.4, 0.6], cost=[0.7, 0.8]).ask(["cost <= 0.5"])
    assert answer.guarantee.kind == "nobody"
    assert not answer.guarantee
    assert answer.survivors == ()
    assert answer.guarantee.startswith("no option keeps cost <= 0.5 with probability")


def test_a_margin_to_an_option():
    site = Site([0.4, 0.6, 0.8], cost=[0.4, 0.42, 0.7])
    answer = site.ask(["cost <= now + 10%"], labels=["now", "near", "dear"])
    assert answer.label == "near"
    assert answer.limits["cost <= now + 0.1"]["now"].verdict == "keeps"  # of itself, for certain
    assert answer.limits["cost <= now + 0.1"]["now"].estimate == 0.0
    answer = site.ask(["cost <= now - 10%"], labels=["now", "near", "dear"])
    assert answer.guarantee.kind == "nobody"


def test_several_limits_on_several_numbers():
    site = Site([0.8, 0.7, 0.6, 0.4], cost=[0.2, 0.8, 0.3, 0.3], taste=[0.1, 0.9, 0.7, 0.8])
    answer = site.ask(["cost <= 0.5", "taste >= 0.5", "cost >= 0.1"])
    assert answer.label == "o2"
    assert list(answer.limits) == ["cost <= 0.5", "taste >= 0.5", "cost >= 0.1"]


def test_smaller_is_better_and_numbers_are_as_they_are():
    answer = Site([0.4, 0.6, 0.8], cost=[0.8, 0.4, 0.3]).ask(["cost <= 0.5"], minimise=True)
    assert answer.label == "o1"
    assert answer.limits["cost <= 0.5"]["o0"].verdict == "breaks"


def test_at_the_limit_a_tolerance_ends_it():
    site = Site([0.3, 0.7], cost=[0.2, 0.5])
    endless = site.ask(["cost <= 0.5"], max_samples=600)
    assert endless.guarantee.kind == "none"
    assert endless.limits["cost <= 0.5"]["o1"].verdict == "not clear yet"
    answer = site.ask(["cost <= 0.5 ± 0.1"])
    assert (answer.label, answer.guarantee.kind) == ("o1", "eps-pac")
    assert "keeps the limits up to their tolerance" in answer.guarantee


def test_who_breaks_a_limit_by_far_is_never_accepted():
    """With the answer itself left out of what acceptance demands, it would be, and at once."""
    for seed in range(4):
        site = Site([0.9, 0.5], seed, spread=0.05, cost=[0.9, 0.45])
        assert site.ask(["cost <= 0.5 ± 0.01"], seed=seed, delta=0.2).label == "o1"


def test_where_nobody_reaches_the_limit_any_within_its_tolerance_may_be_named():
    """Whatever its reward: no option *with* the limit kept beats it. The promise says just that."""
    site = Site([0.7, 0.6], cost=[0.55, 0.55])
    answer = site.ask(["cost <= 0.5 ± 0.15"], delta=0.2)
    assert answer.guarantee.kind in ("eps-pac", "nobody")
    if answer.guarantee.kind == "eps-pac":
        said = "an option that keeps the limits up to their tolerance and that no option with cost"
        assert answer.guarantee.startswith(said)


def test_an_option_is_only_accepted_where_it_keeps_all_limits_up_to_tolerances():
    site = Site([0.9, 0.5], cost=[0.5, 0.4], taste=[0.3, 0.7])
    answer = site.ask(["cost <= 0.5 ± 0.1", "taste >= 0.5 ± 0.05"], delta=0.2)
    assert answer.label == "o1"


def test_racing_and_accepting_share_delta():
    problem = sp.Problem.unstructured(4, noise=(0, 1), numbers={"cost": (0, 1)})

    def goals(*keep, **more):
        return sp.algorithms.PooledPeleg(0.1, keep=keep, **more).start(problem).state.decision.goals

    assert goals("cost <= 0.5") == pytest.approx((math.log(10), math.inf))
    both = pytest.approx((math.log(10 / RACING), math.log(40 / ACCEPTING)))  # of 1/δ and K/δ
    assert goals("cost <= 0.5 ± 0.1") == both
    assert goals("cost <= 0.5", epsilon=0.1) == both


def test_of_options_that_tie_any_is_accepted_with_epsilon():
    answer = Site([0.6, 0.6, 0.3], cost=[0.2, 0.2, 0.2]).ask(["cost <= 0.5"], epsilon=0.1)
    assert answer.guarantee.kind == "eps-pac"
    assert answer.label in ("o0", "o1")


def test_a_quantile_of_numbers_of_any_kind():
    rng = np.random.default_rng(3)
    problem = sp.Problem.unstructured(["often slow", "steady"], numbers={"time": "any"})

    def measure(arm):
        slow = arm == 0 and rng.random() < 0.2
        time = 100.0 if slow else float(rng.lognormal())
        return {"reward": 1.0 - arm + rng.standard_normal(), "time": time}

    answer = sp.identify(problem, measure, keep=["p95 of time <= 20"], seed=0)
    assert answer.label == "steady"
    share = answer.limits["p95 of time <= 20"]["often slow"]
    assert share.verdict == "breaks"
    assert share.estimate == pytest.approx(0.8, abs=0.15)


def test_one_option_alone_has_to_keep_the_limit():
    assert Site([0.5], cost=[0.2]).ask(["cost <= 0.5"]).guarantee.kind == "pac"
    assert Site([0.5], cost=[0.8]).ask(["cost <= 0.5"]).guarantee.kind == "nobody"


# -- bets ------------------------------------------------------------------------------------
def expected(state_of, chances):
    """Mean of exp(W_x) and exp(S) over all outcomes of a block, of which chances are known."""
    against, somebody, mass = 0.0, 0.0, 0.0
    for outcome, chance in chances:
        state = state_of(outcome)
        capital: Capital = state.decision.capital
        against = against + chance * np.exp(capital.against())
        somebody += chance * math.exp(capital.somebody_keeps())
        mass += chance
    assert mass == pytest.approx(1.0)
    return against, somebody


@pytest.mark.parametrize(
    ("y", "c", "right"),
    [
        ((0.5, 0.5), (0.5, 0.9), 0),  # exactly at the limit, and nobody is better
        ((0.3, 0.9), (0.5, 0.4), 0),  # the better one breaks it
        ((0.5, 0.9), (0.2, 0.3), None),  # nobody keeps it
    ],
)
def test_no_bet_against_what_is_true_has_a_positive_mean(y, c, right):
    """All outcomes of a block of two pulls each, whose reward and number depend on each other."""
    problem = sp.Problem.unstructured(2, noise="yes-no", numbers={"fine": "yes-no"})
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=["fine >= 0.5"], batch_growth=0.01)

    def state_of(outcome):
        run = algorithm.start(problem, 0)
        run.put(run.ask().pulls)
        first = run.ask()
        ys, cs = first.arms % 2, 1 - first.arms % 2
        run.tell(first, ys.astype(float), numbers={"fine": cs.astype(float)})
        second = run.put(first.pulls)
        run.tell_listed(
            second,
            np.array([one[0] for one in outcome], dtype=float),
            numbers={"fine": np.array([one[1] for one in outcome], dtype=float)},
        )
        return run.state

    def single(arm):
        """The more likely a yes of both numbers together, up to what their shares allow."""
        both = min(y[arm], c[arm])
        neither = 1.0 - max(y[arm], c[arm])
        only = [y[arm] - both, c[arm] - both]
        return [((1, 1), both), ((1, 0), only[0]), ((0, 1), only[1]), ((0, 0), neither)]

    options = [single(0), single(0), single(1), single(1)]
    chances = [
        (tuple(o for o, _ in four), math.prod(p for _, p in four))
        for four in itertools.product(*options)
        if math.prod(p for _, p in four) > 0
    ]
    against, somebody = expected(state_of, chances)
    if right is None:
        assert somebody <= 1.0 + 1e-9
    else:
        assert against[right] <= 1.0 + 1e-9


def test_a_lead_without_the_limit_kept_proves_nothing():
    """min(G, E): evidence that somebody is better counts as far as he is shown to keep limits."""
    state = sp.algorithms.PooledPeleg(0.05, keep=["cost <= 0.5"]).begin(
        sp.Problem.unstructured(2, noise=(0, 1), numbers={"cost": (0, 1)}), np.random.default_rng()
    )
    capital = state.decision.capital
    before = capital.against()
    capital.ahead[0, 1] += 50.0
    capital.led.others[0, 1, -1] += 50.0
    assert capital.against()[0] == pytest.approx(before[0])
    capital.keeps[0, 1] += 50.0
    capital.led.others[0, 1, 0] += 50.0
    assert capital.against()[0] > 40.0
    assert total(capital.keeps)[0, 1] > 49.0


def begun(K, keep, numbers):
    problem = sp.Problem.unstructured(K, noise=(0, 1), numbers=numbers)
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=keep)
    return algorithm.begin(problem, np.random.default_rng()).decision.capital


def test_a_rival_has_to_be_shown_to_keep_every_limit():
    capital = begun(2, ["cost <= 0.5", "time <= 0.5"], {"cost": (0, 1), "time": (0, 1)})
    capital.ahead[0, 1] += 50.0
    capital.led.others[0, 1, -1] += 50.0
    capital.keeps[0, 1] += 50.0
    capital.led.others[0, 1, 0] += 50.0
    assert capital.against()[0] < 1.0
    capital.breaks[1, 0] += 50.0  # and breaks if one limit is shown to be broken
    assert capital.against()[0] == pytest.approx(50.0 + math.log(0.1 / 2), abs=1e-6)


def test_a_purse_follows_the_evidence_and_counts_the_smaller_side():
    """By hand: f b + (1 − f) g and f b + (1 − f) e, multiplied over blocks, the smaller counts."""
    capital = begun(2, ["cost <= 0.5"], {"cost": (0, 1)})
    share = np.log(np.array([0.25, 0.25]))
    rest = np.log(np.array([0.75, 0.75]))

    class Bets:
        """Bets of a block that pay these."""

        def __init__(self, ahead=0.0, above=0.0, below=0.0):
            self.paid = ahead, above, below

        def ahead(self, by=0.0):
            found = np.zeros((2, 2, 2))
            found[0, 1] = self.paid[0]
            return found

        def above(self, reference, mark):
            return np.array([[self.paid[1]] * 2, [0.0] * 2])

        def below(self, reference, mark):
            return np.array([[0.0] * 2, [self.paid[2]] * 2])

    surest = Surest([1], 0, np.array([1, 0]), share[None], rest[None], np.zeros((1, 2)))
    bets = [Bets(math.log(3.0)), Bets(above=math.log(5.0), below=math.log(2.0))]
    capital.settle(Paid.of(capital.marks, bets, 0.0, loose=False), surest)
    smaller = 0.25 * 5.0 + 0.75 * 2.0  # "o0 breaks it" paid 5, "o1 keeps it" 2, "o1 is better" 3
    assert capital.led.total()[0] == pytest.approx(math.log(smaller))
    bets = [Bets(math.log(0.5)), Bets(below=math.log(2.0))]
    capital.settle(Paid.of(capital.marks, bets, 0.0, loose=False), surest)
    other = (0.25 * 5.0 + 0.75 * 3.0) * (0.25 + 0.75 * 0.5)
    assert capital.led.total()[0] == pytest.approx(math.log(min(smaller * (0.25 + 1.5), other)))


def test_a_purse_bets_on_what_looks_surest():
    run = sp.algorithms.PooledPeleg(0.05, keep=["cost <= 0.5"]).start(
        sp.Problem.unstructured(3, noise=(0, 1), numbers={"cost": (0, 1)}), 0
    )
    site = Site([0.6, 0.4, 0.9], cost=[0.2, 0.2, 0.9])
    for _ in range(3):
        batch = run.ask()
        run.tell(batch, site(batch.arms))
    bet_on = run.state.decision.outlook()[1]
    assert bet_on.first == 0
    on_limits = np.exp(bet_on.broken[0])
    assert on_limits[1] < 0.01, "worse, and keeps the limit"
    assert on_limits[2] > 0.99, "better, and breaks it"
    assert on_limits + np.exp(bet_on.beaten[0]) == pytest.approx(1.0)


# -- what is measured ------------------------------------------------------------------------
def test_who_breaks_the_limit_clearly_is_hardly_measured():
    answer = Site([0.5, 0.55, 0.9], cost=[0.2, 0.2, 0.9]).ask(["cost <= 0.5"])
    assert answer.label == "o1"
    assert answer.pulls[2] < 0.2 * answer.samples


def test_costs_are_minded():
    problem = sp.Problem(
        np.eye(2), noise=(0, 1), costs=[1.0, 10.0], numbers={"cost": (0, 1)}, labels=["a", "b"]
    )
    site = Site([0.6, 0.5], cost=[0.2, 0.2])
    answer = sp.identify(problem, measure_batch=site, keep=["cost <= 0.5"], seed=0, budget=400.0)
    assert answer.cost <= 400.0


# -- runs ------------------------------------------------------------------------------------
def started(**more):
    problem = sp.Problem.unstructured(3, noise=(0, 1), numbers={"cost": (0, 1), "note": "any"})
    return sp.algorithms.PooledPeleg(0.05, keep=["cost <= 0.5"], **more).start(problem, 7)


@pytest.mark.some(1)
@pytest.mark.parametrize("asked", [{}, {"baseline": 0}, {"baseline": 0, "claims": "fdr"}])
def test_a_run_goes_on_where_it_was_saved(asked):
    site, run = Site([0.4, 0.6, 0.8], cost=[0.2, 0.4, 0.7]), started(**asked)
    again = None
    while not run.stopped:
        batch = run.ask()
        told = site(batch.arms)
        if again is not None:
            assert again.ask().arms.tolist() == batch.arms.tolist()
            again.tell(again.ask(), told)
        run.tell(batch, told)
        again = sp.Run.from_json(run.to_json())
    assert again.answer.to_dict() == run.answer.to_dict()
    assert again.answer.certificate()["batches"] == run.answer.certificate()["batches"]


def test_numbers_beside_rewards_are_the_same_as_dicts():
    site, one, other = Site([0.4, 0.6, 0.8], cost=[0.2, 0.4, 0.7]), started(), started()
    batch = one.ask()
    told = site(batch.arms)
    one.tell(batch, told)
    other.tell(
        other.ask(),
        [measured["reward"] for measured in told],
        numbers={"cost": [measured["cost"] for measured in told]},
    )
    assert one.ask().arms.tolist() == other.ask().arms.tolist()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda told: told[0].pop("cost"), "rewards[0] has no 'cost'"),
        (lambda told: [one.pop("cost") for one in told], "'cost' is missing"),
        (lambda told: told[1].pop("reward"), "rewards[1] has no 'reward'"),
        (lambda told: told[0].update(cost=2.0), "cost of '"),
        (lambda told: told[0].update(cost=math.nan), "cost of '"),
        (lambda told: [one.update(size=1.0) for one in told], "no further number is called 'size'"),
    ],
)
def test_numbers_that_are_refused_leave_the_batch_open(change, why):
    run = started()
    batch = run.ask()
    told = Site([0.4, 0.6, 0.8], cost=[0.2, 0.4, 0.7])(batch.arms)
    change(told)
    with pytest.raises(InvalidInputError) as refused:
        run.tell(batch, told)
    assert why in str(refused.value)
    assert run.samples == 0
    with pytest.raises(InvalidInputError, match="give every single"):
        run.tell(batch, sums=[1.0, 1.0, 1.0])


def test_further_numbers_without_limits_are_let_be():
    problem = sp.Problem.unstructured(2, noise="yes-no", numbers={"note": "any"})
    answer = sp.identify(problem, lambda arm: {"reward": float(arm), "note": 3.0}, seed=0)
    assert answer.arm == 1
    assert "numbers" not in answer.certificate()["batches"][0]


def test_features_only_guide_where_limits_are_to_be_kept():
    rng = np.random.default_rng(0)

    def measure(arm):
        return {"reward": arm + 0.3 * rng.normal(), "cost": 2.0 + 3.0 * arm}

    problem = sp.Problem([[1, 0], [1, 1], [1, 2]], noise=0.3, numbers={"cost": (0, 9)})
    answer = sp.identify(problem, measure, keep=["cost <= 6"], seed=0)
    assert (answer.arm, answer.guarantee.kind) == (1, "pac")
    assert "linear" not in answer.guarantee
    assert sp.verify(answer.certificate(), replay=True).replayed

import json
import math
from pathlib import Path

import numpy as np
import pytest
from numpy.random import SeedSequence
from tests.breadth import first

import surepick as sp
from surepick.algorithms import Peleg
from surepick.errors import SurepickError
from surepick.research.game.loop import play_phase
from surepick.research.peleg import phase_constants
from surepick.simulate import Gaussian, instances
from surepick.simulate.conformance.tools import chance, failures
from surepick.simulate.trials import trial

GOLDEN = json.loads((Path(__file__).parents[1] / "data" / "peleg_phases.json").read_text())


def plain_phase(arms, active, m, delta):
    """Algorithm 1's phase in the plainest NumPy: what the compiled planner must reproduce."""
    K = len(arms)
    delta_m = delta / m**2
    r2, eps = 8 * np.log(K**2 / delta_m), 2.0 ** -(m + 1)
    C = np.linalg.eigvalsh(arms.T @ arms)[0]
    i, j = np.triu_indices(len(active), 1)
    Y = arms[np.array(active)[i]] - arms[np.array(active)[j]]
    D = 2 * (np.sqrt(2) - 1) * np.sqrt(C / ((Y**2).sum(axis=1).max() * np.log(K)))
    n, W, L, V, t = np.ones(K), np.ones(K), np.zeros(K), arms.T @ arms, K
    while eps**2 / np.einsum("pi,ij,pj->p", Y, np.linalg.inv(V), Y).max() <= r2:
        t += 1
        w = np.exp(np.sqrt(8 * np.log(K) / t) / D**2 * (L - L.max()))
        w /= w.sum()
        inverse = np.linalg.inv((arms.T * w) @ arms)
        a = np.einsum("pi,ij,pj->p", Y, inverse, Y)
        y = Y[a.argmax()]
        L += (arms @ (eps * inverse @ y / a.max())) ** 2
        W += w
        k = np.argmin(n / W)
        n[k] += 1
        V += np.outer(arms[k], arms[k])
    return n.astype(int)


@pytest.mark.some(3)
@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: c["name"])
def test_golden_phases_through_the_planner(case):
    arms, active = np.array(case["arms"]), case["active"]
    c = phase_constants(arms, arms[active], case["phase"], case["delta"], len(arms), False)
    assert c["C"] == pytest.approx(case["C"])
    assert c["D"] == pytest.approx(case["D_m"])
    assert math.sqrt(c["r2"]) == pytest.approx(case["r_m"])
    assert c["eps"] == case["epsilon_m"]
    shrunk = phase_constants(arms, arms[active], case["phase"], case["delta"], len(arms), True)
    assert shrunk["eps"] == pytest.approx(case["epsilon_m_shrunk"])
    pulls, complete = play_phase(arms, arms[active], c, 10**9)
    assert complete
    assert pulls.tolist() == case["pulls"]
    V = (arms.T * pulls) @ arms
    pairs = (arms[active][:, None] - arms[active]).reshape(-1, arms.shape[1])
    worst = np.einsum("pi,pi->p", pairs, np.linalg.solve(V, pairs.T).T).max()
    assert worst == pytest.approx(case["max_sq_norm_at_stop"])


@pytest.mark.parametrize("case", [g for g in GOLDEN if g["phase"] == 1], ids=lambda c: c["name"])
def test_golden_first_phases_through_the_run(case):
    run = Peleg.paper(case["delta"]).start(sp.Problem(case["arms"], noise=1.0))
    assert run.ask().counts.tolist() == case["pulls"]


def test_golden_later_phase_through_the_run():
    """Noise-free rewards of a chosen theta leave the confounding pair for phase 4."""
    case = next(g for g in GOLDEN if g["name"] == "confounding-d3-pair-phase4")
    arms = np.array(case["arms"])
    means = arms @ np.array([1.0, 0.0, 0.0])
    run = Peleg.paper(case["delta"]).start(sp.Problem(arms, noise=1.0))
    for _ in range(3):
        batch = run.ask()
        run.tell(batch, sums=batch.counts * means)
    assert list(run.active) == case["active"]
    assert run.ask().counts.tolist() == case["pulls"]


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", first(4, range(8)))
def test_planner_matches_the_plain_transcription(seed):
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    arms = rng.normal(size=(K, d))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    size = int(rng.integers(2, K + 1))
    active = sorted(rng.choice(K, size=size, replace=False).tolist())
    delta = float(rng.choice([0.5, 0.1, 0.01]))
    c = phase_constants(arms, arms[active], 1, delta, K, False)
    pulls, _ = play_phase(arms, arms[active], c, 30_000)
    if pulls.sum() < 30_000:
        assert pulls.tolist() == plain_phase(arms, active, 1, delta).tolist()
    else:  # too long for the transcription: a shorter game with a coarse goal
        c = {**c, "r2": c["r2"] / 400}
        pulls, complete = play_phase(arms, arms[active], c, 10**7)
        assert complete


def check_key_lemma(arms, m, delta, ball):
    """max over pairs of a_y(V) <= (2^-(m+1))² / (8 log(K²/delta_m)) when the phase ends."""
    K, d = arms.shape
    c = phase_constants(arms, arms, m, delta, K, ball)
    pulls, complete = play_phase(arms, arms, c, 5_000_000)
    assert complete
    V = (arms.T * pulls) @ arms
    pairs = (arms[:, None] - arms).reshape(-1, d)
    worst = np.einsum("pi,pi->p", pairs, np.linalg.solve(V, pairs.T).T).max()
    assert worst <= (2.0 ** -(m + 1)) ** 2 / (8 * np.log(K**2 * m**2 / delta)) * (1 + 1e-9)
    lengths = np.linalg.norm(pairs, axis=1)
    return (c["eps"] > c["radius"] * lengths[lengths > 0]).any()


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(12))
def test_key_lemma_without_the_ball(seed):
    rng = np.random.default_rng(seed)
    arms = rng.normal(size=(int(rng.integers(4, 9)), int(rng.integers(1, 4))))
    check_key_lemma(arms, int(rng.integers(1, 4)), 0.1, ball=False)


@pytest.mark.some(1)
@pytest.mark.parametrize("seed", first(2, range(4)))
def test_key_lemma_with_the_ball(seed):
    rng = np.random.default_rng(seed)
    angles = rng.uniform(0, 2 * np.pi, size=2)
    turned = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    check_key_lemma(np.vstack([np.eye(2), turned])[: 3 + seed % 2], 1, 0.5, ball=True)


def test_key_lemma_holds_for_pairs_the_ball_makes_infeasible():
    arms = np.array([[1.0], [0.999], [-1.0]])
    assert check_key_lemma(arms, 1, 0.5, ball=True)


@pytest.mark.parametrize("gap", [0.3, 0.5])
def test_paper_form_on_the_standard_bandit_takes_7069_pulls(gap):
    table = sp.simulate.trials(Peleg.paper(0.1), instances.standard(gap), n=50)
    assert set(table["samples"]) == {7069}


@pytest.mark.validation
def test_paper_form_on_the_confounding_arm():
    samples = sp.simulate.trials(Peleg.paper(0.1), instances.confounding(5), n=300)["samples"]
    assert 110_000 < samples.mean() < 138_000  # 2.5 standard errors
    assert 80_000 < samples.std() < 112_000


@pytest.mark.validation
def test_default_form_needs_far_fewer():
    """A form that needs 40 % more than it does is caught with probability 95 %."""
    confounding = sp.simulate.trials(Peleg(0.1), instances.confounding(5), n=100)
    standard = sp.simulate.trials(Peleg(0.1), instances.standard(0.3), n=100)
    assert confounding["samples"].mean() <= 22_000
    assert standard["samples"].mean() <= 4_500


BALL_PAIR = sp.simulate.Instance(sp.Problem([[1.0], [-1.0]], noise=1.0), [0.3], name="two-arms")
BALL_TRIO = sp.simulate.Instance(
    sp.Problem([[1.0], [0.2], [-1.0]], noise=1.0), [0.4], name="three-on-a-line"
)
HARD = [
    instances.standard(0.5),
    instances.confounding(2, 0.4),
    instances.confounding(5, 0.2),
    instances.unit_sphere(2, k=6, gamma=0.2, rng=4),
]
# max_samples ends the rare trial that lost the best arm and is left with exactly tied losers.
CASES = [
    *[(Peleg(0.1, max_samples=10**8), i) for i in HARD],
    *[(Peleg.paper(0.1, max_samples=10**8), i) for i in HARD],
    (Peleg(0.1, ball=True, max_samples=10**8), BALL_PAIR),
    (Peleg(0.1, ball=True, max_samples=10**8), BALL_TRIO),
]


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("algorithm", "instance"),
    CASES,
    ids=[f"{a.registered_name()}{'-ball' if a.ball else ''}-{i.name}" for a, i in CASES],
)
def test_error_rate_is_at_most_delta(algorithm, instance):
    """A form that errs twice as often as it says is caught with probability 91 %."""
    n = 250

    def wrong(i):
        row = trial(algorithm, instance, SeedSequence(7, spawn_key=(i,)), Gaussian())
        assert row["guarantee"] == "pac" or not row["correct"]
        return not row["correct"]

    most = chance(n, algorithm.delta)
    assert failures(wrong, n, most) <= most


@pytest.mark.parametrize("form", [Peleg(0.1), Peleg.paper(0.1), Peleg(0.1, ball=True)])
def test_transductive_and_rank_deficient(form):
    arms = np.hstack([np.eye(3), np.ones((3, 1)), np.zeros((3, 1))])  # rank 3 in 5 features
    candidates = np.array([arms[0] + arms[1], arms[1] + arms[2]])
    theta = np.array([1.0, 0.0, 0.0, 0.0, 5.0])
    instance = sp.simulate.Instance(sp.Problem(arms, candidates, noise=1.0), theta)
    run = form.start(instance.problem)
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, sums=batch.counts * instance.means)
    assert run.answer.arm == 0
    assert sp.verify(run.answer.certificate()).guarantee == "pac"


def test_plans_are_shared_between_trials(monkeypatch):
    """A plan depends on arms, active set, phase and delta only: the second trial plans nothing."""
    instance = sp.simulate.Instance(sp.Problem(np.eye(3) * 1.25, noise=1.0), [0.9, 0.1, 0.0])
    for algorithm in (Peleg(0.1), Peleg.paper(0.1)):
        run = algorithm.start(instance.problem)
        first = run.ask().counts
        monkeypatch.setattr("surepick.research.game.loop.play_phase", None)
        monkeypatch.setattr("surepick.design.minimax", None)
        again = algorithm.start(sp.Problem(np.eye(3) * 1.25, noise=1.0)).ask().counts
        monkeypatch.undo()
        assert np.array_equal(first, again)


def test_each_phase_is_one_batch():
    run = Peleg(0.1).start(instances.confounding(3).problem)
    run.ask()
    assert run.batches == 0
    run.tell(run.ask(), sums=run.ask().counts * instances.confounding(3).means)
    assert run.batches == 1


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"delta": "x"}, "delta"),
        ({"delta": 0.1, "growth": 1.0}, "growth"),
        ({"delta": 0.1, "constants": "mine"}, "constants"),
        ({"delta": 0.1, "epsilon": -1}, "epsilon"),
        ({"delta": 0.1, "max_samples": 0}, "max_samples"),
        ({"delta": 0.1, "max_samples": 1.5}, "max_samples"),
    ],
)
def test_bad_settings_name_the_field(bad, named):
    with pytest.raises(SurepickError, match=named):
        Peleg(**bad)


def test_configurations_survive_the_registry():
    for algorithm in (Peleg(0.1, growth=2.0), Peleg.paper(0.2), Peleg(0.3, ball=True, epsilon=0.1)):
        again = sp.algorithms.get(algorithm.registered_name(), **algorithm.settings())
        assert again == algorithm

import json
import math

import numpy as np
import pytest
from tests.research.glr_model import Model, play, ratio_to_published

import surepick as sp
from surepick.algorithms import LinGame, LinGameC, get
from surepick.run.certificate import fingerprint
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

RNG = np.random.default_rng(8)
GENERIC = Instance(
    sp.Problem(RNG.normal(size=(6, 3)), RNG.normal(size=(5, 3)), noise=0.5), [0.12, -0.1, 0.2]
)
PROVEN = [
    {},
    {"threshold": "determinant"},
    {"threshold": "regularised", "norm_bound": 1.0, "regularisation": 0.5},
]


class AdaHedge:
    def __init__(self, n):
        self.totals, self.gap = np.zeros(n), 0.0

    def weights(self):
        if self.gap == 0:
            best = np.isclose(self.totals, self.totals.max(), rtol=1e-9)
            return best / best.sum()
        lead = self.totals - self.totals.max()
        weights = np.exp(math.log(len(lead)) / self.gap * lead)
        return weights / weights.sum()

    def update(self, weights, gains):
        mean = weights @ gains
        if self.gap == 0:
            mix = gains[weights > 0].max()
        else:
            eta = math.log(len(gains)) / self.gap
            mix = gains.max() + math.log(weights @ np.exp(eta * (gains - gains.max()))) / eta
        self.gap += max(mix - mean, 0.0) if mix - mean > 1e-12 else 0.0
        self.totals += gains


class Game:
    """Both forms, as the paper describes them, driven by the pulls of a run."""

    def __init__(self, convexified, epsilon=0.0):
        self.convexified, self.epsilon = convexified, epsilon
        self.learners, self.targets, self.led = {}, None, set()

    def __call__(self, run, arm):
        problem = run.problem
        if run.samples < problem.rank:
            assert arm == problem.spanning_arms[run.samples]
            return
        model = Model(problem, run.pulls, run.sums)
        X, K, M = problem.arms, problem.n_arms, len(problem.distinct)
        if self.targets is None:
            self.targets = np.zeros(K)
        self.led.add(model.leader)
        key = 0 if self.convexified else model.leader
        learner = self.learners.setdefault(key, AdaHedge(K * M if self.convexified else K))
        played = learner.weights()
        table = played.reshape(M, K) if self.convexified else played[None]
        w = table[model.leader if self.convexified else 0]
        inverse = np.linalg.inv((X.T * w) @ X)
        gaps = model.gaps + self.epsilon
        values = [gaps[m] ** 2 / model.variances(inverse)[m] for m in model.rivals]
        rival = model.rivals[int(np.argmin(values))]
        along = np.abs(X @ model.shift(inverse, rival, self.epsilon))
        width = np.sqrt(2 * math.log(model.t) * np.einsum("ki,ij,kj->k", X, model.inverse, X))
        gains = np.tile(0.5 * width**2, (len(table), 1))
        gains[model.leader if self.convexified else 0] = 0.5 * (along + width) ** 2
        gains = np.minimum(gains, math.log(model.t))
        gains[gains > (1 - 1e-9) * math.log(model.t)] = math.log(model.t)
        learner.update(played, gains.ravel())
        self.targets += table.sum(axis=0)
        behind = run.pulls - self.targets
        assert behind[arm] <= behind.min() + 1e-6, f"pull {run.samples}"


@pytest.mark.some(2)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
@pytest.mark.parametrize("form", [LinGame, LinGameC])
def test_follows_the_definition(form, epsilon):
    game = Game(form is LinGameC, epsilon / 0.5)
    play(form(1e-3, epsilon=epsilon), GENERIC, seed=4, stop=250, look=game)
    assert len(game.led) > 1  # more than one answer led: several learners were at work


def test_room_for_learners_grows_when_many_answers_lead():
    d = 12
    run = LinGame(1e-9).start(sp.Problem(np.eye(d), noise=1.0))
    for i in range(200):
        batch = run.ask()
        run.tell(batch, [-1.0 if batch.arms[0] == run.state.leader() else 0.0])
        if i % 50 == 0:
            run = sp.Run.from_json(run.to_json())
    rows = run.state.memory.rows
    assert rows.max() + 1 > 8
    assert len(run.state.memory.learners) == 16
    assert sorted(rows[rows >= 0]) == list(range(rows.max() + 1))


def test_weights_that_vanish_altogether_do_no_harm():
    run = play(LinGameC(1e-9), GENERIC, stop=30)
    memory = run.state.memory
    memory.learners[0, : 6 * memory.core.place[1]] += 1e6  # everybody but the leader, and those
    memory.learners[0, 6 * memory.core.place[1] + 6 : -2] += 1e6  # behind it, gained a lot
    for _ in range(5):
        run.tell(run.ask(), [0.0])
    assert np.isfinite(memory.learners).all()
    assert memory.targets.sum() == pytest.approx(run.samples - 2)  # less the spanning arms


@pytest.mark.some(2)
@pytest.mark.parametrize("settings", PROVEN, ids=lambda s: s.get("threshold", "default"))
@pytest.mark.parametrize("form", [LinGame, LinGameC])
def test_proven_thresholds_and_their_certificates(form, settings):
    algorithm = form(0.1, **settings)
    answer = play(algorithm, GENERIC).answer
    assert answer.guarantee.kind == "pac"
    assert verify(answer.certificate()).risk == 0.1
    assert get(algorithm.registered_name(), **algorithm.settings()) == algorithm
    t = trials(algorithm, GENERIC, n=40, seed=2)
    assert t["correct"].sum() >= 34


@pytest.mark.validation
def test_error_rate():
    t = trials(LinGame(0.2), instances.standard(0.6, d=3), n=200, seed=1)
    assert (~t["correct"]).sum() <= 40
    assert set(t["guarantee"]) == {"pac"}


@pytest.mark.validation
@pytest.mark.parametrize(
    ("name", "delta", "n"),
    [
        ("lingame-heuristic", 0.1, 100),
        ("lingame-heuristic", 1e-4, 20),
        ("lingame-c-heuristic", 0.1, 25),
    ],
)
def test_published_figures(name, delta, n):
    assert ratio_to_published(name, delta, n) == pytest.approx(1, abs=0.25)


@pytest.mark.validation
def test_the_default_threshold_is_tighter_than_the_papers():
    instance = instances.confounding(3, omega=0.3)
    mean = {
        i: trials(LinGame(0.1, **settings), instance, n=20)["samples"].mean()
        for i, settings in enumerate(PROVEN)
    }
    assert mean[0] < 0.8 * min(mean[1], mean[2])


def test_statement_names_the_norm_bound():
    answer = play(LinGame(0.1, threshold="regularised", norm_bound=1.25), GENERIC).answer
    assert ", provided that ‖theta*‖ <= 1.25; " in str(answer.guarantee)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"scales": [1.0]}, "fixed in advance"),
        ({"threshold": "determinant", "slack": 0.1, "first": [0, 1, 2]}, "not ruled out"),
        ({"threshold": "determinant", "slack": 1e-9, "first": [0, 1, 2]}, "fixed in advance"),
        ({"threshold": "heuristic"}, "cannot support"),
        ({"threshold": "none"}, "unknown threshold"),
        ({"threshold": "round-robin", "rounds": 2.0}, "full rounds"),
    ],
)
def test_certificates_that_claim_another_threshold_are_refused(change, complaint):
    certificate = play(LinGame(0.1), GENERIC).answer.certificate()
    certificate["evidence"] |= change
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(sp.SurepickError, match=complaint):
        verify(certificate)


def test_epsilon_and_budget():
    close = Instance(sp.Problem(np.eye(2), [[1, 0], [0.99, 0.01], [-1, 0]], noise=1.0), [0.7, 0.65])
    run = play(LinGame(0.1, epsilon=0.01), close)
    assert run.answer.survivors == (0, 1)
    assert verify(run.answer.certificate()).guarantee == "eps-pac"
    run = play(LinGame(0.1, max_samples=2), GENERIC)
    assert run.samples == 2
    assert verify(run.answer.certificate()).guarantee == "none"


@pytest.mark.parametrize("form", [LinGame, LinGameC])
def test_saved_runs_go_on_exactly(form):
    run = play(form(1e-6), GENERIC, stop=60)
    again = sp.Run.from_json(run.to_json())
    for i in range(60):
        assert run.ask().arms.tolist() == again.ask().arms.tolist()
        for each in (run, again):
            each.tell(each.ask(), [np.sin(i)])
    assert json.loads(run.to_json()) == json.loads(again.to_json())


def test_bad_settings():
    with pytest.raises(sp.SurepickError, match="needs norm_bound"):
        LinGame(0.1, threshold="regularised")
    with pytest.raises(sp.SurepickError, match="regularised' only"):
        LinGame(0.1, norm_bound=2.0)
    with pytest.raises(sp.SurepickError, match="regularisation must be above 0"):
        LinGameC(0.1, regularisation=0.0)
    with pytest.raises(sp.SurepickError, match="use lingame"):
        LinGameC(0.1).start(sp.Problem(np.random.default_rng(0).normal(size=(5000, 2)), noise=1.0))

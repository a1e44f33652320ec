import json
import math

import numpy as np
import pytest
from tests.research.glr_model import Model, play

import surepick as sp
from surepick.algorithms import LazyTrackAndStop, get
from surepick.design import minimax
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

RNG = np.random.default_rng(4)
GENERIC = Instance(
    sp.Problem(RNG.normal(size=(6, 3)), RNG.normal(size=(5, 3)), noise=0.5), [0.1, -0.1, 0.15]
)


class Tracking:
    """When weights are refreshed, how good they are, and whether they are followed."""

    def __init__(self, epsilon=0.0):
        self.epsilon, self.refreshed, self.forced = epsilon, [], 0
        self.weights = self.targets = None

    def __call__(self, run, arm):
        problem, t = run.problem, run.samples
        if t < problem.rank:
            assert arm == problem.spanning_arms[t]
            return
        memory = run.state.memory
        if self.weights is None or (memory.weights != self.weights).any():
            self.refresh(run, memory.weights)
        before = np.zeros(problem.n_arms) if self.targets is None else self.targets
        self.targets = before + self.weights
        assert memory.targets == pytest.approx(self.targets)
        first = problem.features[problem.spanning_arms]
        c0 = np.linalg.eigvalsh(first.T @ first)[0] / math.sqrt(problem.rank)
        gram = (problem.features.T * run.pulls) @ problem.features
        behind = np.where(self.targets > 0, run.pulls - self.targets, np.inf)
        if np.linalg.eigvalsh(gram)[0] < c0 * math.sqrt(t) * (1 - 1e-9):
            assert arm == problem.spanning_arms[self.forced % problem.rank]
            self.forced += 1
        else:
            assert behind[arm] <= behind.min() + 1e-6

    def refresh(self, run, weights):
        self.refreshed.append(run.samples)
        self.weights = weights.copy()
        model = Model(run.problem, run.pulls, run.sums)
        directions = model.Y[model.rivals] / (model.gaps[model.rivals] + self.epsilon)[:, None]
        inverse = np.linalg.inv((model.arms.T * weights) @ model.arms)
        value = np.einsum("mi,ij,mj->m", directions, inverse, directions).max()
        assert value <= 1.02 * minimax(model.arms, directions, tol=1e-4).value


@pytest.mark.some(1)
@pytest.mark.parametrize(("epsilon", "refresh"), [(0.0, 2.0), (0.2, 1.5)])
def test_follows_the_definition(epsilon, refresh):
    tracking = Tracking(epsilon / 0.5)
    algorithm = LazyTrackAndStop(1e-30, epsilon=epsilon, refresh=refresh)
    play(algorithm, GENERIC, seed=1, stop=200, look=tracking)
    expected = [3]
    while expected[-1] * refresh < 200:
        expected.append(max(expected[-1] + 1, math.ceil(refresh * expected[-1])))
    assert tracking.refreshed == expected
    assert tracking.forced > 0


def test_stops_at_the_determinant_threshold():
    def excess(run):
        model = Model(run.problem, run.pulls, run.sums)
        X = run.problem.features
        gram, first = (X.T * run.pulls) @ X, X[run.problem.spanning_arms]
        c = np.linalg.eigvalsh(first.T @ first)[0]
        content = 0.5 * np.linalg.slogdet(np.eye(3) + gram / (0.1 * c))[1]
        return model.statistic() - 1.1 * (math.log(1 / 0.1) + content)

    def look(run, arm):
        assert run.samples < 3 or excess(run) <= 1e-9

    run = play(LazyTrackAndStop(0.1), GENERIC, look=look)
    assert excess(run) > 0
    assert verify(run.answer.certificate()).risk == 0.1


@pytest.mark.validation
def test_needs_fewer_pulls_than_the_published_heuristic_figure():
    """Published: 3319, with a design that is not solved to a certified gap."""
    instance = instances.confounding(6, 0.1, scale=2.0)
    t = trials(LazyTrackAndStop.heuristic(0.1), instance, n=30)
    assert 500 < t["samples"].mean() < 3319


@pytest.mark.validation
def test_error_rate():
    t = trials(LazyTrackAndStop(0.2), instances.standard(0.6, d=3), n=60, seed=1)
    assert (~t["correct"]).sum() <= 12
    assert set(t["guarantee"]) == {"pac"}


@pytest.mark.validation
def test_the_self_normalised_threshold_is_tighter():
    instance = instances.confounding(3, omega=0.3)
    paper = trials(LazyTrackAndStop(0.1), instance, n=15)["samples"].mean()
    ours = trials(LazyTrackAndStop(0.1, threshold="self-normalised"), instance, n=15)
    assert ours["samples"].mean() < 0.8 * paper


def test_noiseless_ties_do_not_break_the_design():
    run = LazyTrackAndStop(0.1, max_samples=100).start(sp.Problem(np.eye(4), noise=1.0))
    while not run.stopped:
        run.tell(run.ask(), [0.0])
    assert run.pulls.min() > 10


def test_epsilon_and_budget():
    close = Instance(sp.Problem(np.eye(2), [[1, 0], [0.99, 0.01], [-1, 0]], noise=1.0), [0.7, 0.65])
    run = play(LazyTrackAndStop(0.1, epsilon=0.01), close)
    assert run.answer.survivors == (0, 1)
    assert verify(run.answer.certificate()).guarantee == "eps-pac"
    run = play(LazyTrackAndStop(0.1, max_samples=1), GENERIC)
    assert verify(run.answer.certificate()).guarantee == "none"


def test_saved_runs_go_on_exactly():
    run = play(LazyTrackAndStop(1e-9), GENERIC, stop=45)
    again = sp.Run.from_json(run.to_json())
    for i in range(60):
        assert run.ask().arms.tolist() == again.ask().arms.tolist()
        for each in (run, again):
            each.tell(each.ask(), [0.1 * np.sin(i)])
    assert json.loads(run.to_json()) == json.loads(again.to_json())


def test_names_and_bad_settings():
    named = [
        (LazyTrackAndStop(0.1), "lazy-ts"),
        (LazyTrackAndStop.heuristic(0.1, epsilon=0.5), "lazy-ts-heuristic"),
        (LazyTrackAndStop(0.1, threshold="heuristic", refresh=1.5), "lazy-ts"),
        (LazyTrackAndStop(0.1, threshold="self-normalised"), "lazy-ts"),
    ]
    for made, name in named:
        assert made.registered_name() == name
        assert get(name, **made.settings()) == made
    assert named[2][0].theorem == ""
    with pytest.raises(sp.SurepickError, match="refresh must be above 1"):
        LazyTrackAndStop(0.1, refresh=1.0)

import json
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.research.glr_model import Model, play, ratio_to_published

import surepick as sp
from surepick.algorithms import FrankWolfeSampling, get
from surepick.research.fws_kernels import matrix_game
from surepick.simulate import Instance, instances, trials
from surepick.verifier.verify import verify

RNG = np.random.default_rng(4)
GENERIC = Instance(
    sp.Problem(RNG.normal(size=(5, 3)), RNG.normal(size=(6, 3)), noise=0.5), [0.1, -0.1, 0.15]
)


def game_value(payoffs):
    """max_z min_j Σ_k z_k payoffs[j, k], by HiGHS."""
    J, K = payoffs.shape
    done = linprog(
        np.append(np.zeros(K), -1.0),
        A_ub=np.hstack([-payoffs, np.ones((J, 1))]),
        b_ub=np.zeros(J),
        A_eq=np.append(np.ones(K), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * K + [(None, None)],
    )
    assert done.status == 0
    return -done.fun


def random_games():
    rng = np.random.default_rng(1)
    for shape in [(1, 4), (2, 2), (2, 7), (5, 3), (9, 9), (30, 12), (4, 60)]:
        for scale in (1e-8, 1.0, 1e5):
            yield scale * rng.normal(size=shape)
            yield scale * rng.integers(-2, 3, size=shape).astype(float)  # ties: degenerate
    rank_one = np.outer(rng.normal(size=6), rng.normal(size=6))
    yield from (rank_one, rank_one - rank_one.T, np.ones((3, 4)), np.eye(5))


def test_matrix_game_agrees_with_highs():
    for payoffs in random_games():
        z = np.empty(payoffs.shape[1])
        value = matrix_game(payoffs, z)
        spread = max(np.ptp(payoffs), 1e-300)
        assert z.min() >= 0
        assert z.sum() == pytest.approx(1)
        assert (payoffs @ z).min() == pytest.approx(value, abs=1e-9 * spread)
        scaled = (payoffs - payoffs.min()) / spread
        assert (scaled @ z).min() == pytest.approx(game_value(scaled), abs=1e-7)


class Steps:
    """The paper's step, recomputed from the totals and the iterate before it."""

    def __init__(self, epsilon=0.0):
        self.epsilon, self.sizes, self.targets = epsilon, [], None

    def __call__(self, run, arm):
        problem, t = run.problem, run.samples
        X, K = problem.arms, problem.n_arms
        if t < K:
            assert arm == t
            return
        before = np.ones(K) if self.targets is None else self.targets
        self.targets = run.state.memory.targets.copy()
        z, x = self.targets - before, before / t
        if math.isqrt(t // K) ** 2 == t // K:
            assert z == pytest.approx(np.full(K, 1 / K))
        else:
            model = Model(problem, run.pulls, run.sums)
            inverse = np.linalg.inv((X.T * x) @ X)
            grads = np.array(
                [0.5 * (X @ model.shift(inverse, j, self.epsilon)) ** 2 for j in model.rivals]
            )
            f = grads @ x
            near = grads[f < f.min() + t**-0.9 / K]
            self.sizes.append(len(near))
            payoffs = near - (near @ x)[:, None]
            assert (payoffs @ z).min() >= game_value(payoffs) - 1e-6
        ratios = run.pulls / self.targets
        assert ratios[arm] <= ratios.min() + 1e-9


@pytest.mark.some(1)
@pytest.mark.parametrize("epsilon", [0.0, 0.2])
def test_follows_the_definition(epsilon):
    steps = Steps(epsilon / 0.5)
    play(FrankWolfeSampling(1e-9, epsilon=epsilon), GENERIC, seed=3, stop=200, look=steps)
    assert max(steps.sizes) > 1  # the linear program was more than an argmax at times
    assert min(steps.sizes) == 1


@pytest.mark.validation
def test_published_figures():
    """Below the published means: those come from a step with a wrong matrix (see the module)."""
    assert 0.7 < ratio_to_published("fws-heuristic", 0.1, n=50) < 1.0
    assert 0.75 < ratio_to_published("fws-heuristic", 1e-4, n=25) < 1.0


@pytest.mark.validation
def test_error_rate():
    t = trials(FrankWolfeSampling(0.2), instances.standard(0.6, d=3), n=200, seed=1)
    assert (~t["correct"]).sum() <= 40
    assert set(t["guarantee"]) == {"pac"}


@pytest.mark.parametrize(
    "settings",
    [{}, {"threshold": "determinant"}, {"threshold": "regularised", "norm_bound": 1.0}],
    ids=lambda s: s.get("threshold", "default"),
)
def test_proven_thresholds_and_their_certificates(settings):
    algorithm = FrankWolfeSampling(0.1, **settings)
    answer = play(algorithm, GENERIC).answer
    assert answer.guarantee.kind == "pac"
    assert verify(answer.certificate()).risk == 0.1
    assert get(algorithm.registered_name(), **algorithm.settings()) == algorithm


def test_heuristic_epsilon_and_budget():
    answer = play(FrankWolfeSampling.heuristic(0.1), GENERIC).answer
    assert answer.algorithm == "fws-heuristic"
    assert verify(answer.certificate()).guarantee == "heuristic"
    close = Instance(sp.Problem(np.eye(2), [[1, 0], [0.99, 0.01], [-1, 0]], noise=1.0), [0.7, 0.65])
    run = play(FrankWolfeSampling(0.1, epsilon=0.01), close)
    assert run.answer.survivors == (0, 1)
    assert verify(run.answer.certificate()).guarantee == "eps-pac"
    run = play(FrankWolfeSampling(0.1, max_samples=4), GENERIC)
    assert verify(run.answer.certificate()).guarantee == "none"


def test_exactly_tied_candidates_do_not_break_the_step():
    run = FrankWolfeSampling(0.1, max_samples=300).start(sp.Problem(np.eye(4), noise=1.0))
    while not run.stopped:
        run.tell(run.ask(), [0.0])
    assert run.pulls.min() >= 70


def test_saved_runs_go_on_exactly():
    run = play(FrankWolfeSampling(1e-9), GENERIC, stop=60)
    again = sp.Run.from_json(run.to_json())
    for i in range(60):
        assert run.ask().arms.tolist() == again.ask().arms.tolist()
        for each in (run, again):
            each.tell(each.ask(), [0.1 * np.sin(i)])
    assert json.loads(run.to_json()) == json.loads(again.to_json())

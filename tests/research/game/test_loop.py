import numpy as np
import pytest

from surepick.design import AllPairs, minimax
from surepick.errors import SurepickError
from surepick.research.game import AdaHedge, ExponentialWeights, solve_game
from surepick.research.game.kernels import play_phase
from surepick.research.game.loop import Phase
from surepick.research.peleg import phase_constants


@pytest.mark.parametrize("learner", [AdaHedge(), ExponentialWeights(rate=0.3)])
@pytest.mark.parametrize("pairs", [False, True])
def test_bracket_holds_and_narrows(learner, pairs):
    rng = np.random.default_rng(1)
    arms = rng.normal(size=(8, 3))
    points = rng.normal(size=(5, 3))
    exact = minimax(arms, AllPairs(points) if pairs else points, tol=1e-8)
    gaps = []
    for rounds in (100, 10_000):
        game = solve_game(arms, points, pairs=pairs, tol=0, max_rounds=rounds, learner=learner)
        assert game.rounds == rounds
        assert game.lower <= exact.value * (1 + 1e-9)
        assert game.upper >= exact.lower_bound * (1 - 1e-9)
        assert game.visits.sum() == rounds
        gaps.append(game.gap)
    assert gaps[1] < gaps[0]


def test_adahedge_closes_the_gap():
    game = solve_game(np.eye(4), np.eye(4), pairs=True, tol=0.05, max_rounds=100_000)
    assert game.gap <= 0.05


def test_singular_arms_are_refused():
    with pytest.raises(SurepickError, match="span"):
        solve_game(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))


@pytest.mark.parametrize("ball", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_tracking_lemma_at_every_round(seed, ball):
    """sum w - (K-1) <= pulls <= sum w + 1 at every round (the paper's tracking lemma)."""
    rng = np.random.default_rng(seed)
    K, d = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    arms = rng.normal(size=(K, d))
    c = phase_constants(arms, arms, 1, 0.1, K, ball)
    learner = ExponentialWeights(rate=1 / c["D"] ** 2, offset=K)
    phase = Phase(arms, arms, learner, c["eps"], c["radius"], c["r2"])
    for stop in range(K, K + 3000, 200):  # in pieces: going on must not change anything
        if play_phase(*phase.arrays(stop)):
            break
    assert phase.tracking[0] <= 1 + 1e-9
    assert phase.tracking[1] <= K - 1 + 1e-9
    assert abs(phase.pulls.sum() - phase.targets.sum()) < 1e-6 * phase.rounds


def test_a_phase_in_pieces_is_the_same_phase():
    arms = np.random.default_rng(3).normal(size=(6, 3))
    c = phase_constants(arms, arms, 1, 0.1, 6, False)
    learner = ExponentialWeights(rate=1 / c["D"] ** 2, offset=6)

    def play(step):
        phase = Phase(arms, arms, learner, c["eps"], c["radius"], c["r2"])
        while not play_phase(*phase.arrays(phase.rounds + step)):
            pass
        return phase.pulls

    assert np.array_equal(play(10**7), play(777))

"""Lower bounds that hold for every arm, also for those the solver has not looked at closely."""

import numpy as np
import pytest

from surepick.design import AllPairs, Listed, complexity, minimax
from surepick.problem import Problem


def many_arms(seed, count=1000, d=10):
    """More arms than are at work from the start, all of one length: any of them may be missing."""
    arms = np.random.default_rng(seed).normal(size=(count, d))
    return arms / np.linalg.norm(arms, axis=1, keepdims=True)


def proved(arms, result, vectors):
    """The bound that the recorded proof gives, over all arms, worked out plainly."""
    lengths = np.einsum("ij,ij->i", result.normals, vectors)
    assert lengths == pytest.approx(np.ones(len(lengths)), rel=1e-6)
    assert result.direction_weights.sum() == pytest.approx(1.0)
    return 1.0 / (result.direction_weights @ (result.normals @ arms.T) ** 2).max()


@pytest.mark.some(3)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rounds", [1, 3, 200])
def test_a_lower_bound_is_proved_against_all_arms(seed, rounds):
    arms = many_arms(seed)
    family = Listed(arms[:4] - arms[4:8]) if seed % 2 else AllPairs(arms[:30])
    result = minimax(arms, family, tol=1e-6, max_rounds=rounds)
    assert result.lower_bound <= proved(arms, result, family.vectors(result.directions)) * (
        1 + 1e-9
    )
    best = minimax(arms, family, tol=1e-6)
    assert result.lower_bound <= best.value * (1 + 1e-9)
    assert best.status == "optimal"


def test_a_rough_solve_errs_on_the_safe_side():
    """D* is rounded up, so that no more pulls are called necessary than are."""
    rng = np.random.default_rng(0)
    seen = []
    for seed in range(5):
        problem, theta = Problem(many_arms(seed, 60, 4), noise=1.0), rng.normal(size=4)
        fine = complexity(problem, theta, tol=1e-8)
        rough = complexity(problem, theta, tol=0.5)
        assert rough.D_star >= fine.D_star * (1 - 1e-7)
        assert rough.lower_bound(0.1) <= fine.lower_bound(0.1) * (1 + 1e-7)
        assert fine.D_star >= rough.D_star / (1 + rough.gap) * (1 - 1e-7)
        seen.append(rough.gap)
    assert max(seen) > 0.05  # rough indeed

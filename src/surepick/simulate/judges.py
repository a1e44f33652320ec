"""Judges whose taste is known, by other models, and where a run ends with one of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from surepick.ahead.judges import Judge, bradley_terry
from surepick.algorithms.pairs.pairs import Pairs, PairsState
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.run.order import Draws, seed_for

__all__ = ["Judge", "bradley_terry", "decided", "thurstone", "with_cycle"]


def decided(algorithm: Pairs, problem: Problem, judge: Judge, seed: int) -> PairsState:
    """Where a run ends with this judge: the same rule as in a run, without its records.

    Examples
    --------
    >>> judge = Judge(bradley_terry([2.0, 0.0, 0.0]), rng=1)
    >>> decided(Pairs(0.05), Problem.pairs(3), judge, seed=1).leader()
    0
    """
    algorithm.check_problem(problem)
    state, batch = algorithm.begin(problem, np.random.default_rng(seed)), 0
    assert isinstance(state, PairsState)
    order = seed_for(algorithm, problem, seed)
    while not state.finished and state.samples < algorithm.sample_limit():
        state.draws = Draws(order, batch)
        pulls = state.propose(algorithm.sample_limit() - state.samples)
        first, second = state.pairing.firsts(pulls.arms), state.pairing.seconds(pulls.arms)
        state.observe(pulls, judge.many(first, second, state.items_of(pulls)))
        batch += 1
    return state


def thurstone(strengths: Sequence[float] | FloatArray) -> FloatArray:
    """Chances by the normal distribution of differences."""
    from scipy.special import ndtr

    s = np.asarray(strengths, dtype=np.float64)
    return ndtr(s[:, None] - s)


def with_cycle(chances: FloatArray, options: Sequence[int], chance: float = 0.7) -> FloatArray:
    """These chances, but each of some options beats the next one, and the last the first.

    Examples
    --------
    >>> Judge(with_cycle(bradley_terry([1, 1, 1, 0]), [0, 1, 2])).winner is None
    True
    """
    found = np.array(chances, dtype=np.float64)
    for one, other in zip(options, [*options[1:], options[0]]):
        found[one, other], found[other, one] = chance, 1 - chance
    return found

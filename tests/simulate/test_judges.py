"""Judges do what they say: chances, position bias, ties, cycles."""

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.errors import InvalidInputError
from surepick.simulate.judges import Judge, bradley_terry, decided, thurstone, with_cycle


def _share(judge, first, second, n=4000):
    return np.mean([judge(first, second) for _ in range(n)])


def test_chances_bias_and_ties():
    fair = Judge(bradley_terry([1.0, 0.0]), rng=1)
    assert _share(fair, 0, 1) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.03)
    left = Judge(bradley_terry([0.0, 0.0]), left=0.65, rng=2)
    assert _share(left, 0, 1) == pytest.approx(0.65, abs=0.03)
    assert _share(left, 1, 0) == pytest.approx(0.65, abs=0.03)
    tied = Judge(bradley_terry([9.0, 0.0]), ties=0.4, rng=3)
    assert _share(tied, 0, 1) == pytest.approx(0.8, abs=0.03)


def test_who_wins():
    assert Judge(thurstone([0.0, 0.3, 0.2])).winner == 1
    assert Judge(thurstone([0.0, 0.3, 0.2]), left=0.9).winner == 1
    assert Judge(with_cycle(bradley_terry([0.0, 0.3, 0.2]), [0, 1, 2])).winner is None
    with pytest.raises(InvalidInputError, match="sum to 1"):
        Judge([[0.5, 0.9], [0.9, 0.5]])


def test_a_run_without_records_ends_where_a_run_does():
    # This judge leaves nothing to chance, so that only the rule decides.
    judge = Judge(np.where(np.eye(5), 0.5, np.triu(np.ones((5, 5)))), rng=1)
    problem = sp.Problem.pairs(5)
    for settings in ({}, {"beats": "most"}, {"items": 3}):
        asked = Pairs(0.05, **settings)
        answer = sp.identify(problem, judge=lambda a, b, *_: float(a < b), algorithm=asked, seed=4)
        by_items = Judge(np.repeat(judge.chances[None], 3, axis=0), rng=1)
        state = decided(asked, problem, by_items if settings.get("items") else judge, 4)
        assert (state.leader(), state.samples) == (answer.arm, answer.samples)


def test_a_judge_whose_taste_depends_on_the_item():
    chances = np.array([bradley_terry([2.0, 0.0]), bradley_terry([-1.0, 0.0])])
    judge = Judge(chances, rng=2)
    won = [np.mean([judge(0, 1, item) for _ in range(200)]) for item in (0, 1)]
    assert won[0] > 0.75 > 0.4 > won[1]
    first = np.zeros(400, dtype=int)
    assert judge.many(first, first + 1, first).mean() > 0.8
    assert judge.winner == 0
    with pytest.raises(InvalidInputError, match="one such table for each item"):
        Judge([0.5])

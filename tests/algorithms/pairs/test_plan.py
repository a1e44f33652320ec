"""Whom to compare: what a plan must do, though no proof needs it."""

import numpy as np

from surepick.algorithms.pairs.pairs import Pairs
from surepick.algorithms.pairs.plan import (
    against_all,
    along_cycle,
    first_pairs,
    likely_cycle,
    shortest_cycle,
)
from surepick.problem import Problem
from surepick.simulate.judges import Judge, bradley_terry, decided, with_cycle


def test_everybody_is_met_first():
    one, other = first_pairs(5, 5)
    assert sorted(one.tolist()) == list(range(5))
    assert (one != other).all()


def test_a_cycle_is_looked_for_where_options_are_beaten_now():
    # 0 was once lucky against 1, far more than enough; by now it is clear that 1 beats it.
    preferred = np.full((4, 4), 0.5)
    for one, other, p in ((1, 0, 0.8), (2, 1, 0.7), (0, 2, 0.9)):
        preferred[one, other], preferred[other, one] = p, 1 - p
    shown = np.zeros((4, 4))
    shown[1, 0], shown[0, 1] = 50.0, 9.0
    assert likely_cycle(preferred, 0) == [0, 1, 2]
    one, other = along_cycle(preferred, shown, 0, 8.0, 4)
    assert set(zip(one.tolist(), other.tolist())) == {(1, 2), (2, 0)}  # 1 is shown to beat 0


def test_a_cycle_is_found_though_somebody_beats_all_of_its_members():
    beats = np.zeros((5, 5), dtype=bool)
    beats[4, :4] = True  # shown most clearly of all, and nobody is shown to beat 4
    for one, other in ((2, 1), (1, 3), (3, 2)):
        beats[one, other] = True
    assert shortest_cycle(beats) == [1, 3, 2]
    beats[3, 2] = False
    assert shortest_cycle(beats) == []


def test_the_last_one_meets_the_hardest_most_often():
    one, other = against_all(1, np.array([3.0, 0.0, 9.0, 1.0]), 5.0, 6)
    assert set(one.tolist()) == {1}
    assert 2 not in other  # whom it has been shown to beat
    assert (other == 3).sum() > (other == 0).sum()


def test_who_was_ruled_out_and_beats_the_leaders_is_met_again():
    # Two near-tied leaders, both beaten by one whom others had beaten: only it can refute them.
    K, seed = 12, 542
    rng = np.random.default_rng([seed, K])
    strengths = np.sort(rng.standard_normal(K))[::-1].copy()
    strengths[0] = strengths[1] + 0.5
    strengths = rng.permutation(strengths)
    top = np.argsort(-strengths)[:3].tolist()
    judge = Judge(with_cycle(bradley_terry(strengths), top, 0.8), rng=rng)
    state = decided(Pairs(0.05, confirm=True, max_samples=9000), Problem.pairs(K), judge, seed)
    assert state.samples < 2000
    assert sorted(state.circle()) == sorted(top)

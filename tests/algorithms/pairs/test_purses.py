"""Purses of options that are compared two at a time: fair where the option is the answer."""

import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.algorithms.pairs.purses import (
    Comparisons,
    Everyone,
    Most,
    Record,
    _log_average,
)
from surepick.proof.accepting import ACCEPTING, RACING
from surepick.statistics.strengths import fit_strengths


def _settled(kind, blocks, K, epsilon=0.0):
    purses, record, here = kind(K, epsilon), Record(K), np.ones(K, dtype=bool)
    for first, second, result, served in blocks:
        columns = (np.array(first), np.array(second), np.array(result, float), np.array(served))
        block = Comparisons(*columns)
        purses.settle(block, record, fit_strengths(record.counts, record.sums), here)
        record.add(block)
    return purses


def _capital(purses, x):
    """What W_x is now, not the most that it was."""
    weights = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
    if isinstance(purses, Everyone):
        return float(weights @ np.exp(purses.pairs[x].sum(axis=0)))
    each = np.exp(np.delete(purses.pairs[x], x, axis=0)) @ weights
    return 0.5 * float(weights @ np.exp(purses.leads[x])) + 0.5 * float(each.mean())


def test_the_purse_of_who_ties_with_everyone_is_worth_one_on_average():
    # Three options, all alike: all results of two blocks, each as likely as any other. Factors of
    # comparisons with different rivals multiply, and stakes of the second block follow the first.
    first, second = [0, 1, 2], [1, 2, 0]
    worth = []
    for results in itertools.product([0.0, 1.0], repeat=6):
        blocks = [(first, second, results[:3], first), (second, first, results[3:], second)]
        purses = _settled(Everyone, blocks, 3)
        worth.append([_capital(purses, x) for x in range(3)])
    assert np.mean(worth, axis=0) == pytest.approx(np.ones(3), abs=1e-12)


def test_ties_are_half_a_win_for_each():
    half = _settled(Everyone, [([0], [1], [0.5], [0])] * 5, 2)
    assert half.pairs.any() == False  # noqa: E712 (every entry is exactly 0)


@pytest.mark.parametrize("K", [2, 3])
def test_in_wins_most_a_comparison_serves_one_option_only(K):
    # All alike. Each option is served twice in each of two blocks, with every opponent as likely
    # as any other and every result as likely as not. Were both served by each comparison, the
    # mean would be far above 1: of two options, y of one is 1 − y of the other.
    served = list(range(K)) * (2 if K == 2 else 1)
    others = [[o for o in range(K) if o != x] for x in served]
    worth = []
    n = 2 * len(served)
    for results in itertools.product([0.0, 1.0], repeat=n):
        half = len(served)
        second = [opponents[0] for opponents in others]
        blocks = [
            (served, second, results[:half], served),
            (served, second, results[half:], served),
        ]
        worth.append([_capital(_settled(Most, blocks, K), x) for x in range(K)])
    assert np.mean(worth, axis=0) == pytest.approx(np.ones(K), abs=1e-12)


@pytest.mark.parametrize("kind", [Everyone, Most])
def test_closeness_is_fair_where_the_other_is_just_too_much_better(kind):
    # x = 1 is preferred to c = 0 with probability ½ + ε (for "wins most": ε apart on average).
    epsilon, worth = 0.1, 0.0
    p = 0.5 - epsilon if kind is Everyone else 0.5 - epsilon / 2  # that 0 is preferred to 1
    for results in itertools.product([0.0, 1.0], repeat=4):
        wins = sum(results)
        chance = p**wins * (1 - p) ** (4 - wins)
        served = [0, 1, 0, 1]
        first = [0, 0, 0, 0]
        blocks = [
            (first[:2], [1, 1], results[:2], served[:2]),
            (first[2:], [1, 1], results[2:], served[2:]),
        ]
        purses = _settled(kind, blocks, 2, epsilon)
        weights = np.array([0.5, 0.125, 0.125, 0.125, 0.125])
        worth += chance * float(weights @ np.exp(purses.near[0, 1]))
    assert worth == pytest.approx(1.0, abs=1e-12)


def test_beats_everyone_needs_every_rival_also_those_ruled_out():
    purses = Everyone(3, 0.0)
    purses.pair_peaks[1, 0], purses.pair_peaks[2, 0] = math.log(3 / 0.05) + 0.01, math.log(2 / 0.05)
    assert not purses.shown(0, 0.05)
    purses.pair_peaks[2, 0] = math.log(3 / 0.05) + 0.01
    assert purses.shown(0, 0.05)
    assert not purses.arrows(0.05).any()  # each arrow of a cycle takes K (K − 1)/δ
    purses.pair_peaks[1, 0] = math.log(6 / 0.05)
    assert np.argwhere(purses.arrows(0.05)).tolist() == [[0, 1]]


def _trial(gap, seed, **settings):
    rng = np.random.default_rng(seed)
    strength = np.sort(rng.standard_normal(12))[::-1]
    strength[0] = strength[1] + gap

    def judge(first, second):
        return float(rng.random() < 1 / (1 + math.exp(strength[second] - strength[first])))

    found = {"confirm": False} | settings
    return sp.identify(sp.Problem.pairs(12), judge=judge, seed=seed, **found)


def test_as_few_comparisons_as_one_purse_takes():
    # With one purse averaged over rivals instead it is 397 comparisons, with all pairs thousands.
    answers = [_trial(1.0, seed) for seed in range(8)]
    assert [answer.arm for answer in answers] == [0] * 8
    assert np.mean([answer.samples for answer in answers]) < 1.25 * 276


def test_a_newcomer_begins_with_the_least_and_who_goes_takes_evidence_along():
    inside = np.ones(3, dtype=bool)
    blocks = [([0, 1, 2, 0], [1, 2, 0, 1], [1.0, 1.0, 0.0, 1.0], [0, 1, 2, 0])] * 6
    purses = _settled(Everyone, blocks, 3)
    held = purses._held()
    assert held[0].max() <= 0.0 < held[2].max()  # 0 wins all: its accounts lose or stay
    purses.enter(1, inside)
    assert purses._held()[3] == pytest.approx(np.minimum(0.0, held[:3].min(axis=0)))
    assert purses._held()[:3] == pytest.approx(held)
    inside = np.ones(4, dtype=bool)
    purses.leave(2, inside)  # against whom most was held
    assert (purses._held() <= purses.floor + 1e-12).all()
    assert (purses._held()[:3] <= held + 1e-12).all()
    # However options come and go, nobody gets a second chance.
    before = purses.floor
    for _ in range(5):
        purses.enter(1, inside)
        inside = np.append(inside, True)
        purses.leave(purses.K - 1, inside)
        assert (purses.floor <= before + 1e-12).all()
        assert purses.peaks.max() <= 0.0


def test_with_epsilon_racing_and_accepting_share_delta():
    from surepick.algorithms.pairs.pairs import Pairs
    from surepick.algorithms.pairs.purses import accepted

    state = Pairs(0.2, epsilon=0.1).start(sp.Problem.pairs(3), 1).state
    nothing = state._pulls(np.array([0]))
    goal = 1.0 / (RACING * 0.2)
    state.purses.peaks = np.log([0.99 * goal, 1.01 * goal, 1.0])
    state.observe(nothing, np.array([0.5]))
    assert state.inside.tolist() == [True, False, True]
    for capital, fine in ((4.9, False), (5.1, True)):  # 1/δ = 5
        state.purses.near_peaks = np.full((3, 3), math.log(capital))
        assert accepted(state.purses, state.inside, 0.2).tolist() == [fine, False, fine]


def test_of_what_is_left_for_accepting_everybody_has_a_share_beside_what_is_bet_at_that_time():
    held, near = np.log([2.0, 1.0, 8.0]), np.log(np.full((3, 3), 40.0))
    both = np.exp(Everyone(3, 0.1)._settled_beside(held, near))  # rows: who is named
    assert both[0] == pytest.approx(RACING * np.exp(held) + ACCEPTING / 2 * 40.0)
    # Two largest values of different times are not added up.
    purses = Everyone(3, 0.1)
    fitted = fit_strengths(np.zeros((3, 3)), np.zeros((3, 3)))
    seen = purses.near_peaks
    for first, second, result in [(0, 2, 0.0)] * 3 + [(0, 2, 1.0)] * 4 + [(1, 0, 1.0)] * 2:
        columns = (np.array([column]) for column in (first, second, result, first))
        purses.settle(Comparisons(*columns), Record(3), fitted, np.ones(3, dtype=bool))
        held, near = _log_average(purses._held()), _log_average(purses.near)
        seen = np.maximum(seen, purses._settled_beside(held, near))
    assert purses.near_peaks == pytest.approx(seen)


def test_in_a_cycle_one_left_is_no_proof_that_it_beats_every_single_one():
    # One of three in a cycle is left rightly: it has to be shown against every single other one.
    purses = Everyone(3, 0.0)
    purses.pair_peaks[:, 0] = [0.0, 9.0, math.log(3 / 0.05) - 0.01]
    assert not purses.shown(0, 0.05)
    purses.pair_peaks[2, 0] += 0.02
    assert purses.shown(0, 0.05)


def test_one_of_two_that_win_most_is_worth_at_most_one_on_average():
    # 0 is far ahead, 1 and 2 are alike, and two are asked for: both are the second. Averaged over
    # all rivals, the bets on 0 alone would rule out the other one of the two.
    chance = {0: 0.9, 1: 0.5, 2: 0.5}
    served, others = [0, 1, 2], [1, 2, 0]
    worth, over_all = np.zeros(3), np.zeros(3)
    for results in itertools.product([0.0, 1.0], repeat=6):
        likely = math.prod(
            chance[x] if y else 1 - chance[x] for x, y in zip(2 * served, results, strict=True)
        )
        purses = Most(3, 0.0, 2)
        record, here = Record(3), np.ones(3, dtype=bool)
        for part in (results[:3], results[3:]):
            block = Comparisons(*map(np.array, (served, others, part, served)))
            purses.settle(block, record, fit_strengths(record.counts, record.sums), here)
            record.add(block)
        worth += likely * np.exp(purses._held())
        over_all += likely * np.array([_capital(purses, x) for x in range(3)])
    assert (worth[1:] <= 1 + 1e-12).all()
    assert (over_all[1:] > 1.05).all()


def test_m_that_win_most_share_delta():
    state = Pairs(0.2, beats="most", top=3, epsilon=0.1).start(sp.Problem.pairs(5), 1).state
    assert state._goal == pytest.approx(math.log(3 / (RACING * 0.2)))
    for capital, fine in ((14.9, False), (15.1, True)):  # m/δ = 15
        state.purses.near_peaks = np.full((5, 5), math.log(capital))
        assert (len(state.accepted) == 3) == fine

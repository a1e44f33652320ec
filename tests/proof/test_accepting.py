"""The capital for ruling options out, and for accepting one that is close enough."""

import itertools
import math

import numpy as np
import pytest

from surepick.proof import accepting
from surepick.verifier import formulas as twin


def test_all_shares_together_are_at_most_the_whole_capital():
    assert accepting.for_racing(0.0) == 0.0
    for several in (1, 3):
        shares = [
            math.exp(math.log(accepting.ACCEPTING) + accepting.of_leader(k, several))
            for k in range(20_000)
        ]
        whole = math.exp(accepting.for_racing(0.1)) + several * sum(shares) / several
        assert 1.0 - 1e-3 < whole <= 1.0 + 1e-12


def test_where_nobody_is_near_it_hardly_costs_anything():
    for delta in (0.05, 0.01):
        assert -accepting.for_racing(0.1) <= 0.02 * math.log(1 / delta)


def test_the_verifier_knows_the_same_shares():
    assert accepting.for_racing(0.1) == pytest.approx(twin.RACING)
    for number, several in ((0, 1), (1, 1), (5, 3)):
        mine = math.log(accepting.ACCEPTING) + accepting.of_leader(number, several)
        assert twin.ACCEPTING + twin.of_leader(number, several) == pytest.approx(mine)


def test_both_kinds_of_capital_count_together_at_one_moment():
    racing, close = np.log([4.0, 1.0]), np.log([5.0, 0.5])
    assert accepting.together(racing, close, np).tolist() == pytest.approx(np.log([9.0, 1.5]))
    assert twin.beside(racing, close).tolist() == pytest.approx(np.log([9.0, 1.5]))


def _expected(moment, stakes, kept=1 - accepting.MOVED, rounds=9):
    """What all capital is worth at the end on average, over all ways in which fair coins can fall.

    Heads speak against the best, tails for one that is too far below it, as if it were close; bets
    on tails begin when ``moment`` says so, by all that was seen.
    """
    found = []
    for coins in itertools.product((1, -1), repeat=rounds):
        held, behind, close = 1.0, 0.0, 1.0
        for t, coin in enumerate(coins):
            held *= 1 + stakes[0] * coin
            close *= 1 - stakes[1] * coin
            if not behind and moment(coins[: t + 1], held):
                behind, held, close = accepting.MOVED * held, kept * held, 1.0
        found.append(held + behind * close * math.exp(accepting.of_leader(0)))
    return sum(found) / len(found)


@pytest.mark.parametrize(
    "moment",
    [
        lambda seen, held: False,
        lambda seen, held: len(seen) == 1,
        lambda seen, held: held >= 2.0,  # when the best looks worst
        lambda seen, held: held <= 0.5,  # when it looks best
        lambda seen, held: seen[-3:] == (1, 1, -1),
    ],
)
def test_whenever_it_is_accepted_all_capital_together_is_expected_to_be_no_more(moment):
    for stakes in ((0.5, 0.5), (0.9, 0.9), (0.3, 0.9)):
        assert _expected(moment, stakes) <= 1.0 + 1e-12


def test_what_is_behind_closeness_has_to_be_taken_from_what_rules_out():
    assert _expected(lambda seen, held: len(seen) == 3, (0.5, 0.5), kept=1.0) > 1.2


def test_newcomers_and_those_left_behind_have_no_more_behind_them():
    for make in (lambda: accepting.Shares(0.0), lambda: twin.Shares(0.0, 3)):
        shares = make()
        shares.accept(np.log([4.0, 1.0, 0.5]))
        assert np.exp(shares.behind).tolist() == pytest.approx([2.0, 0.5, 0.25])
        assert math.exp(shares.racing) == pytest.approx(0.5)
        shares.accept(np.log([4.0, 1.0, 0.5]))  # once more: what rules out by now is half as much
        assert np.exp(shares.behind).tolist() == pytest.approx([1.0, 0.25, 0.125])
        shares.leave(1)
        assert np.exp(shares.behind).tolist() == pytest.approx([0.25, 0.25, 0.125])
    mine = accepting.Shares(0.0)
    mine.accept(np.log([4.0, 1.0]))
    mine.enter(1, np.array([True, True]))
    assert math.exp(mine.behind[2]) == pytest.approx(0.5)
    theirs = twin.Shares(0.0, 3)
    theirs.accept(np.log([4.0, 1.0, 77.0]))
    theirs.enter(np.array([2]), np.array([True, True, False]))
    assert theirs.behind.tolist() == pytest.approx(mine.behind.tolist())

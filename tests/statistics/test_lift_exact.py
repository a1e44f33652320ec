"""Intervals for leads over a control promise no more than their bets prove, worked out exactly.

The smallest level at which an interval leaves a lead out says what was won against this lead: two
over that level. That must be 1 before anything is seen, its mean must be 1 where each rate is the
one that was predicted, and at most 1 whatever the rates are. Means are taken over every way in
which periods can turn out.
"""

import itertools
import math

import numpy as np
import pytest

from surepick.statistics.lift import Lifts, Sums

FIRST = Sums(np.array([20.0, 30.0]), np.array([9.0, 12.0]), np.array([3.0, 4.0]))
SECOND = Sums(np.array([40.0, 50.0]), np.array([12.0, 31.0]), np.array([7.0, 9.0]))
SIDES = (1.0, -1.0)  # refuted as too small a lead, as too large a one
YES_NO = (0.0, 1.0)


def after(*periods, yes_no=True, control=0):
    lifts = Lifts(2, control, 0.0, 1.0, yes_no)
    for period in periods:
        lifts.add(period)
    return lifts


def won(lifts, lead, sign, place=1):
    """Against this lead: the average of what every stake won."""
    side = 0 if sign > 0 else 1
    logs = lifts._paid[side, :, place] - sign * lead * lifts._staked[side, :, place]
    return float(np.exp(logs).mean())


def left_out_at(lifts, lead, sign, place=1):
    """The same, by the intervals alone."""

    def left_out(log):
        low, high = lifts.intervals(2.0 / math.exp(log))
        return bool(low[place] >= lead if sign > 0 else high[place] <= lead)

    yes, no = -15.0, 15.0
    for _ in range(24):
        middle = 0.5 * (yes + no)
        yes, no = (middle, no) if left_out(middle) else (yes, middle)
    return math.exp(yes)


def turns(counts, rates, values=YES_NO):
    """Every way in which a period with these rewards can turn out, and how likely it is."""
    low, high = values
    for rewards in itertools.product(*(itertools.product(values, repeat=n) for n in counts)):
        likely, columns = 1.0, []
        for own, rate in zip(rewards, rates):
            p = (rate - low) / (high - low)
            likely *= math.prod(p if y == high else 1.0 - p for y in own)
            columns.append((len(own), sum(own), len(own) * float(np.var(own))))
        yield likely, Sums(*(np.array(column, dtype=float) for column in zip(*columns)))


def mean_won(before, counts, rates, sign, yes_no=True, values=YES_NO):
    lead = rates[1] - rates[0]
    return sum(
        likely * won(after(*before, period, yes_no=yes_no), lead, sign)
        for likely, period in turns(counts, rates, values)
    )


@pytest.mark.parametrize("yes_no", [True, False])
@pytest.mark.parametrize("periods", [(), (FIRST,), (FIRST, SECOND)])
def test_a_lead_is_left_out_at_the_level_of_what_was_won_against_it(yes_no, periods):
    lifts = after(*periods, yes_no=yes_no)
    for sign, lead in itertools.product(SIDES, (-0.15, 0.02, 0.4)):
        due = won(lifts, lead, sign)
        assert left_out_at(lifts, lead, sign) == pytest.approx(due, rel=1e-4)
        if len(periods) < 2:  # nothing is bet on the first
            assert due == 1.0


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("counts", [(2, 3), (4, 1)])
def test_the_mean_is_one_where_rates_are_those_predicted(counts, sign):
    rates = after(FIRST)._predicted()
    assert mean_won([FIRST], counts, rates, sign) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("rates", [(0.5, 0.5), (0.02, 0.1), (0.9, 0.3), (0.35, 0.97)])
def test_the_mean_is_at_most_one_whatever_the_rates(rates, sign):
    assert 0.5 < mean_won([FIRST], (3, 2), rates, sign) <= 1.0 + 1e-9


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("values", [YES_NO, (0.25, 0.5), (0.3, 1.0)])
def test_rewards_between_bounds_have_a_mean_of_at_most_one(values, sign):
    for shares in ((0.5, 0.5), (0.1, 0.8)):
        rates = [values[0] + (values[1] - values[0]) * share for share in shares]
        found = mean_won([FIRST], (2, 3), rates, sign, False, values)
        assert 0.5 < found <= 1.0 + 1e-9


@pytest.mark.parametrize("yes_no", [True, False])
@pytest.mark.parametrize("sign", SIDES)
def test_so_it_is_after_two_and_three_periods(sign, yes_no):
    """The level of a period may follow from those before it; the lead stays."""
    lead = 0.1

    def mean(periods, left):
        lifts = after(*periods, yes_no=yes_no)
        if not left:
            return won(lifts, lead, sign)
        level = min(float(lifts._predicted()[0]), 0.9)
        found = turns((1, 1), (level, level + lead))
        return sum(likely * mean([*periods, period], left - 1) for likely, period in found)

    for left in (2, 3):
        assert 0.9 < mean([FIRST], left) <= 1.0 + 1e-9


@pytest.mark.parametrize("yes_no", [True, False])
def test_ends_mirror(yes_no):
    """Every reward the other way round, or the control and the option in each other's places."""
    opposite = [Sums(n, n - total, spread) for n, total, spread in (FIRST, SECOND)]
    lifts, turned = after(FIRST, SECOND, yes_no=yes_no), after(*opposite, yes_no=yes_no)
    swapped = after(FIRST, SECOND, yes_no=yes_no, control=1)
    for other, place in ((turned, 1), (swapped, 0)):
        assert lifts.estimates()[1] == pytest.approx(-other.estimates()[place])
        for level in (0.01, 0.2, 1.0):
            (low, high), (lowest, highest) = lifts.intervals(level), other.intervals(level)
            assert low[1] == pytest.approx(-highest[place], abs=1e-9)
            assert high[1] == pytest.approx(-lowest[place], abs=1e-9)


@pytest.mark.parametrize("yes_no", [True, False])
def test_stakes_do_not_see_their_own_period(yes_no):
    counts, staked = np.array([30.0, 25.0]), []
    for hits in ([2.0, 20.0], [28.0, 1.0], [15.0, 12.0]):
        sums = np.array(hits)
        period = Sums(counts, sums, sums * (1 - sums / counts))
        staked.append(after(FIRST, period, yes_no=yes_no)._staked)
    np.testing.assert_array_equal(staked[1], staked[0])
    np.testing.assert_array_equal(staked[2], staked[0])
    assert (staked[0][:, :, 1] > 0).all()


def test_what_rounding_may_have_added_is_taken_off(monkeypatch):
    """Rewards far from zero: allowing for rounding, an interval is wider on both sides."""
    offset, ends = 1e12, []
    periods = [
        Sums(n, n * offset + np.floor(total), spread) for n, total, spread in (FIRST, SECOND)
    ]
    for allowed in (True, False):
        if not allowed:
            monkeypatch.setattr(Lifts, "_rounding", lambda self, n: 0.0 * n)
        lifts = Lifts(2, 0, offset, offset + 1.0, False)
        for period in periods:
            lifts.add(period)
        ends.append([end[1] for end in lifts.intervals(0.5)])
    (low, high), (inner_low, inner_high) = ends
    assert low < inner_low - 1e-4
    assert high > inner_high + 1e-4

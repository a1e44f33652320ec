"""What blocks pay, for claims and for intervals of leads, worked out exactly.

Capital is 1 before anything is bet, and its mean at the true lead is 1 or less: for yes and no over
every way in which blocks can turn out, for symmetric noise over all signs, for normal noise by
quadrature. An interval leaves out what the capital of its level speaks against, and nothing else.
"""

import copy
import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.pulls import Pulls
from surepick.proof.payoffs.paired_kernels import paired_bounded_payoffs

SIDES = (1.0, -1.0)  # that the lead is larger, that it is smaller
KINDS = {"known": 1.0, "symmetric": None, "equal": "equal", "yes-no": "yes-no", "bounded": (0, 1)}


def tell(state, rewards):
    """A block with these rewards of each arm."""
    counts, unit = np.array([len(own) for own in rewards]), state.problem.unit
    dealt = state.ways.parts == "own"
    pulls = Pulls.in_own_parts(counts, 32) if dealt else Pulls.from_counts(counts)
    sums, spreads, place = [], [], dict.fromkeys(range(len(counts)), 0)
    for arm, n in zip(pulls.arms.tolist(), pulls.counts.tolist()):
        own = np.array(rewards[arm][place[arm] : place[arm] + n]) / unit
        place[arm] += n
        sums.append(own.sum())
        spreads.append(((own - own.mean()) ** 2).sum())
    state.observe_spread(pulls, np.array(spreads))
    state.observe(pulls, np.array(sums))
    return state


def after(start, *blocks):
    state = copy.deepcopy(start)
    for rewards in blocks:
        tell(state, rewards)
    return state


def begun(kind, first, arms=2, **asked):
    """A run of which one block is there: by it stakes are made, and nothing is bet on it."""
    asked = asked or {"baseline": 0}
    problem = sp.Problem(np.eye(arms), noise=KINDS.get(kind, kind))
    state = sp.algorithms.PooledPeleg(0.05, **asked).begin(problem, np.random.default_rng(0))
    return tell(state, first)


def won(state, lead, sign):
    """By what intervals are made of: against "the lead of the second over the first is this"."""
    shift = np.full(len(state.problem.distinct), lead / state.problem.unit)
    return math.exp(state.question.lifts._log_capital(sign, shift)[1])


def claimed(state, sign):
    """By what claims are made of: against "not better" or "not worse"."""
    return math.exp(state.question.sides()[0 if sign > 0 else 1, 1])


def normal_nodes(reach=9.0, n=61):
    """Nodes and weights for a standard normal number: this many digits for smooth functions."""
    z = np.linspace(-reach, reach, n)
    return z, np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) * (z[1] - z[0])


def around(mean, n, spread=0.3):
    """n rewards with this mean, which differ."""
    return [mean + spread * (2 * i - n + 1) / n for i in range(n)]


FIRST = [around(0.2, 6), around(0.5, 6)]


# -- normal noise -----------------------------------------------------------------------------
@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("counts", [(3, 3), (2, 9)])
def test_with_a_known_scale_the_mean_is_one(counts, sign):
    start, error = begun("known", FIRST), math.sqrt(sum(1 / n for n in counts))
    means = {0.0: [0.0, 0.0], 0.7: [0.0, 0.0]}
    for lead, total in means.items():
        for z, weight in zip(*normal_nodes()):
            state = after(start, [[0.0] * counts[0], [lead + error * z] * counts[1]])
            total[0] += weight * won(state, lead, sign)
            total[1] += weight * claimed(state, sign)
    assert [means[0.0][0], means[0.7][0]] == pytest.approx([1.0, 1.0], abs=1e-6)
    assert means[0.0][1] == pytest.approx(1.0, abs=1e-6)  # tied with the baseline
    wrong = means[0.7][1]  # the claim that is true pays, the other one does not
    assert wrong > 1.0 if sign > 0 else wrong < 1.0


def test_with_a_known_scale_two_blocks_multiply():
    start, (nodes, weights) = begun("known", FIRST), normal_nodes(8.0, 21)
    error, found = math.sqrt(2 / 3), np.zeros(4)
    for (y, v), (z, w) in itertools.product(zip(nodes, weights), repeat=2):
        state = after(start, [[0.0] * 3, [error * y] * 3], [[1.0] * 3, [1.0 + error * z] * 3])
        found += (
            v * w * np.array([f for s in SIDES for f in (won(state, 0.0, s), claimed(state, s))])
        )
    assert found == pytest.approx(np.ones(4), abs=1e-4)


@pytest.mark.parametrize("sign", SIDES)
def test_with_one_unknown_scale_the_mean_is_one_for_claims_and_less_for_intervals(sign):
    """q = z / √(z² + RSS) is all that counts; its density is (1 − q²)^(ν/2 − 1), up to a factor."""
    start, n = begun("equal", FIRST), 4
    freedom = 2 * n - 2
    nodes, weights = np.polynomial.legendre.leggauss(40)
    density = (1 - nodes**2) ** (0.5 * freedom - 1)
    weights = weights * density / (weights @ density)
    noise = np.array([1.0, -1.0, 1.0, -1.0])  # a sum of squares of 4 for each arm
    found = np.zeros(2)
    for q, weight in zip(nodes, weights):
        z = q / math.sqrt(1 - q * q) * math.sqrt(8.0)
        state = after(start, [noise, noise + z / math.sqrt(n / 2)])
        found += weight * np.array([won(state, 0.0, sign), claimed(state, sign)])
    assert found[1] == pytest.approx(1.0, abs=1e-6)
    assert 0.9 < found[0] <= 1.0


# -- symmetric noise --------------------------------------------------------------------------
@pytest.mark.some(4)
@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("scale", [0.05, 0.4, 5.0])
def test_over_all_signs_the_mean_is_at_most_one(scale, sign):
    """The largest of what is won against any lead beyond the true one: nothing else is needed."""
    start, sizes, lead = begun("symmetric", FIRST), np.array([1.0, 0.3, 2.0, 0.7]), 0.4
    beyond = lead + sign * np.concatenate([[0.0], np.geomspace(1e-3, 30.0, 25)])
    most, exactly, by_claims = [], [], []
    for signs in itertools.product((1.0, -1.0), repeat=4):
        noise = scale * sizes * signs
        state = after(start, [np.zeros(4), lead + noise])
        most.append(max(won(state, at, sign) for at in beyond))
        exactly.append(won(state, lead, sign))
        by_claims.append(claimed(after(start, [np.zeros(4), noise]), sign))
    assert np.mean(most) <= 1.0 + 1e-9
    assert np.mean(exactly) > (0.9 if scale < 1 else 0.1)
    assert np.mean(by_claims) == pytest.approx(1.0, abs=1e-9)


# -- rewards between bounds -------------------------------------------------------------------
def turns(counts, rates, values=(0.0, 1.0)):
    """Every way in which a block can turn out, and how likely it is."""
    low, high = values
    for rewards in itertools.product(*(itertools.product(values, repeat=n) for n in counts)):
        likely = 1.0
        for own, rate in zip(rewards, rates):
            p = (rate - low) / (high - low)
            likely *= math.prod(p if y == high else 1.0 - p for y in own)
        yield likely, rewards


YES_NO = [[0.0, 1.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 1.0, 0.0]]


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("counts", [(3, 2), (1, 4)])
def test_with_yes_and_no_the_mean_is_one_where_rates_are_those_predicted(counts, sign):
    start = begun("yes-no", YES_NO)
    rates = start.suggested.scales.means * start.problem.unit
    found = sum(
        p * won(after(start, y), rates[1] - rates[0], sign) for p, y in turns(counts, rates)
    )
    assert found == pytest.approx(1.0, abs=1e-9)
    for rates in ((0.5, 0.5), (0.1, 0.3), (0.95, 0.2)):
        lead = rates[1] - rates[0]
        both = [(p, after(start, y)) for p, y in turns(counts, rates)]
        assert 0.5 < sum(p * won(state, lead, sign) for p, state in both) <= 1.0 + 1e-9
        if lead * sign <= 0:
            assert sum(p * claimed(state, sign) for p, state in both) <= 1.0 + 1e-9


@pytest.mark.parametrize("sign", SIDES)
def test_with_yes_and_no_it_stays_so_over_two_and_three_blocks(sign):
    def mean(state, left):
        if not left:
            return won(state, -0.1, sign)
        level = min(max(float(state.suggested.scales.means[0]) * state.problem.unit, 0.1), 0.9)
        found = turns((1, 1), (level, level - 0.1))
        return sum(p * mean(after(state, y), left - 1) for p, y in found)

    start = begun("yes-no", YES_NO)
    assert 0.9 < mean(start, 2) <= 1.0 + 1e-9
    assert 0.9 < mean(start, 3) <= 1.0 + 1e-9


@pytest.mark.parametrize("sign", SIDES)
@pytest.mark.parametrize("values", [(0.0, 1.0), (0.2, 0.5)])
def test_between_bounds_the_mean_is_at_most_one(values, sign):
    start = begun("bounded", [around(0.4, 5), around(0.6, 5)])
    for shares in ((0.5, 0.5), (0.2, 0.7), (0.9, 0.4)):
        rates = [values[0] + (values[1] - values[0]) * share for share in shares]
        lead = rates[1] - rates[0]
        both = [(p, after(start, y)) for p, y in turns((2, 2), rates, values)]
        assert 0.5 < sum(p * won(state, lead, sign) for p, state in both) <= 1.0 + 1e-9
        if lead * sign <= 0:
            assert sum(p * claimed(state, sign) for p, state in both) <= 1.0 + 1e-9


@pytest.mark.parametrize("width", [1.0, 4.0])
@pytest.mark.parametrize("stake", [0.2, 1.0, 50.0])
def test_on_items_the_mean_is_one_however_far_bounds_are_apart(width, stake):
    """Two options that answer each item alike in law: all answers to three items."""
    both, counts = np.array([0, 1]), np.array([3, 3])
    stakes, nothing = np.full((1, 1, 1, 2), [stake, 2 * stake]), np.zeros((1, 1))
    paid = []
    for answers in itertools.product((-1.0, width - 1.0), repeat=6):
        table = np.array(answers).reshape(2, 3)
        told = np.ones((1, 1))
        facts = (both[:1], both[1:], counts, table, told, nothing, stakes, width)
        paid.append(math.exp(paired_bounded_payoffs(*facts)[0, 0, 0]))
    assert np.mean(paid) == pytest.approx(1.0, abs=1e-12)
    assert min(paid) > 0.0


# -- intervals ----------------------------------------------------------------------------------
def some_blocks(kind):
    if kind == "yes-no":
        return YES_NO, [[1.0, 0.0, 0.0, 1.0] * 3, [1.0, 1.0, 1.0, 0.0] * 3]
    return FIRST, [around(0.3, 12, 0.2), around(0.7, 12, 0.2)]


@pytest.mark.parametrize("kind", KINDS)
def test_capital_is_one_before_anything_is_bet(kind):
    start = begun(kind, some_blocks(kind)[0])
    assert start.question.lifts.interval(0.9).low[1] == -math.inf
    assert start.question.lifts.interval(0.9).high[1] == math.inf
    for sign in SIDES:
        assert claimed(start, sign) == pytest.approx(1.0)
    silent = after(start, [[], some_blocks(kind)[1][1]])  # nothing of the baseline: no comparison
    for sign in SIDES:
        assert won(silent, 0.1, sign) == pytest.approx(1.0)
        assert claimed(silent, sign) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_lead_is_left_out_where_its_capital_is_two_over_the_level(kind):
    first, *rest = some_blocks(kind)
    state = after(begun(kind, first), *rest, *rest)
    lifts, unit = state.question.lifts, state.problem.unit
    for alpha in (0.9, 0.3, 0.05):
        low, high = (end[1] * unit for end in lifts.interval(alpha))
        assert low < 0.4 < high
        for end, sign in ((low, 1.0), (high, -1.0)):
            if math.isfinite(end):
                assert won(state, end, sign) == pytest.approx(2.0 / alpha, rel=5e-3)
                inside, outside = end + sign * 1e-3, end - sign * 1e-3
                for lead, due in ((inside, False), (outside, True)):
                    leads = np.full(2, lead / unit)
                    assert lifts.missing(leads, alpha)[1] == due
    assert math.isfinite(lifts.interval(0.9).low[1])


@pytest.mark.parametrize("kind", KINDS)
def test_ends_mirror(kind):
    """Rewards the other way round turn intervals and claims round."""
    first, *rest = some_blocks(kind)
    sign, level = (-1.0, 1.0) if kind in ("yes-no", "bounded") else (-1.0, 0.0)

    def turned(rewards):
        return [[level + sign * y for y in own] for own in rewards]

    mine = after(begun(kind, first), *rest)
    other = after(begun(kind, turned(first)), *map(turned, rest))
    low, high = mine.question.lifts.interval(0.8)
    lowest, highest = other.question.lifts.interval(0.8)
    assert low[1] == pytest.approx(-highest[1], abs=1e-4)
    assert high[1] == pytest.approx(-lowest[1], abs=1e-4)
    np.testing.assert_allclose(
        mine.question.sides()[:, 1], other.question.sides()[::-1, 1], atol=1e-9
    )
    for lead in (-0.3, 0.1, 0.6):
        assert won(mine, lead, 1.0) == pytest.approx(won(other, -lead, -1.0), rel=1e-9)

"""Levels are what they are said to be: p-values, ends of intervals whoever leads, and misfit."""

import itertools
import math

import numpy as np
import pytest
from tests.algorithms.pooled.test_exact import after, around, begun, tell

import surepick as sp
from surepick.algorithms.pooled.leaders import Leaders
from surepick.proof.payoffs.stakes import ACCOUNTS, PRECISIONS

KINDS = {"known": 1.0, "symmetric": "symmetric", "equal": "equal"}


# -- p-values -----------------------------------------------------------------------------------
MEANS = [0.0, 0.5, 0.8, -0.5]
ASKED = [{"top": 1}, {"top": 1, "epsilon": 0.3}, {"top": 2}, {"top": 2, "epsilon": 0.3}]
ASKED += [{"baseline": 0}]


def some_state(delta, asked):
    problem = sp.Problem(np.eye(4), noise=1.0)
    state = sp.algorithms.PooledPeleg(delta, **asked).begin(problem, np.random.default_rng(0))
    for _ in range(3):
        tell(state, [around(mean, 12) for mean in MEANS])
    return state


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_who_is_decided_at_a_level_has_a_p_value_of_at_most_this_level(asked):
    """And who is not has a larger one: levels just above and just below a p-value tell."""
    values = some_state(1e-9, asked).question.p_values()
    place = 3  # far behind
    assert 1e-9 < values[place] < 0.9
    for delta, decided in ((values[place] * 1.001, True), (values[place] * 0.999, False)):
        if "baseline" in asked:
            # one pair alone, on both sides: twice the level of each (of a study that goes on: at
            # this level all claims may be made before the last block, which then counts no more)
            sides = some_state(1e-9, asked).question.sides()
            shown = (sides[:2, place] >= math.log(2.0 / delta)).any()
        else:
            shown = some_state(delta, asked).question.dropped_at[place] > 0
        assert bool(shown) == decided


@pytest.mark.parametrize("asked", ASKED, ids=str)
def test_before_anything_is_bet_every_p_value_is_one(asked):
    state = begun("known", [around(mean, 12) for mean in MEANS], 4, **asked)
    assert state.question.p_values().tolist() == [1.0] * 4


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
def test_doubts_are_p_values_of_what_decides(epsilon):
    """By whichever account has more, ruling out or being close: not by both together."""
    asked = {"top": 1, "epsilon": epsilon}
    values = some_state(1e-9, asked).question.doubts()
    for place in (3,) if epsilon else (1, 3):
        assert 1e-9 < values[place] < 0.9
        for delta, decided in ((values[place] * 1.001, True), (values[place] * 0.999, False)):
            question = some_state(delta, asked).question
            assert question.best == 2
            shown = question.dropped_at[place] > 0 or question.closeness.shown(2)[place]
            assert bool(shown) == decided


@pytest.mark.parametrize("asked", [*ASKED[:3], {"baseline": 2}], ids=str)
def test_leads_over_who_would_be_named_hold_at_delta(asked):
    """Who led first has half of delta; a baseline was fixed beforehand, and has all of it."""
    delta = 0.3
    question = some_state(delta, asked).question
    assert question.best == 2
    compared = "baseline" in asked
    leads = question.lifts if compared else question.leaders._kept[0][1]
    level = delta if compared else delta / 2
    found = question.leads()
    for end, sign in ((found.low, 1.0), (found.high, -1.0)):
        capital = np.exp(leads._log_capital(sign, end))[[0, 1, 3]]
        assert capital == pytest.approx(np.full(3, 2.0 / level), rel=5e-3)


# -- whoever leads --------------------------------------------------------------------------------
def test_all_who_lead_share_one_level():
    """The k-th that leads has an interval of its own level: together they are not above alpha."""
    state = begun("known", [around(mean, 6) for mean in MEANS], 4, top=1)
    for leader in (1, 3, 0, 2, 3):  # who looks best changes from block to block
        state.totals.sums[:] = 0.0
        state.totals.sums[leader] = 10.0
        state.suggested.forget(first_too=False)
        tell(state, [around(mean, 6) for mean in MEANS])
    leaders = state.question.leaders
    assert isinstance(leaders, Leaders)
    alpha, shares = 0.4, []
    for leader in (1, 3, 0, 2):
        own = next(leads for _, leads in leaders._kept if leads.about == leader)
        wanted = leaders.interval(leader, alpha)
        same = [
            k
            for k in range(1, 9)
            if np.array_equal(own.interval(alpha / (k * (k + 1))).low, wanted.low)
        ]
        assert len(same) == 1
        shares.append(1.0 / (same[0] * (same[0] + 1)))
    assert shares == [1 / 2, 1 / 6, 1 / 12, 1 / 20]
    assert sum(1.0 / (k * (k + 1)) for k in range(1, 10**5)) < 1.0  # any number of them


def test_one_who_leads_again_after_many_others_does_not_get_its_level_back():
    state = begun("known", [around(mean, 6) for mean in [0.0] * 6], 6, top=1)
    for leader in (0, 1, 2, 3, 4, 0):
        state.totals.sums[:] = 0.0
        state.totals.sums[leader] = 10.0
        state.suggested.forget(first_too=False)
        tell(state, [around(0.0, 6) for _ in range(6)])
    leaders = state.question.leaders
    assert [(k, leads.about) for k, leads in leaders._kept] == [(3, 2), (4, 3), (5, 4), (6, 0)]


# -- misfit ---------------------------------------------------------------------------------------
X = np.column_stack([np.ones(4), [-1.0, -0.2, 0.4, 1.0]])
THETA = np.array([0.3, 0.5])
MISFIT = 0.25


def moved(kind, eta, misfit=MISFIT):
    """The first block as features say; the second one moved by what misfit allows, no noise."""
    problem = sp.Problem(X, noise=KINDS[kind], misfit=misfit)
    state = sp.algorithms.PooledPeleg(0.05, baseline=0).begin(problem, np.random.default_rng(0))
    for off in (0.0 * eta, eta):
        tell(state, [around(mean, 8, 0.2 if kind == "equal" else 0.0) for mean in X @ THETA + off])
    return state


def allowed_capital(state, lead, sign, place):
    """By features up to a misfit alone, without what options show by themselves."""
    sums = state.question.lifts._sums[state.ways.ways.index("allowed")]
    return float(sums.log_capital(sign, np.full(len(state.problem.distinct), lead))[place])


@pytest.mark.some(2)
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_misfit_of_any_signs_wins_nothing_against_the_true_lead(kind, sign):
    """The worst of all signs comes to exactly nothing: none is left out, and none added."""
    for place in (1, 3):
        found = []
        for signs in itertools.product((1.0, -1.0), repeat=4):
            eta = MISFIT * np.array(signs)
            state = moved(kind, eta)
            means = X @ THETA + eta
            unit = state.problem.unit
            lead = (means[place] - means[0]) / unit
            found.append(allowed_capital(state, lead, sign, place))
        sums = state.question.lifts._sums[state.ways.ways.index("allowed")]
        told = 0.0
        if kind == "known":
            told = sums._sums[0][place]
        elif kind == "equal":
            told = sums._blocks[0][1][place]
        precisions = np.array(PRECISIONS) * sums.unit[place]
        # of an estimate that is exactly as far off as is allowed for
        nothing = math.log(np.array(ACCOUNTS) @ np.sqrt(precisions / (precisions + told)))
        assert max(found) == pytest.approx(nothing, abs=1e-9)
        assert min(found) < nothing - 1e-4


def test_with_yes_and_no_misfit_has_a_mean_of_at_most_one():
    """Rates that features describe up to the misfit, of any signs: every block is enumerated."""
    x, theta, misfit = np.column_stack([np.ones(3), [-1.0, 0.0, 1.0]]), [0.5, 0.1], 0.2
    problem = sp.Problem(x, noise="yes-no", misfit=misfit)
    start = sp.algorithms.PooledPeleg(0.05, baseline=0).begin(problem, np.random.default_rng(0))
    tell(start, [[0.0, 1.0] * 9, [0.0, 1.0] * 9, [1.0, 1.0, 0.0] * 6])
    blocks = list(itertools.product(itertools.product((0.0, 1.0), repeat=2), repeat=3))
    states, means = [after(start, block) for block in blocks], []
    for signs in itertools.product((1.0, -1.0), repeat=3):
        rates = x @ theta + misfit * np.array(signs)
        likely = [
            math.prod(rate if y else 1 - rate for own, rate in zip(block, rates) for y in own)
            for block in blocks
        ]
        lead = (rates[2] - rates[0]) / problem.unit
        for sign in (1.0, -1.0):
            logs = [allowed_capital(state, lead, sign, 2) for state in states]
            means.append(float(np.array(likely) @ np.exp(logs)))
    assert max(means) <= 1.0 + 1e-9
    assert max(means) > 0.9  # without an allowance it would be more than 1

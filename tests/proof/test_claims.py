"""All claims against a baseline right together: the steps, and what they promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surepick.proof import claims as steps
from surepick.verifier.formulas import Steps

DELTA = 0.1
MAY_BE_TRUE = {2: [{0}, {1}, {0, 1}], 3: [{0}, {1}, {0, 1}, {0, 2}, {1, 2}]}

some = st.floats(-3, 3)
cases = st.tuples(
    st.lists(st.tuples(some, st.floats(0.01, 3), st.integers(-1, 2)), min_size=1, max_size=3),
    st.sampled_from([0.0, 0.4]),
    st.lists(st.floats(-8, 8), min_size=9, max_size=9),
)


def claims_by_steps(weights, capital, delta=DELTA):
    """Everything that is claimed, one after the other."""
    claimed = np.full(weights.shape[1], -1)
    while True:
        spare = capital - steps.needed(weights, capital, claimed, delta)
        spare[:, claimed >= 0] = -math.inf
        kind, x = np.unravel_index(np.argmax(spare), spare.shape)
        if spare[kind, x] < 0:
            return claimed
        claimed[x] = kind


@settings(deadline=None, max_examples=60)
@given(cases)
def test_a_claim_refutes_every_set_of_statements_that_may_be_true(case):
    """Against all of these sets, one by one; and the verifier's own steps say the same."""
    rows, epsilon, logs = case
    lift, error, claimed = (np.array(column) for column in zip(*rows))
    weights = steps.weights_of(lift, error, epsilon)
    kinds, M = weights.shape
    claimed = np.where(claimed < kinds, claimed, -1)
    capital = np.array(logs[: kinds * M]).reshape(kinds, M)
    needed = steps.needed(weights, capital, claimed, DELTA)
    verifier = Steps(lift, error**2, np.ones(M), epsilon)
    made = [int(c) if c >= 0 else None for c in claimed]
    lack = weights * np.maximum(1 - DELTA * np.exp(capital), 0)
    for x, kind in itertools.product(np.flatnonzero(claimed < 0), range(kinds)):
        worst = 0.0
        for sets in itertools.product(MAY_BE_TRUE[kinds], repeat=M):
            right = all(claim not in true for claim, true in zip(claimed, sets))
            if right and kind in sets[x]:
                every = [(j, y) for y, true in enumerate(sets) for j in true if (j, y) != (kind, x)]
                worst = max(worst, sum(lack[at] for at in every))
        there = DELTA * math.exp(needed[kind, x])
        assert weights[kind, x] * (there - 1) == pytest.approx(worst, abs=1e-9)
        theirs = verifier.needed(capital + math.log(DELTA), made, kind, int(x))
        assert theirs - math.log(DELTA) == pytest.approx(needed[kind, x], abs=1e-9)


@pytest.mark.validation
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize("together", [True, False])
def test_claims_are_wrong_with_probability_delta_at_most(epsilon, together):
    """Capital that is lost or just enough to be claimed: nothing is more dangerous.

    Exactly, by all that may happen: losses that do not hang together, or one win at most.
    """
    lift, error = np.array([0.4, -0.2, 0.1]), np.full(3, 0.3)
    weights = steps.weights_of(lift, error, epsilon)
    kinds, M = weights.shape
    for sets in itertools.product(MAY_BE_TRUE[kinds], repeat=M):
        true = [(kind, x) for x, here in enumerate(sets) for kind in here]
        capital = np.full((kinds, M), -50.0)
        for x, here in enumerate(sets):  # what is wrong is refuted by much
            for kind in set(range(kinds)) - here:
                capital[kind, x] = 30.0
        alone = steps.needed(weights, capital, np.full(M, -1), DELTA)
        wins = np.array([1 / math.exp(alone[at] + 1e-9) for at in true])  # capital has mean 1
        wrong = 0.0
        for won in itertools.product((False, True), repeat=len(true)):
            if together and sum(won) > 1:
                continue
            chance = math.prod(p if w else 1 - p for p, w in zip(wins, won))
            if together:
                chance = wins[won.index(True)] if any(won) else 1 - wins.sum()
            now = capital.copy()
            for at, w in zip(true, won):
                now[at] = alone[at] + 1e-9 if w else -50.0
            claimed = claims_by_steps(weights, now)
            wrong += chance * any(claim in here for claim, here in zip(claimed, sets))
        assert wrong <= DELTA * (1 + 1e-6)


def test_where_the_first_look_was_right_all_are_claimed_at_little_more_than_one_over_delta():
    lift = np.where(np.arange(39) < 8, 1.0, -1.0)
    weights = steps.weights_of(lift, np.full(39, 0.02), 0.0)
    capital = np.full((2, 39), -30.0)
    capital[(lift < 0).astype(int), np.arange(39)] = math.log(1 / DELTA) + 0.05
    claimed = claims_by_steps(weights, capital)
    np.testing.assert_array_equal(claimed, lift < 0)
    capital[0, 0] = 0.0  # one is open: it may weigh as much as any that is claimed
    assert (claims_by_steps(weights, capital) == -1).all()
    capital[1, 20] = math.log(2 / DELTA) + 0.1
    claimed = claims_by_steps(weights, capital)
    assert claimed[20] == steps.WORSE
    assert np.count_nonzero(claimed >= 0) == 1


def test_weights_are_even_where_nothing_was_seen():
    for z in (0.0, 1e-12, -1e-12):
        np.testing.assert_allclose(steps.weights_of(np.full(2, z), np.ones(2), 0.0), 1.0)
        np.testing.assert_allclose(steps.weights_of(np.full(2, z), np.full(2, 1e9), 0.3), 1.0)
    unknown = steps.weights_of(np.array([0.3, 0.0]), np.array([0.1, 1e150]), 0.0)
    assert (unknown > 0).all()


def test_the_prior_follows_lifts_and_the_verifier_agrees():
    rng = np.random.default_rng(1)
    for scale in (0.01, 0.3, 1.0, 50.0):
        lift, variance, unit = scale * rng.normal(size=9), rng.uniform(0.1, 1, 9), np.full(9, 0.5)
        prior = steps.prior_of(lift, variance, unit)
        theirs = Steps(lift, variance, unit, 0.0)
        assert prior == pytest.approx(theirs.prior)
        assert 1 / 20 <= prior <= 1
        added = steps.accounts_by(prior, 1)
        np.testing.assert_allclose(added, theirs.accounts(np.array([1, 2]) / 3), atol=1e-12)
        assert np.exp(added) @ np.array([1, 2]) / 3 == pytest.approx(1)  # capital is only moved
    assert steps.prior_of(np.zeros(9), np.ones(9), np.ones(9)) == 1
    assert steps.prior_of(np.full(9, 9.0), np.ones(9), np.ones(9)) == 1 / 20


@pytest.mark.parametrize("one_true", [False, True])
def test_a_false_discovery_rate_takes_less_the_more_is_claimed(one_true):
    """k claims take a capital of cM/(k delta) each, c statements about each being true at most."""
    said = steps.ClaimsMade(
        np.array([1, 2, 3, 5]), ("better", "worse"), DELTA, share=True, one_true=one_true
    )
    part = 0.5 if one_true else 1.0
    for capital, made in (
        ([81, 71, 61, 49], [1, 2, 3, 5]),
        ([41, 39, 15, 15], []),
        ([41, 41, 15, 15], [1, 2]),
    ):
        sides = np.full((2, 4), -50.0)
        sides[0] = np.log(part * np.array(capital))
        said.settle(sides, lambda kind, number: {"block": 1})
        assert said.of(steps.BETTER).tolist() == made
        assert said.finished == (len(made) == 4)
    takes = np.exp(said.next_goals(sides))  # as the third
    np.testing.assert_allclose(takes, 80 * part / 3)


def test_claims_that_last_stay_when_capital_falls():
    said = steps.ClaimsMade(np.array([0, 1]), ("better", "worse"), DELTA, share=True, lasting=True)
    said.settle(np.log([[50.0, 1e-9], [1e-9, 1e-9]]), lambda kind, number: {"block": 1})
    assert said.made == [{"candidate": 0, "claim": "better", "block": 1}]
    said.settle(np.log([[25.0, 1e-9], [1e-9, 25.0]]), lambda kind, number: {"block": 2})
    assert [claim["block"] for claim in said.made] == [1, 2]
    assert said.undecided().tolist() == []

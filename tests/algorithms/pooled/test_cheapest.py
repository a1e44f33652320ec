"""The cheapest option that is good enough: within so much of the best."""

import itertools
import math

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.questions import Cheapest, read
from surepick.errors import InvalidInputError

COSTS = (1.0, 3.0, 8.0, 30.0)
MEANS = (0.2, 0.88, 0.9, 0.92)


def problem(noise="yes-no", costs=COSTS):
    return sp.Problem(np.eye(4), noise=noise, labels=["tiny", "small", "mid", "big"], costs=costs)


def rates(seed=2, means=MEANS):
    rng = np.random.default_rng(seed)
    return lambda arm: float(rng.random() < means[arm])


def test_the_cheapest_of_those_close_to_the_best_is_named():
    answer = sp.identify(problem(), rates(), cheapest=True, within=0.15, seed=1)
    assert answer.label == "small"
    assert str(answer.guarantee).startswith("the cheapest option within 0.15 of the best with")
    assert answer.plain.startswith("It is the cheapest option within 0.15 of the best.")


def test_smaller_may_be_better_and_equal_costs_go_by_their_order():
    times = rates(means=(0.8, 0.12, 0.1, 0.08))
    costs = (1.0, 3.0, 3.0, 3.0)
    found = sp.identify(problem(costs=costs), times, minimise=True, cheapest=True, within=0.2)
    assert found.label == "small"


def test_a_tolerance_accepts_who_is_nearly_good_enough():
    means = (0.6, 0.9, 0.9, 0.9)  # the first is exactly at the edge
    settings = {"cheapest": True, "within": 0.3, "epsilon": 0.2, "seed": 1}
    found = sp.identify(problem(), rates(means=means), **settings)
    assert found.label in ("tiny", "small")
    assert found.guarantee.kind in ("pac", "eps-pac")


def test_capital_is_that_of_bets_against_what_is_true():
    """All counts of two blocks of two coins: the mean capital against the answer is at most 1."""
    coins = sp.Problem(np.eye(2), noise="yes-no", costs=[1.0, 2.0])
    chance = (0.5, 0.75)  # exactly at the edge, so the first is the answer
    total = 0.0
    for counts in itertools.product((0, 1, 2), repeat=4):
        run = sp.algorithms.PooledPeleg(0.05, cheapest=True, within=0.25).start(coins, 1)
        likely = 1.0
        for block in (counts[:2], counts[2:]):
            batch = run.ask()
            assert batch.counts.tolist() == [2, 2]
            run.tell(batch, sums=[float(s) for s in block])
            for p, s in zip(chance, block):
                likely *= math.comb(2, s) * p**s * (1.0 - p) ** (2 - s)
        total += likely * math.exp(run.state.question.against[0])
    assert total <= 1.0 + 1e-12


def test_states_come_back_as_they_were():
    draw = rates()
    run = sp.algorithms.PooledPeleg(0.05, cheapest=True, within=0.1, epsilon=0.1).start(
        problem(), 1
    )
    for _ in range(4):
        batch = run.ask()
        run.tell(batch, [draw(arm) for arm in batch.arms])
    again = sp.Run.from_json(run.to_json())
    assert again.ask().arms.tolist() == run.ask().arms.tolist()
    assert again.standing().columns == run.standing().columns
    assert run.standing()["cost"] == list(COSTS)


def test_it_is_a_value_with_a_text():
    assert read("cheapest:enough=0.1") == Cheapest(0.1)
    assert Cheapest(0.1).words == "which option is the cheapest of those within 0.1 of the best"


@pytest.mark.parametrize(
    ("settings", "costs", "cure"),
    [
        ({"cheapest": True}, COSTS, "--within"),
        ({"within": 0.1}, COSTS, "epsilon"),
        ({"cheapest": True, "within": 0.1}, None, "--cost"),
        ({"cheapest": True, "within": 0.1}, (2.0,) * 4, "epsilon"),
        ({"cheapest": True, "within": 0.0}, COSTS, "above 0"),
        ({"cheapest": True, "within": 0.1, "top": 2}, COSTS, "leave out top"),
    ],
)
def test_what_cannot_be_asked_says_what_to_do(settings, costs, cure):
    with pytest.raises(InvalidInputError, match=cure):
        sp.identify(problem(costs=costs), rates(), **settings)


def test_with_numbers_of_any_kind_it_is_a_share_of_comparisons():
    with pytest.raises(InvalidInputError, match=r"below 0\.5"):
        sp.identify(problem("any"), rates(), cheapest=True, within=0.6)

"""The cheapest of those that keep limits and are within so much of the best of these."""

import copy
import json

import numpy as np
import pytest
from tests.algorithms.limits.test_state import Site

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint

LIMIT = ["cost <= 0.5"]


def problem(K, costs=None, kind=(0, 1)):
    costs = np.arange(1.0, K + 1.0) if costs is None else costs
    own = {"noise": kind, "numbers": {"cost": kind}, "costs": costs, "misfit": np.inf}
    return sp.Problem(np.eye(K), labels=[f"o{i}" for i in range(K)], **own)


def asked(y, c, within, costs=None, keep=LIMIT, **more):
    more = {"seed": 1, "max_samples": 20_000} | more
    own = {"measure_batch": Site(y, cost=c), "keep": keep, "cheapest": True, "within": within}
    answer = sp.identify(problem(len(y), costs), **own, **more)
    found = sp.verify(json.dumps(answer.certificate()), replay=True)
    assert found.replayed
    assert found.guarantee == answer.guarantee.kind
    return answer


@pytest.mark.parametrize(
    ("y", "c", "within", "label"),
    [
        ([0.4, 0.7, 0.75, 0.9], [0.2, 0.2, 0.2, 0.8], 0.15, "o1"),  # the best one breaks it
        ([0.72, 0.7, 0.75, 0.9], [0.8, 0.2, 0.2, 0.8], 0.15, "o1"),  # and the cheapest, too
        ([0.4, 0.5, 0.9, 0.95], [0.2, 0.2, 0.8, 0.8], 0.3, "o0"),  # near the best that keeps it
        ([0.4, 0.5, 0.9, 0.8], [0.9, 0.8, 0.8, 0.2], 0.3, "o3"),  # the only one
        ([0.9, 0.5, 0.6, 0.8], [0.2, 0.2, 0.2, 0.2], 0.05, "o0"),  # the cheapest is the best
    ],
)
def test_good_enough_is_beside_the_best_that_keeps_the_limit(y, c, within, label):
    answer = asked(y, c, within)
    assert (answer.label, answer.guarantee.kind) == (label, "pac")
    assert answer.guarantee.startswith(
        f"of those that keep cost <= 0.5, the cheapest within {within} of the best with probability"
    )
    assert "the options that keep the limits, the cheapest within" in answer.plain


def test_nobody_keeps_the_limit():
    answer = asked([0.4, 0.5, 0.9], [0.9, 0.8, 0.8], 0.3)
    assert answer.guarantee.kind == "nobody"
    assert answer.survivors == ()


def test_costs_decide_and_not_the_order_of_options():
    answer = asked([0.9, 0.85, 0.4], [0.2, 0.2, 0.2], 0.2, costs=[3.0, 2.0, 1.0])
    assert answer.label == "o1"


def test_the_question_is_said_with_limits_as_numbers_are():
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, cheapest=True, within=0.2)
    said = "which option is the cheapest within 0.2 of the best, of those that keep cost <= 0.5"
    assert algorithm.asked.asks(problem(3)) == algorithm.asked.words == said
    rates = algorithm.asked.asks(problem(3, kind="yes-no"))
    assert rates == said.replace("<= 0.5", "<= 50 %")


def test_stopped_early_nothing_is_promised():
    answer = asked([0.6, 0.7, 0.6], [0.5, 0.2, 0.2], 0.1, max_samples=60)
    assert answer.guarantee.kind == "none"


def test_a_run_goes_on_where_it_was_saved():
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, cheapest=True, within=0.2)
    run, again = algorithm.start(problem(3), 3), None
    site = Site([0.4, 0.7, 0.8], cost=[0.2, 0.3, 0.2])
    while not run.stopped:
        batch = run.ask()
        told = site(batch.arms)
        if again is not None:
            assert again.ask().arms.tolist() == batch.arms.tolist()
        run.tell(batch, told)
        again = sp.Run.from_json(run.to_json())
    assert again.answer.to_dict() == run.answer.to_dict()


def test_what_it_is_not_asked_with():
    for more in ({"epsilon": 0.1}, {"keep": ["cost <= 0.5 ± 0.1"]}):
        own = {"keep": LIMIT, "cheapest": True, "within": 0.1} | more
        with pytest.raises(InvalidInputError, match="is found exactly"):
            sp.algorithms.PooledPeleg(0.05, **own)
    run = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, cheapest=True, within=0.2).start(problem(3))
    with pytest.raises(InvalidInputError, match="looks for the cheapest"):
        run.retire("o1", reason="old")


# -- certificates that say more than was shown -----------------------------------------------
def another_head(body):
    block = body["evidence"]["blocks"][4]
    block["rivals"][-1] = 3


def another_leader(body):
    block = body["evidence"]["blocks"][4]
    block["rivals"][:2] = block["rivals"][1::-1]


def within_less(body):
    body["evidence"]["question"]["cheapest"] = 0.01


def asked_for_the_best(body):
    del body["evidence"]["question"]


def other_costs(body):
    body["problem"]["costs"] = [4.0, 3.0, 2.0, 1.0]


def of_all(body):
    old, new = "of those that keep cost <= 0.5, the cheapest", "the cheapest option"
    body["claim"]["statement"] = body["claim"]["statement"].replace(old, new)


@pytest.fixture(scope="module")
def certificate():
    return asked([0.4, 0.7, 0.75, 0.9], [0.2, 0.2, 0.2, 0.8], 0.15).certificate()


@pytest.mark.parametrize(
    "change",
    [another_head, another_leader, within_less, asked_for_the_best, other_costs, of_all],
)
def test_forgeries_are_refused(certificate, change):
    body = copy.deepcopy(certificate)
    change(body)
    with pytest.raises(CertificateError):
        sp.verify(body | {"digest": fingerprint(body)})


# -- bets ------------------------------------------------------------------------------------
def lost(seed, y, c, right, most=500):
    """Whether the answer was ruled out; exactly at the edge and at the limit it never ends."""
    rng = np.random.default_rng(seed)
    algorithm = sp.algorithms.PooledPeleg(0.2, keep=["cost <= 0.5"], cheapest=True, within=0.2)
    run = algorithm.start(problem(len(y), kind="yes-no"), seed)
    while not run.stopped and run.samples < most:
        batch = run.ask()
        luck = rng.random(batch.size)  # a good reward goes with a large number
        sold, back = luck < np.array(y)[batch.arms], luck < np.array(c)[batch.arms]
        run.tell(batch, sold.astype(float), numbers={"cost": back.astype(float)})
    return right not in run.active or run.state.left() == 0


@pytest.mark.parametrize(
    ("y", "c", "right"),
    [
        ((0.3, 0.5, 0.7, 0.9), (0.2, 0.5, 0.3, 0.6), 1),  # at the limit, and just good enough
        ((0.9, 0.5, 0.7, 0.7), (0.55, 0.5, 0.3, 0.3), 1),  # a cheaper one breaks it; two alike
    ],
)
def test_it_is_seldom_wrong(y, c, right):
    # P(more than 12 of 25) at 0.2 is below 0.001
    assert sum(lost(seed, y, c, right) for seed in range(25)) <= 12


def begun():
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, cheapest=True, within=0.2)
    return algorithm.begin(problem(3), np.random.default_rng(0)).decision.capital


def test_a_cheaper_one_counts_as_far_as_it_keeps_the_limit_and_is_near_everybody():
    capital = begun()
    first = capital.against()
    capital.close[:, 0] += 50.0  # option 0 is good enough beside all
    assert capital.against()[1] == pytest.approx(first[1])
    capital.keeps[:, 0] += 50.0  # and keeps the limit
    assert capital.against()[1] > 40.0
    assert capital.against()[0] == pytest.approx(first[0])  # nobody is before it
    capital.close[2, 0] -= 50.0  # but is it near option 2 …
    assert capital.against()[1] < 1.0
    capital.breaks[:, 2] += 50.0  # … which breaks the limit, and does not count
    assert capital.against()[1] > 40.0


def test_by_how_much_a_leader_is_ahead_counts_as_far_as_it_keeps_the_limit():
    capital = begun()
    capital.ahead[0, 2] += 50.0  # option 2 is more than within above option 0
    assert capital.against()[0] < 1.0
    capital.keeps[:, 2] += 50.0
    assert capital.against()[0] > 40.0

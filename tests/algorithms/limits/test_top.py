"""Which m options are the best of those that keep limits?"""

import copy
import json
import math

import numpy as np
import pytest
from tests.algorithms.limits.test_state import Site

import surepick as sp
from surepick.errors import CertificateError, InvalidInputError
from surepick.run.certificate import fingerprint

LIMIT = ["cost <= 0.5"]


def checked(answer):
    """Verified and replayed."""
    found = sp.verify(json.dumps(answer.certificate()), replay=True)
    assert found.replayed
    assert found.guarantee == answer.guarantee.kind
    return answer


@pytest.mark.parametrize("m", [2, 3])
def test_better_ones_that_break_the_limit_are_not_among_them(m):
    site = Site([0.4, 0.5, 0.6, 0.9, 0.55], cost=[0.2, 0.4, 0.4, 0.7, 0.3])
    answer = checked(site.ask(LIMIT, top=m))
    assert answer.labels == ("o2", "o4", "o1")[:m]
    assert answer.guarantee.startswith(f"the {m} best of those that keep cost <= 0.5 with")
    assert f", union over {m}" in answer.guarantee
    assert answer.plain.startswith(f"They are the {m} best of the options that keep the limits.")


@pytest.mark.parametrize(
    ("y", "c", "labels", "said"),
    [
        ([0.4, 0.6, 0.5, 0.7], [0.2, 0.2, 0.9, 0.8], ("o1", "o0"), "the only options that keep"),
        ([0.4, 0.6, 0.5, 0.7], [0.2, 0.8, 0.9, 0.8], ("o0",), "the only option that keeps"),
        ([0.4, 0.6, 0.5, 0.7], [0.7, 0.8, 0.9, 0.8], ("o0",), "no option keeps"),
    ],
)
def test_where_fewer_keep_the_limits_all_of_them_are_named(y, c, labels, said):
    answer = checked(Site(y, cost=c).ask(LIMIT, top=3))
    assert answer.guarantee.startswith(f"{said} cost <= 0.5 with probability at least 0.95")
    if answer.guarantee:
        assert answer.labels == labels
        assert len(answer.survivors) == len(labels)
    else:
        assert answer.guarantee.kind == "nobody"


def test_as_many_as_are_asked_for_that_only_just_keep_several_limits():
    site = Site([0.8, 0.7, 0.6, 0.4], cost=[0.2, 0.8, 0.3, 0.4], taste=[0.1, 0.9, 0.7, 0.6])
    answer = checked(site.ask(["cost <= 0.5", "taste >= 0.5"], top=2))
    assert answer.labels == ("o2", "o3")


def test_at_the_limit_nothing_is_shown():
    answer = checked(Site([0.3, 0.7, 0.5], cost=[0.2, 0.5, 0.9]).ask(LIMIT, top=2, max_samples=600))
    assert answer.guarantee.kind == "none"
    assert set(answer.labels) == {"o0", "o1"}


def test_an_option_that_limits_compare_with_keeps_its_own():
    site = Site([0.4, 0.6, 0.8, 0.5], cost=[0.4, 0.42, 0.7, 0.41])
    labels = ["now", "near", "dear", "more"]
    answer = checked(site.ask(["cost <= now + 10%"], labels=labels, top=2))
    assert answer.labels == ("near", "more")


def test_one_that_keeps_its_own_limit_for_certain_shows_nothing_of_others():
    site = Site([0.4, 0.6, 0.8], cost=[0.2, 0.5, 0.5])
    answer = checked(site.ask(["cost <= now + 10%"], labels=["now", "dear", "too"], top=2))
    assert answer.labels == ("now",)
    assert answer.guarantee.startswith("the only option that keeps cost <= now + 0.1 with")


def test_a_run_stopped_by_hand_says_among_whom_they_are():
    problem = sp.Problem.unstructured(5, noise=(0, 1), numbers={"cost": (0, 1)})
    run = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, top=2).start(problem, 3)
    site = Site([0.4, 0.5, 0.6, 0.9, 0.55], cost=[0.2, 0.4, 0.4, 0.9, 0.3])
    while run.state.left() == 5:
        batch = run.ask()
        run.tell(batch, site(batch.arms))
    run.end()
    answer = checked(run.answer)
    assert answer.guarantee.kind == "none"
    assert "the 2 best, or all there are, of those that keep cost <= 0.5 are among" in (
        answer.guarantee
    )


def test_a_run_goes_on_where_it_was_saved():
    problem = sp.Problem.unstructured(4, noise=(0, 1), numbers={"cost": (0, 1)})
    run = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, top=2).start(problem, 3)
    site, again = Site([0.4, 0.6, 0.8, 0.5], cost=[0.2, 0.4, 0.7, 0.3]), None
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
        with pytest.raises(InvalidInputError, match="nothing is accepted that is only close"):
            sp.algorithms.PooledPeleg(0.05, **{"keep": LIMIT, "top": 2} | more)
    with pytest.raises(InvalidInputError, match="the 2 best are all of them"):
        Site([0.3, 0.7], cost=[0.2, 0.2]).ask(LIMIT, top=2)
    problem = sp.Problem.unstructured(4, noise=(0, 1), numbers={"cost": (0, 1)})
    run = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, top=2).start(problem, 3)
    with pytest.raises(InvalidInputError, match="asks for the 2 best"):
        run.add(np.eye(5)[4:], ["new"], reason="new")


# -- certificates that say more than was shown -----------------------------------------------
def forged(answer, change):
    body = copy.deepcopy(answer.certificate())
    change(body)
    return body | {"digest": fingerprint(body)}


def of_two():
    site = Site([0.4, 0.5, 0.6, 0.9, 0.55], cost=[0.2, 0.4, 0.4, 0.7, 0.3])
    return site.ask(LIMIT, top=2)


def another_place(body):
    body["claim"] |= {"candidates": [2, 1], "candidate": 2}


def one_alone(body):
    del body["claim"]["candidates"]


def fewer_rivals(body):
    body["evidence"]["blocks"][3]["sure"] = []


def others_sure(body):
    block = next(one for one in body["evidence"]["blocks"][6:] if len(one["rivals"]) == 2)
    block["sure"], block["rivals"] = block["rivals"][1:], [block["rivals"][0], *block["sure"]]


def asked_for_three(body):
    body["evidence"]["question"] = {"top": 3}


def not_asked_for_several(body):
    del body["evidence"]["question"]


def said_of_all(body):
    body["claim"]["statement"] = body["claim"]["statement"].replace(
        "the 2 best of those that keep", "the only options that keep"
    )


def dropped_later(body):
    for block in body["evidence"]["blocks"]:
        block["dropped"] = []
    body["claim"]["survivors"] = [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "change",
    [
        *(another_place, one_alone, fewer_rivals, others_sure, asked_for_three),
        *(not_asked_for_several, said_of_all, dropped_later),
    ],
)
def test_forgeries_are_refused(change):
    with pytest.raises(CertificateError):
        sp.verify(forged(of_two(), change))


# -- bets ------------------------------------------------------------------------------------
def wrong(seed, y, c, m=2, most=600, delta=0.2):
    """Whether one of the best that keep the limit was ruled out, or one that breaks it named."""
    rng = np.random.default_rng(seed)
    problem = sp.Problem.unstructured(len(y), noise="yes-no", numbers={"back": "yes-no"})
    run = sp.algorithms.PooledPeleg(delta, keep=["back <= 0.5"], top=m).start(problem, seed)
    fine = [k for k in np.argsort(-np.array(y), kind="stable").tolist() if c[k] <= 0.5]
    while not run.stopped and run.samples < most:
        batch = run.ask()
        luck = rng.random(batch.size)  # who buys rather returns it
        sold, back = luck < np.array(y)[batch.arms], luck < np.array(c)[batch.arms]
        run.tell(batch, sold.astype(float), numbers={"back": back.astype(float)})
    lost = set(fine[:m]) - set(run.active if run.state.left() else [])
    return bool(lost) or (run.state.finished and bool(set(run.active) - set(fine)))


@pytest.mark.parametrize(
    ("y", "c"),
    [
        ((0.7, 0.5, 0.5, 0.9), (0.5, 0.2, 0.2, 0.6)),  # at the limit, and two equally good
        ((0.4, 0.9, 0.8, 0.3), (0.3, 0.55, 0.6, 0.55)),  # only one keeps it
    ],
)
def test_it_is_seldom_wrong(y, c):
    trials = 25
    errors = sum(wrong(seed, y, c) for seed in range(trials))
    # P(more than 12 of 25) at 0.2 is below 0.001
    assert errors <= 12


def test_nothing_is_bet_on_who_would_be_better_than_one_that_is_sure():
    """Beside the other sure one and the last purse, a third might beat it: that is no bet."""
    problem = sp.Problem.unstructured(4, noise=(0, 1), numbers={"cost": (0, 1)})
    run = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, top=2).start(problem, 3)
    site = Site([0.8, 0.6, 0.3, 0.3], cost=[0.2, 0.2, 0.2, 0.2])
    for _ in range(4):
        batch = run.ask()
        run.tell(batch, site(batch.arms))
    bets, capital = run.state.decision.outlook()[1], run.state.decision.capital
    sure = bets.places[0]
    assert bets.rivals[sure] == -1
    assert capital.led.sure == [sure]
    assert not capital.led.others[sure].any()


def test_capital_is_the_least_of_both_purses():
    problem = sp.Problem.unstructured(4, noise=(0, 1), numbers={"cost": (0, 1)})
    algorithm = sp.algorithms.PooledPeleg(0.05, keep=LIMIT, top=2)
    capital = algorithm.begin(problem, np.random.default_rng(0)).decision.capital
    capital.led.make_sure([0, 1])
    capital.somebody.make_sure([0, 1])
    capital.led.held[0, 3] += 50.0  # the sure one is better than option 3, and keeps the limit
    capital.somebody.held[0] += 50.0
    capital.ahead[3, 0] += 50.0
    capital.keeps[:, 0] += 50.0
    assert capital.against()[3] < 1.0
    assert capital.somebody_keeps() < 1.0
    capital.led.others[3, 1] += 50.0  # and so is the other one
    capital.somebody.others[0, 1] += 50.0
    assert capital.against()[3] == pytest.approx(50.0 + math.log(0.8), abs=1e-6)
    assert capital.somebody_keeps() == pytest.approx(50.0 + math.log(0.8), abs=1e-6)

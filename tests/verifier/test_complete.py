"""Certificates of complete tables that were tampered with: all numbers fit together, and yet."""

import copy
import json

import numpy as np
import pytest

import surepick as sp
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return (rng.random((5, 60)) < np.linspace(0.3, 0.8, 5)[:, None]).astype(float)


def certified(table, **settings):
    problem = sp.Problem.unstructured([f"o{i}" for i in range(len(table))], noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(0.1, complete=table.shape[1], **settings)
    measure = lambda arm, item: table[arm, item]  # noqa: E731
    return json.loads(
        json.dumps(sp.identify(problem, measure, algorithm=algorithm, seed=2).certificate())
    )


@pytest.fixture(scope="module")
def genuine(table):
    return certified(table)


def refused(body):
    body = body | {"digest": fingerprint(body)}
    with pytest.raises(CertificateError) as why:
        verify(body)
    return str(why.value)


def test_it_holds(genuine):
    assert verify(genuine).guarantee == "pac"


def test_a_cell_measured_twice_is_refused(genuine):
    body = copy.deepcopy(genuine)
    batch = body["batches"][5]
    batch["parts"][0] = body["batches"][0]["parts"][0]
    assert "measured twice" in refused(body)


def test_who_is_in_meets_the_next_items_and_no_others(genuine):
    body = copy.deepcopy(genuine)
    batch = body["batches"][1]  # one cell is left out
    for column in batch.values():
        column.pop()
    body["claim"]["samples"] -= 1
    assert "other cells than are due" in refused(body)


@pytest.fixture(scope="module")
def partly_known(table):
    problem = sp.Problem.unstructured([f"o{i}" for i in range(len(table))], noise="yes-no")
    run = sp.algorithms.PooledPeleg(0.1, complete=60).start(problem, 2)
    run.state.begin_with([5, 50, 20])
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, table[batch.arms, batch.items])
    return json.loads(json.dumps(run.answer.certificate()))


def test_nothing_is_bet_on_what_was_known(partly_known):
    assert verify(partly_known).guarantee == "pac"
    for first in ([5, 50], [5, 50, 20, 1], []):  # then others would have been bet on
        body = copy.deepcopy(partly_known)
        body["evidence"]["orders"][0]["first"] = first
        assert "block 1" in refused(body) or "block 2" in refused(body)
    body = copy.deepcopy(partly_known)
    body["evidence"]["blocks"][0]["bets"] = True
    assert "bet on, or not, against the rule" in refused(body)


@pytest.mark.parametrize("first", [[5, 5, 20], [5, 60, 20], [-1, 5, 20], "5", [0.5, 1, 2]])
def test_what_was_known_are_items(partly_known, first):
    body = copy.deepcopy(partly_known)
    body["evidence"]["orders"][0]["first"] = first
    refused(body)


def test_who_is_out_meets_no_items(genuine):
    body = copy.deepcopy(genuine)
    out = next(i for i, b in enumerate(body["evidence"]["blocks"]) if b["dropped"]["candidate"])
    arm = body["evidence"]["blocks"][out]["dropped"]["candidate"][0]
    batch = body["batches"][out + 1]
    for name, value in (("arms", arm), ("parts", batch["parts"][0]), ("counts", 1), ("sums", 0.0)):
        batch[name].append(value)
    body["claim"]["samples"] += 1
    assert "other cells than are due" in refused(body)


def test_scores_that_were_changed_do_not_give_the_capital(genuine):
    body = copy.deepcopy(genuine)
    for batch in body["batches"][:5]:
        batch["sums"] = [1.0 - score for score in batch["sums"]]
    assert "log capital" in refused(body) or "certain" in refused(body)


def test_who_was_dropped_too_early_is_noticed(genuine):
    body = copy.deepcopy(genuine)
    first = next(b for b in body["evidence"]["blocks"] if not b["dropped"]["candidate"])
    first["dropped"] = {"candidate": [0], "log_capital": [9.0], "certain": [False]}
    assert "log capital" in refused(body)
    first["dropped"]["certain"] = [True]
    assert "behind for certain" in refused(body)


def test_nothing_is_called_certain_that_is_not(genuine):
    body = copy.deepcopy(genuine)
    about = "best on these 60 items, if a score is the same whenever it is measured"
    why = "everything that could change it was measured"
    body["claim"]["statement"] = f"the best for certain ({why}); {about}"
    assert "the statement should be" in refused(body)


def test_all_that_tie_are_the_answer():
    table = np.tile([[1.0, 0.0, 1.0, 1.0]], (3, 1))
    body = certified(table)
    assert verify(body).candidates == (0, 1, 2)
    body["claim"]["candidates"] = [0]
    assert "all of those that tie" in refused(body)


def test_closeness_must_have_been_shown(table):
    body = certified(table, epsilon=0.25)
    assert verify(body).guarantee == "eps-pac"
    body["epsilon"] = body["algorithm"]["settings"]["epsilon"] = 0.001
    body["claim"]["statement"] = body["claim"]["statement"].replace("0.25", "0.001")
    assert refused(body)


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        (("evidence", "items"), 61, "as many as were set"),
        (("evidence", "bets"), 2, "no known rule"),
        (("evidence", "orders"), [], "have no order"),
        (("evidence", "orders"), [{"from": 0, "seed": 1}, {"from": 3, "seed": 1}], "nobody used"),
        (("evidence", "orders"), [{"from": 0, "seed": -1}], "out of range"),
        (("algorithm", "settings", "complete"), 59, "as many as were set"),
        (("algorithm", "settings", "complete"), None, "does not decide by the rule"),
    ],
)
def test_what_was_fixed_in_advance_stays_so(genuine, place, value, complaint):
    body = copy.deepcopy(genuine)
    inside = body
    for name in place[:-1]:
        inside = inside[name]
    inside[place[-1]] = value
    assert complaint in refused(body)


def test_a_p_value_of_its_own_is_refused(genuine):
    body = copy.deepcopy(genuine)
    body["claim"]["p_value"] = 1e-9
    assert "p-value" in refused(body)


@pytest.mark.parametrize("settings", [{"baseline": 1}, {"threshold": 0.5, "claims": "fdr"}])
def test_claims_that_were_not_shown_are_refused(table, settings):
    honest = certified(table, **settings)
    assert verify(honest).guarantee in ("claims", "fdr")
    body = copy.deepcopy(honest)
    body["evidence"]["claims"][0]["block"] = 1  # too early
    assert "capital" in refused(body) or "order" in refused(body)
    body = copy.deepcopy(honest)
    first = body["evidence"]["claims"][0]
    first["claim"] = "worse" if first["claim"] == "better" else "better"
    assert "capital" in refused(body)
    body = copy.deepcopy(honest)
    body["evidence"]["claims"][0]["certain"] ^= True
    assert "for certain" in refused(body)


def test_others_than_the_m_best_are_refused(table):
    honest = certified(table, top=2)
    body = copy.deepcopy(honest)
    body["claim"]["candidates"] = [0, 1]
    body["claim"] |= {"candidate": 0, "label": "o0"}
    assert refused(body)
    body = copy.deepcopy(honest)
    body["evidence"]["question"]["top"] = 3
    assert refused(body)

"""Forgeries by hand, by somebody who works every number and digest out again.

Each is refused, or what it says is true of its record. What no certificate can show, verify says:
whoever invents a whole record has one that is in order.
"""

import contextlib
import copy
import json
from functools import cache

import numpy as np
import pytest
from click.testing import CliRunner
from tests.verifier.fuzz import RULES
from tests.verifier.test_forgeries import completed

import surepick as sp
from surepick.cli import cli
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.verifier.verify import verify

LISTS = ("candidates", "better", "worse", "close", "undecided", "ruled_out")
#: a certificate of every way to conclude
KINDS = {
    "phases": ("phases", 0),
    "static": ("static", 0),
    "glr": ("glr", 0),
    "intervals": ("intervals", 0),
    "bets": ("pooled", 2),
    "several": ("top", 0),
    "compared": ("compared", 0),
    "on items": ("items", 0),
    "table": ("complete", 0),
    "table, several": ("complete", 2),
    "table, compared": ("complete", 3),
    "quantile": ("quantile", 0),
    "pairs": ("pairs", 0),
    "pairs, several": ("pairs", 2),
    "nobody": ("pairs", 4),
    "limits": ("keeping", 0),
    "limits, compared": ("keeping, compared", 0),
}


@cache
def written(kind):
    rule, number = KINDS[kind]
    return json.dumps(RULES[rule][number]())


def honest(kind):
    return json.loads(written(kind))


def sealed(body):
    return body | {"digest": fingerprint(body)}


def worked_out(body):
    """With all numbers as the data give them; what the forger stumbles over stays as it is."""
    with contextlib.suppress(Exception):
        body = completed(body)
    return sealed(body)


# -- claims --------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", KINDS)
def test_a_claim_has_what_was_concluded_and_nothing_else(kind):
    """Whom a claim names beside the answer, readers take for proven: verify printed them."""
    body, has = honest(kind), honest(kind)["claim"].keys()
    other = 0 if body["claim"]["candidate"] else 1
    for name in set(LISTS) - has:
        if (kind, name) == ("table", "candidates"):
            continue  # those that tie: they are worked out
        forged = body | {"claim": body["claim"] | {name: [other]}}
        with pytest.raises(CertificateError, match=f"its claim has '{name}'"):
            verify(sealed(forged))
    for name in has & set(LISTS):
        claim = {key: value for key, value in body["claim"].items() if key != name}
        with pytest.raises(CertificateError, match=f"its claim lacks '{name}'"):
            verify(sealed(body | {"claim": claim}))


def test_another_option_is_not_printed_as_the_answer(tmp_path):
    body = honest("bets")
    body["claim"]["candidates"] = [0]
    assert body["claim"]["candidate"] != 0
    (tmp_path / "c.json").write_text(json.dumps(sealed(body)))
    done = CliRunner().invoke(cli, ["verify", str(tmp_path / "c.json")])
    assert done.exit_code == 1
    assert "the answer is" not in done.output


@pytest.mark.parametrize("kind", KINDS)
def test_no_theorem_is_borrowed(kind):
    """A rule inside of another names theorem and conditions; that of nobody drops a condition."""
    for inner in ({"rule": "pooled"}, {"rule": "ellipsoid", "norm_bound": 1e9}, {}, None):
        body = honest(kind)
        body["evidence"]["inner"] = inner
        with pytest.raises(CertificateError, match="a rule inside of it"):
            verify(sealed(body))


def test_the_bound_of_an_ellipsoid_stays_a_condition():
    body = json.loads(json.dumps(RULES["ellipsoid"][0]()))
    bound = ", provided that ‖theta*‖ <= 2"
    assert bound in body["claim"]["statement"]
    body["claim"]["statement"] = body["claim"]["statement"].replace(bound, "")
    for inner in ({"inner": {"rule": "ellipsoid"}}, {"inner": None}, {}):
        with pytest.raises(CertificateError, match=r"a rule inside|the statement should be"):
            verify(sealed(body | {"evidence": body["evidence"] | inner}))


@pytest.mark.parametrize("kind", [*KINDS])
def test_no_condition_is_left_out_of_the_sentence(kind):
    body = honest(kind)
    parts = body["claim"]["statement"].split("; ")
    for number in range(1, len(parts)):
        said = "; ".join(parts[:number] + parts[number + 1 :])
        with pytest.raises(CertificateError, match=r"the statement should be|does not follow"):
            verify(sealed(body | {"claim": body["claim"] | {"statement": said}}))


def test_options_that_tie_are_those_that_do():
    body = honest("table")
    body["claim"]["candidates"] = [body["claim"]["candidate"], 0]
    with pytest.raises(CertificateError, match="not all of those that tie"):
        verify(sealed(body))


# -- the problem ---------------------------------------------------------------------------
def test_labels_are_those_of_the_problem_that_is_given():
    """Exchanged, they let another option win; whoever has the problem can tell."""
    problem = sp.Problem([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], labels=["a", "b", "c"], noise=0.1)
    body = sp.identify(problem, lambda arm: (0.0, 1.0, 3.0)[arm]).certificate()
    assert sp.verify(body, problem).label == "c"
    body["problem"]["labels"] = ["c", "b", "a"]
    body["claim"]["label"] = "a"
    with pytest.raises(CertificateError, match="other labels of the arms than those given"):
        sp.verify(sealed(body), problem)
    assert sp.verify(sealed(body), problem.arms).label == "a"  # nobody said what they are called
    assert sp.verify(sealed(body), sp.Problem(problem.arms)).label == "a"


# -- records -------------------------------------------------------------------------------
def one_each(body):
    """Lists with an entry for each batch."""
    blocks = body["evidence"].get("blocks", [])
    own = blocks if len(blocks) == len(body["batches"]) else []
    return [body["batches"], own] if isinstance(own, list) and own else [body["batches"]]


def numbered(body):
    if body["evidence"]["rule"] == "pairs":
        body["evidence"]["blocks"] = list(range(len(body["batches"])))
    body["claim"]["samples"] = sum(sum(batch["counts"]) for batch in body["batches"])


def first_left_out(body):
    for listed in one_each(body):
        del listed[0]
    numbered(body)


def one_left_out(body):
    for listed in one_each(body):
        del listed[1]
    numbered(body)


def earlier_stop(body):
    """Before it was decided, and the same claimed."""
    for listed in one_each(body):
        del listed[-1]
    numbered(body)


def tiny_delta(body):
    body["delta"] = body["algorithm"]["settings"]["delta"] = 1e-9


def other_way(body):
    body["problem"]["minimise"] = True


def own_data_as_past(body):
    """The first batch counted twice: once as it was measured, once as past."""
    batch = copy.deepcopy(body["batches"][0])
    pulls = sum(batch["counts"])
    body["past"] = {"chosen": "in advance", "measurements": pulls, "batches": [batch]}
    blocks = body["evidence"].get("blocks")
    if blocks and isinstance(blocks[0], dict):
        blocks[0]["past"] = 1


def twice(body):
    """A batch that favours the answer, counted again."""
    for listed in one_each(body):
        listed.append(copy.deepcopy(listed[-1]))
    numbered(body)


def other_option(body):
    """The answer and somebody who was ruled out change their names in the record alone."""
    answer = body["claim"]["candidate"]
    other = 0 if answer else 1
    swap = {answer: other, other: answer}
    for batch in body["batches"]:
        batch["arms"] = [swap.get(arm, arm) for arm in batch["arms"]]


def other_seed(body):
    body["order"]["seed"] += 1


FORGERIES = {
    "table": (first_left_out, one_left_out, earlier_stop, tiny_delta, other_way, twice),
    "quantile": (first_left_out, one_left_out, earlier_stop, tiny_delta, other_way, twice),
    "pairs": (first_left_out, earlier_stop, tiny_delta, other_way, other_seed, other_option),
    "limits": (first_left_out, one_left_out, earlier_stop, tiny_delta, other_way, twice),
    "bets": (first_left_out, one_left_out, earlier_stop, tiny_delta, other_way, twice),
}


@pytest.mark.parametrize(
    ("kind", "forge"), [(kind, forge) for kind, all_ in FORGERIES.items() for forge in all_]
)
def test_records_that_do_not_hang_together_are_refused(kind, forge):
    body = honest(kind)
    forge(body)
    with pytest.raises(CertificateError):
        sp.verify(worked_out(body), replay=True)


@pytest.mark.parametrize("kind", ["table", "quantile", "pairs", "limits", "bets"])
def test_own_data_is_no_past(kind):
    body = honest(kind)
    own_data_as_past(body)
    with pytest.raises(CertificateError):
        sp.verify(worked_out(body), replay=True)


def test_a_part_of_another_certificate_does_not_fit():
    one, other = honest("table"), RULES["complete"][1]()
    for name in ("batches", "evidence", "claim", "problem"):
        body = one | {name: other[name]}
        with pytest.raises(CertificateError):
            sp.verify(worked_out(body), replay=True)


# -- and what they say ---------------------------------------------------------------------
def test_verify_says_on_what_every_certificate_rests(tmp_path):
    rng = np.random.default_rng(0)
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    body = sp.identify(problem, lambda arm: float(rng.random() < (0.1, 0.9)[arm])).certificate()
    (tmp_path / "c.json").write_text(json.dumps(body))
    said = CliRunner().invoke(cli, ["verify", str(tmp_path / "c.json")]).output
    assert "It rests on what no certificate can show: that its measurements (yes or no)" in said
    assert "none left out, added or changed" in said
    assert "settings and seeds were fixed before" in said

"""The harness of sentences: that it measures what it says, and that it can fail."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.sentences import certificates, measured
from benchmarks.sentences.cells import BROKEN, CELLS, Cell, Outcome, allowed

import surepick as sp
from surepick.conditions import CONDITIONS
from surepick.run.certificate import fingerprint

KEPT = Path(__file__).parent / "data" / "false_certificates"
#: what a way of going on breaks, and the condition that says so
NAMES = {
    "afresh": "afresh",
    "visitors": "visitors",
    "whole": "sent",
    "splits": "splits",
    "lost": "lost",
    "leads": "leads",
    "booked": "until-reported",
    "their period": "visitors",
    "again": "alone",
    "timed": "apart",
    "duration": "hedged",
    "edited": "changed",
    "remeasured": "again",
}
JUDGE = "a judge that is certain, one kept answer of each · llm_judge"
CHEAP = (JUDGE, "leads change sign (novelty) · a site, revenue")


def test_a_part_of_the_record_can_be_made_again_by_itself():
    one = CELLS[JUDGE]
    after, alone = one.outcomes(0, 3, 0, 0.2)[2], one.outcomes(2, 1, 0, 0.2)[0]
    assert after.false is not None
    assert (after.false, after.said) == (alone.false, alone.said)


@pytest.mark.parametrize("key", CHEAP)
def test_cheap_cells_pass(key):
    part = measured.measure((key, 0, 3, 0, 0.2))
    parts = {f"{key} | 0 | 3": part}
    assert part["runs"] == 3
    assert not any("Error" in why for why in part["why"])
    text, failed = measured.report(parts, 0.2)
    assert failed == []
    assert key.split(" · ")[0] in text


def broken(says: str, share: float = 1.0, **more):
    """A door that claims what is false, and says this."""

    def live(rng, delta):
        return Outcome(bool(rng.random() < share), {"shown": says, "plain": f"{says} So it is."})

    return Cell("as somebody likes", "a broken door", live, breaks="lost", **more)


@pytest.mark.parametrize(
    ("says", "share", "more", "well"),
    [
        ("b is the best.", 1.0, {}, False),
        ("b is the best.", 0.2, {}, True),
        ("b is the best.", 0.05, {"certain": True}, False),
        (f"b is the best, {CONDITIONS['lost'].exact}.", 1.0, {}, True),
    ],
)
def test_a_door_that_says_what_is_false_fails(monkeypatch, says, share, more, well):
    one = broken(says, share, **more)
    monkeypatch.setattr(measured, "CELLS", {one.key: one})
    part = measured.measure((one.key, 0, 200, 0, 0.2))
    text, failed = measured.report({f"{one.key} | 0 | 200": part}, 0.2)
    assert failed == ([] if well else [one.key])
    assert ("**no**" in text) is not well


def test_every_sentence_has_to_name_the_condition():
    named = CONDITIONS["lost"].exact
    assert Outcome(True, {"shown": named, "plain": named}).names("lost")
    assert not Outcome(True, {"shown": named, "plain": "b is the best"}).names("lost")
    assert not Outcome(True).names("lost")
    assert not Outcome(True, {"shown": named}).names("")


def test_a_cell_that_breaks_off_shows_no_sentence():
    def live(rng, delta):
        raise ZeroDivisionError("by nothing")

    (found,) = Cell("as somebody likes", "a door", live).outcomes(0, 1, 0, 0.2)
    assert (found.false, found.why) == (None, "ZeroDivisionError: by nothing")


@pytest.mark.parametrize(("broken", "name"), [*NAMES.items(), ("lost", "renewed")])
def test_conditions_are_recognised_and_not_taken_for_each_other(broken, name):
    one = CONDITIONS[name]
    texts = [one.exact, one.plain or one.meaning or one.exact]
    for text in (text.format(**dict.fromkeys(one.fields, 7)) for text in texts):
        named = {other for other in NAMES if Outcome(True, {"": text}).names(other)}
        assert broken in named
        assert named <= {broken, "booked", "visitors", "their period"}  # who is counted, and when


def test_sales_that_are_booked_on_their_day_are_named_in_every_rendering():
    """A version that comes later is without the sales of visitors who came before it."""
    one = CELLS["a version comes later, and buyers are counted on their day · a site, yes or no"]
    found = next(o for i in range(40) for o in one.outcomes(i, 1, 0, 0.2) if o.false)
    assert found.said.keys() >= {"plain", "exact", "json"}
    assert found.names("their period"), found.said
    verified = sp.verify(found.certificate)
    assert Outcome(True, {"": verified.plain, "-": verified.statement}).names("their period")


def test_what_chance_explains():
    assert allowed(0.2, 100) == pytest.approx(0.2 + 4 * 0.04)
    assert set(BROKEN) >= {one.breaks for one in CELLS.values()}
    assert np.all([one.way and one.door for one in CELLS.values()])


# -- certificates of false sentences -----------------------------------------------------------
def kept():
    """Each case and number; two of a case by themselves, the others where there is time."""
    every = [(case, i) for case in certificates.CASES for i, _ in enumerate(read(case))]
    long = pytest.mark.validation
    return [pytest.param(*one, marks=() if one[1] < 2 else long) for one in every]


#: why those are refused that do not name what was broken
REFUSED = dict.fromkeys(certificates.CASES, "(none is: each names it)")
REFUSED["put-together"] = "is of another test or segment"
REFUSED["growing-file"] = "it is not shown to beat every other option"


def read(case):
    return [*certificates.read(KEPT, case)]


@pytest.mark.parametrize(("case", "number"), kept())
def test_a_certificate_of_a_false_sentence_is_refused(case, number):
    """Each was issued, and verified, by a version that did not look for what was broken.

    It says all that is wanted of it by now, so it is not refused because that is missing.
    """
    body = read(case)[number]
    passed, said = certificates.passed(case, body)
    assert not passed, said
    passed, said = certificates.passed(case, body, replay=False)
    assert not passed, said
    refused = said.startswith("certificate refused")
    assert REFUSED[case] in said if refused else case != "put-together", said
    if "claim" in body:
        silent = body["claim"] | {"statement": body["claim"]["statement"].partition("; ")[0]}
        silent = {key: one for key, one in body.items() if key != "digest"} | {"claim": silent}
        said = certificates.passed(case, silent | {"digest": fingerprint(silent)}, replay=False)[1]
        assert "the statement should be" in said or refused


def test_they_are_of_every_kind_and_many():
    counts = {case: len(read(case)) for case in certificates.CASES}
    assert min(counts.values()) >= 20
    assert sum(counts.values()) >= 150


@pytest.mark.validation
@pytest.mark.parametrize("case", certificates.CASES)
def test_no_certificate_is_made_now_that_passes_and_says_nothing(case, tmp_path):
    """However somebody goes on, what is issued today is refused, or names what was broken."""
    certificates.write(tmp_path, {certificates.CASES[case]}, 25, 1, 0.2)
    for body in certificates.read(tmp_path, case):
        passed, said = certificates.passed(case, body)
        assert not passed, said

"""Acts of every kind: listed alike, written once, whatever comes between."""

import json

import pytest

import surepick as sp
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.study import acts
from surepick.study.acts import ActKind, Field, write
from surepick.study.chain import check_chain

PROBLEM = sp.Problem.unstructured(["a", "b", "c"])
RIGHT = {"a": (500, 21), "b": (503, 20)}


class Note(ActKind):
    """A remark."""

    kind = link = "note"
    about = "Keep a remark with the study."
    fields = (Field("text", str, "What to remember."), Field("page", int, "Where.", None))

    def words(self, details):
        return f"Note: {details['text']}"


@pytest.fixture
def note():
    acts.register(Note())
    yield "note"
    acts.unregister("note")


def measured(url, name="acts"):
    """A study with a few rewards."""
    study = sp.create_study(name, PROBLEM, storage=url, overlap=False)
    study.tell_many([(pull.id, float(pull.arm)) for pull in study.ask(4, "ann")])
    return study


def visited(url, name="site acts"):
    """A study of traffic with a report, and shares for the next one."""
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study(name, problem, storage=url, traffic=True)
    study.split(period="monday")
    study.record({"a": (500, 20), "b": (503, 20)}, "monday")
    study.split(period="tuesday")
    return study


ON_PULLS = {
    "correct": {"pull": 0, "reward": 9.0},
    "withdraw": {"pull": 1},
    "add": {"labels": ["d"]},
    "retire": {"label": "a"},
    "accept": {"epsilon": 0.2},
    "limit": {"budget": 300},
    "pause": {},
    "resume": {},
    "stop": {},
}
ON_REPORTS = {
    "set-aside": {"period": "monday"},
    "record": {"period": "tuesday", "report": RIGHT},
    "correct-report": {"period": "monday", "report": RIGHT},
}


def study_for(kind, url):
    study = (measured if kind in ON_PULLS else visited)(url)
    if kind == "resume":
        study.pause()
    return study


def links(study):
    return study.storage.read(lambda tx: tx.links(study._record.id))


def test_every_kind_is_tried_here():
    elsewhere = {"ask-again"}  # of cells of a table that are due: tests/study/test_canaries.py
    assert {one.kind for one in acts.kinds()} == {*ON_PULLS, *ON_REPORTS, *elsewhere}


@pytest.mark.some(5)
@pytest.mark.parametrize("kind", [*ON_PULLS, *ON_REPORTS])
def test_acts_say_who_did_what_when_and_why(kind, storage_url):
    study = study_for(kind, storage_url)
    before = study.acts()
    study.act(kind, reason="because", by="ann", **(ON_PULLS | ON_REPORTS)[kind])
    *earlier, act = study.acts()
    assert earlier == before
    assert (act.kind, act.token) == (kind, None)
    assert (act.by, act.reason) == ("ann", "because")
    assert act.said
    assert act == acts.Act.from_dict(json.loads(json.dumps(act.to_dict())))
    assert [one.kind for one in study.acts(kind)] == [kind] * (1 + (kind == "record"))
    study.rebuild()
    check_chain(study.storage, study._record)


@pytest.mark.parametrize("kind", [*ON_PULLS, *ON_REPORTS])
def test_where_only_the_confirmation_was_lost_it_is_written_once(kind, monkeypatch):
    """The storage runs a transaction again whose end it did not hear of."""
    study = study_for(kind, f"memory://confirmation of {kind}")
    real, there = study.storage.write, len(links(study))

    def write_twice(work):
        real(work)
        return real(work)

    monkeypatch.setattr(study.storage, "write", write_twice)
    done = study.act(kind, reason="because", **(ON_PULLS | ON_REPORTS)[kind])
    monkeypatch.undo()
    assert done not in (None, False)
    assert getattr(done, "status", "accepted") == "accepted"
    own = acts.get(kind).link
    assert [link.kind for link in links(study)[there:]].count(own) == 1
    study.rebuild()
    check_chain(study.storage, study._record)


@pytest.mark.parametrize("kind", [*ON_PULLS, *ON_REPORTS])
def test_whatever_comes_between_is_not_lost(kind, monkeypatch):
    """Somebody else acts after an act was worked out, and before it is written."""
    study = study_for(kind, f"memory://between {kind}")
    other, done = sp.load_study(study.name, study.storage), []
    real = write._Writing

    def quicker(*given):
        if not done:
            done.append(1)
            if kind in ON_PULLS:
                other.correct(2, 7.0, reason="read again")
            else:
                other.correct_report("monday", {"a": (1, 1), "b": (503, 20)}, reason="bots")
        return real(*given)

    monkeypatch.setattr(write, "_Writing", quicker)
    study.act(kind, reason="because", **(ON_PULLS | ON_REPORTS)[kind])
    monkeypatch.undo()
    last = study.acts()[-2:]
    assert [one.kind for one in last] == ["correct" if kind in ON_PULLS else "correct-report", kind]
    again, kept = study.rebuild(), study.current_run
    assert again.to_json().replace(again.id, "") == kept.to_json().replace(kept.id, "")
    check_chain(study.storage, study._record)


def test_a_report_does_not_take_back_the_revision():
    study = visited("memory://revision")
    study.correct_report("monday", RIGHT, reason="bots")
    revision = study.progress().revision
    study.record({"a": (500, 20), "b": (503, 20)}, "tuesday")
    assert study.progress().revision == revision == 1


def test_an_act_from_outside_is_kept_in_the_chain(note, storage_url):
    study = measured(storage_url)
    act = study.act(note, text="the lamp was replaced", by="ann", reason="it flickered")
    assert (act.said, act.details["page"]) == ("Note: the lamp was replaced", None)
    study.pause("lunch")
    assert [one.kind for one in study.acts()] == ["note", "pause"]
    assert study.acts("note") == [act]
    assert study.progress().revision == 0, "nobody has to read the run anew"
    check_chain(study.storage, study._record)


def test_links_of_kinds_that_are_not_known_are_listed(storage_url):
    acts.register(Note())
    study = measured(storage_url)
    study.act("note", text="x", by="ann")
    acts.unregister("note")
    (act,) = study.acts()
    assert (act.kind, act.by) == ("note", "ann")
    assert "unknown" in act.said
    with pytest.raises(UnknownNameError, match="act"):
        study.act("note", text="x")


def test_what_a_kind_does_not_take_is_refused(note):
    study = measured("memory://refused acts")
    for given, message in (
        ({}, "text: note needs it"),
        ({"text": "x", "colour": "red"}, "colour"),
        ({"text": 3}, "text must be a text"),
        ({"text": "x", "page": 1.5}, "page"),
    ):
        with pytest.raises(sp.SurepickError, match=message):
            study.act(note, **given)
    with pytest.raises(InvalidInputError, match="say why"):
        study.act("correct", pull=0, reward=1.0)
    with pytest.raises(InvalidInputError, match="already exists"):
        acts.register(Note())
    assert study.acts() == []

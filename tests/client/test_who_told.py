"""Tells through the client that do not say who measured: the one who asked there did."""

import time

import pytest

import surepick as sp
from surepick.client.requests import Request
from surepick.study.workers.identity import own_name


def test_a_pull_of_two_workers_and_a_token_that_is_not_valid_any_more(service):
    """The first reward counts; what is left of a pull when a token goes is the other one's."""
    with service.client() as admin:
        problem = sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0)
        admin.create_study("twice", problem, hedge=True, overlap=False)
        made = {name: admin.make_token("worker", ["twice"]) for name in "abc"}
        send = admin._transport.send
        known = [row["id"] for row in send(Request("GET", "/api/v1/tokens"))["tokens"]]
        a, b, c = (sp.Client(service.url, made[name]).load_study("twice") for name in "abc")
        assert len(a.ask(99, "w")) == 4
        assert [[pull.id for pull in one.ask(9, "w")] for one in (b, c)] == [[0], [1]]
        assert b.tell(0, 1.0).status == "accepted"
        assert a.tell(0, 2.0).status == "late"
        assert [pull.id for pull in b.ask(9, "w")] == [2]
        send(
            Request("DELETE", f"/api/v1/tokens/{known[-3]}", raw=True)
        )  # that of a: 1 and 2 are with others, too
        send(Request("DELETE", f"/api/v1/tokens/{known[-1]}", raw=True))  # that of c
        assert [pull.id for pull in b.ask(9, "w")] == [2, 3, 1]
        told = b.tell_many([(pull, 1.0) for pull in (1, 2, 3)])
        assert {one.status for one in told} == {"accepted"}


def test_pulls_are_kept_for_longer_by_who_has_them_and_known_only_to_their_token(service):
    with service.client() as admin:
        study = admin.create_study("kept", sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0))
        mine, theirs = (
            sp.Client(service.url, admin.make_token("worker", ["kept"])).load_study("kept")
            for _ in range(2)
        )
        (one,), (other,) = mine.ask(1, "a", lease=0.5), theirs.ask(1, "b", lease=1000.0)
        assert mine.keep({"a": [one.id, other.id], "b": [other.id]}, 60.0) == {"a": [one.id]}
        assert mine.keep({"c": [one.id]}, 0.001) == {"a": [one.id]}  # it is not c's
        assert theirs.keep({}) == {"b": [other.id]}
        time.sleep(0.6)
        assert not {one.id, other.id} & {pull.id for pull in mine.ask(9, "d")}
        assert study.events() == []


def test_what_a_process_had_that_has_ended_is_taken_back_through_a_service(service):
    *place, _, begun = own_name().rsplit("-", 2)
    gone = "-".join([*place, "99999999", begun, "1"])
    with service.client() as client:
        study = client.create_study("ended", sp.Problem([[1.0], [2.0]], noise=0.1), max_samples=6)
        assert study.ask(1, gone, lease=1000.0)
        assert study.run(lambda task: 1.0 + task.arm).samples
        assert {one.worker for one in study.events()} == {gone}


@pytest.mark.parametrize("many", [False, True])
def test_a_pull_that_somebody_else_has_by_now_is_theirs_to_tell(service, many):
    """The lease has gone to another one, whose reward counts; the first one's is kept as late."""
    name = f"told {many}"
    with service.client() as client, service.client() as elsewhere:
        study = client.create_study(name, sp.Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0))
        first = study.ask(1, "a", lease=0.01)[0]
        others = study.ask(study.progress().size - 1, "c")  # all the rest
        time.sleep(0.05)
        other = elsewhere.load_study(name)
        assert [pull.id for pull in other.ask(1, "b")] == [first.id]
        if many:
            told = study.tell_many([(pull.id, 1.0) for pull in [others[0], first]])
            assert [one.status for one in told] == ["accepted", "late"]
        else:
            assert study.tell(first.id, 1.0).status == "late"  # too late, and not a's mistake
        assert other.tell(first.id, 9.0).status == "accepted"
        assert [event.worker for event in study.events("late")] == ["a"]


def test_a_label_that_contradicts_a_pull_is_refused_before_anything_is_recorded(service):
    """The service compares labels with what pulls were for; so do clients that send in parts."""
    with service.client() as client, service.client() as elsewhere:
        problem = sp.Problem.unstructured(["red", "blue"], noise=1.0)
        study = client.create_study("labelled", problem)
        (first,), (second,) = study.ask(1, "a"), study.ask(1, "b")
        other = {"red": "blue", "blue": "red"}
        with pytest.raises(
            sp.SurepickError, match=f"measurement {first.id} was for {first.label!r}"
        ):
            elsewhere.load_study("labelled").tell(first.id, 1.0, label=other[first.label])
        with pytest.raises(
            sp.SurepickError, match=f"measurement {second.id} was for {second.label!r}"
        ):
            study.tell_many([(first.id, 1.0, first.label), (second.id, 2.0, other[second.label])])
        assert len(study.rewards().pulls) == 0
        told = study.tell_many([(first.id, 1.0, first.label.upper()), (second.id, 2.0)])
        assert [one.status for one in told] == ["accepted", "accepted"]

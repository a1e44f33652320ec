"""Studies that are paused, resumed, stopped, listed and deleted."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from tests.study import toy

import surepick as sp
from surepick.cli import cli
from surepick.errors import CertificateError
from surepick.run.certificate import fingerprint
from surepick.study.manage import describe_studies

ARMS = np.array([[1.0, a, b] for a in range(3) for b in range(3)])
MEANS = ARMS @ [0.0, 0.8, -0.8]


def make(url, **fields):
    problem = sp.Problem(ARMS, noise=1.0)
    return sp.create_study("course", problem, storage=url, delta=0.1, **fields)


def work(study, most=10**9):
    while not study.finished and study.progress().batch < most:
        pulls = study.ask(50, "ann")
        study.tell_many([(p.id, reward(p)) for p in pulls])


def reward(pull):
    return float(MEANS[pull.arm] + np.random.default_rng([3, pull.id]).normal())


def test_nothing_is_handed_out_while_paused(storage_url):
    study = make(storage_url)
    (pull,) = study.ask(1, "ann")
    assert study.pause("lunch", by="ann")
    assert not study.pause()
    assert study.status()["paused"]
    assert study.ask(3, "bob") == []
    assert not study.finished
    assert study.tell(pull.id, 0.5, "ann").status == "accepted"
    assert describe_studies(study.storage)[0]["state"] == "paused"
    assert study.resume()
    assert not study.resume()
    assert len(study.ask(3, "bob")) == 3
    kinds = [link.kind for link in study.storage.read(lambda tx: tx.links(study._record.id))]
    assert kinds == ["created", "proposed", "paused", "resumed"]
    toy.check_whole(study)


def test_stopped_it_says_what_is_known_and_what_is_not(storage_url):
    study = make(storage_url)
    while len(study.current_run.active) == len(ARMS):
        work(study, study.progress().batch + 1)
    assert not study.finished
    pulls = study.ask(2, "ann")
    study.tell(pulls[0].id, 0.5, "ann")
    left = study.current_run.active
    answer = study.stop("the money is gone", by="ann")
    assert study.finished
    assert answer.guarantee.kind == "none"
    assert f"stopped by hand with {len(left)} candidates left" in answer.guarantee
    assert f"the best is among those {len(left)} with probability at least 0.9" in answer.guarantee
    assert answer.survivors == left
    assert study.ask(1, "bob") == []
    study.tell(pulls[1].id, 0.5, "ann")  # kept, but not counted
    assert study.answer.samples == study.current_run.samples == answer.samples
    toy.check_whole(study)
    assert study.stop() == study.answer
    certificate = study.answer.certificate()
    assert sp.verify(certificate).replayed
    certificate["claim"]["statement"] = certificate["claim"]["statement"].replace("0.9", "0.99")
    certificate["digest"] = fingerprint(certificate)
    with pytest.raises(CertificateError, match="statement"):
        sp.verify(certificate)
    # Whatever is corrected now, it stays stopped.
    study.correct(0, 3.0, reason="read again")
    assert study.finished
    toy.check_whole(study)
    assert sp.verify(study.answer.certificate())


def test_before_anybody_is_ruled_out_nothing_is_promised(tmp_path):
    study = make("memory://nobody out")
    work(study, 1)
    said = study.stop().guarantee
    assert said.endswith("with 9 candidates left; the answer is the one that looks best")
    assert sp.verify(study.answer.certificate())


def test_the_verbs(database_folder):
    url = f"sqlite:///{database_folder}/studies.db"
    study = make(url)
    work(study, 2)
    study.close()

    def call(*words, **more):
        return CliRunner().invoke(cli, [*words, "--storage", url], **more)

    assert "waiting" in call("list").output
    assert call("pause", "course", "--reason", "lunch").exit_code == 0
    assert json.loads(call("list", "--json").output)[0]["state"] == "paused"
    asked = call("ask", "course")
    assert asked.exit_code == 4
    assert "surepick resume course" in asked.output
    assert "Paused" in call("status", "course").output
    assert "Resumed." in call("resume", "course").output
    assert call("ask", "course", "--worker", "ann").exit_code == 0
    assert "measuring" in call("list").output
    done = call("stop", "course")
    assert done.exit_code == 0, done.output
    assert "that is not proven: the study was stopped by hand" in done.output
    assert "finished" in call("list").output
    assert call("delete", "course", input="n\n").exit_code != 0
    assert call("delete", "course", "--yes").exit_code == 0
    assert call("list").output == "There are no studies.\n"


def test_a_list_takes_as_many_steps_however_many_studies_there_are(tmp_path):
    from sqlalchemy import event

    from surepick.storage import open_storage

    storage = open_storage(f"sqlite:///{tmp_path}/many.db", create=True)
    steps = []
    event.listen(storage._engine, "before_cursor_execute", lambda *said: steps.append(said[2]))
    counted = []
    for name in "abcdef":
        sp.create_study(name, sp.Problem(ARMS, noise=1.0), storage=storage, delta=0.1)
        steps.clear()
        assert [row["name"] for row in describe_studies(storage)][-1] == name
        counted.append(len(steps))
    assert len(set(counted)) == 1
    storage.close()


def test_a_list_says_what_each_study_does(storage_url):
    for name in "abcd":
        sp.create_study(name, sp.Problem(ARMS, noise=1.0), storage=storage_url, delta=0.1).close()
    with_worker, paused, ended = (sp.load_study(name, storage_url) for name in "bcd")
    (pull,) = with_worker.ask(1, "ann")
    paused.pause()
    ended.tell(ended.ask(1, "ann")[0].id, 1.0, "ann")
    ended.stop()
    rows = describe_studies(storage_url)
    assert [row["state"] for row in rows] == ["waiting", "measuring", "paused", "finished"]
    assert [row["samples"] for row in rows[:3]] == [0, 0, 0]
    assert [row["options"] for row in rows] == [9, 9, 9, 9]
    with_worker.tell(pull.id, 0.5, "ann")
    row = describe_studies(storage_url)[1]
    assert (row["state"], row["samples"]) == ("waiting", 1)

"""Workers that are killed: what they had in hand others measure at once, and nothing else."""

import collections
import time

import pytest
from tests.forks.client import Forked
from tests.study import toy
from tests.study.workers.processes import until
from tests.study.workers.test_work import By, at_work, right

import surepick as sp
from surepick.study.workers import work
from surepick.study.workers.identity import own_name
from surepick.study.workers.work import Workers

WORKERS = 3
CALLED = """
import pathlib, time

def f(task):
    for what in ("begun", "done"):
        with open("calls.txt", "a") as file:
            file.write(f"{what} {task.arm} {task.item}\\n")
        time.sleep(0.02 * (what == "begun"))
    return float(task.item % (2 + task.arm) == 0)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "called.py").write_text(CALLED)
    return tmp_path


def calls(folder, what="begun"):
    try:
        lines = (folder / "calls.txt").read_text().splitlines()
    except FileNotFoundError:
        return collections.Counter()
    return collections.Counter(tuple(x.split()[1:]) for x in lines if x.startswith(what))


def begin(folder):
    with (folder / "out").open("ab") as out, open("/dev/null") as nothing:
        files = [nothing.fileno(), out.fileno(), out.fileno()]
        words = ["run", "s", "--call", "called:f", "--workers", str(WORKERS)]
        return Forked("surepick", words, files=files)


@pytest.mark.validation
def test_after_kill_9_no_more_is_measured_again_than_was_under_way(folder):
    """Real processes on a real file; each run is killed while it measures, and the last ends."""
    problem = sp.Problem.unstructured(list("abcd"), noise="yes-no")
    study = sp.create_study("s", problem, complete=30, storage="sqlite:///surepick.db", seed=1)
    lost = 0  # calls whose scores are not in the file
    for kill in range(2):
        process = begin(folder)
        before = calls(folder).total()
        until(lambda before=before: calls(folder).total() >= before + 12)
        process.kill()
        process.wait()
        lost = calls(folder).total() - len(study.rewards().pulls)
        assert lost <= WORKERS * (kill + 1)
    process = begin(folder)
    assert process.wait() == 0, (folder / "out").read_text()
    again = calls(folder)
    assert again.total() - len(again) <= lost
    assert study.finished
    # Nobody has waited for a lease to run out.
    kinds = {(one.kind, one.note) for one in study.events()}
    assert kinds <= {("failed", "the process of the worker has ended")}


def test_what_a_process_had_that_has_ended_is_taken_back_while_others_work(tmp_path):
    study = sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=2), f"sqlite:///{tmp_path}/s.db")
    *place, _, begun = own_name().rsplit("-", 2)
    gone = "-".join([*place, "99999999", begun, "1"])
    held = study.ask(2, gone, lease=1000.0)
    kept = study.ask(1, "lab", lease=1000.0)  # of which nothing is known
    with at_work(Workers(study, By(right), workers=2)):
        until(lambda: study.progress().told == 5)
        study.tell(kept[0].id, toy.reward(kept[0]), "lab")
    assert study.finished
    assert {(one.pull, one.worker) for one in study.events("failed")} == {
        (pull.id, gone) for pull in held
    }


def test_what_is_still_being_measured_is_nobody_elses_however_long_it_takes(tmp_path, monkeypatch):
    monkeypatch.setattr(work, "_LEASE", 0.3)
    monkeypatch.setattr(work, "_BEAT", 0.05)
    url = f"sqlite:///{tmp_path}/s.db"
    study = sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=2), url)
    seen = []

    def measure(task, record):
        seen.append(task.pull)
        if task.pull == 0:
            until(lambda: len(seen) == 6)  # all others of the batch are told
            time.sleep(0.8)
        return right(task)

    with at_work(Workers(study, By(measure), name="one")) as one:
        until(lambda: seen)
        with at_work(Workers(sp.load_study("s", url), By(measure), name="two")) as two:
            pass
    assert one[0].told + two[0].told == 10
    assert sorted(seen) == list(range(10))
    assert study.events() == []

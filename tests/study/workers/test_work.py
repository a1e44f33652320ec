"""Crews that measure for a study in an SQLite file: threads, failures, signals, other workers."""

import collections
import contextlib
import dataclasses
import os
import signal
import threading
import time

import pytest
from tests.study import toy
from tests.study.workers.processes import gone, number_in, until

import surepick as sp
from surepick import errors
from surepick.study.workers import work
from surepick.study.workers.measure import Command, Measure
from surepick.study.workers.work import Workers


class By(Measure):
    """Measures by a function that gets the task and the record."""

    def __init__(self, function, timeout=60.0):
        self.function, self.timeout = function, timeout
        self.stopped = False

    def reward_of(self, task, record):
        return self.function(task, record)

    def stop(self):
        self.stopped = True


def right(task, record=None):
    """The reward of a task, as the toy's single worker would find it."""
    return toy.reward(sp.Pull(task.pull, task.arm, task.label))


@pytest.fixture
def url(database_folder):
    return f"sqlite:///{database_folder}/studies.db"


@pytest.fixture
def make(url):
    def make(each=2, **settings):
        return sp.create_study("s", toy.problem(3), toy.Toy(0.1, each=each), url, **settings)

    return make


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch):
    """Measurements here take no time, so that workers would take several pulls with them."""
    monkeypatch.setattr("surepick.study.workers.work._MOST_AT_ONCE", 1)


@contextlib.contextmanager
def at_work(crew):
    """The crew works in a thread; ``found`` gets what it did, or the error that ended it."""
    found = []

    def run():
        try:
            found.append(crew.run())
        except errors.SurepickError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield found
    finally:
        thread.join(60)
    assert not thread.is_alive()


def out(study):
    """Pulls that are with workers, and pulls that wait."""
    batch = study.status()["batch"]
    return batch["leased"], batch["waiting"]


def tell_in_their_place(study, pull, value):
    """Somebody else is given a pull that was not told in time, and tells it."""
    number = study.desk.record.id

    def give(tx):
        (lease,) = tx.leases(number, [pull]).values()
        tx.change(number, dataclasses.replace(lease, worker="other"))

    study.storage.write(give)
    assert study.tell(pull, value, "other").status == "accepted"


# -- whole studies -------------------------------------------------------------------------
@pytest.mark.some(1)
@pytest.mark.parametrize("workers", [1, 4])
def test_a_crew_finds_what_a_single_worker_finds(make, workers):
    study = make(each=5)
    kept, seen = [], []
    crew = Workers(
        study,
        By(right),
        workers=workers,
        name="crew",
        keep=kept.append,
        on_change=lambda work: seen.append((work.told, work.failed)),
    )
    work = crew.run()
    assert (work.told, work.failed, work.finished, work.stopped) == (25, 0, True, "")
    assert study.answer == toy.alone(each=5).answer
    toy.check_whole(study)
    assert sorted(one["pull"] for one in kept) == list(range(25))
    for one in kept:
        assert one["label"] == f"option {one['arm']}"
        assert (one["attempt"], one["error"]) == (1, "")
        assert one["seconds"] >= 0
    assert {one["worker"] for one in kept} <= {f"crew-{k + 1}" for k in range(workers)}
    assert seen == [(told, 0) for told in range(1, 26)]
    # A study that is finished needs nobody.
    again = Workers(study, By(right)).run()
    assert (again.told, again.finished) == (0, True)


def test_as_many_measure_at_a_time_as_there_are_workers(make):
    study = make(each=4)  # batches of 12 and 8
    meet = threading.Barrier(4)  # nobody goes on before four are measuring
    lock, now, most = threading.Lock(), 0, 0

    def measure(task, record):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        meet.wait(60)
        with lock:
            now -= 1
        return right(task)

    work = Workers(study, By(measure), workers=4).run()
    assert (work.told, work.failed) == (20, 0)
    assert most == 4


def test_a_worker_that_is_done_goes_on_while_others_measure(make):
    study = make()
    done = []

    def measure(task, record):
        if task.pull == 0:
            until(lambda: len(done) == 5, seconds=20)  # the rest of its batch
        done.append(task.pull)
        return right(task)

    work = Workers(study, By(measure), workers=2).run()
    assert (work.told, work.failed) == (10, 0)
    assert done[5] == 0


def test_crews_share_a_study(make, url):
    study = make(each=20)
    crews = [
        Workers(sp.load_study("s", url), By(right), workers=2, name=name) for name in ("one", "two")
    ]
    with at_work(crews[0]) as one, at_work(crews[1]) as two:
        pass
    assert one[0].finished
    assert two[0].finished
    assert one[0].told + two[0].told == 100
    assert study.answer == toy.alone(each=20).answer
    assert study.events() == []
    toy.check_whole(study)


def test_tasks_have_the_cells_of_their_row(make):
    study = make(meta={"columns": {"price": ["1", "2", "3"], "colour": ["red", None, "blue"]}})
    seen = {}

    def measure(task, record):
        seen[task.arm] = dict(task.features)
        return right(task)

    Workers(study, By(measure)).run()
    assert seen[0] == {"price": "1", "colour": "red"}
    assert seen[1] == {"price": "2", "colour": None}


@pytest.mark.parametrize("settings", [{"workers": 0}, {"retries": -1}, {"workers": 1.5}])
def test_bad_settings_are_named(make, settings):
    with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
        Workers(make(), By(right), **settings)


# -- failures ------------------------------------------------------------------------------
def test_what_fails_is_tried_again_and_recorded(make):
    study = make()
    kept = []

    def measure(task, record):
        if task.pull % 2 == 0 and task.attempt == 1:
            raise ZeroDivisionError(f"no {task.label}")  # any error, not only those foreseen
        return right(task)

    work = Workers(study, By(measure), keep=kept.append, name="crew").run()
    # More failures than may come in a row; but each is followed by a success.
    assert (work.told, work.failed, work.finished) == (10, 5, True)
    failures = study.events("failed")
    assert {event.pull for event in failures} == {0, 2, 4, 6, 8}
    for event in failures:
        assert event.note == f"ZeroDivisionError: no option {event.arm}"
        assert event.worker == "crew-1"
    assert len(kept) == 15
    assert [one["attempt"] for one in kept if one["pull"] == 2] == [1, 2]
    assert [one["reward"] is None for one in kept if one["pull"] == 2] == [True, False]
    assert study.answer.arm == toy.alone().answer.arm


@pytest.mark.parametrize(("retries", "times"), [(0, "once"), (2, "3 times")])
def test_a_pull_that_fails_too_often_ends_the_work(make, retries, times):
    study = make()

    def measure(task, record):
        if task.pull == 4:
            raise RuntimeError("dark")
        return right(task)

    work = Workers(study, By(measure), retries=retries).run()
    arm = study.events("failed")[0].arm
    said = f"measurement 4 ('option {arm}') failed {times}: RuntimeError: dark; if this option"
    assert work.stopped.startswith(said)
    assert work.stopped.endswith(f"surepick retire {study.name} 'option {arm}' --reason …")
    assert not work.finished
    assert work.failed == retries + 1
    assert work.told == len(study.rewards().pulls) == (5 if retries else 4)
    assert out(study) == (0, 6 - work.told)  # nothing is left in hand


def test_nothing_but_failures_ends_the_work(make):
    study = make(each=10)  # a batch of 30: no pull comes twice

    def measure(task, record):
        raise RuntimeError("dark")

    work = Workers(study, By(measure), workers=2, retries=1).run()
    assert work.stopped == "4 measurements in a row failed: RuntimeError: dark"
    assert work.told == 0
    assert work.failed in (4, 5)  # one may have been under way
    assert out(study) == (0, 30)
    assert len(study.events("failed")) == work.failed


def test_a_number_that_no_reward_can_be_has_failed(make):
    study = make()
    kept = []
    work = Workers(study, By(lambda task, record: 1e200), retries=0, keep=kept.append).run()
    assert "too large" in work.stopped
    assert (work.told, work.failed) == (0, 1)
    assert kept[0]["reward"] == 1e200
    assert len(study.rewards().pulls) == 0


def test_a_record_is_kept_before_its_reward_is_told(make, url):
    study, onlooker = make(), sp.load_study("s", url)
    told_then = []

    def measure(task, record):
        record["volts"] = 1.5
        return right(task)

    def keep(record):
        assert record["volts"] == 1.5
        told_then.append(record["pull"] in onlooker.rewards().pulls)
        if record["pull"] == 3:
            raise OSError("the disk is full")

    measure = By(measure)
    with pytest.raises(OSError, match="disk is full"):
        Workers(study, measure, keep=keep).run()
    assert told_then == [False] * 4
    assert study.rewards().pulls.tolist() == [0, 1, 2]
    assert measure.stopped


# -- time ----------------------------------------------------------------------------------
def test_a_function_that_hangs_is_given_up_and_what_it_says_later_is_dropped(make):
    study = make()
    free = threading.Event()

    def measure(task, record):
        if task.pull == 0 and task.attempt == 1:
            free.wait(60)
            return 1000.0
        if task.pull == 7:
            free.set()
        return right(task)

    kept = []
    work = Workers(study, By(measure, timeout=0.2), keep=kept.append).run()
    assert (work.told, work.failed, work.finished) == (10, 1, True)
    assert study.events("failed")[0].note == "no reward after 0.2 s"
    assert [one["reward"] == 1000.0 for one in kept] == [False] * 11
    assert study.rewards().values.max() < 10
    assert study.events("late", "conflict", "duplicate") == []


def test_a_function_that_hangs_is_given_up_however_busy_the_others_are(make):
    study = make(each=400)  # a batch of 1200: longer than the time that a measurement has
    free = threading.Event()

    def measure(task, record):
        if task.pull == 0 and task.attempt == 1:
            free.wait(60)
        free.wait(0.005)
        return right(task)

    def seen(work):
        if work.failed:
            crew.interrupt()

    crew = Workers(study, By(measure, timeout=0.2), workers=2, on_change=seen)
    work = crew.run()
    free.set()
    assert work.failed == 1
    assert work.told < 1199  # not only when the others had nothing left to do


def test_commands_past_their_time_are_failures(make, tmp_path):
    study = make()
    script = tmp_path / "hang.sh"
    script.write_text("echo 5; sleep 300")
    kept = []
    measure = Command(f"sh {script}", timeout=0.3)
    work = Workers(study, measure, retries=0, keep=kept.append).run()
    assert work.stopped.endswith("failed once: the command was killed after 0.3 s")
    assert kept[0]["stdout"] == "5\n"
    assert kept[0]["reward"] is None
    assert study.events("failed")[0].note == "the command was killed after 0.3 s"


# -- other workers -------------------------------------------------------------------------
def test_a_crew_of_the_same_name_goes_on_with_what_was_in_hand(make, url):
    study = make()
    died = sp.load_study("s", url)
    died.ask(1, "crew-1", lease=0.2)
    died.ask(1, "crew-2", lease=1000.0)
    attempts = collections.Counter()

    def measure(task, record):
        attempts[task.attempt] += 1
        if task.pull == 0:
            time.sleep(0.4)  # longer than the lease that it was found with
        return right(task)

    work = Workers(study, By(measure), workers=2, name="crew").run()
    assert (work.told, work.finished) == (10, True)
    assert attempts == {1: 10}
    # Neither expired nor measured twice; but they may have been measured before it died.
    assert {(one.kind, one.worker) for one in study.events()} == {
        ("renewed", "crew-1"),
        ("renewed", "crew-2"),
    }


def test_a_crew_waits_for_what_others_have_in_hand(make, url):
    study, other = make(), sp.load_study("s", url)
    (theirs,) = other.ask(1, "other", lease=1000.0)
    crew = Workers(study, By(right), workers=3, name="crew")
    with at_work(crew) as found:
        until(lambda: len(other.rewards().pulls) == 5)
        assert found == []
        assert not other.finished
        other.tell(theirs.id, toy.reward(theirs), "other")
    assert (found[0].told, found[0].finished) == (9, True)
    assert study.answer == toy.alone().answer


def test_a_crew_says_for_whom_it_waits_once(make, url, monkeypatch, caplog):
    monkeypatch.setattr(work, "_PATIENCE", 0.1)
    study, other = make(), sp.load_study("s", url)
    (theirs,) = other.ask(1, "other", lease=1000.0)
    with at_work(Workers(study, By(right), workers=3, name="crew")):
        until(lambda: caplog.messages)
        time.sleep(0.5)  # twice as long as it takes to look again
        other.tell(theirs.id, toy.reward(theirs), "other")
    (said,) = caplog.messages
    assert said.startswith("waiting for 1 measurement that other has had since ")


def test_a_lease_that_was_lost_is_no_harm(make, url):
    study, other = make(), sp.load_study("s", url)

    def measure(task, record):
        if task.pull == 1:  # somebody is faster
            tell_in_their_place(other, 1, right(task))
            return 1000.0
        return right(task)

    work = Workers(study, By(measure), name="crew").run()
    assert work.finished
    (late,) = study.events()
    assert (late.kind, late.pull, late.worker, late.value) == ("late", 1, "crew-1", 1000.0)
    assert study.answer == toy.alone().answer
    toy.check_whole(study)


def test_a_failure_after_the_lease_was_lost_is_no_harm(make, url):
    study, other = make(), sp.load_study("s", url)

    def measure(task, record):
        if task.pull == 1:
            tell_in_their_place(other, 1, right(task))
            raise RuntimeError("dark")
        return right(task)

    work = Workers(study, By(measure), name="crew").run()
    assert work.finished
    assert study.events("failed") == []
    assert study.answer == toy.alone().answer


def test_a_study_that_is_deleted_meanwhile_ends_the_work(make, url, tmp_path):
    study = make()
    script = tmp_path / "measure.sh"
    script.write_text(
        f"cd {tmp_path}; sleep 300 & echo $! > child-$SUREPICK_PULL\n"
        '[ "$SUREPICK_PULL" = 0 ] && wait; until [ -e deleted ]; do sleep 0.02; done; echo 1'
    )
    measure = Command(f"sh {script}")
    with at_work(Workers(study, measure, workers=2)) as found:
        pids = [number_in(tmp_path / f"child-{pull}") for pull in (0, 1)]
        sp.delete_study("s", url)
        (tmp_path / "deleted").touch()
    assert isinstance(found[0], errors.UnknownStudyError)
    until(lambda: gone(pids[0]))
    if not gone(pids[1]):  # its command had ended before
        os.kill(pids[1], signal.SIGKILL)


# -- being interrupted ---------------------------------------------------------------------
def test_interrupted_a_crew_tells_what_it_is_measuring_and_starts_nothing(make):
    study = make()
    started, free = [], threading.Event()

    def measure(task, record):
        started.append(task.pull)
        free.wait(60)
        return right(task)

    measure = By(measure)
    crew = Workers(study, measure, workers=2)
    with at_work(crew) as found:
        until(lambda: len(started) == 2)
        crew.interrupt()
        free.set()
    work = found[0]
    assert (work.stopped, work.told, work.failed, work.finished) == ("interrupted", 2, 0, False)
    assert sorted(study.rewards().pulls.tolist()) == sorted(started) == [0, 1]
    assert out(study) == (0, 4)
    assert study.events() == []
    assert not measure.stopped


def test_interrupted_while_there_is_nothing_to_do_a_crew_leaves(make, url):
    study = make()
    sp.load_study("s", url).ask(6, "other", lease=1000.0)
    crew = Workers(study, By(right))
    with at_work(crew) as found:
        assert found == []
        crew.interrupt()
    assert (found[0].stopped, found[0].told) == ("interrupted", 0)


def test_ctrl_c_twice_kills_commands_and_hands_their_pulls_back(make, url, tmp_path):
    study, other = make(), sp.load_study("s", url)
    script = tmp_path / "measure.sh"
    script.write_text(f"sleep 300 & echo $! > {tmp_path}/child-$SUREPICK_PULL; wait")
    measure = Command(f"sh {script}")
    crew = Workers(study, measure, workers=2, name="crew")
    pids = []

    def press():
        pids.extend(number_in(tmp_path / f"child-{pull}") for pull in (0, 1))
        os.kill(os.getpid(), signal.SIGINT)
        until(lambda: crew.work.stopped)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, crew.interrupt)
    user = threading.Thread(target=press)
    try:
        user.start()
        with pytest.raises(KeyboardInterrupt):
            crew.run()
    finally:
        user.join(60)
        signal.signal(signal.SIGINT, before)
    assert crew.work.stopped == "interrupted"
    assert crew.work.told == 0
    for pid in pids:
        until(lambda pid=pid: gone(pid))
    events = other.events("failed")
    assert sorted((event.pull, event.note) for event in events) == [
        (0, "interrupted"),
        (1, "interrupted"),
    ]
    # Others need not wait until the leases run out.
    assert [(pull.id, pull.attempt) for pull in other.ask(6, "other")] == [
        *((k, 1) for k in range(2, 6)),
        (0, 2),
        (1, 2),
    ]


# -- the disk --------------------------------------------------------------------------------
def test_rewards_and_pulls_of_a_crew_share_transactions(make, monkeypatch):
    """A study of 100 pulls, four at a time: far fewer transactions than two for each pull."""
    study = make(each=20)
    meet = threading.Barrier(4)
    writes = []
    plain = study.storage.write

    def counted(work):
        writes.append(work)
        return plain(work)

    def measure(task, record):
        meet.wait(60)  # all four finish at about the same time
        return right(task)

    monkeypatch.setattr(study.storage, "write", counted)
    monkeypatch.setattr("surepick.study.workers.work._LINGER", 60.0)
    crew = Workers(study, By(measure), workers=4, name="crew")
    crew._exchanging = 100.0
    work = crew.run()
    assert (work.told, work.finished) == (100, True)
    assert study.answer == toy.alone(each=20).answer
    assert len(writes) < 100


def test_workers_take_several_pulls_along_where_measuring_is_quicker_than_asking(make, monkeypatch):
    """A slow disk, and a command that takes no time: a few transactions are enough."""
    monkeypatch.setattr("surepick.study.workers.work._MOST_AT_ONCE", 8)
    study = make(each=40)  # 200 pulls
    writes, plain = [], study.storage.write

    def slow(work):
        writes.append(work)
        time.sleep(0.02)
        return plain(work)

    monkeypatch.setattr(study.storage, "write", slow)
    work = Workers(study, By(right), workers=4, name="crew").run()
    assert (work.told, work.failed, work.finished) == (200, 0, True)
    assert study.answer == toy.alone(each=40).answer
    assert len(writes) < 100


def test_they_do_not_where_measuring_takes_its_time(make, monkeypatch):
    """What one worker would only keep, another one can measure."""
    monkeypatch.setattr("surepick.study.workers.work._MOST_AT_ONCE", 8)
    study, most = make(each=4), []

    def measure(task, record):
        time.sleep(0.1)
        most.append(out(study)[0])
        return right(task)

    assert Workers(study, By(measure), workers=2, name="crew").run().finished
    assert max(most) <= 2

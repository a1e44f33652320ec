"""What every storage must do; each kind passes the same suite."""

import threading
import time
from dataclasses import replace

import pytest

from surepick.errors import StudyExistsError, UnknownStudyError
from surepick.storage import open_storage
from surepick.storage.records import (
    BatchRecord,
    Closed,
    Event,
    Holder,
    Lease,
    Link,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)
from surepick.storage.traffic import Period, Report

START = StudyProgress(0, 0, 10)


def record(name="a"):
    return StudyRecord(0, name, "key-" + name, "toy", '{"delta": 0.1}', "{}", 7, '{"é": 1}')


@pytest.fixture
def storage(storage_url):
    storage = open_storage(storage_url)
    yield storage
    storage.close()


@pytest.fixture
def study(storage):
    return storage.write(lambda tx: tx.add_study(record(), START)).id


def stop(tx):
    raise RuntimeError("stop")


# -- studies -------------------------------------------------------------------------------
def test_a_study_comes_back_as_it_was_stored(storage):
    added = storage.write(lambda tx: tx.add_study(record(), START))
    assert replace(added, id=0, created=0.0) == record()
    assert abs(added.created - time.time()) < 60
    assert storage.read(lambda tx: tx.find_study("a")) == added
    assert storage.read(lambda tx: tx.find_study("b")) is None


def test_names_are_taken_once(storage, study):
    with pytest.raises(StudyExistsError, match="'a' exists already"):
        storage.write(lambda tx: tx.add_study(record(), START))
    storage.write(lambda tx: tx.add_study(record("b"), START))
    assert [s.name for s in storage.read(lambda tx: tx.studies())] == ["a", "b"]


def test_a_removed_study_leaves_nothing_and_its_number_is_not_used_again(storage, study):
    def fill(tx):
        tx.add_batch(study, BatchRecord(0, 0, 10, "[]"))
        tx.set_snapshot(study, 0, "run")
        tx.add_leases(study, [Lease(0, 1, "w", 5.0)])
        tx.add_tells(study, [Tell(1, 1, 2.0, "w", 0.0)])
        tx.add_events(study, [Event(1, 1, "late", "w", 2.0, "", 0.0)])
        tx.add_period(study, Period(0, "monday", "[1.0]", 0, 5.0))
        tx.add_report(study, Report(0, "{}", 6.0))

    storage.write(fill)
    storage.write(lambda tx: tx.remove_study(study))
    assert storage.read(lambda tx: tx.find_study("a")) is None
    with pytest.raises(UnknownStudyError):
        storage.read(lambda tx: tx.progress(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    assert again > study
    assert storage.read(lambda tx: tx.snapshot(again)) is None
    assert storage.read(lambda tx: len(tx.rewards(again, 0, 100).pulls)) == 0
    assert storage.read(lambda tx: tx.periods(again) + tx.reports(again)) == []


# -- transactions --------------------------------------------------------------------------
def test_what_raises_writes_nothing(storage, study):
    def fill(tx):
        tx.set_progress(study, replace(START, asked=3, told=1))
        tx.add_batch(study, BatchRecord(0, 0, 10, "[]"))
        tx.set_snapshot(study, 0, "run")
        tx.add_leases(study, [Lease(5, 1, "w", 5.0), Lease(6, 1, "w", 5.0)])
        tx.change_leases(study, [Lease(5, 1, "v", 6.0)])
        tx.drop_leases(study, [6])
        tx.add_tells(study, [Tell(1, 1, 2.0, "w", 0.0)])
        tx.add_events(study, [Event(1, 1, "late", "w", 2.0, "", 0.0)])
        tx.count_or_add_events(study, [Event(1, 1, "late", "w", 2.0, "", 0.0)])
        tx.close_batch(study, 0, 3)
        tx.set_summary(study, Summary(0, 1, 1, None))
        tx.add_period(study, Period(0, None, "[1.0]", 0, 5.0))
        tx.name_period(study, 0, "monday")
        tx.add_report(study, Report(0, "{}", 6.0))
        tx.change_report(study, Report(0, "[]", 6.0))
        tx.change_batch(study, BatchRecord(0, 0, 11, "[1]", 2))
        tx.add_study(record("b"), START)
        tx.remove_study(study)
        stop(tx)

    with pytest.raises(RuntimeError, match="stop"):
        storage.write(fill)
    at = storage.read(lambda tx: tx.progress(study))
    assert replace(at, now=0.0) == START
    assert storage.read(lambda tx: tx.batch(study, 0)) is None
    assert storage.read(lambda tx: tx.snapshot(study)) is None
    assert storage.read(lambda tx: tx.summary(study)) is None
    assert storage.read(lambda tx: tx.leases(study, [5, 6])) == {}
    assert storage.read(lambda tx: tx.tells(study, [1])) == {}
    assert storage.read(lambda tx: tx.events(study)) == []
    assert storage.read(lambda tx: tx.periods(study) + tx.reports(study)) == []
    assert storage.read(lambda tx: [s.name for s in tx.studies()]) == ["a"]


def test_locked_studies_are_written_one_at_a_time(storage, study):
    def add_one(tx):
        at = tx.progress(study, lock=True)
        time.sleep(0.002)
        tx.set_progress(study, replace(at, asked=at.asked + 1))

    threads = [
        threading.Thread(target=lambda: [storage.write(add_one) for _ in range(5)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert storage.read(lambda tx: tx.progress(study)).asked == 20


def test_the_clock_runs(storage, study):
    before = storage.read(lambda tx: tx.progress(study)).now
    time.sleep(0.05)
    after = storage.read(lambda tx: tx.progress(study)).now
    assert 0.03 < after - before < 10


# -- rows ----------------------------------------------------------------------------------
def test_periods_and_reports_come_back(storage, study):
    monday, tuesday = Period(0, None, "[0.5, 0.5]", 0, 5.0), Period(1, "tuesday", "[1]", 1, 6.0)
    report = Report(0, '{"visits": [1000000000000]}', 7.0, "token")

    def fill(tx):
        tx.add_period(study, monday)
        tx.add_period(study, tuesday)
        tx.name_period(study, 0, "monday")
        tx.add_report(study, report)

    storage.write(fill)
    assert storage.read(lambda tx: tx.periods(study)) == [replace(monday, name="monday"), tuesday]
    assert storage.read(lambda tx: tx.periods(study, 1)) == [tuesday]
    assert storage.read(lambda tx: tx.period_named(study, "tuesday")) == tuesday
    assert storage.read(lambda tx: tx.period_named(study, "friday")) is None
    assert storage.read(lambda tx: tx.reports(study)) == [report]
    assert storage.read(lambda tx: tx.reports(study, 1)) == []
    storage.write(lambda tx: tx.change_report(study, replace(report, content="{}")))
    assert storage.read(lambda tx: tx.reports(study)) == [replace(report, content="{}")]


def test_progress_comes_back(storage, study):
    new = StudyProgress(3, 2**40, 2**41, 5, 4, True, "somebody", 1.5e9)
    storage.write(lambda tx: tx.set_progress(study, new))
    assert replace(storage.read(lambda tx: tx.progress(study)), now=0.0) == new


def test_batches_and_snapshots_come_back(storage, study):
    batch = BatchRecord(0, 0, 2**40, "[" + "1," * 100_000 + "1]")
    storage.write(lambda tx: tx.add_batch(study, batch))
    assert storage.read(lambda tx: tx.batch(study, 0)) == batch
    changed = BatchRecord(0, 3, 7, "[2]", 4)
    storage.write(lambda tx: tx.change_batch(study, changed))
    assert storage.read(lambda tx: tx.batch(study, 0)) == changed
    for number, text in ((0, "first"), (1, "x" * 2_000_000)):
        storage.write(lambda tx, n=number, t=text: tx.set_snapshot(study, n, t))
        assert storage.read(lambda tx: tx.snapshot(study)) == (number, text)


def test_complete_batches_and_summaries_come_back(storage, study):
    assert storage.read(lambda tx: tx.summary(study)) is None

    def fill(tx):
        for number in range(3):
            tx.add_batch(study, BatchRecord(number, 10 * number, 10, "[]"))
        tx.close_batch(study, 1, 4)
        tx.set_summary(study, Summary(1, 9, 5, None))

    storage.write(fill)
    closed = storage.read(lambda tx: tx.closed_batches(study, 2))
    assert closed == [Closed(0, 10, None), Closed(1, 20, 4)]
    assert storage.read(lambda tx: tx.batch(study, 1)).survivors == 4
    done = Summary(2, 9, 1, "blue ☂")
    storage.write(lambda tx: tx.set_summary(study, done))
    assert storage.read(lambda tx: tx.summary(study)) == done


def test_leases_of_a_name_are_those_of_its_token(storage, study):
    rows = [Lease(i, 0, "w", 9.0, token=token) for i, token in enumerate((None, "a", "b", "a"))]
    storage.write(lambda tx: tx.add_leases(study, rows))
    assert storage.read(lambda tx: tx.leases_of(study, "w", "a", 9)) == [rows[1], rows[3]]
    assert storage.read(lambda tx: tx.leases_of(study, "w", None, 9)) == [rows[0]]


def test_pulls_of_two_workers_are_found_by_both_and_others_by_how_long_they_are_out(storage, study):
    two = Lease(0, 1, "w", 90.0, token="a", since=1.0, second="v", second_token="b")
    rows = [Lease(i, 0, "w", 90.0, since=9.0 - i) for i in (1, 2, 3)]
    others = [Lease(4, 0, None, 90.0), Lease(5, 0, "w", 10.0), Lease(6, 0, "w", 90.0)]
    storage.write(lambda tx: tx.add_leases(study, [two, *rows, *others]))
    read = storage.read
    assert read(lambda tx: tx.leases_of(study, "v", "b", 9)) == [two]
    assert read(lambda tx: tx.leases_of(study, "w", "a", 9)) == [two]
    assert read(lambda tx: tx.leases_of(study, "v", "a", 9)) == []
    assert read(lambda tx: tx.longest_out(study, 50.0, 6, 2)) == [rows[2], rows[1]]
    alone = two.given_up_by_first()
    storage.write(lambda tx: tx.change_leases(study, [alone]))
    assert read(lambda tx: tx.leases(study, [0])) == {0: alone}
    assert (alone.worker, alone.token, alone.second) == ("v", "b", None)


def test_leases_from_the_future_wait_too_when_the_clock_was_set_back(storage, study):
    over, fine = Lease(0, 0, "w", 90.0, since=50.0), Lease(1, 0, "w", 190.0, since=100.0)
    future = Lease(2, 0, "w", 3990.0, since=3700.0)
    storage.write(lambda tx: tx.add_leases(study, [future, fine, over]))
    assert storage.read(lambda tx: tx.waiting(study, 100.0, 9)) == [over, future]
    assert storage.read(lambda tx: tx.waiting(study, 100.0, 1)) == [over]
    assert storage.read(lambda tx: tx.count_leases(study, 100.0)) == (1, 2)


def test_repeated_events_are_counted(storage, study):
    def event(pull, kind, token, count=1):
        return Event(pull, 3, kind, "w", 1.0, "", 5.0, token, count)

    first = [event(0, "late", "a"), event(0, "conflict", "a"), event(0, "late", None)]
    storage.write(lambda tx: tx.count_or_add_events(study, first))
    more = [event(0, "late", "a", 4), event(0, "late", "b"), event(0, "late", None)]
    more += [event(9, "late", "b"), event(9, "late", "b", 4)]  # new, and again in the same breath
    storage.write(lambda tx: tx.count_or_add_events(study, more))
    found = storage.read(lambda tx: tx.events(study))
    assert [(e.kind, e.token, e.count) for e in found] == [
        ("late", "a", 5),
        ("conflict", "a", 1),
        ("late", None, 2),
        ("late", "b", 1),
        ("late", "b", 5),
    ]
    assert storage.read(lambda tx: tx.count_events(study, ["late"])) == {3: 13}


def test_many_repeated_events_are_counted_each(storage, study):
    new = [Event(pull, 3, "conflict", "w", 1.0, "", 5.0, "a") for pull in range(1200)]
    other = Event(7, 3, "conflict", "w", 1.0, "", 5.0, "b")
    storage.write(lambda tx: tx.add_events(study, [*new, other]))
    storage.write(lambda tx: tx.count_or_add_events(study, new[:1100]))
    found = storage.read(lambda tx: tx.events(study))
    assert [one.count for one in found] == [2] * 1100 + [1] * 101


def test_tells_come_back_with_their_token(storage, study):
    rows = [Tell(i, 1, float(i), "w", 1.0, token) for i, token in enumerate(("a", None, "b"))]
    storage.write(lambda tx: tx.add_tells(study, rows[::-1]))
    assert storage.read(lambda tx: tx.told(study, 0, 2)) == rows[:2]


def test_leases_are_found_by_pull_by_worker_and_by_time(storage, study):
    rows = [Lease(i, i % 3, "w" if i % 2 else "v", 100.0 - i) for i in range(10)]
    storage.write(lambda tx: tx.add_leases(study, rows))
    read = storage.read
    assert read(lambda tx: tx.leases(study, [3, 5, 99])) == {3: rows[3], 5: rows[5]}
    assert read(lambda tx: tx.leases(study, [7])) == {7: rows[7]}
    assert read(lambda tx: tx.leases(study, [])) == {}
    assert read(lambda tx: tx.leases_of(study, "w", None, 2)) == [rows[1], rows[3]]
    assert read(lambda tx: tx.waiting(study, 93.0, 2)) == [rows[9], rows[8]]
    assert read(lambda tx: tx.count_leases(study, 93.0)) == (7, 3)
    changed = Lease(1, 1, None, 50.0, 4)
    storage.write(lambda tx: tx.change_leases(study, [changed]))
    storage.write(lambda tx: tx.drop_leases(study, [3, 5]))
    assert read(lambda tx: tx.leases(study, range(1000))) == {
        row.pull: row for row in [rows[0], changed, *rows[2:3], rows[4], *rows[6:]]
    }


def test_rewards_come_back_exactly_and_in_order(storage, study):
    values = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 3.0]
    rows = [Tell(5 - i, i, value, None, 1e9 + i / 8) for i, value in enumerate(values)]
    storage.write(lambda tx: tx.add_tells(study, rows))
    found = storage.read(lambda tx: tx.rewards(study, 1, 6))
    assert found.pulls.tolist() == [1, 2, 3, 4, 5]
    assert found.arms.tolist() == [4, 3, 2, 1, 0]
    assert found.values.tolist() == values[4::-1]
    assert found.times.tolist() == [1e9 + i / 8 for i in (4, 3, 2, 1, 0)]
    assert storage.read(lambda tx: tx.tells(study, [5, 77])) == {5: rows[0]}


def test_totals_add_up(storage, study):
    rows = [Tell(i, i % 3, float(i), "w", 0.0) for i in range(10)]
    storage.write(lambda tx: tx.add_tells(study, rows))
    found = storage.read(lambda tx: tx.totals(study, 1, 8))
    assert found == {0: (2, 9.0), 1: (3, 12.0), 2: (2, 7.0)}
    assert storage.read(lambda tx: tx.totals(study, 50, 60)) == {}


def test_no_pull_is_told_twice(storage, study):
    storage.write(lambda tx: tx.add_tells(study, [Tell(1, 1, 2.0, "w", 0.0)]))
    with pytest.raises(Exception, match=r"(?i)stored twice|unique"):
        storage.write(lambda tx: tx.add_tells(study, [Tell(1, 1, 3.0, "w", 0.0)]))
    assert storage.read(lambda tx: tx.tells(study, [1]))[1].value == 2.0


def test_rewards_are_changed_and_dropped_one_by_one(storage, study):
    rows = [Tell(pull, 1, float(pull), "w", 0.5, "t") for pull in range(4)]
    storage.write(lambda tx: tx.add_tells(study, rows))
    storage.write(lambda tx: tx.change_tells(study, [replace(rows[1], value=-0.1)]))
    storage.write(lambda tx: tx.drop_tells(study, [2, 3]))
    expected = {0: rows[0], 1: replace(rows[1], value=-0.1)}
    assert storage.read(lambda tx: tx.tells(study, range(4))) == expected

    def fails(tx):
        tx.drop_tells(study, [0])
        tx.change_tells(study, [rows[1]])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        storage.write(fails)
    assert storage.read(lambda tx: tx.tells(study, range(4))) == expected


def test_events_are_kept_in_order_and_counted_by_arm(storage, study):
    kinds = ["failed", "late", "failed", "expired", "failed"]
    rows = [Event(i, i % 2, kind, "w", None, "why ☂", 1.0) for i, kind in enumerate(kinds)]
    storage.write(lambda tx: tx.add_events(study, rows))
    assert storage.read(lambda tx: tx.events(study)) == rows
    assert storage.read(lambda tx: tx.events(study, ["late"])) == [rows[1]]
    counted = storage.read(lambda tx: tx.count_events(study, ["failed", "expired"]))
    assert counted == {0: 3, 1: 1}
    assert storage.read(lambda tx: tx.count_events(study, ["duplicate"])) == {}


def test_studies_do_not_see_each_other(storage, study):
    other = storage.write(lambda tx: tx.add_study(record("b"), START)).id
    storage.write(lambda tx: tx.add_leases(other, [Lease(0, 0, "w", 5.0)]))
    storage.write(lambda tx: tx.add_tells(other, [Tell(1, 1, 2.0, "w", 0.0)]))
    storage.write(lambda tx: tx.add_events(other, [Event(1, 1, "late", "w", 2.0, "", 0.0)]))
    read = storage.read
    assert read(lambda tx: tx.leases(study, [0])) == {}
    assert read(lambda tx: tx.leases_of(study, "w", None, 5)) == []
    assert read(lambda tx: tx.waiting(study, 10.0, 5)) == []
    assert read(lambda tx: tx.count_leases(study, 10.0)) == (0, 0)
    assert read(lambda tx: tx.tells(study, [1])) == {}
    assert read(lambda tx: tx.events(study)) == []


def test_opened_again_everything_is_there(storage, study, storage_url):
    storage.write(lambda tx: tx.set_progress(study, replace(START, asked=3)))
    storage.close()
    again = open_storage(storage_url, create=False)
    assert again.read(lambda tx: tx.progress(study)).asked == 3
    again.close()


# -- what was measured before, what is new ------------------------------------------------------
def test_the_past_is_kept_with_its_study(storage, study):
    assert storage.read(lambda tx: tx.past(study)) is None
    storage.write(lambda tx: tx.add_past(study, '{"arms": []}' * 1000))
    assert storage.read(lambda tx: tx.past(study)) == '{"arms": []}' * 1000
    storage.write(lambda tx: tx.remove_study(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    assert storage.read(lambda tx: tx.past(again)) is None


def test_links_are_kept_in_order_and_each_number_once(storage, study):
    assert storage.read(lambda tx: tx.last_link(study)) is None
    links = [Link(n, "told", f'{{"n":{n}}}' * 500, 1e9 + n / 3, f"{n:064x}") for n in range(12)]
    for link in links:
        storage.write(lambda tx, link=link: tx.add_link(study, link))
    assert storage.read(lambda tx: tx.links(study)) == links
    assert storage.read(lambda tx: tx.last_link(study)) == links[-1]
    with pytest.raises(Exception, match=r"(?i)stored twice|unique"):
        storage.write(lambda tx: tx.add_link(study, replace(links[3], digest="other")))
    assert storage.read(lambda tx: tx.links(study)) == links
    storage.write(lambda tx: tx.remove_study(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    assert storage.read(lambda tx: tx.links(again)) == []


def test_links_of_some_kinds(storage, study):
    links = [Link(n, "ab"[n % 2], "{}", 0.0, f"{n}") for n in range(4)]
    for link in links:
        storage.write(lambda tx, link=link: tx.add_link(study, link))
    assert storage.read(lambda tx: tx.links(study, ["b"])) == links[1::2]


def test_rewards_since_some_time(storage, study):
    tells = [Tell(pull, 0, float(pull), "w", 100.0 + pull) for pull in range(6)]
    storage.write(lambda tx: tx.add_tells(study, tells))
    found = storage.read(lambda tx: tx.rewards(study, 1, 5, since=102.0))
    assert found.pulls.tolist() == [2, 3, 4]


# -- the usual case in one step: all of it or nothing -------------------------------------------
def contents(storage, study):
    def read(tx):
        at = replace(tx.progress(study), now=0.0)
        found = tx.leases(study, range(20)).items()
        leases = {p: replace(x, until=0.0, since=0.0) for p, x in found}
        return at, leases, {p: replace(x, at=0.0) for p, x in tx.tells(study, range(20)).items()}

    return storage.read(read)


@pytest.mark.parametrize(
    ("batch", "place", "arms", "worker", "usual"),
    [
        (0, 3, [7, 8], "new", True),
        (0, 1, [5, 6, 7, 8], "new", True),  # others asked meanwhile
        (1, 3, [7, 8], "new", False),  # the batch has changed
        (0, 1, [5, 6], "new", False),  # others asked for more than is known
        (0, 4, [8, 9], "new", False),
        (0, 3, [7, 8], "w", False),  # holds something that comes first
        (0, 3, [7, 8], "v", True),  # of this name, but of another token
        (0, 3, [7, 8], "x", False),  # has what another one has, too
    ],
)
def test_one_pull_in_one_step(storage, study, batch, place, arms, worker, usual):
    at = replace(START, size=5, asked=3, told=1)

    def fill(tx):
        tx.set_progress(study, at)
        tx.add_leases(
            study,
            [
                Lease(1, 5, "w", 9e9, token="mine"),
                Lease(2, 6, "v", 9e9, token="other", second="x", second_token="mine"),
            ],
        )

    storage.write(fill)
    before = contents(storage, study)
    given = storage.ask_one(study, batch, place, arms, Holder(worker, "mine"), 60.0)
    assert given is None or usual
    if given is None:
        assert contents(storage, study) == before
        return
    now = storage.read(lambda tx: tx.progress(study)).now
    assert given[0] == 3
    new = Lease(3, 7, worker, 0.0, token="mine")
    assert replace(given[1], until=0.0, since=0.0) == new
    assert 50.0 < given[1].until - now < 61.0
    assert given[1].until == given[1].since + 60.0
    leases = before[1] | {3: new}
    assert contents(storage, study) == (replace(at, asked=4), leases, {})


@pytest.mark.parametrize(
    ("pull", "worker", "token", "told", "usual"),
    [
        (1, None, "mine", 1, True),
        (1, "w", "mine", 1, True),
        (1, "w", None, 1, True),  # somebody on this machine
        (1, "w", "other", 1, False),  # somebody else's token
        (1, None, "other", 1, False),
        (1, "late one", "mine", 1, False),  # another worker has it
        (2, "w", "mine", 1, True),  # failed before, and told after all
        (2, "v", "mine", 1, False),  # by somebody who never had it
        (4, "w", "mine", 1, True),  # handed to nobody by name
        (3, "w", "mine", 1, False),  # never handed out
        (0, "w", "mine", 1, False),  # told before
        (1, "w", "mine", 4, False),  # the last of its batch
        (5, "w", "mine", 1, False),  # passed over, and so never handed out
        (6, "w", "mine", 1, False),  # with two, so that the rules decide
    ],
)
def test_one_reward_in_one_step(storage, study, pull, worker, token, told, usual):
    at = replace(START, size=5, asked=3, told=told)

    def fill(tx):
        tx.set_progress(study, at)
        tx.add_leases(
            study,
            [
                Lease(1, 5, "w", 9e9, token="mine"),
                Lease(2, 6, None, 0.0, token="mine", last="w"),
                Lease(4, 6, "~1", 9e9, token="mine"),
                Lease(5, 6, None, 0.0, 0),
                Lease(6, 6, "w", 9e9, token="mine", second="v", second_token="mine"),
            ],
        )
        tx.add_tells(study, [Tell(0, 4, 1.5, "w", 0.0)])

    storage.write(fill)
    before = contents(storage, study)
    taken = storage.tell_one(study, pull, 2.5, worker, token)
    assert taken is None or usual
    if taken is None:
        assert contents(storage, study) == before
        return
    lease = before[1].pop(pull)
    assert lease.is_of(worker, token)  # as the rules have it
    before[2][pull] = Tell(pull, lease.arm, 2.5, worker or lease.worker, 0.0, token)
    assert contents(storage, study) == (replace(at, told=told + 1), before[1], before[2])

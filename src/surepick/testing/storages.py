"""What every storage must do, as checks that anyone can run on a storage of their own.

A check is a plain function ``check(make)``; ``make()`` opens the storage under test. It is empty
the first time, and what was stored is there when it is opened again. A check raises
``AssertionError`` with a message that says what went wrong.
"""

from __future__ import annotations

import functools
import inspect
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from surepick.errors import StudyExistsError, UnknownStudyError
from surepick.simulate.conformance.tools import demand
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import (
    BatchRecord,
    Closed,
    Event,
    Holder,
    Lease,
    Link,
    Period,
    Report,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)

#: opens the storage under test
MakeStorage = Callable[[], Storage]
StorageCheck = Callable[[MakeStorage], None]

START = StudyProgress(0, 0, 10)
_CHECKS: list[StorageCheck] = []


def storage_checks() -> tuple[StorageCheck, ...]:
    """All checks of storages.

    Examples
    --------
    >>> from surepick.storage import open_storage
    >>> for i, check in enumerate(storage_checks()):
    ...     check(lambda: open_storage(f"memory://{i}"))
    """
    return tuple(_CHECKS)


def _check(body: Callable[..., None]) -> StorageCheck:
    """A check that hands a storage, a study in it and ``make`` to who asks for them by name."""
    wanted = inspect.signature(body).parameters

    @functools.wraps(body)
    def check(make: MakeStorage) -> None:
        storage = make()
        try:
            given: dict[str, Any] = {"storage": storage, "make": make}
            if "study" in wanted:
                given["study"] = storage.write(lambda tx: tx.add_study(record(), START)).id
            body(**{name: given[name] for name in wanted})
        finally:
            storage.close()

    check.__name__ = "check" + body.__name__
    # What it takes is make, not what the body takes.
    check.__dict__.pop("__wrapped__", None)
    _CHECKS.append(check)
    return check


def record(name: str = "a") -> StudyRecord:
    """A study as it is stored."""
    return StudyRecord(0, name, "key-" + name, "toy", '{"delta": 0.1}', "{}", 7, '{"é": 1}')


def same(found: Any, expected: Any) -> None:
    """Demand that two things are equal."""
    demand(found == expected, lambda: f"expected {expected!r:.500}, got {found!r:.500}")


@contextmanager
def raises(error: type[Exception], words: str = "") -> Iterator[None]:
    """Demand that an error comes, with such words."""
    try:
        yield
    except error as came:
        said = str(came)
        demand(re.search(words, said), lambda: f"expected {words!r} in the error; got {said!r}")
    else:
        raise AssertionError(f"expected {error.__name__}, but nothing was raised")


def stop(tx: Transaction) -> None:
    """Break off a transaction."""
    raise RuntimeError("stop")


# -- studies -------------------------------------------------------------------------------
@_check
def _a_study_comes_back_as_it_was_stored(storage: Storage) -> None:
    added = storage.write(lambda tx: tx.add_study(record(), START))
    same(replace(added, id=0, created=0.0), record())
    demand(abs(added.created - time.time()) < 60, "a study is created at another time")
    same(storage.read(lambda tx: tx.find_study("a")), added)
    same(storage.read(lambda tx: tx.find_study("b")), None)


@_check
def _names_are_taken_once(storage: Storage, study: int) -> None:
    with raises(StudyExistsError, "'a' already exists"):
        storage.write(lambda tx: tx.add_study(record(), START))
    storage.write(lambda tx: tx.add_study(record("b"), START))
    same([s.name for s in storage.read(lambda tx: tx.studies())], ["a", "b"])


@_check
def _a_removed_study_leaves_nothing_and_its_number_is_not_used_again(
    storage: Storage, study: int
) -> None:
    def fill(tx: Transaction) -> None:
        tx.add(study, BatchRecord(0, 0, 10, "[]"))
        tx.set_snapshot(study, 0, "run")
        tx.add(study, Lease(0, 1, "w", 5.0))
        tx.add(study, Tell(1, 1, 2.0, "w", 0.0))
        tx.add(study, Event(1, 1, "late", "w", 2.0, "", 0.0))
        tx.add(study, Period(0, "monday", "[1.0]", 0, 5.0))
        tx.add(study, Report(0, "{}", 6.0))

    storage.write(fill)
    storage.write(lambda tx: tx.remove_study(study))
    same(storage.read(lambda tx: tx.find_study("a")), None)
    with raises(UnknownStudyError):
        storage.read(lambda tx: tx.progress(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    demand(again > study, "the number of a removed study is used again")
    same(storage.read(lambda tx: tx.snapshot(again)), None)
    same(storage.read(lambda tx: len(tx.rewards(again, 0, 100).pulls)), 0)
    same(storage.read(lambda tx: tx.periods(again) + tx.reports(again)), [])


# -- transactions --------------------------------------------------------------------------
@_check
def _what_raises_writes_nothing(storage: Storage, study: int) -> None:
    def fill(tx: Transaction) -> None:
        tx.set_progress(study, replace(START, asked=3, told=1))
        tx.add(study, BatchRecord(0, 0, 10, "[]"))
        tx.set_snapshot(study, 0, "run")
        tx.add(study, Lease(5, 1, "w", 5.0), Lease(6, 1, "w", 5.0))
        tx.change(study, Lease(5, 1, "v", 6.0))
        tx.drop(study, Lease, [6])
        tx.add(study, Tell(1, 1, 2.0, "w", 0.0))
        tx.add(study, Event(1, 1, "late", "w", 2.0, "", 0.0))
        tx.count_or_add_events(study, [Event(1, 1, "late", "w", 2.0, "", 0.0)])
        tx.close_batch(study, 0, 3)
        tx.set_summary(study, Summary(0, 1, 1, None))
        tx.add(study, Period(0, None, "[1.0]", 0, 5.0))
        tx.change(study, Period(0, "monday", "[1.0]", 0, 5.0))
        tx.add(study, Report(0, "{}", 6.0))
        tx.change(study, Report(0, "[]", 6.0))
        tx.change(study, BatchRecord(0, 0, 11, "[1]", 2))
        tx.add_study(record("b"), START)
        tx.remove_study(study)
        stop(tx)

    with raises(RuntimeError, "stop"):
        storage.write(fill)
    at = storage.read(lambda tx: tx.progress(study))
    same(replace(at, now=0.0), START)
    same(storage.read(lambda tx: tx.batch(study, 0)), None)
    same(storage.read(lambda tx: tx.snapshot(study)), None)
    same(storage.read(lambda tx: tx.summary(study)), None)
    same(storage.read(lambda tx: tx.leases(study, [5, 6])), {})
    same(storage.read(lambda tx: tx.tells(study, [1])), {})
    same(storage.read(lambda tx: tx.events(study)), [])
    same(storage.read(lambda tx: tx.periods(study) + tx.reports(study)), [])
    same(storage.read(lambda tx: [s.name for s in tx.studies()]), ["a"])


@_check
def _locked_studies_are_written_one_at_a_time(storage: Storage, study: int) -> None:
    def add_one(tx: Transaction) -> None:
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
    same(storage.read(lambda tx: tx.progress(study)).asked, 20)


@_check
def _the_clock_runs(storage: Storage, study: int) -> None:
    before = storage.read(lambda tx: tx.progress(study)).now
    time.sleep(0.05)
    after = storage.read(lambda tx: tx.progress(study)).now
    demand(0.03 < after - before < 10, "the clock does not run as clocks do")


# -- rows ----------------------------------------------------------------------------------
@_check
def _periods_and_reports_come_back(storage: Storage, study: int) -> None:
    monday, tuesday = Period(0, None, "[0.5, 0.5]", 0, 5.0), Period(1, "tuesday", "[1]", 1, 6.0)
    report = Report(0, '{"visits": [1000000000000]}', 7.0, "token")

    def fill(tx: Transaction) -> None:
        tx.add(study, monday)
        tx.add(study, tuesday)
        tx.change(study, replace(monday, name="monday"))
        tx.add(study, report)

    storage.write(fill)
    same(storage.read(lambda tx: tx.periods(study)), [replace(monday, name="monday"), tuesday])
    same(storage.read(lambda tx: tx.periods(study, 1)), [tuesday])
    same(storage.read(lambda tx: tx.period_named(study, "tuesday")), tuesday)
    same(storage.read(lambda tx: tx.period_named(study, "friday")), None)
    same(storage.read(lambda tx: tx.reports(study)), [report])
    same(storage.read(lambda tx: tx.reports(study, 1)), [])
    storage.write(lambda tx: tx.change(study, replace(report, content="{}")))
    same(storage.read(lambda tx: tx.reports(study)), [replace(report, content="{}")])


@_check
def _progress_comes_back(storage: Storage, study: int) -> None:
    new = StudyProgress(3, 2**40, 2**41, 5, 4, True, "somebody", 1.5e9)
    storage.write(lambda tx: tx.set_progress(study, new))
    same(replace(storage.read(lambda tx: tx.progress(study)), now=0.0), new)


@_check
def _batches_and_snapshots_come_back(storage: Storage, study: int) -> None:
    batch = BatchRecord(0, 0, 2**40, "[" + "1," * 100_000 + "1]")
    storage.write(lambda tx: tx.add(study, batch))
    same(storage.read(lambda tx: tx.batch(study, 0)), batch)
    changed = BatchRecord(0, 3, 7, "[2]", 4)
    storage.write(lambda tx: tx.change(study, changed))
    same(storage.read(lambda tx: tx.batch(study, 0)), changed)
    for number, text in ((0, "first"), (1, "x" * 2_000_000)):
        storage.write(lambda tx, n=number, t=text: tx.set_snapshot(study, n, t))
        same(storage.read(lambda tx: tx.snapshot(study)), (number, text))


@_check
def _complete_batches_and_summaries_come_back(storage: Storage, study: int) -> None:
    same(storage.read(lambda tx: tx.summary(study)), None)

    def fill(tx: Transaction) -> None:
        for number in range(3):
            tx.add(study, BatchRecord(number, 10 * number, 10, "[]"))
        tx.close_batch(study, 1, 4)
        tx.set_summary(study, Summary(1, 9, 5, None))

    storage.write(fill)
    closed = storage.read(lambda tx: tx.closed_batches(study, 2))
    same(closed, [Closed(1, 20, 4)])
    batch = storage.read(lambda tx: tx.batch(study, 1))
    same(batch and batch.survivors, 4)
    done = Summary(2, 9, 1, "blue ☂")
    storage.write(lambda tx: tx.set_summary(study, done))
    same(storage.read(lambda tx: tx.summary(study)), done)


@_check
def _leases_of_a_name_are_those_of_its_token(storage: Storage, study: int) -> None:
    rows = [Lease(i, 0, "w", 9.0, token=token) for i, token in enumerate((None, "a", "b", "a"))]
    storage.write(lambda tx: tx.add(study, *rows))
    same(storage.read(lambda tx: tx.leases_of(study, "w", "a", 9)), [rows[1], rows[3]])
    same(storage.read(lambda tx: tx.leases_of(study, "w", None, 9)), [rows[0]])


@_check
def _pulls_of_two_workers_are_found_by_both_and_others_by_how_long_they_are_out(
    storage: Storage, study: int
) -> None:
    two = Lease(0, 1, "w", 90.0, token="a", since=1.0, second="v", second_token="b")
    two = two.asked_for(Holder("w", "a"), "one").asked_for(Holder("v", "b"), "two")
    rows = [Lease(i, 0, "w", 90.0, since=9.0 - i) for i in (1, 2, 3)]
    others = [Lease(4, 0, None, 90.0), Lease(5, 0, "w", 10.0), Lease(6, 0, "w", 90.0)]
    storage.write(lambda tx: tx.add(study, two, *rows, *others))
    read = storage.read
    same(read(lambda tx: tx.leases_of(study, "v", "b", 9)), [two])
    same(read(lambda tx: tx.leases_of(study, "w", "a", 9)), [two])
    same(read(lambda tx: tx.leases_of(study, "v", "a", 9)), [])
    same(read(lambda tx: tx.longest_out(study, 50.0, 6, 2)), [rows[2], rows[1]])
    alone = two.given_up_by_first()
    storage.write(lambda tx: tx.change(study, alone))
    same(read(lambda tx: tx.leases(study, [0])), {0: alone})
    same((alone.worker, alone.token, alone.request, alone.second), ("v", "b", "two", None))


@_check
def _leases_from_the_future_wait_too_when_the_clock_was_set_back(
    storage: Storage, study: int
) -> None:
    over, fine = Lease(0, 0, "w", 90.0, since=50.0), Lease(1, 0, "w", 190.0, since=100.0)
    future = Lease(2, 0, "w", 3990.0, since=3700.0)
    storage.write(lambda tx: tx.add(study, future, fine, over))
    same(storage.read(lambda tx: tx.waiting(study, 100.0, 9)), [over, future])
    same(storage.read(lambda tx: tx.waiting(study, 100.0, 1)), [over])
    same(storage.read(lambda tx: tx.count_leases(study, 100.0)), (1, 2))


@_check
def _repeated_events_are_counted(storage: Storage, study: int) -> None:
    def event(pull: int, kind: str, token: str | None, count: int = 1) -> Event:
        return Event(pull, 3, kind, "w", 1.0, "", 5.0, token, count)

    first = [event(0, "late", "a"), event(0, "conflict", "a"), event(0, "late", None)]
    storage.write(lambda tx: tx.count_or_add_events(study, first))
    more = [event(0, "late", "a", 4), event(0, "late", "b"), event(0, "late", None)]
    more += [event(9, "late", "b"), event(9, "late", "b", 4)]  # new, and again in the same breath
    more += [event(0, "conflict", "a"), event(0, "conflict", "a")]  # known, and twice
    storage.write(lambda tx: tx.count_or_add_events(study, more))
    found = storage.read(lambda tx: tx.events(study))
    same(
        [(e.kind, e.token, e.count) for e in found],
        [
            ("late", "a", 5),
            ("conflict", "a", 3),
            ("late", None, 2),
            ("late", "b", 1),
            ("late", "b", 5),
        ],
    )
    same(storage.read(lambda tx: tx.count_events(study, ["late"])), {3: 13})


@_check
def _many_repeated_events_are_counted_each(storage: Storage, study: int) -> None:
    new = [Event(pull, 3, "conflict", "w", 1.0, "", 5.0, "a") for pull in range(1200)]
    other = Event(7, 3, "conflict", "w", 1.0, "", 5.0, "b")
    storage.write(lambda tx: tx.add(study, *new, other))
    storage.write(lambda tx: tx.count_or_add_events(study, new[:1100]))
    found = storage.read(lambda tx: tx.events(study))
    same([one.count for one in found], [2] * 1100 + [1] * 101)


@_check
def _tells_come_back_with_their_token(storage: Storage, study: int) -> None:
    rows = [Tell(i, 1, float(i), "w", 1.0, token) for i, token in enumerate(("a", None, "b"))]
    storage.write(lambda tx: tx.add(study, *rows[::-1]))
    same(storage.read(lambda tx: tx.told(study, 0, 2)), rows[:2])


@_check
def _leases_are_found_by_pull_by_worker_and_by_time(storage: Storage, study: int) -> None:
    rows = [Lease(i, i % 3, "w" if i % 2 else "v", 100.0 - i) for i in range(10)]
    storage.write(lambda tx: tx.add(study, *rows))
    read = storage.read
    same(read(lambda tx: tx.leases(study, [3, 5, 99])), {3: rows[3], 5: rows[5]})
    same(read(lambda tx: tx.leases(study, [7])), {7: rows[7]})
    same(read(lambda tx: tx.leases(study, [])), {})
    same(read(lambda tx: tx.leases_of(study, "w", None, 2)), [rows[1], rows[3]])
    same(read(lambda tx: tx.waiting(study, 93.0, 2)), [rows[9], rows[8]])
    same(read(lambda tx: tx.count_leases(study, 93.0)), (7, 3))
    changed = Lease(1, 1, None, 50.0, 4)
    storage.write(lambda tx: tx.change(study, changed))
    storage.write(lambda tx: tx.drop(study, Lease, [3, 5]))
    same(
        read(lambda tx: tx.leases(study, range(1000))),
        {row.pull: row for row in [rows[0], changed, *rows[2:3], rows[4], *rows[6:]]},
    )


@_check
def _rewards_come_back_exactly_and_in_order(storage: Storage, study: int) -> None:
    values = [0.1, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, 3.0]
    rows = [Tell(5 - i, i, value, None, 1e9 + i / 8) for i, value in enumerate(values)]
    storage.write(lambda tx: tx.add(study, *rows))
    found = storage.read(lambda tx: tx.rewards(study, 1, 6))
    same(found.pulls.tolist(), [1, 2, 3, 4, 5])
    same(found.arms.tolist(), [4, 3, 2, 1, 0])
    same(found.values.tolist(), values[4::-1])
    same(found.times.tolist(), [1e9 + i / 8 for i in (4, 3, 2, 1, 0)])
    same(storage.read(lambda tx: tx.tells(study, [5, 77])), {5: rows[0]})


@_check
def _totals_add_up(storage: Storage, study: int) -> None:
    rows = [Tell(i, i % 3, float(i), "w", 0.0) for i in range(10)]
    storage.write(lambda tx: tx.add(study, *rows))
    found = storage.read(lambda tx: tx.totals(study, 1, 8))
    same(found, {0: (2, 9.0), 1: (3, 12.0), 2: (2, 7.0)})
    same(storage.read(lambda tx: tx.totals(study, 50, 60)), {})


@_check
def _no_pull_is_told_twice(storage: Storage, study: int) -> None:
    storage.write(lambda tx: tx.add(study, Tell(1, 1, 2.0, "w", 0.0)))
    with raises(Exception, "(?i)stored twice|unique"):
        storage.write(lambda tx: tx.add(study, Tell(1, 1, 3.0, "w", 0.0)))
    same(storage.read(lambda tx: tx.tells(study, [1]))[1].value, 2.0)


@_check
def _rewards_are_changed_and_dropped_one_by_one(storage: Storage, study: int) -> None:
    rows = [Tell(pull, 1, float(pull), "w", 0.5, "t") for pull in range(4)]
    storage.write(lambda tx: tx.add(study, *rows))
    storage.write(lambda tx: tx.change(study, replace(rows[1], value=-0.1)))
    storage.write(lambda tx: tx.drop(study, Tell, [2, 3]))
    expected = {0: rows[0], 1: replace(rows[1], value=-0.1)}
    same(storage.read(lambda tx: tx.tells(study, range(4))), expected)

    def fails(tx: Transaction) -> None:
        tx.drop(study, Tell, [0])
        tx.change(study, rows[1])
        raise ZeroDivisionError

    with raises(ZeroDivisionError):
        storage.write(fails)
    same(storage.read(lambda tx: tx.tells(study, range(4))), expected)


@_check
def _events_are_kept_in_order_and_counted_by_arm(storage: Storage, study: int) -> None:
    kinds = ["failed", "late", "failed", "expired", "failed"]
    rows = [Event(i, i % 2, kind, "w", None, "why ☂", 1.0) for i, kind in enumerate(kinds)]
    storage.write(lambda tx: tx.add(study, *rows))
    same(storage.read(lambda tx: tx.events(study)), rows)
    same(storage.read(lambda tx: tx.events(study, ["late"])), [rows[1]])
    counted = storage.read(lambda tx: tx.count_events(study, ["failed", "expired"]))
    same(counted, {0: 3, 1: 1})
    same(storage.read(lambda tx: tx.count_events(study, ["duplicate"])), {})


@_check
def _studies_do_not_see_each_other(storage: Storage, study: int) -> None:
    other = storage.write(lambda tx: tx.add_study(record("b"), START)).id
    storage.write(lambda tx: tx.add(other, Lease(0, 0, "w", 5.0)))
    storage.write(lambda tx: tx.add(other, Tell(1, 1, 2.0, "w", 0.0)))
    storage.write(lambda tx: tx.add(other, Event(1, 1, "late", "w", 2.0, "", 0.0)))
    read = storage.read
    same(read(lambda tx: tx.leases(study, [0])), {})
    same(read(lambda tx: tx.leases_of(study, "w", None, 5)), [])
    same(read(lambda tx: tx.waiting(study, 10.0, 5)), [])
    same(read(lambda tx: tx.count_leases(study, 10.0)), (0, 0))
    same(read(lambda tx: tx.tells(study, [1])), {})
    same(read(lambda tx: tx.events(study)), [])


@_check
def _opened_again_everything_is_there(storage: Storage, study: int, make: MakeStorage) -> None:
    storage.write(lambda tx: tx.set_progress(study, replace(START, asked=3)))
    storage.close()
    again = make()
    same(again.read(lambda tx: tx.progress(study)).asked, 3)
    again.close()


# -- what was measured before, what is new ------------------------------------------------------
@_check
def _the_past_is_kept_with_its_study(storage: Storage, study: int) -> None:
    same(storage.read(lambda tx: tx.past(study)), None)
    storage.write(lambda tx: tx.add_past(study, '{"arms": []}' * 1000))
    same(storage.read(lambda tx: tx.past(study)), '{"arms": []}' * 1000)
    storage.write(lambda tx: tx.remove_study(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    same(storage.read(lambda tx: tx.past(again)), None)


@_check
def _links_are_kept_in_order_and_each_number_once(storage: Storage, study: int) -> None:
    same(storage.read(lambda tx: tx.last_link(study)), None)
    links = [Link(n, "told", f'{{"n":{n}}}' * 500, 1e9 + n / 3, f"{n:064x}") for n in range(12)]
    for link in links:
        storage.write(lambda tx, link=link: tx.add(study, link))
    same(storage.read(lambda tx: tx.links(study)), links)
    same(storage.read(lambda tx: tx.last_link(study)), links[-1])
    with raises(Exception, "(?i)stored twice|unique"):
        storage.write(lambda tx: tx.add(study, replace(links[3], digest="other")))
    same(storage.read(lambda tx: tx.links(study)), links)
    storage.write(lambda tx: tx.remove_study(study))
    again = storage.write(lambda tx: tx.add_study(record(), START)).id
    same(storage.read(lambda tx: tx.links(again)), [])


@_check
def _links_of_some_kinds(storage: Storage, study: int) -> None:
    links = [Link(n, "ab"[n % 2], "{}", 0.0, f"{n}") for n in range(4)]
    for link in links:
        storage.write(lambda tx, link=link: tx.add(study, link))
    same(storage.read(lambda tx: tx.links(study, ["b"])), links[1::2])


@_check
def _rewards_since_some_time(storage: Storage, study: int) -> None:
    tells = [Tell(pull, 0, float(pull), "w", 100.0 + pull) for pull in range(6)]
    storage.write(lambda tx: tx.add(study, *tells))
    found = storage.read(lambda tx: tx.rewards(study, 1, 5, since=102.0))
    same(found.pulls.tolist(), [2, 3, 4])


# -- the usual case in one step: all of it or nothing -------------------------------------------
def contents(storage: Storage, study: int) -> tuple[Any, Any, Any]:
    """What is there, but for times."""

    def read(tx: Transaction) -> tuple[Any, Any, Any]:
        at = replace(tx.progress(study), now=0.0)
        found = tx.leases(study, range(20)).items()
        leases = {p: replace(x, until=0.0, since=0.0) for p, x in found}
        return at, leases, {p: replace(x, at=0.0) for p, x in tx.tells(study, range(20)).items()}

    return storage.read(read)


_ASKS = [  # batch, place, arms, worker, whether that is the usual case
    (0, 3, [7, 8], "new", True),
    (0, 1, [5, 6, 7, 8], "new", True),  # others asked meanwhile
    (1, 3, [7, 8], "new", False),  # the batch has changed
    (0, 1, [5, 6], "new", False),  # others asked for more than is known
    (0, 4, [8, 9], "new", False),
    (0, 3, [7, 8], "w", False),  # holds something that comes first
    (0, 3, [7, 8], "v", True),  # of this name, but of another token
    (0, 3, [7, 8], "x", False),  # has what another one has, too
]


@_check
def _one_pull_in_one_step(storage: Storage) -> None:
    at = replace(START, size=5, asked=3, told=1)
    for number, (batch, place, arms, worker, usual) in enumerate(_ASKS):
        study = storage.write(lambda tx, n=number: tx.add_study(record(f"s{n}"), START)).id

        def fill(tx: Transaction, study: int = study) -> None:
            tx.set_progress(study, at)
            tx.add(
                study,
                Lease(1, 5, "w", 9e9, token="mine"),
                Lease(2, 6, "v", 9e9, token="other", second="x", second_token="mine"),
            )

        storage.write(fill)
        before = contents(storage, study)
        given = storage.ask_one(study, batch, place, arms, Holder(worker, "mine"), 60.0, "this ask")
        if given is None:
            same(contents(storage, study), before)
            continue
        demand(usual, f"case {number}: a pull was handed out in one step that needs the rules")
        now = storage.read(lambda tx, s=study: tx.progress(s)).now
        same(given[0], 3)
        new = Lease(3, 7, worker, 0.0, token="mine", request="this ask")
        same(replace(given[1], until=0.0, since=0.0), new)
        demand(50.0 < given[1].until - now < 61.0, "a lease of 60 s runs for another time")
        same(given[1].until, given[1].since + 60.0)
        same(contents(storage, study), (replace(at, asked=4), before[1] | {3: new}, {}))


_TELLS = [  # pull, worker, token, told before, whether that is the usual case
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
]


@_check
def _one_reward_in_one_step(storage: Storage) -> None:
    for number, (pull, worker, token, told, usual) in enumerate(_TELLS):
        at = replace(START, size=5, asked=3, told=told)
        study = storage.write(lambda tx, n=number: tx.add_study(record(f"s{n}"), START)).id

        def fill(tx: Transaction, study: int = study, at: StudyProgress = at) -> None:
            tx.set_progress(study, at)
            tx.add(
                study,
                Lease(1, 5, "w", 9e9, token="mine"),
                Lease(2, 6, None, 0.0, token="mine", last="w"),
                Lease(4, 6, "~1", 9e9, token="mine"),
                Lease(5, 6, None, 0.0, 0),
                Lease(6, 6, "w", 9e9, token="mine", second="v", second_token="mine"),
            )
            tx.add(study, Tell(0, 4, 1.5, "w", 0.0))

        storage.write(fill)
        before = contents(storage, study)
        taken = storage.tell_one(study, pull, 2.5, worker, token)
        if taken is None:
            same(contents(storage, study), before)
            continue
        demand(usual, f"case {number}: a reward was taken in one step that needs the rules")
        lease = before[1].pop(pull)
        demand(lease.is_of(worker, token), f"case {number}: a reward of somebody else was taken")
        before[2][pull] = Tell(pull, lease.arm, 2.5, worker or lease.worker, 0.0, token)
        same(contents(storage, study), (replace(at, told=told + 1), before[1], before[2]))

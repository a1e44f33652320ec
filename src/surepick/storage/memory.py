"""Studies in the memory of one process: for trying things out, and for tests."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surepick.errors import StudyExistsError
from surepick.storage.contract import Numbered, Row, Storage, T, Transaction
from surepick.storage.records import (
    ENDLESS,
    BatchRecord,
    Closed,
    Event,
    Holder,
    Lease,
    Link,
    Overview,
    Period,
    Report,
    Rewards,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)

_SHARED: dict[str, MemoryStorage] = {}


@dataclass
class _Kept:
    """Everything of one study."""

    record: StudyRecord
    progress: StudyProgress
    snapshot: tuple[int, str] | None = None
    past: str | None = None
    summary: Summary | None = None
    rows: dict[type, dict[int, Any]] = field(default_factory=lambda: defaultdict(dict))


class MemoryStorage(Storage):
    """Studies in dicts; gone when the process ends. Safe to use from several threads."""

    def __init__(self, url: str = "memory://") -> None:
        self.url = url
        self._lock = threading.RLock()
        self._studies: dict[int, _Kept] = {}
        self._last = 0

    @classmethod
    def shared(cls, url: str) -> MemoryStorage:
        """The storage of this address in this process; the same one every time."""
        return _SHARED.setdefault(url, cls(url))

    def write(self, work: Callable[[Transaction], T]) -> T:
        """See :class:`Storage`; the writes of work that raises are undone."""
        with self._lock:
            transaction = _MemoryTransaction(self)
            try:
                return work(transaction)
            except BaseException:
                for undo in reversed(transaction.undo):
                    undo()
                raise

    def read(self, work: Callable[[Transaction], T]) -> T:
        return self.write(work)


class _MemoryTransaction(Transaction):
    def __init__(self, storage: MemoryStorage) -> None:
        self._storage = storage
        self._studies = storage._studies
        self.undo: list[Callable[[], object]] = []

    # -- studies ---------------------------------------------------------------------------
    def add_study(self, study: StudyRecord, start: StudyProgress) -> StudyRecord:
        if self.find_study(study.name) is not None:
            raise StudyExistsError(f"a study called {study.name!r} already exists")
        self._storage._last += 1
        study = replace(study, id=self._storage._last, created=time.time())
        self._studies[study.id] = _Kept(study, start)
        self.undo.append(lambda: self._studies.pop(study.id))
        return study

    def find_study(self, name: str) -> StudyRecord | None:
        return next((s.record for s in self._studies.values() if s.record.name == name), None)

    def studies(self) -> list[StudyRecord]:
        return [kept.record for kept in self._studies.values()]

    def overview(self) -> list[Overview]:
        found = []
        for number, kept in self._studies.items():
            at = self.progress(number)
            out = self.count_leases(number, at.now)[0]
            found.append(Overview(kept.record, at, kept.summary, out > 0))
        return found

    def remove_study(self, study: int) -> None:
        kept = self._studies.pop(study)
        self.undo.append(lambda: self._studies.update({study: kept}))

    def find_progress(self, study: int, lock: bool) -> StudyProgress | None:
        kept = self._studies.get(study)
        # No other machine is involved, so the clock can be one that never jumps.
        return None if kept is None else replace(kept.progress, now=time.monotonic())

    def set_progress(self, study: int, at: StudyProgress) -> None:
        self._set(study, "progress", at)

    def _set(self, study: int, name: str, value: object) -> None:
        kept = self._studies[study]
        old = getattr(kept, name)
        setattr(kept, name, value)
        self.undo.append(lambda: setattr(kept, name, old))

    # -- rows ------------------------------------------------------------------------------
    def add(self, study: int, *rows: Row) -> None:
        if not rows:
            return
        kept = self._rows(study, type(rows[0]))
        if isinstance(rows[0], Event):  # which have no number of their own
            new: dict[int, Row] = dict(enumerate(rows, len(kept)))
        else:
            new = {_key(row): row for row in rows}
        twice = kept.keys() & new.keys()
        if twice:
            raise AssertionError(f"stored twice: {sorted(twice)[:5]}")
        kept.update(new)
        self.undo.append(lambda: [kept.pop(key) for key in new])

    def change(self, study: int, *rows: Numbered) -> None:
        if rows:
            kept = self._rows(study, type(rows[0]))
            old = {key: kept[key] for key in map(_key, rows)}
            kept.update((_key(row), row) for row in rows)
            self.undo.append(lambda: kept.update(old))

    def drop(self, study: int, kind: type[Lease | Tell], pulls: Sequence[int]) -> None:
        kept = self._rows(study, kind)
        old = {pull: kept.pop(pull) for pull in pulls}
        self.undo.append(lambda: kept.update(old))

    def _rows(self, study: int, kind: type[T]) -> dict[int, T]:
        return self._studies[study].rows[kind]

    # -- batches and snapshots -------------------------------------------------------------
    def batch(self, study: int, number: int) -> BatchRecord | None:
        return self._rows(study, BatchRecord).get(number)

    def close_batch(self, study: int, number: int, survivors: int) -> None:
        self.change(study, replace(self._rows(study, BatchRecord)[number], survivors=survivors))

    def closed_batches(self, study: int, last: int) -> list[Closed]:
        kept = self._rows(study, BatchRecord)
        return [
            Closed(n, b.first + b.size, b.survivors)
            for n, b in kept.items()
            if n < last and b.survivors is not None
        ]

    def set_summary(self, study: int, summary: Summary) -> None:
        self._set(study, "summary", summary)

    def summary(self, study: int) -> Summary | None:
        return self._studies[study].summary

    def set_snapshot(self, study: int, batch: int, run: str) -> None:
        self._set(study, "snapshot", (batch, run))

    def snapshot(self, study: int) -> tuple[int, str] | None:
        return self._studies[study].snapshot

    def add_past(self, study: int, past: str) -> None:
        # Needs no undo: it comes with a new study, and undoing that removes all of it.
        self._studies[study].past = past

    def past(self, study: int) -> str | None:
        return self._studies[study].past

    # -- the chain -------------------------------------------------------------------------
    def last_link(self, study: int) -> Link | None:
        kept = self._rows(study, Link)
        return kept[max(kept)] if kept else None

    def links(self, study: int, kinds: Iterable[str] | None = None) -> list[Link]:
        links = [link for _, link in sorted(self._rows(study, Link).items())]
        return links if kinds is None else [link for link in links if link.kind in kinds]

    # -- leases ----------------------------------------------------------------------------
    def leases(self, study: int, pulls: Sequence[int]) -> dict[int, Lease]:
        kept = self._rows(study, Lease)
        return {pull: kept[pull] for pull in pulls if pull in kept}

    def leases_of(self, study: int, worker: str, token: str | None, n: int) -> list[Lease]:
        leases = self._rows(study, Lease).values()
        holder = Holder(worker, token)
        own = [one for one in leases if holder.has(one)]
        return sorted(own, key=lambda lease: lease.pull)[:n]

    def longest_out(self, study: int, now: float, last: int, n: int) -> list[Lease]:
        leases = [x for x in self._rows(study, Lease).values() if x.pull < last]
        out = [x for x in leases if x.until > now and x.worker is not None and x.second is None]
        return sorted(out, key=lambda lease: (lease.since, lease.pull))[:n]

    def waiting(self, study: int, now: float, n: int) -> list[Lease]:
        free = [x for x in self._rows(study, Lease).values() if x.free(now)]
        return sorted(free, key=lambda lease: (lease.until > now, lease.until, lease.pull))[:n]

    def count_leases(self, study: int, now: float) -> tuple[int, int]:
        leases = self._rows(study, Lease).values()
        free = sum(lease.free(now) for lease in leases)
        return len(leases) - free, free

    # -- the log ---------------------------------------------------------------------------
    def tells(self, study: int, pulls: Sequence[int]) -> dict[int, Tell]:
        kept = self._rows(study, Tell)
        return {pull: kept[pull] for pull in pulls if pull in kept}

    def told(self, study: int, first: int, last: int) -> list[Tell]:
        kept = self._rows(study, Tell)
        if last - first <= len(kept):
            return [kept[pull] for pull in range(first, last) if pull in kept]
        return sorted((t for t in kept.values() if first <= t.pull < last), key=lambda t: t.pull)

    def rewards(self, study: int, first: int, last: int, since: float | None = None) -> Rewards:
        least = -math.inf if since is None else since
        found = (t for t in self.told(study, first, last) if t.at >= least)
        return Rewards.of([(t.pull, t.arm, t.value, t.at, t.stratum, t.numbers) for t in found])

    def totals(self, study: int, first: int, last: int) -> dict[int, tuple[int, float]]:
        found: dict[int, tuple[int, float]] = {}
        for tell in self.told(study, first, last):
            count, total = found.get(tell.arm, (0, 0.0))
            found[tell.arm] = (count + 1, total + tell.value)
        return found

    def count_or_add_events(self, study: int, new: Sequence[Event]) -> None:
        kept = self._rows(study, Event)
        places: dict[tuple[int, str, str | None], int] = {}
        for i, old in kept.items():
            places.setdefault((old.pull, old.kind, old.token), i)
        for event in new:
            i = places.setdefault((event.pull, event.kind, event.token), len(kept))
            if i == len(kept):
                self.add(study, event)
                continue
            old = kept[i]
            kept[i] = replace(old, count=old.count + event.count)
            self.undo.append(lambda i=i, old=old: kept.update({i: old}))

    def events(self, study: int, kinds: Iterable[str] | None = None) -> list[Event]:
        wanted = None if kinds is None else set(kinds)
        return [e for e in self._rows(study, Event).values() if wanted is None or e.kind in wanted]

    def count_events(self, study: int, kinds: Iterable[str]) -> dict[int, int]:
        counts: dict[int, int] = {}
        for event in self.events(study, kinds):
            counts[event.arm] = counts.get(event.arm, 0) + event.count
        return counts

    # -- traffic ---------------------------------------------------------------------------
    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        kept = sorted(self._rows(study, Period).items())
        return [period for number, period in kept if first <= number < last]

    def period_named(self, study: int, name: str) -> Period | None:
        kept = self._rows(study, Period).values()
        return next((one for one in kept if one.name == name), None)

    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        kept = sorted(self._rows(study, Report).items())
        return [report for number, report in kept if first <= number < last]


def _key(row: Row) -> int:
    """What no two rows of a kind share: a number, a pull, or the period that a report is of."""
    values = vars(row)
    return next(values[name] for name in ("number", "pull", "period") if name in values)

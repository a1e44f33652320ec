"""A study with all that belongs to it, read from one storage and written to another."""

from __future__ import annotations

from dataclasses import dataclass, replace

from surepick.errors import StorageError, StudyExistsError, UnknownStudyError
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import (
    BatchRecord,
    Event,
    Lease,
    Link,
    Period,
    Report,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)


@dataclass(frozen=True)
class Everything:
    """All rows of a study, but for what a storage chooses itself."""

    study: StudyRecord
    at: StudyProgress
    batches: list[BatchRecord]
    summary: Summary | None
    snapshot: tuple[int, str] | None
    past: str | None
    links: list[Link]
    leases: list[Lease]
    tells: list[Tell]
    events: list[Event]
    periods: list[Period]
    reports: list[Report]


def copy(source: Storage, name: str, target: Storage, new_name: str | None = None) -> Everything:
    """Copy a study; what was copied, once it was read again and found to be the same.

    Pulls that are out belong to workers of the other storage, so in the copy they wait to be handed
    out again.
    """
    found = source.read(lambda tx: _read(tx, name, lock=False))
    if found is None:
        raise UnknownStudyError(f"there is no study called {name!r} in {source.url}")
    called = new_name or name
    wanted = replace(found, study=replace(found.study, name=called))

    def write(tx: Transaction) -> None:
        there = _read(tx, called, lock=False)
        if there == wanted:  # this was run before, and nobody heard that it had succeeded
            return
        if there is not None:
            raise StudyExistsError(f"a study called {called!r} already exists in {target.url}")
        _write(tx, wanted)

    target.write(write)
    written = target.read(lambda tx: _read(tx, called, lock=False))
    if written != wanted:
        raise StorageError(
            f"the copy of {name!r} in {target.url} is not the same as the original: delete it, and "
            "copy again while nobody works on the study"
        )
    return found


def remove(source: Storage, copied: Everything) -> None:
    """Delete a study that was copied, unless it has gone on since."""

    def write(tx: Transaction) -> None:
        there = _read(tx, copied.study.name, lock=True)
        if there is None:  # this was run before
            return
        if there != copied:
            raise StorageError(
                f"{copied.study.name!r} went on while it was copied, so it was not deleted: pause "
                "it, delete the copy, and move it again"
            )
        found = tx.find_study(copied.study.name)
        assert found is not None
        tx.remove_study(found.id)

    source.write(write)


def _read(tx: Transaction, name: str, lock: bool) -> Everything | None:
    study = tx.find_study(name)
    if study is None:
        return None
    own, at = study.id, tx.progress(study.id, lock=lock)
    batches = []
    while (batch := tx.batch(own, len(batches))) is not None:
        batches.append(batch)
    out = tx.leases(own, list(range(at.first, at.last)))
    summary = tx.summary(own)
    return Everything(
        replace(study, id=0, created=0.0),
        replace(at, claimed_by=None, claimed_until=0.0, now=0.0),
        batches,
        summary,
        tx.snapshot(own),
        tx.past(own),
        tx.links(own),
        [_waiting(out[pull]) for pull in sorted(out)],
        tx.told(own, 0, at.last),
        tx.events(own),
        tx.periods(own),
        tx.reports(own),
    )


def _waiting(lease: Lease) -> Lease:
    """The pull, back in line."""
    return Lease(lease.pull, lease.arm, None, 0.0, lease.attempts, stratum=lease.stratum)


def _write(tx: Transaction, all_of_it: Everything) -> None:
    own = tx.add_study(all_of_it.study, all_of_it.at).id
    if all_of_it.summary is not None:
        tx.set_summary(own, all_of_it.summary)
    if all_of_it.snapshot is not None:
        tx.set_snapshot(own, *all_of_it.snapshot)
    if all_of_it.past is not None:
        tx.add_past(own, all_of_it.past)
    one = all_of_it
    own_rows = (one.batches, one.links, one.leases, one.tells, one.events)
    for rows in (*own_rows, one.periods, one.reports):
        tx.add(own, *rows)

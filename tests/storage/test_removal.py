"""A study that was removed: nothing is left under its number, in any table."""

from surepick.storage import open_storage
from surepick.storage.records import (
    BatchRecord,
    Event,
    Lease,
    Link,
    StudyProgress,
    StudyRecord,
    Tell,
)

RECORD = StudyRecord(0, "a", "key", "toy", '{"delta": 0.1}', "{}", 7, "{}")


def everything(tx, study):
    return (
        tx.batch(study, 0),
        tx.snapshot(study),
        tx.past(study),
        tx.links(study),
        tx.leases(study, [0]),
        tx.tells(study, [1]),
        tx.rewards(study, 0, 10).pulls.tolist(),
        tx.events(study),
    )


def test_nothing_is_left_of_a_removed_study(storage_url):
    storage = open_storage(storage_url)
    kept, gone = (
        storage.write(
            lambda tx, name=name: tx.add_study(
                StudyRecord(**vars(RECORD) | {"name": name, "key": name}), StudyProgress(0, 0, 10)
            )
        ).id
        for name in ("kept", "gone")
    )

    def fill(tx):
        for study in (kept, gone):
            tx.add(study, BatchRecord(0, 0, 10, "[]"))
            tx.set_snapshot(study, 0, "run")
            tx.add_past(study, "{}")
            tx.add(study, Link(0, "created", "{}", 0.0, "0" * 64))
            tx.add(study, Lease(0, 1, "w", 5.0))
            tx.add(study, Tell(1, 1, 2.0, "w", 0.0))
            tx.add(study, Event(1, 1, "late", "w", 2.0, "", 0.0))

    storage.write(fill)
    before = storage.read(lambda tx: everything(tx, kept))
    assert all(before)
    storage.write(lambda tx: tx.remove_study(gone))
    if storage_url.startswith("memory"):  # there the number itself is unknown
        assert [one.id for one in storage.read(lambda tx: tx.studies())] == [kept]
    else:
        assert not any(storage.read(lambda tx: everything(tx, gone)))
    assert storage.read(lambda tx: everything(tx, kept)) == before
    storage.close()

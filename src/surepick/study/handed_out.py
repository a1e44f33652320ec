"""Whether the pulls of a study were handed out in the order that it was created with."""

from __future__ import annotations

from surepick.errors import StudyDamagedError
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import StudyRecord
from surepick.study.desk.rebuild import order_seed, pulls_of


def check_handed_out(storage: Storage, study: StudyRecord) -> bool:
    """Whether there is an order to check: visitors come in none.

    Raises
    ------
    StudyDamagedError
        Where a pull is of another option than the order of its batch says.
    """
    seed = order_seed(study)
    if seed is None:
        return False
    number = 0
    while storage.read(lambda tx, n=number: _check_batch(tx, study, n, seed)):
        number += 1
    return True


def _check_batch(tx: Transaction, study: StudyRecord, number: int, seed: int) -> bool:
    """Whether there is a batch of this number; an error where it was handed out otherwise."""
    from surepick.verifier.order import rows_in_order  # few verbs need the verifier

    batch = tx.batch(study.id, number)
    if batch is None:
        return False
    pulls = pulls_of(batch)
    due = pulls.arms[rows_in_order(pulls.counts.tolist(), number, seed)]
    places = range(batch.first, batch.first + batch.size)
    out = tx.leases(study.id, places) | tx.tells(study.id, places)
    for pull, one in out.items():
        if one.arm != due[pull - batch.first]:
            raise StudyDamagedError(
                f"study {study.name!r} was changed: pull {pull} was handed out for option "
                f"{one.arm}, but the recorded order of batch {number} has option "
                f"{due[pull - batch.first]} at that place"
            )
    return True

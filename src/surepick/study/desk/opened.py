"""The batches that are open, as one line of pulls in the order in which they are handed out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np

from surepick.errors import StudyDamagedError
from surepick.run.order import Order
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import BatchRecord, StudyProgress, StudyRecord
from surepick.study.desk.rebuild import items_of, order_seed, pulls_of
from surepick.study.pulls import has_a_name


class _One(NamedTuple):
    number: int
    size: int
    order: Order
    items: list[str] | None  # in the order in which the pulls are handed out


class OpenBatches:
    """The open batch and those that were asked for ahead of it, in the orders of a seed.

    Places in the line are counted from the first pull of the open batch. What is known is right for
    as long as that batch is open: others may only be added. There is no seed where visitors are
    sent, for whom no batch is ever open.
    """

    def __init__(
        self, first: int = 0, batches: tuple[_One, ...] = (), seed: int | None = None
    ) -> None:
        self.first, self._batches, self._seed = first, batches, seed
        self.number = batches[0].number if batches else -1
        self.size = sum(one.size for one in batches)  #: pulls in all of them

    def refreshed(self, tx: Transaction, study: int, at: StudyProgress) -> OpenBatches:
        """The open batches as the study stands now."""
        if (self.number, self.size) == (at.batch, at.size + at.ahead):
            return self
        known = [one for one in self._batches if one.number >= at.batch]
        while sum(one.size for one in known) < at.size + at.ahead:
            found = tx.batch(study, at.batch + len(known))
            assert found is not None
            known.append(_read(found, self._seed))
        return OpenBatches(at.first, tuple(known), self._seed)

    def arms(self, start: int, end: int) -> list[int]:
        """The arms of the pulls in some places."""
        found: list[int] = []
        for one in self._batches:
            if start < one.size and end > 0:
                found += one.order.arms(max(start, 0), min(end, one.size)).tolist()
            start, end = start - one.size, end - one.size
        return found

    def items(self, start: int, end: int) -> list[str]:
        """The items of the pulls in some places, where options are measured on items."""
        return [item for one in self._batches for item in one.items or ()][start:end]


def _read(batch: BatchRecord, seed: int | None) -> _One:
    pulls, items = pulls_of(batch), items_of(batch)
    assert seed is not None
    order = Order(batch.number, pulls, seed)
    if items is None:
        return _One(batch.number, batch.size, order, None)
    named = np.repeat(items, pulls.counts)[order.whole()]
    return _One(batch.number, batch.size, order, [str(item) for item in named.tolist()])


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
                f"study {study.name!r} was changed: measurement {pull} was handed out for option "
                f"{one.arm}, but the recorded order of batch {number} has option "
                f"{due[pull - batch.first]} at that place"
            )
    return True


_MOST = 10_000  # pulls that are looked at


class Held(NamedTuple):
    """What somebody has of the open batch, and has not told yet."""

    worker: str | None  #: None: somebody who gave no name
    pulls: int
    since: float  #: the first of them was handed out then, by the database's clock,
    until: float  #: and the last of them may go to others from then on


def workers(tx: Transaction, study: int, at: StudyProgress) -> set[str]:
    """Who has told or holds pulls of the open batches.

    Many who give no name may be one and the same: of those only what they hold now counts.
    """
    told = {one.worker for one in tx.told(study, at.first, at.last) if one.worker is not None}
    out = {one.worker or "" for one in tx.longest_out(study, at.now, at.last, _MOST)}
    return out | {worker for worker in told if has_a_name(worker)}


def held(tx: Transaction, study: int, at: StudyProgress) -> list[Held]:
    """Who has pulls of the open batch, which all later ones wait for; longest first."""
    found: dict[str | None, Held] = {}
    for one in tx.longest_out(study, at.now, at.first + at.size, _MOST):
        named = one.worker is not None and has_a_name(one.worker)
        worker = one.worker if named else None
        before = found.get(worker, Held(worker, 0, one.since, one.until))
        until = max(before.until, one.until)
        found[worker] = before._replace(pulls=before.pulls + 1, until=until)
    return list(found.values())


def held_in_words(found: Sequence[Held], now: float) -> str:
    """For whom one waits, by the clock here.

    Examples
    --------
    >>> held_in_words([], 0.0)
    'waiting for other workers'
    """
    if not found:
        return "waiting for other workers"
    first, more = found[0], sum(one.pulls for one in found[1:])
    one = first.pulls == 1
    what = "1 measurement" if one else f"{first.pulls} measurements"
    who = "a worker without a name" if first.worker is None else first.worker
    text = f"waiting for {what} that {who} has had since {_clock(first.since, now)}"
    if more:
        text += f", and for {more} more that other workers have"
    return (
        f"{text}; unless told by {_clock(first.until, now)}, others get {'it' if one else 'them'}"
    )


def _clock(when: float, now: float) -> str:
    """A time of day; with the day where that is not today."""
    then, today = datetime.fromtimestamp(when), datetime.fromtimestamp(now)
    return f"{then:%H:%M}" if then.date() == today.date() else f"{then:%Y-%m-%d %H:%M}"

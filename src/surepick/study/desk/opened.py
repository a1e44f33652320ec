"""The batches that are open, as one line of pulls in the order in which they are handed out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepick.run.order import Order
from surepick.storage.contract import Transaction
from surepick.storage.records import BatchRecord, StudyProgress
from surepick.study.desk.rebuild import items_of, pulls_of


class _One(NamedTuple):
    number: int
    size: int
    order: Order
    items: list[str] | None  # in the order in which the pulls are handed out


class OpenBatches:
    """What is known of the open batch and of those that were asked for ahead of it.

    Places in the line are counted from the first pull of the open batch. What is known is right for
    as long as that batch is open: others may only be added.

    Parameters
    ----------
    first
        Number of the first pull of the open batch.
    batches
        The open batch, and those after it.
    seed
        Of the study's orders; None: of visitors, for whom no batch is ever open.
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

"""A batch: the pulls an algorithm asks for before it looks at rewards again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.arrays.types import IntArray
from surepick.errors import BatchError, InvalidTypeError
from surepick.run.order import Order


@dataclass(frozen=True)
class Batch:
    """Pulls asked for by one run.

    ``arms`` lists one arm per pull, in the order in which to measure them, which is drawn at random
    for each run; ``counts`` has the pulls per arm.

    Examples
    --------
    >>> import surepick as sp
    >>> batch = sp.algorithms.Rage(delta=0.1).start(sp.Problem([[1.0], [2.0]], noise=1.0)).ask()
    >>> len(batch) == len(batch.arms), len(batch.counts)
    (True, 2)
    """

    run: str  #: id of the run that asked
    number: int  #: 0 for the run's first batch
    pulls: Pulls  #: the pulled arms and how often; an arm may have several rows
    n_arms: int  #: arms in the problem
    #: the item that each row of the pulls is for, where options are measured on items
    row_items: IntArray | None = None
    #: how many batches had been told when it was asked for, if the one before it had not been
    after: int | None = None
    #: seed of the order of its pulls; None: of visitors, who are told arm by arm
    seed: int | None = None

    @property
    def size(self) -> int:
        """Number of pulls."""
        return self.pulls.total

    @property
    def arms(self) -> IntArray:
        """One arm index per pull, in the order of measuring; rewards are told in this order."""
        return np.repeat(self.pulls.arms, self.pulls.counts)[self._numbers]

    @property
    def items(self) -> IntArray | None:
        """The item that each pull is for, where options are measured on items."""
        if self.row_items is None:
            return None
        return np.repeat(self.row_items, self.pulls.counts)[self._numbers]

    @cached_property
    def _numbers(self) -> IntArray:
        """The number of each pull in the order of measuring, as the rows list them."""
        if self.seed is None or self.size == 1:
            return np.arange(self.size)
        return Order(self.number, self.pulls, self.seed).whole()

    def listed(self, values: Any) -> Any:
        """Values in the order of ``arms``, as the rows of the pulls list them."""
        if self.seed is None:
            return values
        listed = np.empty_like(values)
        listed[self._numbers] = values
        return listed

    def within(self, numbers: IntArray) -> IntArray:
        """Some of its pulls, by arm: in which order they are dealt into parts of their own."""
        if self.seed is None:
            return np.arange(len(numbers))
        return Order(self.number, self.pulls, self.seed).numbering(numbers)

    @property
    def counts(self) -> IntArray:
        """Pulls per arm, one entry for each arm of the problem."""
        counts = np.zeros(self.n_arms, dtype=np.int64)
        np.add.at(counts, self.pulls.arms, self.pulls.counts)
        return counts

    def __len__(self) -> int:
        return self.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Batch):
            return NotImplemented
        return (self.run, self.number, self.n_arms) == (
            other.run,
            other.number,
            other.n_arms,
        ) and self.pulls.same(other.pulls)

    def __hash__(self) -> int:
        return hash((self.run, self.number))

    def __repr__(self) -> str:
        return (
            f"Batch(number={self.number}, size={self.size}, "
            f"arms={len(np.unique(self.pulls.arms))} distinct)"
        )


def check_open(batch: Any, run: str, told: int, now: Batch | None) -> None:
    """Refuse what is not the open batch ``now`` of this run, which was told so many."""
    if not isinstance(batch, Batch):
        raise InvalidTypeError(f"batch must be what run.ask() returned; got {batch!r:.80}")
    if batch.run != run:
        raise BatchError("batch belongs to another run")
    if batch.number < told:
        raise BatchError(f"batch {batch.number} already has its rewards")
    if batch is not now and (now is None or batch != now):
        raise BatchError(f"batch {batch.number} is not open; run.ask() gives the open one")


class PendingBatches:
    """The open batch, if there is one, and those after it, in the order in which they are told.

    Why batches that overlap keep a guarantee by bets: rivals and stakes are chosen when a batch is
    told, from those before it, and its pulls by even less. So given everything in earlier batches,
    its pulls and stakes are fixed, and its noise is centred, if it has nothing to do with that of
    other pulls; that some of it was seen before earlier batches were complete does not matter.
    """

    def __init__(self) -> None:
        self.open: Batch | None = None
        self._later: list[Batch] = []

    def __len__(self) -> int:
        return (self.open is not None) + len(self._later)

    @property
    def ahead(self) -> int:
        """How many were asked for after the open one."""
        return len(self._later)

    def pulls(self, n_arms: int) -> IntArray:
        """Pulls of each arm that are asked for and not told."""
        found = np.zeros(n_arms, dtype=np.int64)
        for batch in ([] if self.open is None else [self.open]) + self._later:
            found[: batch.n_arms] += batch.counts
        return found

    def open_next(self, number: int, state: State) -> Batch | None:
        """Open the first of those that were asked for ahead, under this number; None: none was."""
        if self._later:
            self.open = replace(self._later.pop(0), number=number)
            state.replace(self.open.pulls)
        return self.open

    def ask_ahead(
        self,
        now: Batch,
        state: State,
        budget: int,
        told: int,
        put: Callable[[Pulls | None], Pulls | None] | None = None,
    ) -> Batch | None:
        """One batch more, if it is not too far ahead of the open one, after so many were told.

        ``budget`` is how many pulls there may be beside those that are out. ``put`` may put other
        pulls in the place of those that would be asked for.
        """
        out, later = now.size + sum(batch.size for batch in self._later), 1 + len(self._later)
        drawn = state.draws
        state.draws = None if drawn is None else drawn.of(now.number + later)
        pulls = state.propose_ahead(budget, out) if budget else None
        state.draws = drawn
        if put is not None:
            pulls = put(pulls)
        if pulls is None:
            return None
        state.note_ahead(pulls)
        items = state.items_of(pulls, later)
        batch = Batch(now.run, now.number + later, pulls, now.n_arms, items, told, now.seed)
        self._later.append(batch)
        return batch

    def save(self) -> dict[str, Any]:
        return {
            "after": None if self.open is None else self.open.after,
            "ahead": [[batch.after, *batch.pulls.columns()] for batch in self._later],
        }

    def load(
        self, saved: dict[str, Any], run: str, n_arms: int, state: State, seed: int | None
    ) -> None:
        rows = list(saved["ahead"])
        if saved["open"] is not None:
            rows.insert(0, [saved["after"], *saved["open"]])
        for later, (after, *columns) in enumerate(rows):
            pulls, number = Pulls(*columns), int(saved["batches"]) + later
            items = state.items_of(pulls, later)
            self._later.append(Batch(run, number, pulls, n_arms, items, after, seed))
        self.open = None if saved["open"] is None else self._later.pop(0)

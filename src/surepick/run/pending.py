"""Batches that were asked for and not told: the open one, and those asked for while it is measured.

Why batches that overlap keep a guarantee by bets: batches are told in the order in which they were
asked for, and rivals and stakes are chosen when a batch is told, from those before it. The pulls of
a batch were chosen by even less. So given everything in earlier batches, its pulls and stakes are
fixed, and its noise is centred, if it has nothing to do with that of other pulls; that some of it
was seen before earlier batches were complete does not matter then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.arrays.types import IntArray
from surepick.run.batch import Batch


class PendingBatches:
    """The open batch, if there is one, and those after it, in the order in which they are told."""

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
        """What a saved run says of those that overlap."""
        return {
            "after": None if self.open is None else self.open.after,
            "ahead": [[batch.after, *batch.pulls.columns()] for batch in self._later],
        }

    def load(
        self, saved: dict[str, Any], run: str, n_arms: int, state: State, seed: int | None
    ) -> None:
        """Take on what was saved."""
        rows = list(saved["ahead"])
        if saved["open"] is not None:
            rows.insert(0, [saved["after"], *saved["open"]])
        for later, (after, *columns) in enumerate(rows):
            pulls, number = Pulls(*columns), int(saved["batches"]) + later
            items = state.items_of(pulls, later)
            self._later.append(Batch(run, number, pulls, n_arms, items, after, seed))
        self.open = None if saved["open"] is None else self._later.pop(0)

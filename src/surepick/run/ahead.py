"""Batches that are asked for while earlier ones are being measured.

Why that keeps a guarantee by bets: batches are told in the order in which they were asked for, and
rivals and stakes are chosen when a batch is told, from those before it. The pulls of a batch were
chosen by even less. So given everything in earlier batches, its pulls and stakes are fixed, and its
noise is centred, if it has nothing to do with that of other pulls; that some of it was seen before
earlier batches were complete does not matter then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from surepick.algorithms.base import Pulls, State
from surepick.run.batch import Batch

#: the condition of a guarantee of a run with batches that overlap
OVERLAP_PROVIDED = "provided that measurements do not depend on each other, as batches overlapped"


class Ahead:
    """The batches after the open one, in the order in which they will be told."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def __len__(self) -> int:
        return len(self._batches)

    def ask(
        self,
        now: Batch,
        state: State,
        budget: int,
        told: int,
        put: Callable[[Pulls | None], Pulls | None] | None = None,
    ) -> Batch | None:
        """One batch more, if it is not too far ahead of the open one, after so many were told.

        ``budget`` is how many pulls there may be beside those that are out.
        """
        out = now.size + sum(batch.size for batch in self._batches)
        pulls = state.propose_ahead(budget, out) if budget else None
        if put is not None:
            pulls = put(pulls)
        if pulls is None:
            return None
        later = 1 + len(self._batches)
        items = state.items_of(pulls, later)
        batch = Batch(now.run, now.number + later, pulls, now.n_arms, items, told, now.seed)
        self._batches.append(batch)
        return batch

    def with_open(self, now: Batch | None) -> list[Batch]:
        """All batches that are out, the open one first."""
        return ([] if now is None else [now]) + self._batches

    def next(self, number: int, state: State) -> Batch | None:
        """The first of them, if any, which is open from now on, under this number."""
        if not self._batches:
            return None
        batch = replace(self._batches.pop(0), number=number)
        state.replace(batch.pulls)
        return batch

    def save(self, now: Batch | None) -> dict[str, Any]:
        """What a saved run says of them; nothing where no batches overlap."""
        said: dict[str, Any] = {}
        if now is not None and now.after is not None:
            said["after"] = now.after
        if self._batches:
            said["ahead"] = [[batch.after, *batch.pulls.columns()] for batch in self._batches]
        return said

    def load(
        self, saved: dict[str, Any], run: str, n_arms: int, state: State, seed: int | None
    ) -> Batch | None:
        """Take on what was saved; the batch that is open, unless it had ended."""
        rows = list(saved.get("ahead", ()))
        if saved["open"] is not None:
            rows.insert(0, [saved.get("after"), *saved["open"]])
        for later, (after, *columns) in enumerate(rows):
            pulls, number = Pulls(*columns), int(saved["batches"]) + later
            items = state.items_of(pulls, later)
            self._batches.append(Batch(run, number, pulls, n_arms, items, after, seed))
        return None if saved["open"] is None else self._batches.pop(0)

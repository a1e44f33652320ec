"""Cells of a finite table that could not be measured, and count as the worst score.

They are part of the table, as whoever filled it in by hand would have to put something there. So
nothing is assumed about why they failed, beyond what is assumed of every score: that it does not
depend on when it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from surepick.algorithms.base import State, ToldPulls
from surepick.problem import Problem
from surepick.text import plural

_FEW = 3  # that are named in a sentence


class Unmeasured(NamedTuple):
    """A cell that could not be measured."""

    label: str
    item: int
    reason: str


def counted(
    cells: Iterable[Unmeasured], problem: Problem, state: State, told: Iterable[ToldPulls]
) -> list[tuple[Unmeasured, dict[str, Any]]]:
    """Those of them that count, each also by its place in the order of items, as in batches."""
    arms = {label: arm for arm, label in enumerate(problem.labels)}
    wanted = {(arms[cell.label], cell.item): cell for cell in cells}
    found: list[tuple[Unmeasured, dict[str, Any]]] = []
    for batch in told if wanted else ():
        items, places = state.items_of(batch.pulls), batch.pulls.parts
        if items is None or places is None:
            continue
        for arm, item, place in zip(batch.pulls.arms.tolist(), items.tolist(), places.tolist()):
            cell = wanted.get((arm, item))
            if cell is not None:
                found.append((cell, {"arm": arm, "at": place, "reason": cell.reason}))
    return found


def in_words(cells: tuple[Unmeasured, ...]) -> str:
    """A sentence that names the first of them.

    Examples
    --------
    >>> in_words((Unmeasured("red", 7, "TimeoutError"),))
    '1 cell could not be measured and counts as the worst score: red on item 7 (TimeoutError).'
    """
    if not cells:
        return ""
    named = ", ".join(f"{one.label} on item {one.item} ({one.reason:.80})" for one in cells[:_FEW])
    more = "" if len(cells) <= _FEW else f", and {len(cells) - _FEW:,} more"
    counts = "counts" if len(cells) == 1 else "count"
    head = f"{plural(len(cells), 'cell')} could not be measured and {counts} as the worst score"
    return f"{head}: {named}{more}."

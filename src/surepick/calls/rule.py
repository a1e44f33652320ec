"""What a call that failed counts as, where a finite table is filled in.

- What a failed call is: one that raised anything, took too long, or gave what no score can be
  (nothing, a text, not a number, several, one out of bounds).
- When a cell is given up: it failed in a way that would come again, or as often as it may be tried.
  Tries are counted for each cell, over all runs (the events of a study have them).
- Whether it is the cell: only where something else works (:class:`surepick.calls.faults.InARow`).
- What it counts as then: the lowest score, or nothing yet.

Why the lowest score: a table in which it stands is as fixed beforehand as any other, so that all
that is proven of tables holds of it, whatever the reasons of failures are. An item on which every
option fails is a tie of all: every lead on it is 0, so that it decides nothing, just as if it had
been left out for all of them. Leaving an item out because *some* options failed on it would not do:
which items are left then depends on who was still in, and on who fails where it would have lost.
"""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal

from surepick.errors import InvalidInputError

#: ``lowest``: the lowest score; ``later``: nothing, until it is measured
Counts = Literal["lowest", "later"]
COUNTS: tuple[Counts, ...] = ("lowest", "later")


class NoScore(InvalidInputError):
    """What a call gave is no score."""


def as_rule(value: Any) -> Counts:
    """The rule of this name, or an error."""
    if value not in COUNTS:
        raise InvalidInputError(
            f"failed must be 'lowest' (a cell that cannot be measured counts as the lowest score) "
            f"or 'later' (it stays open until it is measured); got {value!r:.80}"
        )
    return value


def as_score(value: Any) -> float:
    """What a call gave, as a score; yes and no are 1 and 0.

    Examples
    --------
    >>> as_score(True), as_score(0.5)
    (1.0, 0.5)
    >>> as_score("0.5")
    Traceback (most recent call last):
    surepick.calls.rule.NoScore: it returned '0.5', not a number
    """
    if getattr(value, "shape", None) == ():  # of NumPy or a tensor
        value = value.item()
    if not isinstance(value, numbers.Real):
        raise NoScore(f"it returned {value!r:.80}, not a number")
    found = float(value)
    if not math.isfinite(found):
        raise NoScore(f"it returned {found}; a score must be finite")
    return found

"""What becomes of a call that failed, and what it counts as where a finite table is filled in.

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
from typing import Any, Literal, NamedTuple

from surepick.calls.faults import LONGEST, Fault
from surepick.calls.pace import Pace
from surepick.errors import InvalidInputError

#: ``lowest``: the lowest score; ``later``: nothing, until it is measured
Counts = Literal["lowest", "later"]
COUNTS: tuple[Counts, ...] = ("lowest", "later")
_REFUSALS = 10  # in a row, after which a service is left alone


class NoScore(InvalidInputError):
    """What a call gave is no score."""


class Next(NamedTuple):
    """What becomes of a call that failed."""

    again: bool  #: whether it is made again; else it is given up
    after: float = 0.0  #: seconds for which it waits alone before that
    made: bool = True  #: whether it was made: a call that was refused was not, and all wait
    over: str = ""  #: why a service that refuses is left alone


def may_again(worth_it: bool, tries: int, retries: int) -> bool:
    """Whether a call that failed so often may be tried again: it has one try, and so many more."""
    return worth_it and tries <= retries


def next_of(fault: Fault, tries: int, retries: int, pace: Pace) -> Next:
    """What becomes of a call that failed so often now, where so many more tries are allowed.

    Examples
    --------
    >>> next_of(Fault("passing", after=3.0), 1, 2, Pace())
    Next(again=True, after=3.0, made=True, over='')
    >>> next_of(Fault("unknown"), 3, 2, Pace()).again
    False
    """
    if fault.kind == "refused":
        asked = fault.after or 0.0
        pace.refused(None if fault.after is None else min(asked, LONGEST))
        over = f"the service asks to wait {asked:,.0f} s" if asked > LONGEST else ""
        if not over and pace.refusals > _REFUSALS:
            over = (
                f"the service refused {pace.refusals} times in a row, as there are too many calls; "
                "ask for fewer with --per-minute (per_minute=)"
            )
        return Next(not over, made=False, over=over)
    if not may_again(fault.again, tries, retries):
        return Next(False)
    alone = pace.pause(tries) if fault.after is None else fault.after
    return Next(True, alone if fault.kind == "passing" else 0.0)


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

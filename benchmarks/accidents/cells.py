"""What a cell is: an accident at a door, in a world whose truth is known.

To add one, write a function of a generator and δ that lives through one study, from its beginning
until it is decided or cannot go on, and says what that came to (an :class:`Outcome`)::

    @cell("None", "decide")
    def live(rng, delta):
        ...
        return Outcome(wrong=found.option != best, lost=…, repeated=…)

Put it in a module of this folder, and the module's name in ``measured.py``.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks import cells
from benchmarks.cells import DELTA, Live, allowed

__all__ = ["CELLS", "DELTA", "SECONDS", "Cell", "Outcome", "allowed", "cell"]

#: seconds within which work has to go on, beyond what starting the command takes without accident
SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    #: whether what is claimed is false; None: nothing is claimed, or without a promise
    wrong: bool | None
    lost: int = 0  #: scores that a call gave, and that the study does not have in the end
    #: calls that were made again although they had worked, beyond those under way
    repeated: int = 0
    blocked: str = ""  #: why the study could not go on, whatever was done
    seconds: float = 0.0  #: until work went on, at most


@dataclass(frozen=True)
class Cell(cells.Cell):
    """One accident at one door."""

    chunk: int = 1

    @staticmethod
    def failed(error: Exception) -> Outcome:
        """An accident that came out is a study that is blocked."""
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
        return Outcome(None, blocked=f"{type(error).__name__} at {where}: {error}"[:200])


CELLS: dict[str, Cell] = {}


def cell(accident: str, door: str, **more: Any) -> Callable[[Live], Live]:
    """Put a function into the list of cells."""

    def put(live: Live) -> Live:
        cells.put(CELLS, Cell(accident, door, live, **more))
        return live

    return put

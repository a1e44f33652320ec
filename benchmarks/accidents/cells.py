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

import math
import traceback
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

#: the error probability that is asked for
DELTA = 0.2
#: standard errors by which the share of false claims may be above it by chance
ERRORS = 4.0
#: seconds within which work has to go on, beyond what starting the command takes without accident
SECONDS = 5.0


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    #: whether what is claimed is false; None: nothing is claimed, or without a promise
    wrong: bool | None
    lost: int = 0  #: scores that a call gave, and that the study does not have in the end
    repeated: int = (
        0  #: calls that were made again although they had worked, beyond those under way
    )
    blocked: str = ""  #: why the study could not go on, whatever was done
    seconds: float = 0.0  #: until work went on, at most


#: one run, of this generator and with this error probability
Live = Callable[[np.random.Generator, float], Outcome]


@dataclass(frozen=True)
class Cell:
    """One accident at one door."""

    accident: str
    door: str
    live: Live
    runs: int | None = None  #: the most that are worth their time; None: as many as are asked for
    chunk: int = 1  #: runs that are recorded at once

    @property
    def key(self) -> str:
        """Its name in records."""
        return f"{self.accident} · {self.door}"

    def outcomes(self, first: int, count: int, seed: int, delta: float) -> list[Outcome]:
        """Some runs, each of its own seed: which others were made does not matter."""
        found = []
        for i in range(first, first + count):
            key = (zlib.crc32(self.key.encode()), i)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
            try:
                found.append(self.live(rng, delta))
            except Exception as error:  # an accident that came out is a study that is blocked
                place = traceback.extract_tb(error.__traceback__)[-1]
                where = f"{place.filename.rsplit('/', 1)[-1]}:{place.lineno}"
                why = f"{type(error).__name__} at {where}: {error}"
                found.append(Outcome(None, blocked=why[:200]))
        return found


CELLS: dict[str, Cell] = {}


def cell(accident: str, door: str, **more: Any) -> Callable[[Live], Live]:
    """Put a function into the list of cells."""

    def put(live: Live) -> Live:
        one = Cell(accident, door, live, **more)
        if one.key in CELLS:
            raise ValueError(f"{one.key}: twice")
        CELLS[one.key] = one
        return live

    return put


def allowed(delta: float, runs: int) -> float:
    """The largest share of false claims that chance explains."""
    return delta + ERRORS * math.sqrt(delta * (1.0 - delta) / max(runs, 1))

"""What a cell is: a way of going on, at a door, in a world whose truth is known.

A run of a cell is one person's work from beginning to end. It comes to what was claimed as data
(compared with the truth: false, true, or nothing was claimed) and to every sentence that was shown
for it. A cell passes if its false claims are as rare as promised, or if every sentence of every
false claim names the condition that this way of going on breaks.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import benchmarks.nothing_kept  # noqa: F401
import numpy as np

#: the error probability that is asked for, wherever a cell says nothing else
DELTA = 0.2
#: standard errors by which the share of false claims may be above it by chance
ERRORS = 4.0

#: What a way of going on may break, and the words by which a sentence names it. A word such as
#: "independent" names nothing by itself: each pattern wants what a reader needs to recognise
#: the condition.
BROKEN: dict[str, str] = {
    "": r"(?!)",  # nothing is broken, so that nothing excuses a false sentence
    "chosen": r"nobody who made an option knew|no option was made with these items in view",
    "afresh": r"(drawn|draws?|measured|asked) (afresh|anew)|same whenever (it|they)\b",
    "visitors": r"each visitor[^.]*(once|counted)|rows? (is|are)[^.]*visitor",
    "splits": r"splits? of (this|these|the same|one) (data|rows)|these splits|(?<!new )splits\b",
    "lost": r"(fail|too late)[^.]*(depend|reasons)|measured again because of",
    "whole": r"no period ended[^.]*(because of)",
    "leads": r"(which of two|better)[^.]*(does not|do not|never|not)\b[^.]*change[^.]*period",
    "booked": r"responses? counts?\b|all responses to it",
    "again": r"choosing among several",
    "timed": r"(run|call)s?\b[^.]*(leaves?|next one|the next|run before|before it)",
    "duration": r"how long[^.]*(depend|nothing to do)",
    "edited": r"(corrected|withdrawn|changed|looked at again|check and change)[^.]*"
    r"(depend|because of|results)",
    "remeasured": r"hardly ever (measured again|repeated)",
}


@dataclass(frozen=True)
class Outcome:
    """What one run came to."""

    #: whether what was claimed is false; None: nothing was claimed, or it was refused
    false: bool | None
    said: Mapping[str, str] = field(default_factory=dict)  #: every rendering that was shown
    certificate: Any = field(default=None, repr=False)
    why: str = ""  #: where nothing was claimed: why, in a few words

    def names(self, broken: str) -> bool:
        """Whether every sentence names the condition that was broken."""
        pattern = re.compile(BROKEN[broken], re.IGNORECASE | re.DOTALL)
        return bool(self.said) and all(pattern.search(text) for text in self.said.values())


#: one run, of this generator and with this error probability
Live = Callable[[np.random.Generator, float], Outcome]


@dataclass(frozen=True)
class Cell:
    """One way of going on at one door."""

    way: str
    door: str
    breaks: str  #: what of :data:`BROKEN` this way breaks; empty: nothing, it is honest
    live: Live
    runs: int | None = None  #: the most that are worth their time; None: as many as are asked for
    chunk: int = 10  #: runs that are recorded at once
    needs: str = ""  #: a package without which it is left out
    certain: bool = False  #: whether a single false claim is too many: nothing is left to chance

    @property
    def key(self) -> str:
        """Its name in records."""
        return f"{self.way} · {self.door}"

    def outcomes(self, first: int, count: int, seed: int, delta: float) -> list[Outcome]:
        """Some runs, each of its own seed: which others were made does not matter."""
        found = []
        for i in range(first, first + count):
            key = (zlib.crc32(self.key.encode()), i)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
            try:
                found.append(self.live(rng, delta))
            except Exception as error:  # no sentence was shown: it is counted, and seen
                found.append(Outcome(None, why=f"{type(error).__name__}: {error}"[:120]))
        return found


CELLS: dict[str, Cell] = {}


def cell(way: str, door: str, *, breaks: str = "", **more: Any) -> Callable[[Live], Live]:
    """Put a function into the list of cells."""

    def put(live: Live) -> Live:
        one = Cell(way, door, breaks, live, **more)
        if breaks not in BROKEN or one.key in CELLS:
            raise ValueError(f"{one.key}: twice, or {breaks!r} is not known")
        CELLS[one.key] = one
        return live

    return put


def allowed(delta: float, runs: int) -> float:
    """The largest share of false claims that chance explains."""
    return delta + ERRORS * math.sqrt(delta * (1.0 - delta) / max(runs, 1))


# -- what was said ----------------------------------------------------------------------------
def said_by(answer: Any, shown: Any = None) -> dict[str, str]:
    """Every rendering of an answer, and what the door shows of it."""
    found = {} if shown is None else {"shown": str(shown)}
    found |= {"plain": answer.plain, "exact": str(answer.guarantee)}
    return found | {"json": str(answer.to_dict()["guarantee"])}


def of_answer(answer: Any, best: Any, shown: Any = None) -> Outcome:
    """An answer that names one option, where ``best`` has the labels of all that are right."""
    if not answer.guarantee:
        return Outcome(None, why=str(answer.guarantee)[:80])
    right = {best} if isinstance(best, str) else set(best)
    wrong = not set(answer.labels) <= right
    return Outcome(wrong, said_by(answer, shown), answer.certificate())

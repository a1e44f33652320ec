"""What a cell is: a way of going on, at a door, in a world whose truth is known.

A run of a cell is one person's work from beginning to end. It comes to what was claimed as data
(compared with the truth: false, true, or nothing was claimed) and to every sentence that was shown
for it. A cell passes if its false claims are as rare as promised, or if every sentence of every
false claim names the condition that this way of going on breaks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks import cells
from benchmarks.cells import DELTA, ERRORS, Live, allowed

__all__ = ["BROKEN", "CELLS", "DELTA", "ERRORS", "Cell", "Outcome", "allowed", "cell"]

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
    "their period": r"in the period of the visit with all responses"
    r"|responses count in the period in which their visitor came",
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
    broken: bool = True  #: whether the condition of its cell was broken in this run, too

    def names(self, broken: str) -> bool:
        """Whether every sentence names the condition that was broken."""
        pattern = re.compile(BROKEN[broken], re.IGNORECASE | re.DOTALL)
        return bool(self.said) and all(pattern.search(text) for text in self.said.values())


@dataclass(frozen=True)
class Cell(cells.Cell):
    """One way of going on at one door."""

    breaks: str = ""  #: what of :data:`BROKEN` this way breaks; empty: nothing, it is honest
    certain: bool = False  #: whether a single false claim is too many: nothing is left to chance

    @staticmethod
    def failed(error: Exception) -> Outcome:
        """No sentence was shown: it is counted, and seen."""
        return Outcome(None, why=f"{type(error).__name__}: {error}"[:120])


CELLS: dict[str, Cell] = {}


def cell(way: str, door: str, *, breaks: str = "", **more: Any) -> Callable[[Live], Live]:
    """Put a function into the list of cells."""
    if breaks not in BROKEN:
        raise ValueError(f"{way} · {door}: {breaks!r} is not known")

    def put(live: Live) -> Live:
        cells.put(CELLS, Cell(way, door, live, breaks=breaks, **more))
        return live

    return put


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

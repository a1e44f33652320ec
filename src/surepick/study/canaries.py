"""Cells of a complete table that are asked again: whether scores changed since they were measured.

A model behind an address is updated, a lamp gets old: what was measured in the morning is then no
part of the same table as what was measured in the evening. So a share of the cells is measured once
more while the study goes on, which counts for no option. Which cells, and when, is drawn from the
seed of the study's order: after every 1/share scores one of the older half of those that are there.
One that comes out differently is measured a third time at once.

**The test.** If nothing changes, the first score of a cell, the second and the third are
exchangeable, however often the grader disagrees with itself, and however that differs between
cells. Where the first two differ, the third then equals the second as often as it equals the first:

    P(x₃ = x₂ ≠ x₁) = P(x₃ = x₁ ≠ x₂),

by swapping the first two. After a change it equals the second. So of the cells that came out
differently, "stayed" against "came back" is a fair coin, and capital bet on "stayed" is a
supermartingale from 1: half of it doubles or is lost, half is the average over all coins between
fair and certain. It reaches 1/0.02 with a probability of at most 0.02, whenever somebody looks:
seven that stayed in a row, or 13 of 14, or 18 of 21. Then the promise is withdrawn.

**What can be noticed.** It takes about seven cells that changed. Of cells that are asked again
after a change all were measured before it, if that was in the second half: with n of them after it
and a share c of cells changed, Poisson(cn) ones come out differently. Half-way through the study
2 % of changed cells are noticed 9 times out of 10 with about 1,050 cells asked again; 20 of them
notice what changes nearly everything.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from surepick.errors import InvalidInputError
from surepick.run.diagnostics import Finding
from surepick.study.settings import Prepared, Setting
from surepick.text import plural

#: what a study's notes call the share, and what the chain calls a score that was asked again
CANARIES, ASKED_AGAIN = "canaries", "asked-again"
USUAL = 0.02  #: the share that is offered
LEVEL = 0.02  #: of withdrawing a promise although nothing changed
_MOST = 0.25
_GRID = np.linspace(0.5, 1.0, 101)  # how often what differs stays so
_STREAM = 7_561  # of random numbers of the order's seed that nothing else uses


class Canary(NamedTuple):
    """A cell that was asked again: which pull it was, and the scores in their order."""

    pull: int
    scores: tuple[float, ...]

    @property
    def differs(self) -> bool:
        return len(self.scores) > 1 and self.scores[1] != self.scores[0]

    @property
    def complete(self) -> bool:
        return len(self.scores) == (3 if self.differs else 2)

    @property
    def stayed(self) -> bool | None:
        """Whether it stayed with the second score, or came back to the first; None: neither."""
        if not self.differs or not self.complete:
            return None
        first, second, third = self.scores
        return third == second if third in (first, second) else None


def planned(share: float, seed: int, told: int) -> list[int]:
    """Which of the scores so far, counted from 0, are asked again by now, in order.

    Examples
    --------
    >>> [number < 25 for number in planned(0.02, 1, 149)]
    [True, True]
    """
    return [*_drawn(share, seed, int(share * told + 1e-9))]


@lru_cache(maxsize=16)  # it is looked at again and again before the next one is due
def _drawn(share: float, seed: int, count: int) -> tuple[int, ...]:
    found: dict[int, None] = {}  # each once
    for k in range(1, count + 1):
        there = math.ceil(k / share) // 2  # the older half
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_STREAM, k)))
        while len(found) < k:
            found.setdefault(int(rng.integers(there)))
    return tuple(found)


def gathered(first: Mapping[int, float], made: Iterable[tuple[int, float]]) -> list[Canary]:
    """Cells that were asked again, of pairs of a pull and a score in the order of the chain."""
    found = list[Canary]()
    for pull, score in made:
        if found and found[-1].pull == pull and not found[-1].complete:
            found[-1] = Canary(pull, (*found[-1].scores, score))
        elif pull in first:  # else it does not count any more
            found.append(Canary(pull, (first[pull], score)))
    return found


def log_capital(stayed: int, back: int) -> float:
    """Bet on "what differs stays so"; fair coins if nothing changed.

    Examples
    --------
    >>> round(math.exp(log_capital(7, 0))), round(math.exp(log_capital(1, 5)), 3)
    (80, 0.078)
    """
    doubled = 2.0**stayed if not back else 0.0
    mixed = float(np.mean((2.0 * _GRID) ** stayed * (2.0 - 2.0 * _GRID) ** back))
    return math.log(0.5 * doubled + 0.5 * mixed)


def noticed(count: int, share: float = 0.02) -> float:
    """How likely a change of such a share of cells half-way is noticed by so many asked again.

    Examples
    --------
    >>> round(noticed(1050), 1), noticed(20) < 0.001
    (0.9, True)
    """
    mean = 0.5 * count * share
    least = next(m for m in range(1, 99) if log_capital(m, 0) >= -math.log(LEVEL))
    fewer = sum(math.exp(-mean) * mean**m / math.factorial(m) for m in range(least))
    return max(0.0, 1.0 - fewer)


@dataclass(frozen=True)
class Found:
    """What cells that were asked again say."""

    finding: Finding
    remark: str

    @classmethod
    def of(cls, canaries: Sequence[Canary]) -> Found | None:
        """What they say; None where there are none."""
        if not canaries:
            return None
        differs = [one for one in canaries if one.differs]
        stayed = [number for number, one in enumerate(canaries) if one.stayed]
        back = sum(one.stayed is False for one in canaries)
        capital = log_capital(len(stayed), back)
        n = len(canaries)
        again = f"{plural(n, 'cell was', 'cells were')} asked again"
        share = f"{len(differs)} of them ({100 * len(differs) / n:.3g} %) gave another score"
        third = f"asked a third time {len(stayed)} stayed with the new score, {back} came back"
        said = f"{again}; {share}{f', and {third}' if differs else ''}."
        if capital >= -math.log(LEVEL):
            since = max(canaries[number].pull for number in stayed)
            said = (
                f"Scores changed: {said} If nothing had changed, coming back would be as likely. "
                f"What was measured up to measurement {since} is not what would be measured now: "
                "start again, or go back to what measured then."
            )
            return cls(Finding(True, capital, LEVEL, said), said)
        power = noticed(n)
        likely = f"a probability of {power:.2f}" if power >= 0.01 else "hardly any probability"
        so_far = f"A change of 2 % of all scores half-way would be noticed with {likely}."
        return cls(Finding(False, capital, LEVEL, said), f"{said} {so_far}")


def as_share(value: Any) -> float:
    """A share of cells, or an error."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        raise InvalidInputError(
            f"canaries must be a share of cells from 0 to {_MOST:g}, such as 0.02; got "
            f"{value!r:.80}"
        )
    return float(value)


def _allowed(share: float, made: Prepared) -> Prepared:
    """Refuse it where there are no cells."""
    if not made.algorithm.each_once:
        raise InvalidInputError(
            "canaries: only cells of a complete table (complete) are asked again, elsewhere every "
            "measurement is a new one; leave it out"
        )
    return made


SETTING = Setting(
    help="Share of the cells of a complete table that are measured once more while the study goes "
    "on, to notice that scores change (a model that is updated). It costs that share of "
    "measurements more. 0.02 notices what changes most scores; a change of 2 % of the scores "
    "half-way takes about 1,050 cells that are asked again.",
    schema={"type": "number", "minimum": 0, "maximum": _MOST},
    default=0.0,
    check=as_share,
    apply=_allowed,
    unit="probability",
    question="Cells that are measured again",
    hint="A share, such as 0.02, to notice that scores change meanwhile. It costs so much more.",
)

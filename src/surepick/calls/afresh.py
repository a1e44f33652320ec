"""Was every measurement drawn afresh? What gives away that one of them counts as many.

A promise about something that varies counts every measurement as a new draw. Where a function fixes
a seed, reads from a cache or is asked the same thing again, it is one draw that is counted many
times, and any luck in it looks like proof. No test can rule that out; these find what is usual:

- numbers that come back to the last digit, of those that could be any (:class:`Repeats`),
- random numbers of this process that are set back to where they were (:class:`Generators`).
"""

from __future__ import annotations

import math
import random
import sys
import threading
from collections import Counter
from fractions import Fraction
from typing import Any, Final

import numpy as np

#: why a promise is withdrawn, in the words of certificates
REPEATED: Final = "the same numbers came back to the last digit, as if one draw was counted often"
SET_BACK: Final = "random numbers were set back between measurements, so one draw counted often"
#: of runs that are timed (:mod:`surepick.timing.carried`)
CARRIED: Final = "how long a run takes depends on which one was before it"
#: what to do about each of them
CURES: Final = {
    REPEATED: "draw anew at every measurement: no fixed seed, no cache. Where only a few numbers "
    "can come, round them. Where an option always gives the same number, nothing is left to "
    "chance: give bounds, and measure each once (complete=1, --complete 1)",
    SET_BACK: "do not fix a seed in what is measured; what is meant to be the same every time can "
    "have a generator of its own (numpy.random.default_rng(0))",
    CARRIED: "let each run clean up after itself, or have something do it before each (--prepare)",
}


def cure_of(why: str) -> str:
    """What to do where a promise was withdrawn for this reason; nothing where it is another one."""
    return "; ".join(cure for reason, cure in CURES.items() if reason in why)


_FEWEST = 3  # repetitions of an option that are noticed, and
_SHARE = 0.2  # that share of its measurements
_KEPT = 2_000  # different numbers of an option that are kept
_LOOKED_AT = 50  # of those that came back
_BY_CHANCE = 1e-3  # a number that may be any passes for a simple one so often, at most
_LARGEST = 1e6  # denominator of a simple number
_STEPS = 10_000  # of a scale on which readings are rounded


class Repeats:
    """Numbers of each option that came more than once, to the last digit.

    Of numbers that could be any, two are never the same. Those that may well be: counts and shares
    of something (fractions with small numbers, decimals), readings on one scale of equal steps,
    whatever its unit, and a limit at which numbers are cut off. Of these nothing is noticed.
    """

    def __init__(self) -> None:
        self._of: dict[int, Counter[float]] = {}

    def add(self, options: Any, values: Any) -> None:
        """Take in measurements, each of one option."""
        for option, value in zip(np.asarray(options).tolist(), np.asarray(values).tolist()):
            counts = self._of.get(option)
            if counts is None:
                counts = self._of[option] = Counter()
            if len(counts) < _KEPT or value in counts:
                counts[value] += 1

    def and_of(self, options: Any, values: Any) -> Repeats:
        """What was seen, and these beside it."""
        made = Repeats()
        made._of = {option: counts.copy() for option, counts in self._of.items()}
        made.add(options, values)
        return made

    def options(self) -> list[int]:
        """Those whose numbers came back though they could be any."""
        return [option for option, counts in self._of.items() if _came_back(counts)]


def _came_back(counts: Counter[float]) -> bool:
    n = counts.total()
    if n - len(counts) < max(_FEWEST, _SHARE * n):
        return False
    again = sorted(value for value, count in counts.items() if count > 1)
    if len(again) == 1 < len(counts) and again[0] in (min(counts), max(counts)):
        return False  # cut off there
    again = again[:_LOOKED_AT]
    if _on_a_scale(again if len(again) > 2 else sorted(counts)[:_LOOKED_AT]):
        return False
    odd = sum(not _simple(value) for value in again)
    return 2 * odd > len(again)


def _simple(value: float) -> bool:
    """Whether it is a fraction with small numbers, as far as floating point can tell."""
    slack = 4 * math.ulp(value)
    largest = min(_LARGEST, math.sqrt(_BY_CHANCE / (0.6 * slack)))
    return largest < 1 or _near(value, int(largest), slack)


def _on_a_scale(values: list[float]) -> bool:
    """Whether three or more, in order, lie on one scale of equal steps."""
    if len(values) < 3:
        return False
    first, span = values[0], values[-1] - values[0]
    slack = 8 * math.ulp(max(map(abs, values))) / span
    if slack * _STEPS**2 > _BY_CHANCE:
        return True  # too close together to tell
    parts = [(value - first) / span for value in values]
    found = [Fraction(part).limit_denominator(_STEPS) for part in parts]
    if any(abs(part - one) > slack for part, one in zip(parts, found)):
        return False
    return math.lcm(*(one.denominator for one in found)) <= _STEPS


def _near(value: float, largest: int, slack: float) -> bool:
    return abs(Fraction(value) - Fraction(value).limit_denominator(largest)) <= slack


class Generators:
    """The random numbers that all of a process shares, looked at before every call.

    Those of ``random``, of NumPy and, where it is loaded, of PyTorch. One number is drawn of each:
    it is the same as an earlier one only where they were set back to where they stood then.
    """

    _often = 2  # once may be the setting up of something
    _most = 100_000  # looks, after which there is nothing new to see

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[int, float]] = set()
        self._times = 0

    @property
    def set_back(self) -> bool:
        """Whether they were."""
        return self._times >= self._often

    def look(self) -> None:
        """A call is about to be made."""
        with self._lock:
            if len(self._seen) > self._most:
                return
            drawn = set(enumerate(_drawn()))
            self._times += not self._seen.isdisjoint(drawn)
            self._seen |= drawn


def _drawn() -> list[float]:
    """A number of each of them."""
    found = [random.random(), np.random.random_sample()]  # noqa: NPY002
    torch: Any = sys.modules.get("torch")
    if hasattr(torch, "rand") and hasattr(torch, "float64"):
        found.append(torch.rand(1, dtype=torch.float64).item())
    return found

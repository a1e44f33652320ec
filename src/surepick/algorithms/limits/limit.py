"""Limits as people write them: ``"latency <= 50"``, ``"refunds <= control + 0.2% ± 0.1%"``.

A limit is on the mean of a number; or, with ``p95 of`` or ``median of`` before its name, on a
quantile. That a quantile is at most v says of a single measurement how likely it is at most v, so
it is a limit on the mean of yes and no, whatever the number is: the 95th percentile is at most 50
where at least 95 % of all measurements are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surepick.algorithms.questions import candidate_of, percentile
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError, listed
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind, noise_kind

_EXAMPLES = "'latency <= 50', 'refunds <= control + 0.2%', 'p95 of latency <= 50'"
_SIDES = {"<=": False, "≤": False, "at most": False, ">=": True, "≥": True, "at least": True}
_LONGEST = 1000  # characters: longer ones could take long to be read
_SIDE = re.compile(r"\s*(<=|>=|≤|≥|=<|=>|<|>|==|=|\bat most\b|\bat least\b)\s*")
_TOLERANCE = re.compile(r"\s*(?:±|\+/-|\+-)\s*")
_STATISTIC = re.compile(r"(?:p(\d+(?:\.\d+)?)|(median)|(mean))\s+of\s+(.+)", re.IGNORECASE)
_MARGIN = re.compile(r"(.+?)\s+([+-])\s+(\S+)")  # an option and how far from it


@dataclass(frozen=True)
class Limit:
    """One limit.

    Examples
    --------
    >>> limit = parse_limit("refunds <= control + 0.2%")
    >>> limit.number, limit.at_least, limit.than, limit.value
    ('refunds', False, 'control', 0.002)
    >>> str(parse_limit("p95 of latency<=50 +- 1%"))
    'p95 of latency <= 50 ± 0.01'
    """

    number: str  #: the name of what is measured
    at_least: bool  #: whether it is to be at least the value, and not at most
    value: float  #: an absolute one, or how far from another option's
    than: str | None = None  #: that other option
    tolerance: float = 0.0  #: by so much may be missed what is accepted as kept
    quantile: float | None = None  #: which quantile is limited; None: the mean

    @property
    def column(self) -> str:
        """The name of what its bets are on: the number, or whether it is beyond the value."""
        if self.quantile is None:
            return self.number
        return f"{self.number} {'>=' if self.at_least else '<='} {self.value:.12g}"

    @property
    def about(self) -> str:
        """What the mean of that is, on an axis."""
        what = self.column if self.quantile is None else f"share with {self.column}"
        return what if self.than is None else f"{what}, over {self.than}"

    @property
    def up(self) -> bool:
        """Whether the mean of that is to be at least the mark."""
        return self.at_least or self.quantile is not None

    @property
    def mark(self) -> float:
        """What that mean is compared with: a number, or how far from the other option's."""
        if self.quantile is None:
            return self.value
        return 1.0 - self.quantile if self.at_least else self.quantile

    def read(self, values: FloatArray) -> FloatArray:
        """What bets are on, from measurements of the number."""
        if self.quantile is None:
            return values
        kept = values >= self.value if self.at_least else values <= self.value
        return kept.astype(np.float64)

    def kind(self, problem: Problem) -> NoiseKind:
        """What is known of that."""
        if self.quantile is not None:
            return noise_kind("yes-no", problem.n_arms)
        return problem.numbers[self.number]

    @cached_property
    def text(self) -> str:
        """As it is written everywhere."""
        what = self.number
        if self.quantile is not None:
            what = f"p{100 * self.quantile:.12g} of {what}"
        target = f"{self.value:.12g}"
        if self.than is not None:
            sign = "-" if self.value < 0 else "+"
            target = f"{self.than} {sign} {abs(self.value):.12g}" if self.value else self.than
        found = f"{what} {'>=' if self.at_least else '<='} {target}"
        return f"{found} ± {self.tolerance:.12g}" if self.tolerance else found

    def __str__(self) -> str:
        return self.text

    def said(self, rate: bool = False) -> str:
        """What it says, for a reader; ``rate``: of a count of yes, which is told in per cent.

        Examples
        --------
        >>> parse_limit("refunds <= today + 0.002").said(rate=True)
        'refunds <= today + 0.2 %'
        """
        if self.quantile is not None:
            return f"the {percentile(self.quantile)} of {self.text.partition(' of ')[2]}"
        if not rate:
            return self.text
        target = _in_percent(self.value)
        if self.than is not None:
            sign = "-" if self.value < 0 else "+"
            margin = f" {sign} {_in_percent(abs(self.value))}" if self.value else ""
            target = f"{self.than}{margin}"
        near = f" ± {_in_percent(self.tolerance)}" if self.tolerance else ""
        return f"{self.number} {'>=' if self.at_least else '<='} {target}{near}"

    def said_of(self, problem: Problem) -> str:
        """What it says of the number as it is in this problem."""
        return self.said(self._is_rate(problem))

    def mean(self, estimate: float, problem: Problem) -> str:
        """What is compared with it, of one option; margins of rates are in percentage points."""
        if self.quantile is None and not self._is_rate(problem):
            return f"{estimate:.4g}"
        if self.than is None:
            return f"{100 * estimate:.4g} %"
        return f"{100 * estimate:+.2f} points"

    def _is_rate(self, problem: Problem) -> bool:
        return self.quantile is None and problem.numbers[self.number].successes

    def check(self, problem: Problem) -> None:
        """Refuse a limit that cannot be shown to be kept, or broken, in this problem."""
        where = f"keep: {str(self)!r}"
        if self.number not in problem.numbers:
            known = listed(map(repr, problem.numbers), repr(self.number))
            there = f"there is {known}" if problem.numbers else "none is declared"
            raise InvalidInputError(
                f"{where}: no further number is called {self.number!r}; {there} (numbers="
                f"{{{self.number!r}: (lowest, highest)}}, --number {self.number}=LOWEST..HIGHEST)"
            )
        kind = problem.numbers[self.number]
        if self.than is not None:
            candidate_of(problem, self.than)
        if self.quantile is not None:
            return
        if kind.wins:
            raise InvalidInputError(
                f"{where}: {self.number!r} can be any number, and nothing can be shown of the mean "
                f"of such ones. Limit a quantile instead ('p95 of {self.number} <= …', 'median of "
                f"{self.number} <= …'), or say what it is: yes or no, or between bounds"
            )
        if self.than is None and kind.bounds is not None:
            low, high = kind.bounds
            if not low < self.mark < high:
                raise InvalidInputError(
                    f"{where}: {self.number!r} lies between {low:g} and {high:g}, so a limit of "
                    f"{self.value:g} is kept by all or by none; use one between these"
                )


def _in_percent(share: float) -> str:
    return f"{100 * share:.6g} %"


def parse_limit(text: Any) -> Limit:
    """The limit that a text means.

    Examples
    --------
    >>> parse_limit("accuracy at least 90%").value
    0.9
    """
    if isinstance(text, Limit):
        return text
    if not isinstance(text, str):
        raise InvalidTypeError(f"keep: a limit is a text, such as {_EXAMPLES}; got {text!r:.80}")
    if len(text) > _LONGEST:
        raise InvalidInputError(
            f"keep: a limit has at most {_LONGEST} characters; got {len(text):,}: {text!r:.80}"
        )
    parts = _SIDE.split(text.strip())
    if len(parts) != 3 or not parts[0] or not parts[2]:
        raise _unclear(text, "it has no '<=' or '>=' between a number's name and its limit")
    what, side, target = parts
    if side not in _SIDES:
        raise _unclear(text, f"write '<=' or '>=' in place of {side!r}")
    at_least, tolerance = _SIDES[side], 0.0
    pieces = _TOLERANCE.split(target)
    if len(pieces) > 2 or not pieces[0]:
        raise _unclear(text, "a tolerance is written once, behind the limit: 'latency <= 50 ± 2'")
    if len(pieces) == 2:
        tolerance = _number(pieces[1])
        if tolerance is None or not tolerance > 0:
            raise _unclear(text, f"its tolerance {pieces[1]!r} is no number above 0")
    number, quantile = _statistic(what, text)
    value, than = _target(pieces[0])
    if quantile is not None and than is not None:
        raise _unclear(text, "a quantile can only be compared with a number")
    return Limit(number, at_least, value, than, tolerance, quantile)


def _statistic(what: str, text: str) -> tuple[str, float | None]:
    found = _STATISTIC.fullmatch(what)
    if found is None:
        return what, None
    percent, median, _, number = found.groups()
    if median:
        return number, 0.5
    if percent is None:
        return number, None
    quantile = float(percent) / 100.0
    if not 0.0 < quantile < 1.0:
        raise _unclear(text, f"p{percent} is no percentile between 0 and 100")
    return number, quantile


def _target(text: str) -> tuple[float, str | None]:
    """A number; or how far from the option of a label, and that label."""
    value = _number(text)
    if value is not None:
        return value, None
    found = _MARGIN.fullmatch(text)
    if found is not None:
        margin = _number(found[3])
        if margin is not None:
            return (margin if found[2] == "+" else -margin), found[1]
    return 0.0, text


def _number(text: str) -> float | None:
    text, share = text.strip(), 1.0
    if text.endswith("%"):
        text, share = text[:-1].strip(), 100.0
    try:
        value = float(text) / share
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _unclear(text: str, why: str) -> InvalidInputError:
    return InvalidInputError(f"keep: {text!r:.120} is no limit: {why}; such as {_EXAMPLES}")


def parse_limits(given: Any) -> tuple[Limit, ...]:
    """Several limits; a single text is one."""
    texts = [given] if isinstance(given, str | Limit) else given
    if not isinstance(texts, Sequence):
        raise InvalidTypeError(f"keep must be a list of limits, such as {_EXAMPLES}; got {given!r}")
    found = [parse_limit(text) for text in texts]
    if not found:
        raise InvalidInputError(f"keep: there is no limit in it; such as {_EXAMPLES}")
    seen = set[tuple[Any, ...]]()
    for limit in found:
        key = (limit.column, limit.up, limit.than)
        if key in seen:
            raise InvalidInputError(f"keep: there is more than one limit like {str(limit)!r}")
        seen.add(key)
    return tuple(found)

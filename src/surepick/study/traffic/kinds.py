"""What reports of a period have, under each kind of noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.errors import InvalidInputError
from surepick.problem.layers import Layer
from surepick.problem.noise import NoiseKind
from surepick.statistics.lift import Lifts

FARTHEST = 1000.0  # times their range that rewards may be from 0: squares lose twice the digits


@dataclass(frozen=True)
class Reports:
    """Columns of a report, and what is refused."""

    total: str = "sum"  #: what the column of sums is called
    squares: bool = False  #: whether sums of squares are reported, too
    by_bucket: bool = False  #: whether visitors are reported in groups
    by_segment: bool = False  #: whether they are reported by segments that have names
    intervals: bool = False  #: whether lifts over the control have intervals
    cannot: str = ""  #: why there can be no reports of such rewards, if so

    def check(self, kind: NoiseKind) -> None:
        """Refuse problems with such rewards, or these bounds of them."""
        if self.cannot:
            raise InvalidInputError(self.cannot)
        if self.squares and kind.bounds is not None:
            low, high = kind.bounds
            if max(abs(low), abs(high)) > FARTHEST * (high - low):
                raise InvalidInputError(
                    f"noise: rewards between {low!r} and {high!r} are so far from 0 that rounding "
                    "in their sums and sums of squares hides the differences; subtract "
                    f"{low!r} from each reward before adding and squaring, and say that rewards "
                    f"lie between 0 and {high - low!r}"
                )

    def check_total(
        self, kind: NoiseKind, given: Any, total: float, visits: int, column: str
    ) -> str:
        """Why so many visits cannot have had this sum; empty where they can."""
        if not len(kind.impossible_sums(np.array([visits]), np.array([total]))):
            return ""
        return f"{given!r} cannot be the sum of {visits:,} rewards; {kind.rule}"

    def lifts(self, kind: NoiseKind, n_arms: int, control: int | None) -> Lifts | None:
        """Lifts over the control, if there is one."""
        if control is None or kind.bounds is None or not self.intervals:
            return None
        return Lifts(n_arms, control, *kind.bounds, kind.successes)


@dataclass(frozen=True)
class Successes(Reports):
    """Reports of visitors who said yes."""

    total: str = "successes"

    def check_total(
        self, kind: NoiseKind, given: Any, total: float, visits: int, column: str
    ) -> str:
        if not super().check_total(kind, given, total, visits, column):
            return ""
        if total > visits:
            return f"{given!r} {column} are more than {visits:,} visits"
        hint = f"a rate? The number of {column}" if 0 < total < 1 else "a whole number"
        return f"{given!r}: {hint} is needed, 0 or more"


#: what reports have under each kind of noise
REPORTS: Layer[Reports] = Layer(
    "form of reports",
    {
        "symmetric": Reports(by_bucket=True),
        "any": Reports(
            cannot="noise: 'any' compares single rewards, which a traffic study does not see. Say "
            "that rewards are yes-no or lie between bounds, or leave noise out and report by bucket"
        ),
        "equal": Reports(
            cannot="noise: 'equal' needs every single reward, which a traffic study does not see. "
            "Say that rewards are yes-no or lie between bounds, or leave noise out and report by "
            "bucket"
        ),
        "known": Reports(),
        "yes-no": Successes(intervals=True),
        "segments": Successes(by_segment=True),
        "bounded": Reports(squares=True, intervals=True),
        "pairs": Reports(
            cannot="traffic: comparisons of two options are judged one by one, and not by visitors "
            "who see one of them; leave traffic out"
        ),
    },
)

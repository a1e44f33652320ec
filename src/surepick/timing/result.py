"""What a race came to: sentences for people, a table, and files for others."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.questions import percentile
from surepick.finding import FASTEST, NEARLY, SHORTEST, SLOWER, Claim, told
from surepick.promise import Promise
from surepick.run import Answer
from surepick.text import plural

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Row(NamedTuple):
    """One option; times are in seconds."""

    name: str
    runs: int
    median: float
    p95: float  #: 95 of 100 runs took no longer
    least: float  #: the quickest run
    won: float | None  #: share of direct comparisons with it that the fastest one won
    left: bool  #: whether it is not ruled out


def seconds(value: float) -> str:
    """A time that people can read.

    Examples
    --------
    >>> seconds(0.0123), seconds(4.2), seconds(3.1e-7)
    ('12.3 ms', '4.20 s', '310 ns')
    """
    if not math.isfinite(value):
        return "–"
    unit, name = next((one for one in _UNITS if value >= one[0]), _UNITS[-1])
    number = value / unit
    digits = max(0, 2 - math.floor(math.log10(number))) if 0 < number < 1000 else 0
    return f"{number:.{min(digits, 2)}f} {name}"


@dataclass(frozen=True)
class _Times:
    """Who was timed, and how long each run took."""

    _said: ClassVar[tuple[str, ...]]  # fields that say what was found

    rows: tuple[Row, ...] = field(repr=False)  #: the shortest median first
    answer: Answer = field(repr=False)  #: with its certificate
    times: dict[str, np.ndarray] = field(repr=False)  #: seconds of every run, by name
    hung: dict[str, int]  #: how many of them were ended, by name: they would have taken longer

    @property
    def runs(self) -> int:
        """Of all together, without those to warm up."""
        return sum(row.runs for row in self.rows)

    def ended(self) -> str:
        """Which runs did not end by themselves, in a sentence."""
        many = [
            f"{count} of {self.times[name].size} of {name}" for name, count in self.hung.items()
        ]
        if not many:
            return ""
        return f"Did not end in time, and count as slower than all that did: {', '.join(many)}."

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Columns and rows, as text."""
        best = min(row.median for row in self.rows)
        head = ["", "median", "ratio", "95 % within", "least", "runs"]
        rows = [
            [
                row.name,
                seconds(row.median),
                f"{row.median / best:.2f}" if best > 0 else "–",
                seconds(row.p95),
                seconds(row.least),
                f"{row.runs:,}",
            ]
            for row in self.rows
        ]
        if any(row.won is not None for row in self.rows):
            head.append("lost to the fastest")
            for row, cells in zip(self.rows, rows):
                cells.append("–" if row.won is None else f"{100 * row.won:.0f} %")
        return head, rows

    def markdown(self) -> str:
        """The sentences and the table, for a comment or a page."""
        head, rows = self.table()
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        cells = ([cell.replace("|", "&#124;") for cell in line] for line in lines)
        text = "\n".join(f"| {' | '.join(line)} |" for line in cells)
        return f"{self}\n\n{text}\n"

    def csv(self) -> str:
        """A line for each option, times in seconds."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        out.writerow(Row._fields)
        out.writerows(self.rows)
        return text.getvalue()

    def to_dict(self) -> dict[str, Any]:
        """As plain values, with the time of every run."""
        found: dict[str, Any] = {name: getattr(self, name) for name in self._said}
        rows = [row._asdict() | {"times": self.times[row.name].tolist()} for row in self.rows]
        if self.hung:
            found["hung"] = self.hung
        if self.answer.circle:
            found["circle"] = list(self.answer.circle)
        return found | {"text": str(self), "runs": self.runs, "options": rows}


@dataclass(frozen=True)
class Fastest(_Times):
    """Which one is the fastest."""

    _said = ("label", "decided", "within", "delta")

    label: str = ""  #: the fastest; where that is not decided, the one that looks so
    decided: bool = False  #: whether that is shown
    #: above 0 where another one may be faster, but by no more than this share
    within: float = 0.0
    delta: float = 0.05  #: probability that what is shown is wrong, at most
    #: what is promised of it; by default what the answer does
    promise: Promise | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """What was found, in a few sentences."""
        p, relation, by = self.answer.quantile, FASTEST, ""
        if p is not None:
            relation, by = SHORTEST, percentile(p)
        elif self.within:
            relation, by = NEARLY, f"{100 * self.within:g} %"
        seen = f"after {plural(self.runs, 'run')} in random order"
        claim = Claim(self.label, relation, self.decided or None, by=by, seen=seen)
        left = [row.name for row in self.rows if row.left and row.name != self.label]
        others = f"Not ruled out: {', '.join(left)}. " if left else ""
        promise = self.promise or self.answer.guarantee.promise
        beside = [self._quantiles(), self.ended(), self._compared()]
        go_on = f"{others}More runs may decide it."
        return told([claim], promise, beside=beside, go_on=go_on)

    def _quantiles(self) -> str:
        """The one that counts, and the next one's."""
        p = self.answer.quantile
        own = (
            {}
            if p is None
            else {n: float(np.quantile(t, p)) for n, t in self.times.items() if len(t)}
        )
        if len(own) < 2:
            return ""
        second = min((name for name in own if name != self.label), key=lambda name: own[name])
        return f"It is {seconds(own[self.label])}; next is {second} with {seconds(own[second])}."

    def _compared(self) -> str:
        won = {row.name: row.won for row in self.rows if row.won is not None}
        if not won:
            return ""
        if self.answer.circle:
            around = " > ".join([*self.answer.circle, self.answer.circle[0]])
            return f"As measured, no one is faster than all others: {around}."
        nearest = min(won, key=lambda name: won[name])
        more = ", and than every other one more often" if len(won) > 1 else ""
        share = f"{100 * won[nearest]:.0f} % of direct comparisons"
        return f"It was quicker than {nearest} in {share}{more}."


@dataclass(frozen=True)
class Beside(_Times):
    """Who is slower than one of them, and who is not."""

    _said = ("than", "epsilon", "not_slower", "slower", "undecided")

    than: str = ""
    epsilon: float = 0.0  #: how much slower, as a share, is not slower yet
    not_slower: tuple[str, ...] = ()
    slower: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()

    def __str__(self) -> str:
        """What was found, in a few sentences."""
        by = f"{100 * self.epsilon:g} %" if self.epsilon else ""
        found = ((self.slower, True), (self.not_slower, False), (self.undecided, None))
        claims = [Claim(who, SLOWER, shown, than=self.than, by=by) for who, shown in found if who]
        beside = [f"({plural(self.runs, 'run')} in random order.)", self.ended()]
        promise = self.answer.guarantee.promise
        return told(claims, promise, beside=beside)

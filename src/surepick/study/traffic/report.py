"""Reports of a period: how many came to each option, and what came of it.

Whatever form a report has, it is checked here row by row: one that is refused has changed nothing.
"""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.tables.read import Columns
from surepick.statistics.reported import Reported
from surepick.study.sheet import Sheet
from surepick.study.traffic.kinds import REPORTS
from surepick.study.traffic.rules import BUCKETS

MOST_VISITS = 10**12  # of one option in one period: nobody has so many
_SEPARATED = re.compile(r"[+-]?\d{1,3}(?:[ ,'’\u00a0\u202f]\d{3})+")
_LARGEST = 1e60  # sum
_SLACK = 1e-9  # of what a sum of so many rewards can be: sums are rounded


@dataclass(frozen=True)
class Counts:
    """A report as it is kept: parallel columns, ordered by option and bucket."""

    arms: tuple[int, ...]
    visits: tuple[int, ...]
    sums: tuple[float, ...]
    squares: tuple[float, ...] | None = None  #: sums of squares
    buckets: tuple[int, ...] | None = None
    #: Σ (reward − mean)², never too small; reports that 0.2.0 took in have none
    spreads: tuple[float, ...] | None = None

    def to_json(self) -> str:
        """As text; the same report gives the same text."""
        kept = {name: column for name, column in vars(self).items() if column is not None}
        return json.dumps(kept, separators=(",", ":"))

    @property
    def reported(self) -> Counts:
        """What somebody reported, without what was worked out from it."""
        return replace(self, spreads=None)

    @classmethod
    def from_json(cls, text: str) -> Counts:
        """What :meth:`to_json` wrote."""
        return cls(**{name: tuple(column) for name, column in json.loads(text).items()})


def columns_of(problem: Problem) -> tuple[str, ...]:
    """The columns that reports of a problem have."""
    return REPORTS.of(problem.noise_kind).columns


class _Row(NamedTuple):
    label: Any
    bucket: Any
    visits: Any
    total: Any
    squares: Any
    at: Callable[[str], str]  #: a place in words, from the name of a column


def read_report(problem: Problem, given: Any, shares: FloatArray) -> Counts:
    """A report that can be recorded, or an error that says where it is wrong.

    Parameters
    ----------
    given
        A dict from labels to (visits, sum) or what the columns of :func:`columns_of` ask for, or a
        table with these columns.
    shares
        By which visitors were sent: who had one must be reported, if only as nobody.
    """
    wanted = columns_of(problem)
    found: dict[tuple[int, int], tuple[int, float, float, float]] = {}
    places = {label: arm for arm, label in enumerate(problem.labels)}
    for row in _rows(given, wanted):
        if row.label not in places:
            raise InvalidInputError(f"{row.at('label')}: no option is called {row.label!r:.80}")
        arm = places[row.label]
        bucket = _bucket(row) if "bucket" in wanted else 0
        if (arm, bucket) in found:
            of = f", bucket {bucket}," if "bucket" in wanted else ""
            raise InvalidInputError(f"{row.at('label')}: {row.label!r}{of} is there twice")
        visits = as_count(row.visits, row.at("visits"))
        if visits and not shares[arm] > 0.0:
            raise InvalidInputError(
                f"{row.at('visits')}: {row.label!r} had no share in this period, so nobody was "
                "sent there; leave out visitors who came another way"
            )
        total = _total(problem, row, visits)
        squares = _squares(problem, row, visits, total) if "squares" in wanted else (0.0, 0.0)
        found[arm, bucket] = (visits, total, *squares)
    reported = {arm for arm, _ in found}
    missing = [
        label
        for arm, label in enumerate(problem.labels)
        if shares[arm] > 0.0 and arm not in reported
    ]
    if missing:
        raise InvalidInputError(
            f"label: {missing[0]!r} is missing ({len(missing)} of {len(places)} options are); "
            "write 0 visits for an option that nobody saw"
        )
    kept = sorted((key, row) for key, row in found.items() if row[0])
    if not kept:
        raise InvalidInputError("visits: nobody came; keep the shares and report a longer period")
    columns = list(zip(*(row for _, row in kept)))
    return Counts(
        tuple(arm for (arm, _), _ in kept),
        tuple(columns[0]),
        tuple(columns[1]),
        tuple(columns[2]) if "squares" in wanted else None,
        tuple(bucket for (_, bucket), _ in kept) if "bucket" in wanted else None,
        tuple(columns[3]) if "squares" in wanted else None,
    )


def _rows(given: Any, wanted: tuple[str, ...]) -> Iterator[_Row]:
    if isinstance(given, Columns):
        yield from _table_rows(given, wanted)
        return
    if not isinstance(given, Mapping):
        yield from _table_rows(Sheet.of(given).read("report"), wanted)
        return
    form = ", ".join(wanted[2 if "bucket" in wanted else 1 :])
    for label, cells in given.items():
        entries: Any = {None: cells}
        if "bucket" in wanted:
            if not isinstance(cells, Mapping):
                raise InvalidInputError(
                    f"report[{label!r}] must be a dict with ({form}) for each bucket, 0 to "
                    f"{BUCKETS - 1}; got {cells!r:.80}"
                )
            entries = cells
        for bucket, values in entries.items():
            where = f"report[{label!r}]" + ("" if bucket is None else f"[{bucket!r}]")
            size = 3 if "squares" in wanted else 2
            if not isinstance(values, tuple | list) or len(values) != size:
                raise InvalidInputError(f"{where} must be ({form}); got {values!r:.80}")
            at = partial(_place, where)
            yield _Row(label, bucket, values[0], values[1], values[-1], at)


def _place(where: str, column: str) -> str:
    return f"{where}: {column}"


def _table_rows(table: Columns, wanted: tuple[str, ...]) -> Iterator[_Row]:
    own = wanted[2 if "bucket" not in wanted else 3]
    total = next((name for name in (own, "sum", "successes") if name in table.cells), own)
    names = [total if name == own else name for name in wanted]
    for name in names:
        if name not in table.cells:
            raise InvalidInputError(
                f"{table.where} has no column {name!r}: a report has {', '.join(wanted)}"
            )
    for i in range(len(table)):
        cells = {name: table.column(name)[i] for name in names}
        label = "" if cells["label"] is None else str(cells["label"])
        values = (cells.get("bucket"), cells["visits"], cells[total], cells.get("squares"))
        yield _Row(label, *values, lambda name, i=i: table.at(i, total if name == "sum" else name))


# -- cells ---------------------------------------------------------------------------------
def as_count(cell: Any, where: str) -> int:
    """A whole number of visits, or an error."""
    value = _number(cell, where)
    if value < 0:
        raise InvalidInputError(f"{where}: {cell!r} is negative; a number of visits is 0 or more")
    if value != int(value):
        raise InvalidInputError(
            f"{where}: {cell!r} is not a whole number; give the number of visits"
        )
    if value >= MOST_VISITS:
        raise InvalidInputError(
            f"{where}: {cell!r} visits are more than any site has (the limit is {MOST_VISITS:,}); "
            "is this the right column?"
        )
    return int(value)


def as_share_of(cell: Any, where: str) -> float:
    """A share of visitors, or an error."""
    text = cell.strip() if isinstance(cell, str) else ""
    if text.endswith("%"):
        return as_share_of(_number(text[:-1], where) / 100.0, where)
    value = _number(cell, where)
    if not 0.0 <= value <= 1.0:
        raise InvalidInputError(f"{where}: {cell!r} is not a share; a share lies between 0 and 1")
    return value


def _number(cell: Any, where: str) -> float:
    if cell is None or isinstance(cell, bool):
        raise InvalidInputError(f"{where}: a number is missing; got {cell!r}")
    if isinstance(cell, str):
        text = cell.strip()
        if text.endswith("%"):
            raise InvalidInputError(f"{where}: {cell!r} is a percentage; give a count or a sum")
        if _SEPARATED.fullmatch(text):
            raise InvalidInputError(f"{where}: write {cell!r} without thousands separators")
        try:
            cell = int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
        except ValueError:
            raise InvalidInputError(f"{where}: {cell!r} is not a number") from None
    if not isinstance(cell, numbers.Real):
        raise InvalidInputError(f"{where}: {cell!r:.80} is not a number")
    value = float(cell)
    if not math.isfinite(value):
        raise InvalidInputError(f"{where}: {cell!r} is not a finite number")
    return value


def _bucket(row: _Row) -> int:
    where = row.at("bucket")
    bucket = _number(row.bucket, where)
    if bucket != int(bucket) or not 0 <= bucket < BUCKETS:
        raise InvalidInputError(
            f"{where}: buckets are numbered from 0 to {BUCKETS - 1}; got {row.bucket!r}"
        )
    return int(bucket)


def _total(problem: Problem, row: _Row, visits: int) -> float:
    kind, where = problem.noise_kind, row.at("sum")
    total = _number(row.total, where)
    if not visits:
        if total:
            raise InvalidInputError(f"{where}: {row.total!r} cannot come from 0 visits")
        return 0.0
    wrong = REPORTS.of(kind).check_total(kind, row.total, total, visits)
    if wrong:
        raise InvalidInputError(f"{where}: {wrong}")
    if abs(total) >= _LARGEST:
        raise InvalidInputError(f"{where}: {row.total!r} is too large")
    return total


def _squares(problem: Problem, row: _Row, visits: int, total: float) -> tuple[float, float]:
    """Σ reward², for which rewards between bounds leave little room, and Σ (reward − mean)²."""
    where, bounds = row.at("squares"), problem.noise_kind.bounds
    squares = _number(row.squares, where)
    if not visits:
        return 0.0, 0.0
    assert bounds is not None
    low, high = bounds
    told = Reported(visits, total, squares, low, high)
    least, most = total * total / visits, (low + high) * total - visits * low * high
    slack = told.rounding + _SLACK * visits * (high - low) ** 2
    if not least - slack <= squares <= most + slack:
        raise InvalidInputError(
            f"{where}: {row.squares!r} cannot be the sum of squares of {visits:,} rewards between "
            f"{low:g} and {high:g} with the sum {total:g}: it lies between {least:.6g} and "
            f"{most:.6g}"
        )
    return squares, told.spread

"""Reports of a period: how many came to each option, and what came of it.

Whatever form a report has, it is checked here row by row: one that is refused has changed nothing.
"""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.noise import BySegment, NoiseKind
from surepick.problem.tables.read import Columns
from surepick.statistics.reported import Reported
from surepick.study.sheet import Sheet
from surepick.study.traffic.kinds import REPORTS, Reports
from surepick.study.traffic.rules import BUCKETS

MOST_VISITS = 10**12  # of one option in one period: nobody has so many
_SEPARATED = re.compile(r"[+-]?\d{1,3}(?:[ ,'’\u00a0\u202f]\d{3})+")
_LARGEST = 1e60  # sum
SEGMENT = "segment"  #: the column that says of which visitors a row is
_SLACK = 1e-9  # of what a sum of so many rewards can be: sums are rounded


class NobodyCame(InvalidInputError):
    """A report that says that nobody came."""


@dataclass(frozen=True)
class Further:
    """What a report says of a further number: columns beside those of :class:`Counts`."""

    sums: tuple[float, ...]
    squares: tuple[float, ...] | None = None
    spreads: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Counts:
    """A report as it is kept: parallel columns, ordered by option and bucket."""

    arms: tuple[int, ...]
    visits: tuple[int, ...]
    sums: tuple[float, ...]
    squares: tuple[float, ...] | None = None  #: sums of squares
    #: or the number of the segment, where visitors are reported by segment
    buckets: tuple[int, ...] | None = None
    #: Σ (reward − mean)², never too small, where there are sums of squares
    spreads: tuple[float, ...] | None = None
    #: by its name; reports without further numbers have none
    numbers: Mapping[str, Further] | None = None

    def to_json(self) -> str:
        """As text; the same report gives the same text."""
        kept = {name: column for name, column in vars(self).items() if column is not None}
        if self.numbers is not None:
            kept["numbers"] = {name: asdict(one) for name, one in self.numbers.items()}
        return json.dumps(kept, separators=(",", ":"))

    @property
    def reported(self) -> Counts:
        """What somebody reported, without what was worked out from it."""
        numbers = self.numbers
        if numbers is not None:
            numbers = {name: replace(one, spreads=None) for name, one in numbers.items()}
        return replace(self, spreads=None, numbers=numbers)

    def totals(self, number: str | None = None) -> tuple[IntArray, FloatArray, FloatArray]:
        """Options, their visits, and the sums of their rewards, or of a further number."""
        arms, place = np.unique(np.array(self.arms, dtype=np.int64), return_inverse=True)
        own = self.sums if number is None else (self.numbers or {})[number].sums
        visits, sums = np.zeros(len(arms)), np.zeros(len(arms))
        np.add.at(visits, place, self.visits)
        np.add.at(sums, place, own)
        return arms, visits, sums

    @classmethod
    def from_json(cls, text: str) -> Counts:
        """What :meth:`to_json` wrote."""
        saved = json.loads(text)
        numbers = saved.pop("numbers", None)
        if numbers is not None:
            numbers = {name: Further(**_tuples(own)) for name, own in numbers.items()}
        return cls(**_tuples(saved), numbers=numbers)


def _tuples(columns: dict[str, Any]) -> dict[str, Any]:
    return {name: None if one is None else tuple(one) for name, one in columns.items()}


class _Sum(NamedTuple):
    """A number of which reports have a sum."""

    name: str | None  #: None: the reward
    kind: NoiseKind
    column: str
    squares: str | None  #: the column of sums of squares, where there is one


def _sums_of(problem: Problem) -> list[_Sum]:
    """The reward, and further numbers."""
    own = REPORTS.of(problem.noise_kind)
    found = [_Sum(None, problem.noise_kind, own.total, "squares" if own.squares else None)]
    for name, kind in problem.numbers.items():
        squares = f"{name} squares" if REPORTS.of(kind).squares else None
        found.append(_Sum(name, kind, name, squares))
    return found


def columns_of(problem: Problem) -> tuple[str, ...]:
    """The columns that reports of a problem have."""
    group = _grouped(REPORTS.of(problem.noise_kind))
    sums = [column for one in _sums_of(problem) for column in (one.column, one.squares) if column]
    return "label", *group, "visits", *sums


def _grouped(reports: Reports) -> tuple[str, ...]:
    """The column that says which visitors of an option a row is about, where there is one."""
    return (SEGMENT,) if reports.by_segment else ("bucket",) if reports.by_bucket else ()


class _Row(NamedTuple):
    label: Any
    group: Any  #: a bucket, or the name of a segment
    visits: Any
    cells: Mapping[str, Any]  #: sums by their columns
    at: Callable[[str], str]  #: a place in words, from the name of a column


def read_report(problem: Problem, given: Any, shares: FloatArray) -> Counts:
    """A report that can be recorded, or an error that says where it is wrong.

    :class:`NobodyCame` where there is nothing wrong but that nobody came.

    Parameters
    ----------
    given
        A dict from labels to (visits, sum) or what the columns of :func:`columns_of` ask for, in
        their order, or a table with these columns.
    shares
        By which visitors were sent: who had one must be reported, if only as nobody.
    """
    wanted, sums = columns_of(problem), _sums_of(problem)
    found: dict[tuple[int, int], tuple[int, list[_Total]]] = {}
    places = {label: arm for arm, label in enumerate(problem.labels)}
    group = next(iter(_grouped(REPORTS.of(problem.noise_kind))), None)
    for row in _rows(given, wanted, group):
        if row.label not in places:
            raise InvalidInputError(f"{row.at('label')}: no option is called {row.label!r:.80}")
        arm = places[row.label]
        bucket = 0 if group is None else _number_of(problem.noise_kind, row, group)
        if (arm, bucket) in found:
            of = "" if group is None else f", {group} {row.group},"
            raise InvalidInputError(f"{row.at('label')}: {row.label!r}{of} is there twice")
        visits = as_count(row.visits, row.at("visits"))
        if visits and not shares[arm] > 0.0:
            raise InvalidInputError(
                f"{row.at('visits')}: {row.label!r} had no share in this period, so nobody was "
                "sent there; leave out visitors who came another way"
            )
        found[arm, bucket] = visits, [_total(one, row, visits) for one in sums]
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
        raise NobodyCame("visits: nobody came; keep the shares and report a longer period")
    reward, *numbers = (
        _columns(one, [row[1][place] for _, row in kept]) for place, one in enumerate(sums)
    )
    return Counts(
        tuple(arm for (arm, _), _ in kept),
        tuple(row[0] for _, row in kept),
        reward.sums,
        reward.squares,
        None if group is None else tuple(bucket for (_, bucket), _ in kept),
        reward.spreads,
        dict(zip(problem.numbers, numbers)) or None,
    )


def rows_of(table: Columns, segment: str) -> Columns:
    """The rows of a report that are about one segment, where it says so and has those of others."""
    if SEGMENT not in table.cells:
        return table
    own = [i for i, cell in enumerate(table.cells[SEGMENT]) if str(cell).strip() == segment]
    cells = {
        name: [column[i] for i in own] for name, column in table.cells.items() if name != SEGMENT
    }
    index = None if table.index is None else [table.index[i] for i in own]
    return replace(table, cells=cells, rows=[table.rows[i] for i in own], index=index)


def _columns(one: _Sum, rows: list[_Total]) -> Further:
    """All rows of one number."""
    sums, squares, spreads = (tuple(column) for column in zip(*rows))
    return Further(sums, squares, spreads) if one.squares else Further(sums)


def _rows(given: Any, wanted: tuple[str, ...], group: str | None) -> Iterator[_Row]:
    if isinstance(given, Columns):
        yield from _table_rows(given, wanted, group)
        return
    if not isinstance(given, Mapping):
        yield from _table_rows(Sheet.of(given).read("report"), wanted, group)
        return
    names = wanted[wanted.index("visits") :]
    form = ", ".join(names)
    for label, cells in given.items():
        entries: Any = {None: cells}
        if group is not None:
            if not isinstance(cells, Mapping):
                which = "segment" if group == "segment" else f"bucket, 0 to {BUCKETS - 1}"
                raise InvalidInputError(
                    f"report[{label!r}] must be a dict with ({form}) for each {which}; got "
                    f"{cells!r:.80}"
                )
            entries = cells
        for bucket, values in entries.items():
            where = f"report[{label!r}]" + ("" if bucket is None else f"[{bucket!r}]")
            if not isinstance(values, tuple | list) or len(values) != len(names):
                raise InvalidInputError(f"{where} must be ({form}); got {values!r:.80}")
            cells = dict(zip(names, values))
            yield _Row(label, bucket, cells["visits"], cells, partial(_place, where))


def _place(where: str, column: str) -> str:
    return f"{where}: {column}"


def _table_rows(table: Columns, wanted: tuple[str, ...], group: str | None) -> Iterator[_Row]:
    own = wanted[wanted.index("visits") + 1]
    total = next((name for name in (own, "sum", "successes") if name in table.cells), own)
    names = [total if name == own else name for name in wanted]
    for name in names:
        if name not in table.cells:
            raise InvalidInputError(
                f"{table.where} has no column {name!r}: a report has {', '.join(wanted)}"
            )
    for i in range(len(table)):
        cells = {name: table.column(there)[i] for name, there in zip(wanted, names)}
        label = "" if cells["label"] is None else str(cells["label"])
        where = lambda name, i=i: table.at(i, total if name == own else name)  # noqa: E731
        yield _Row(label, cells.get(group or ""), cells["visits"], cells, where)


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


def _number_of(kind: NoiseKind, row: _Row, group: str) -> int:
    """The number of the bucket, or of the segment that is named."""
    where = row.at(group)
    if isinstance(kind, BySegment):
        name = str(row.group).strip()
        if name not in kind.names:
            known = ", ".join(kind.names)
            raise InvalidInputError(
                f"{where}: no segment is called {name!r:.80}; there are {known}"
            )
        return kind.names.index(name)
    bucket = _number(row.group, where)
    if bucket != int(bucket) or not 0 <= bucket < BUCKETS:
        raise InvalidInputError(
            f"{where}: buckets are numbered from 0 to {BUCKETS - 1}; got {row.group!r}"
        )
    return int(bucket)


class _Total(NamedTuple):
    """What a row has of one number."""

    sum: float
    squares: float = 0.0  #: Σ value²
    spread: float = 0.0  #: Σ (value − mean)²


def _total(one: _Sum, row: _Row, visits: int) -> _Total:
    kind, where, given = one.kind, row.at(one.column), row.cells[one.column]
    total = _number(given, where)
    if not visits:
        if total:
            raise InvalidInputError(f"{where}: {given!r} cannot come from 0 visits")
        return _Total(0.0)
    wrong = REPORTS.of(kind).check_total(kind, given, total, visits, one.column)
    if wrong:
        raise InvalidInputError(f"{where}: {wrong}")
    if abs(total) >= _LARGEST:
        raise InvalidInputError(f"{where}: {given!r} is too large")
    if one.squares is None:
        return _Total(total)
    return _Total(total, *_squares(kind, row, one.squares, visits, total))


def _squares(
    kind: NoiseKind, row: _Row, column: str, visits: int, total: float
) -> tuple[float, float]:
    """Σ reward², for which rewards between bounds leave little room, and Σ (reward − mean)²."""
    where, bounds, given = row.at(column), kind.bounds, row.cells[column]
    squares = _number(given, where)
    assert bounds is not None
    low, high = bounds
    told = Reported(visits, total, squares, low, high)
    least, most = total * total / visits, (low + high) * total - visits * low * high
    slack = told.rounding + _SLACK * visits * (high - low) ** 2
    if not least - slack <= squares <= most + slack:
        raise InvalidInputError(
            f"{where}: {given!r} cannot be the sum of squares of {visits:,} rewards between "
            f"{low:g} and {high:g} with the sum {total:g}: it lies between {least:.6g} and "
            f"{most:.6g}"
        )
    return squares, told.spread

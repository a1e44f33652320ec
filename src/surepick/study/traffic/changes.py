"""Reports that were corrected after they were recorded.

Each correction is a link of the study's chain: it has the report before and after, who changed it,
when and why. The report that counts now is the one that the storage has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from surepick.storage.contract import Transaction
from surepick.storage.records import Link
from surepick.storage.traffic import Report
from surepick.study.pulls import said_by
from surepick.study.traffic.report import Counts

CORRECTED = "report corrected"

#: what to know about it, for users
CAUTION = (
    "The guarantee stands if your choice of what to check again depended neither on the numbers "
    "nor on which option you favour. Examples are removing bots by one rule for all options, or a "
    "day that was exported twice. Check all options alike, whether they look good or bad."
)


@dataclass(frozen=True)
class RowChange:
    """What became of one row of a report; visits are 0 where nobody came."""

    arm: int
    label: str
    bucket: int | None  #: of reports by bucket
    old: tuple[float, ...]  #: visits, sum, and the sum of squares of rewards between bounds
    new: tuple[float, ...]


@dataclass(frozen=True)
class ReportChange:
    """What became of a report after it was recorded.

    Examples
    --------
    >>> import numpy as np
    >>> import surepick as sp
    >>> problem = sp.Problem(np.eye(2), noise="yes-no", labels=["a", "b"])
    >>> study = sp.create_study("shop", problem, storage="memory://", traffic=True)
    >>> split = study.split()
    >>> _ = study.record({"a": (100, 4), "b": (103, 9)}, period="monday")
    >>> made = study.correct_report("monday", {"a": (100, 4), "b": (99, 5)}, reason="bots")
    >>> [(row.label, row.old, row.new) for row in made.rows]
    [('b', (103, 9.0), (99, 5.0))]
    """

    period: str  #: its name
    number: int  #: 0 for the first period
    asked: int  #: periods that had their shares at the time
    rows: tuple[RowChange, ...]  #: those that differ
    at: float  #: the database's clock
    by: str | None  #: who changed it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was changed with; None: on this machine

    @property
    def said(self) -> str:
        """What was done, as a sentence."""
        visits = sum(row.new[0] - row.old[0] for row in self.rows)
        more = f"{visits:+,.0f} visits" if visits else "as many visits"
        count = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        return f"Period {self.period!r}: {count} of its report corrected ({more})."

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)

    def certified(self) -> dict[str, Any]:
        """As certificates list it."""
        rows = [
            {"arm": row.arm, "bucket": row.bucket, "old": list(row.old), "new": list(row.new)}
            for row in self.rows
        ]
        by = said_by(self.by, self.token)
        names = ("asked", "at", "reason")
        own = {name: getattr(self, name) for name in names}
        return own | {"period": self.number, "by": by, "rows": rows}


def read(tx: Transaction, study: int, labels: Sequence[str]) -> list[ReportChange]:
    """All corrections of a study's reports, in order."""
    return [of_link(link, labels) for link in tx.links(study, [CORRECTED])]


def of_link(link: Link, labels: Sequence[str]) -> ReportChange:
    """The correction that a link of the chain is about."""
    content = json.loads(link.content)
    names = ("by", "reason", "token")
    return ReportChange(
        content["name"],
        content["period"],
        content["asked"],
        changed_rows(content["was"], content["now"], labels),
        link.at,
        *(content[name] for name in names),
    )


def changed_rows(was: str, now: str, labels: Sequence[str]) -> tuple[RowChange, ...]:
    """The rows in which two reports differ."""
    old, new = _rows(Counts.from_json(was)), _rows(Counts.from_json(now))
    nobody = (0.0,) * len(next(iter(old.values())))
    found = []
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, nobody), new.get(key, nobody)
        if before != after:
            arm, bucket = key
            found.append(RowChange(arm, labels[arm], None if bucket < 0 else bucket, before, after))
    return tuple(found)


def _rows(counts: Counts) -> dict[tuple[int, int], tuple[float, ...]]:
    buckets = [-1] * len(counts.arms) if counts.buckets is None else counts.buckets
    squares = () if counts.squares is None else (counts.squares,)
    return dict(zip(zip(counts.arms, buckets), zip(counts.visits, counts.sums, *squares)))


def undone(told: Report, contents: Iterable[dict[str, Any]]) -> Report | None:
    """A report as it was before these corrections, newest first; None where they do not fit."""
    for content in contents:
        if content["period"] == told.period:
            if told.content != content["now"]:
                return None
            told = replace(told, content=content["was"])
    return told

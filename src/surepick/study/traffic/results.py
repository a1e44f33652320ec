"""What a study of traffic gives: shares, and what became of a report."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surepick.study.sheet import safe

_FLAGS = "https://flagd.dev/schema/v0/flags.json"
_PARTS = 1_000_000  # shares are multiples of this, or of larger parts


@dataclass(frozen=True)
class Split:
    """By which shares to send the visitors of a period.

    Examples
    --------
    >>> Split(0, "monday", {"a": 0.5, "b": 0.5}, {"a": 50, "b": 50}, 0.0).to_dict()["visits"]
    {'a': 50, 'b': 50}
    """

    number: int  #: 0 for the first period
    period: str | None  #: its name; None: it gets one when it is recorded
    shares: dict[str, float]  #: by label; they sum to 1, and options that are decided have 0
    visits: dict[str, int] | None  #: the same as whole numbers of visits, if they were asked for
    since: float  #: when it was stored, by the database's clock

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return dict(vars(self))

    def to_csv(self) -> str:
        """As a table with the columns label and share, and visits if they were asked for."""
        return as_rows({None: (self.shares, self.visits)})

    def to_flags(self, test: str) -> dict[str, Any]:
        """As a flag that OpenFeature's flagd reads: its variants, and weights that are whole.

        Examples
        --------
        >>> flags = Split(0, None, {"a": 0.75, "b": 0.25, "c": 0.0}, None, 0.0).to_flags("shop")
        >>> flags["flags"]["shop"]["targeting"]
        {'fractional': [['a', 750000], ['b', 250000]]}
        """
        return as_flags({test: self.shares})


def as_rows(
    shares: Mapping[str | None, tuple[Mapping[str, float], Mapping[str, int] | None]],
) -> str:
    """Shares as a table, with visits where they were asked for; by segment, or all under None."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    counted = any(visits is not None for _, visits in shares.values())
    by_segment = [] if None in shares else ["segment"]
    rows.writerow([*by_segment, "label", "share", *(["visits"] if counted else [])])
    for segment, (own, visits) in shares.items():
        begin = [] if segment is None else [safe(segment)]
        for label, share in own.items():
            counts = [] if not counted else ["" if visits is None else visits[label]]
            rows.writerow([*begin, safe(label), f"{share:.6f}", *counts])
    return out.getvalue()


def as_flags(shares: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """Shares by the name of a flag, as OpenFeature's flagd reads them."""
    flags = dict[str, Any]()
    for test, own in shares.items():
        weights = {label: round(_PARTS * share) for label, share in own.items() if share}
        flags[test] = {
            "state": "ENABLED",
            "variants": {label: label for label in own},
            "defaultVariant": max(weights, key=lambda label, w=weights: w[label]),
            "targeting": {"fractional": [[*one] for one in weights.items()]},
        }
    return {"$schema": _FLAGS, "flags": flags}


@dataclass(frozen=True)
class Recorded:
    """What became of a report.

    Examples
    --------
    >>> Recorded("monday", "accepted", 1000, 2, False).to_dict()["left"]
    2
    """

    period: str
    status: str  #: "accepted"; "duplicate": it was there before; "checked": it could be recorded;
    #: "nobody": nobody came, and its shares go on
    visits: int  #: in this report
    left: int  #: options that are still in
    finished: bool
    #: questions about numbers that are far from those of other periods; they are recorded anyway
    asked: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return dict(vars(self))


def plain(report: Any) -> Any:
    """A report by label as JSON has it; whatever else it is, whoever reads it says so."""
    if isinstance(report, Mapping):
        return {str(key): plain(value) for key, value in report.items()}
    if isinstance(report, tuple | list):
        return [plain(value) for value in report]
    return report.item() if hasattr(report, "item") else report

"""What the paper says about its figures, against what was measured: like against like.

A claim compares the mean pulls of two algorithms at every point of a figure. Both have the same
level of constants: printed against printed, program against program, tight against tight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from surepick.bench.reproduce.figures import RIVALS, figure, named
from surepick.simulate.table import Table

COMPETITIVE = 1.5  # times the pulls of the best of the others: what this page calls competitive
#: columns of the table: its heading, the level, and who is PELEG there
COLUMNS = (
    ("printed", "printed", "peleg-paper"),
    ("printed, AdaHedge", "printed", "peleg-adahedge"),
    ("program", "program", "peleg-paper"),
    ("tight", "tight", "peleg"),
)


@dataclass(frozen=True)
class Claim:
    """``who`` needs at most ``most`` times the pulls of the best of ``others``."""

    figure: str
    words: str
    who: str
    others: tuple[str, ...]
    most: float
    points: int | None = None  #: how many of the first points it is about; None: all


_PELEG = "peleg"
_OTHERS = tuple(name for name in RIVALS if name != "xy-oracle")
CLAIMS = (
    Claim("a", "PELEG needs fewer pulls than XY-static", _PELEG, ("xy-static",), 1.0),
    Claim(
        "a",
        "For Δ near 0, XY-static is close to the best",
        "xy-static",
        (_PELEG, *(name for name in _OTHERS if name != "xy-static")),
        COMPETITIVE,
        1,
    ),
    Claim("b", "PELEG is competitive with RAGE", _PELEG, ("rage",), COMPETITIVE),
    Claim("b", "PELEG often needs fewer pulls than RAGE", _PELEG, ("rage",), 1.0),
    Claim("c", "PELEG is uniformly competitive with the others", _PELEG, _OTHERS, COMPETITIVE),
    Claim("c", "of them, with RAGE", _PELEG, ("rage",), COMPETITIVE),
    Claim(
        "d",
        "LinGapE does very well",
        "lingape",
        tuple(name for name in _OTHERS if name != "lingape"),
        COMPETITIVE,
    ),
    Claim(
        "d",
        "PELEG is competitive with LinGapE and RAGE",
        _PELEG,
        ("lingape", "rage"),
        COMPETITIVE,
    ),
)


def judged(summary: Table) -> Table:
    """Each claim, with a column per level that was measured: whether it holds, and by how much."""
    means = {
        (row["figure"], row["point"], row["algorithm"]): row["mean"]
        for row in summary.rows()
        if row["trials"]
    }
    columns = [
        (heading, level, peleg)
        for heading, level, peleg in COLUMNS
        if any(named("rage", level) == algorithm for _, _, algorithm in means)
        and any(peleg == algorithm for _, _, algorithm in means)
    ]
    rows: list[dict[str, Any]] = []
    for claim in CLAIMS:
        row: dict[str, Any] = {"figure": claim.figure, "claim": claim.words}
        for heading, level, peleg in columns:
            row[heading] = _verdict(claim, _ratios(claim, level, peleg, means))
        if any(row[heading] for heading, _, _ in columns):
            rows.append(row)
    return Table.from_rows(rows)


def _ratios(
    claim: Claim, level: str, peleg: str, means: dict[tuple[str, float, str], float]
) -> list[float]:
    """Pulls over those of the best of the others, at each point that has them all."""

    def text(name: str) -> str:
        return peleg if name == _PELEG else named(name, level)

    found = []
    for point in figure(claim.figure).points[: claim.points]:
        own = means.get((claim.figure, point, text(claim.who)))
        others = [means.get((claim.figure, point, text(name))) for name in claim.others]
        known = [mean for mean in others if mean is not None]
        if own is not None and len(known) == len(others):
            found.append(own / min(known))
    return found


def _verdict(claim: Claim, ratios: list[float]) -> str:
    if not ratios:
        return ""
    fine = sum(ratio <= claim.most for ratio in ratios)
    low, high = f"{min(ratios):.2g}", f"{max(ratios):.2g}"
    span = f"{low} ×" if low == high else f"{low} to {high} ×"
    if fine in (0, len(ratios)):
        return f"{'yes' if fine else 'no'}: {span}"
    return f"at {fine} of {len(ratios)} points: {span}"

"""Cells of a finite table that could not be measured: each must count as the worst score.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from surepick.verifier import exact
from surepick.verifier.check import Check


def check_unmeasured(check: Check) -> None:
    """Those that are listed are cells of the table, with the worst score; an empty list is none."""
    if "unmeasured" not in check.body:
        return
    entries = exact.mappings(check.body["unmeasured"], "its cells that were not measured")
    check.demand(entries, "its list of cells that were not measured is empty")
    check.demand(check.table is not None, "it has no table with cells that were not measured")
    check.demand(check.kind.bounded, "its scores have no bounds")
    worst = check.kind.high if check.smaller else check.kind.low
    scores = {
        (arm, place): score
        for batch in check.batches
        for arm, place, score in zip(batch["arms"], batch["parts"], batch["sums"], strict=True)
    }
    seen = set()
    for entry in entries:
        check.demand(entry.keys() == {"arm", "at", "reason"}, "a cell does not say what it has to")
        exact.text(entry["reason"], "why a cell was not measured")
        cell = (exact.whole(entry["arm"], "a cell's arm"), exact.whole(entry["at"], "its place"))
        check.demand(cell in scores and cell not in seen, "a cell that was not measured is none")
        check.demand(scores[cell] == worst, "a cell that was not measured has a better score")
        seen.add(cell)

"""Batches that were asked for while earlier ones were being measured.

Such a batch says how many had been told by then. Bets need nothing more than that batches are
counted in the order in which they were asked for: rivals and stakes are worked out here from all
batches before, and its pulls were chosen by no more than that. What it takes besides, that
measurements do not depend on each other, is part of the statement.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from surepick.verifier import exact
from surepick.verifier.check import Check


def overlapping(check: Check) -> bool:
    """Whether batches overlapped."""
    return any("after" in batch for batch in check.batches)


def check_overlap(check: Check) -> None:
    """Who asked for a batch ahead knew less than in turn, and never less than before."""
    if not overlapping(check):
        return
    check.demand(
        check.rule in ("pooled", "pairs", "complete") and check.settings.get("max_batch") is None,
        "its batches overlap, which bets on whole blocks allow, and nothing else",
    )
    check.demand(
        check.claims == "all",
        "its batches overlap: whoever stopped may have seen later rewards, and then the share of "
        "wrong claims is not limited",
    )
    known = 0
    for number, batch in enumerate(check.batches):
        if "after" in batch:
            after = exact.whole(batch["after"], f"batch {number}: what was told before it")
            check.demand(
                known <= after < number, f"batch {number} was asked for after {after} batches"
            )
            known = after

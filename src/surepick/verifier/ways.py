"""How the blocks of a certificate are to be read, which follows from its problem.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.check import Check
from surepick.verifier.options import at_first


def ways_of(check: Check) -> list[str]:
    """How blocks are read: by features, by each option's own rewards, or in two ways.

    It follows from the problem; but where every option has a feature of its own, by features and
    by own rewards are the same, and it depends on the device which of them a run goes by.
    """
    named = check.body["evidence"]["ways"]
    separate = check.body["problem"]["candidates"] is not None
    if check.items is not None:
        fine = not separate and check.kind.on_items
        # Which item is whose must be known, and an item is met once by each option in a block.
        fine &= not check.past and not any("stratum" in batch for batch in check.batches)
        check.demand(fine, "these options cannot be compared on items")
        allowed = [["paired"]]
    elif separate:
        allowed = [["allowed"]] if check.misfit > 0 else [["linear"]]
    elif check.misfit > 0:
        allowed = [["direct"]] if math.isinf(check.misfit) else [["direct", "allowed"]]
    else:
        n, rank = at_first(check), check.whiten.shape[1]
        if n < len(check.arms):  # what came later does not change how blocks are read
            rank = np.linalg.matrix_rank(check.arms[np.arange(n)] @ check.whiten, tol=1e-9)
        free = rank == n
        allowed = [["linear"], ["direct"]] if free else [["linear"]]
    check.demand(named in allowed, "blocks are not read as the problem demands")
    return named


def levels_of(check: Check) -> bool:
    """Whether levels that all rewards of a block share are kept out of the guide.

    They can be where they cancel from all comparisons.
    """
    named = check.body["evidence"]["levels"]
    kept_out = ways_of(check)[0] in ("direct", "paired") or cancels_of(check)
    check.demand(named is False or (named is True and kept_out), "levels do not cancel here")
    return named


def cancels_of(check: Check) -> bool:
    """Whether a level that all rewards of a block share has no part in any comparison."""
    if ways_of(check) == ["direct"]:
        return True
    points = check.candidates @ check.whiten
    level = np.linalg.lstsq(points, np.ones(len(points)), rcond=None)[0]
    return bool(np.abs(points @ level - 1.0).max() < 1e-6)

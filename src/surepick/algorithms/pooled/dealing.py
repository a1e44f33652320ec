"""A report of yes and no as two blocks: a tenth of it guides, and the rest is bet on."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.ledger import Rows
from surepick.problem import Problem
from surepick.statistics.dealing import dealt, guiding

_RULE = 1


def said_of(seed: str) -> dict[str, Any]:
    """What evidence says of the block that guides."""
    return {"rule": _RULE, "seed": seed}


def seed_in(blocks: list[dict[str, Any]]) -> str | None:
    """The seed by which the first of these blocks was dealt, if it was."""
    return blocks[0]["dealt"]["seed"] if blocks and "dealt" in blocks[0] else None


def in_two(problem: Problem, rows: Rows, seed: str) -> tuple[Rows, Rows]:
    """Those that guide, and the others; one row for each option, standardised."""
    one = problem.seen(1.0)  # what a yes counts for: less than 0 where smaller is better
    guides = np.array([guiding(n) for n in rows.counts.tolist()], dtype=np.int64)
    yes = [round(total / one) for total in rows.sums.tolist()]
    drawn = map(dealt, [seed] * len(yes), rows.arms.tolist(), rows.counts.tolist(), yes)
    own = one * np.array([*drawn], dtype=np.float64)
    first = rows._replace(counts=guides, sums=own)
    rest = rows._replace(counts=rows.counts - guides, sums=rows.sums - own)
    return first, rest.some(rest.counts > 0)

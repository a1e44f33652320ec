"""What earlier releases saved of a state."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pooled.ledger import Rows


def upgraded(memory: dict[str, Any]) -> dict[str, Any]:
    """The memory of a state as it is saved now, from one of an earlier release."""
    none = np.zeros(len(memory["first"]), dtype=bool)
    usual = {"ways": ["linear"], "follows_levels": False, "seed": 0, "strata": 1, "nearness": None}
    memory = (
        usual | {"opening": False, "retired": none, "guide": 1, "deal": None, "pace": 1} | memory
    )
    if "block" in memory:
        return memory
    left, rows = np.flatnonzero(memory["left"]), Rows.from_counts(memory["counts"], memory["sums"])
    return memory | {
        "block": {
            "left": [left, memory["left"][left]],
            "told": list(rows),
            "pieces": [memory["pieces"], memory.get("pieces_of_past", 0)],
        },
        "totals": [memory["total_counts"], memory["total_sums"], np.zeros(len(memory["left"]))],
        "held": [[*held[:2], None, held[2], None] for held in memory.get("held", [])],
    }

"""A million visitors of a site whose shares change daily: are shares met, and does anybody switch?

Each of 10⁶ visitors may come on any of ten days; shares of five options move from day to day, and
two options are ruled out on the way. First assignments are kept, as in a cookie. Shares are those
of the people who come for the first time on a day; the check of visits against shares is the one
of studies of traffic (level 0.001). Beside it: how many would have seen another version than
before if nothing had been kept.

Run with: python -m benchmarks.assignment --trials 1
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.statistics.ratio import LEVEL, RatioTest

VISITORS, DAYS, COMING = 1_000_000, 10, 0.3
LABELS = ("plain", "photo", "video", "bold", "long")


def shares_of(day: int, rng: np.random.Generator) -> dict[str, float]:
    """Shares of a day: two options go, and the others move."""
    wanted = rng.dirichlet(np.full(len(LABELS), 3.0))
    wanted[4 if day >= 4 else len(LABELS) :] = 0.0
    wanted[3 if day >= 7 else len(LABELS) :] = 0.0
    return dict(zip(LABELS, (wanted / wanted.sum()).tolist(), strict=True))


def measure(task: tuple[int, int]) -> dict[str, Any]:
    """One site: its shares, who was new, who switched."""
    seed, visitors = task
    started, rng = time.process_time(), np.random.default_rng(seed)
    kept: dict[int, str] = {}
    ratio, switched, without, returned = RatioTest(len(LABELS)), 0, 0, 0
    for day in range(DAYS):
        shares = shares_of(day, rng)
        new = dict.fromkeys(LABELS, 0)
        for visitor in np.flatnonzero(rng.random(visitors) < COMING).tolist():
            before = kept.get(visitor)
            seen = sp.assign(shares, visitor, kept=before, test=f"site {seed}")
            if before is None:
                new[seen], kept[visitor] = new[seen] + 1, seen
                continue
            returned += 1
            switched += seen != before
            without += sp.assign(shares, visitor, test=f"site {seed}") != before
        ratio.add(np.array([*shares.values()]), np.array([*new.values()], dtype=float))
    return {
        "visitors": len(kept),
        "returned": returned,
        "switched": switched,
        "without": without,
        "evidence": ratio.log_evidence,
        "seconds": round(time.process_time() - started, 1),
    }


def report(parts: dict[str, Any]) -> str:
    head = ["visitors", "visits of those who came back", "switched", "without a cookie"]
    head += [f"log evidence against the shares (alarm at {-math.log(LEVEL):.1f})"]
    rows = []
    for one in parts.values():
        counts = [f"{one[key]:,}" for key in ("visitors", "returned", "switched", "without")]
        rows.append([*counts, f"{one['evidence']:.1f}"])
    return "\n".join(["# Assignment", "", table(head, rows)])


def main() -> None:
    given = options(__doc__.splitlines()[0], trials=1).parse_args()
    record = Record("assignment", {"seed": given.seed, "visitors": VISITORS}, given)
    tasks = {f"{i}": (given.seed + i, VISITORS) for i in range(given.trials)}
    record.write(report(record.fill(tasks, measure)))


if __name__ == "__main__":
    main()

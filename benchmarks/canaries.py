"""Is a change noticed by cells that are asked again, and how often is one seen where there is none?

Tables of yes and no, of which cells are asked again by the plan of studies. *Updated*: half-way a
share of all cells changes, in favour of one option. *Steady*: nothing changes, but the grader
disagrees with itself on 3 % of what it is asked.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.canaries --trials 400
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

from surepick.bench.summary import clopper_pearson
from surepick.study.canaries import Canary, Found, noticed, planned

CHANGED, DISAGREES, OPTIONS, CHUNK = 0.02, 0.03, 5, 50
#: cells that are measured, and the share that is asked again
SETTINGS = {
    "the offered share": (2_000, 0.02),
    "one in ten": (5_000, 0.1),
    "enough": (5_250, 0.2),
    "more than enough": (6_250, 0.2),
}
WORLDS = ("updated", "updated, and the grader disagrees", "steady", "steady, exact")


def seen(world: str, cells: int, share: float, rng: np.random.Generator) -> bool:
    """Whether the promise of one study is withdrawn."""
    first = rng.random(cells) < 0.6
    option = rng.integers(OPTIONS, size=cells)
    now = first.copy()
    if world.startswith("updated"):  # whatever changes is better for the first option, or worse
        fit = np.where(option == 0, ~first, first)  # for another one
        now ^= fit & (rng.random(cells) < CHANGED / fit.mean())
    wrong = DISAGREES / 2 if world in (WORLDS[1], WORLDS[2]) else 0.0

    def asked(cell: int, at: int) -> float:
        truth = (now if at >= cells // 2 else first)[cell]
        return float(truth ^ (rng.random() < wrong))

    found = []
    for k, cell in enumerate(planned(share, int(rng.integers(2**31)), cells), 1):
        at = int(k / share)
        one = Canary(cell, (asked(cell, cell), asked(cell, at)))
        found.append(Canary(cell, (*one.scores, asked(cell, at))) if one.differs else one)
    said = Found.of(found)
    return said is not None and said.finding.alarm


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Some studies."""
    name, world, first, count, seed = task
    wrong = 0
    for i in range(first, first + count):
        key = (zlib.crc32(f"{name} {world}".encode()), i)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        wrong += seen(world, *SETTINGS[name], rng)
    return {"trials": count, "withdrawn": wrong}


def main() -> None:
    given = options((__doc__ or "").splitlines()[0], trials=400).parse_args()
    record = Record("canaries", {"seed": given.seed}, given)
    tasks = {
        f"{name} | {world} | {first} | {count}": (name, world, first, count, given.seed)
        for name in SETTINGS
        for world in WORLDS
        for first, count in chunks(given.trials, CHUNK)
    }
    record.fill(tasks, measure)
    rows = []
    for name, (cells, share) in SETTINGS.items():
        for world in WORLDS:
            named = f"{name} | {world} |"
            own = [part for key, part in record.parts.items() if key.startswith(named)]
            n, gone = (sum(part[one] for part in own) for one in ("trials", "withdrawn"))
            if n:
                low, high = clopper_pearson(gone, n)
                some = f"{int(share * cells):,} of {cells:,}"
                said = f"{noticed(int(share * cells)):.2g}" if world == WORLDS[0] else "–"
                rows.append(
                    [name, some, world, f"{n}", f"{gone / n:.3f}", f"{low:.3f}–{high:.3f}", said]
                )
    head = ["setting", "asked again", "world", "studies", "withdrawn", "95 %", "said beforehand"]
    about = (
        "# Cells that are asked again\n\nHow often the promise is withdrawn, where 2 % of all "
        "scores change half-way, and where nothing changes; a grader that disagrees does so on 3 % "
        "of what it is asked twice (`benchmarks/canaries.py`).\n\n"
    )
    record.write(about + table(head, rows))


if __name__ == "__main__":
    main()

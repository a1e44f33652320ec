"""Formulas at random, most of them hostile: what Python does while they are read.

Formulas of the grammar, such with pieces of others put in, texts that try to call something, deep
nestings and long chains (``tests/problem/formulas.py`` makes them) are read with a table. Meanwhile
the interpreter's audit events are counted (running or compiling code, opening files, importing
modules, starting processes, and all others), and for every tenth formula the modules of all
functions that are called. Nothing may be counted, nothing may end but in columns or in one of
surepick's own errors, and nothing may take a second. The exit code says whether all is well.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.formula_fuzz --trials 100000
"""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks.recorded import Record, chunks, options, table
from tests.problem.formulas import Watch, tried

CHUNK = 2_000


def measure(task: tuple[int, int]) -> dict[str, Any]:
    """One part: so many formulas."""
    seed, count = task
    started = time.process_time()
    counts, wrong = tried(count, seed)
    return {"counts": counts, "wrong": wrong, "seconds": time.process_time() - started}


def report(parts: dict[str, Any], trials: int) -> str:
    """What became of all formulas."""
    totals: dict[str, int] = {}
    for part in parts.values():
        for what, count in part["counts"].items():
            totals[what] = totals.get(what, 0) + count
    wrong = sum(len(part["wrong"]) for part in parts.values())
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    rows = [[what, f"{count:,}"] for what, count in totals.items()]
    rows += [["ran, opened or imported something, crashed, or took a second", f"{wrong:,}"]]
    return "\n".join(
        [
            "# Hostile formulas",
            "",
            f"{sum(totals.values()):,} formulas: one in ten of the grammar, the others tampered "
            f"with (backticks in texts, calls, attributes, look-alikes, numbers such as 1e999, "
            f"null bytes, brackets 9,999 deep, chains of 3,000). While each was read and made into "
            f"columns, all audit events of the interpreter were counted, and for every tenth the "
            f"functions called outside of {', '.join(sorted(Watch.LISTED))}. "
            f"{minutes:.0f} CPU minutes.",
            "",
            f"Made by `OPENBLAS_NUM_THREADS=1 python -m benchmarks.formula_fuzz "
            f"--trials {trials}`.",
            "",
            table(["what became of them", "formulas"], rows),
        ]
    )


def main() -> None:
    given = options(__doc__.splitlines()[0], trials=100_000).parse_args()
    record = Record("formula_fuzz", {"seed": given.seed}, given)
    tasks = {
        f"{first} | {count}": (given.seed + first, count)
        for first, count in chunks(given.trials, CHUNK)
    }
    parts = record.fill(tasks, measure)
    record.write(report(parts, given.trials))
    wrong = [line for part in parts.values() for line in part["wrong"]]
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()

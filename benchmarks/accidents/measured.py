"""All cells, measured and recorded."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from typing import Any

from benchmarks.accidents import commands, paid, tables  # noqa: F401  (cells)
from benchmarks.accidents.cells import CELLS, DELTA, SECONDS, Cell, allowed
from benchmarks.recorded import Record, chunks, options, table

_COUNTED = ("runs", "claims", "false", "lost", "repeated", "blocked")


def measure(task: tuple[str, int, int, int, float]) -> dict[str, Any]:
    """Some runs of a cell."""
    key, first, count, seed, delta = task
    started = time.process_time()
    found = CELLS[key].outcomes(first, count, seed, delta)
    part: dict[str, Any] = {
        "runs": count,
        "claims": sum(each.wrong is not None for each in found),
        "false": sum(bool(each.wrong) for each in found),
        "lost": sum(each.lost for each in found),
        "repeated": sum(each.repeated for each in found),
        "blocked": sum(bool(each.blocked) for each in found),
        "seconds": {
            "until work went on": round(max(each.seconds for each in found), 1),
            "of a processor": round(time.process_time() - started, 1),
        },
    }
    why = next((each.blocked for each in found if each.blocked), "")
    return part | ({"why": why} if why else {})


def tasks(cells: Iterable[Cell], runs: int, seed: int, delta: float) -> dict[str, Any]:
    """What there is to do."""
    return {
        f"{one.key} | {first} | {count}": (one.key, first, count, seed, delta)
        for one in cells
        for first, count in chunks(min(runs, one.runs or runs), one.chunk)
    }


def added(parts: dict[str, Any], key: str) -> dict[str, Any]:
    """All parts of a cell together."""
    own = [part for name, part in parts.items() if name.rsplit(" | ", 2)[0] == key]
    found: dict[str, Any] = {name: sum(part[name] for part in own) for name in _COUNTED}
    waited = [part["seconds"]["until work went on"] for part in own]
    found["waited"] = max(waited, default=0.0)
    found["why"] = next((part["why"] for part in own if "why" in part), "")
    return found


def passes(found: dict[str, Any], delta: float) -> bool:
    """Whether the accident cost nothing."""
    cost = found["lost"] or found["repeated"] or found["blocked"] or found["waited"] > SECONDS
    return not cost and found["false"] / found["runs"] <= allowed(delta, found["runs"])


def report(parts: dict[str, Any], delta: float) -> tuple[str, list[str]]:
    """The table, and the cells that failed."""
    rows, failed, reasons = [], [], []
    for one in CELLS.values():
        found = added(parts, one.key)
        if not found["runs"]:
            continue
        if not (well := passes(found, delta)):
            failed.append(one.key)
        if found["why"]:
            reasons.append(f"- {one.key}: {found['why']}")
        counts = [str(found[name]) for name in ("lost", "repeated", "blocked")]
        wrong = f"{found['false']} of {found['claims']}"
        waited = f"{found['waited']:.1f}" if found["waited"] else "–"
        passed = "yes" if well else "**no**"
        rows.append([one.accident, one.door, f"{found['runs']}", *counts, waited, wrong, passed])
    head = ["accident", "door", "runs", "scores lost", "calls repeated", "blocked"]
    head += ["seconds until work went on", "false claims", "passes"]
    lines = [
        "# Accidents, and what they cost",
        "",
        f"δ = {delta:g}; {len(rows)} cells, {len(rows) - len(failed)} pass. Calls that were under "
        "way when a process was killed are not counted as repeated, and seconds are those beyond "
        "what the command takes to start.",
        "",
        table(head, rows),
    ]
    left = [key for key in CELLS if not added(parts, key)["runs"]]
    if left:
        lines += ["", f"{len(left)} cells have not been recorded:", "", *(f"- {x}" for x in left)]
    if reasons:
        lines += ["", "Why studies were blocked, one of each cell:", "", *reasons]
    return "\n".join(lines), failed


def arguments() -> argparse.ArgumentParser:
    """What can be told."""
    from benchmarks.accidents import __main__ as told

    parser = options((told.__doc__ or "").splitlines()[0], trials=20)
    parser.add_argument("--runs", dest="trials", type=int, help="runs of each cell")
    parser.add_argument("--delta", type=float, default=DELTA)
    parser.add_argument("--only", action="append", metavar="WORDS", help="cells with these words")
    parser.add_argument("--anew", action="store_true", help="measure these cells again")
    parser.add_argument("--list", action="store_true", help="name all cells")
    return parser


def main() -> int:
    given = arguments().parse_args()
    words = [text.lower() for text in given.only or [""]]
    cells = [one for one in CELLS.values() if any(text in one.key.lower() for text in words)]
    if not cells:
        raise SystemExit("--only: no cell has such a name; --list shows them")
    if given.list:
        print("\n".join(one.key for one in cells))
        return 0
    record = Record("accidents", {"seed": given.seed, "delta": given.delta}, given)
    if given.anew and not given.check:
        mine = {one.key for one in cells}
        record.parts = {
            name: part
            for name, part in record.parts.items()
            if name.rsplit(" | ", 2)[0] not in mine
        }
    record.fill(tasks(cells, given.trials, given.seed, given.delta), measure)
    text, failed = report(record.parts, given.delta)
    record.write(text)
    return 1 if failed else 0

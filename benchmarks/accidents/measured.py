"""All cells, measured and recorded."""

from __future__ import annotations

import time
from typing import Any

from benchmarks.accidents import commands, paid, periods, tables, told, tools  # noqa: F401  (cells)
from benchmarks.accidents.cells import CELLS, SECONDS, allowed
from benchmarks.cells import Frame, not_recorded, parts_of
from benchmarks.recorded import table

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


def added(parts: dict[str, Any], key: str) -> dict[str, Any]:
    """All parts of a cell together."""
    own = parts_of(parts, key)
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
        rows.append([one.way, one.door, f"{found['runs']}", *counts, waited, wrong, passed])
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
    lines += not_recorded(CELLS, parts)
    if reasons:
        lines += ["", "Why studies were blocked, one of each cell:", "", *reasons]
    return "\n".join(lines), failed


FRAME = Frame("accidents", "Does an accident cost what was paid for?", CELLS, measure, report, 20)


def main() -> int:
    given = FRAME.arguments().parse_args()
    return FRAME.main(given, FRAME.chosen(given))

"""All cells, measured and recorded."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.cells import Frame, not_recorded, parts_of
from benchmarks.recorded import table
from benchmarks.sentences import items, missing, printed, repeated, site, tools  # noqa: F401  (cells)
from benchmarks.sentences.cells import CELLS, Cell, allowed
from benchmarks.sentences.certificates import write

_SHOWN = 400  # characters of the sentence that is kept


def measure(task: tuple[str, int, int, int, float]) -> dict[str, Any]:
    """Some runs of a cell."""
    key, first, count, seed, delta = task
    one, started = CELLS[key], time.process_time()
    found = one.outcomes(first, count, seed, delta)
    wrong = [each for each in found if each.false]
    unnamed = [each for each in wrong if each.broken and not each.names(one.breaks)]
    part: dict[str, Any] = {
        "runs": count,
        "claims": sum(each.false is not None for each in found),
        "false": len(wrong),
        "unnamed": len(unnamed),
        "unbroken": sum(not each.broken for each in wrong),
        "why": dict(Counter(each.why for each in found if each.false is None)),
        "seconds": round(time.process_time() - started, 1),
    }
    for each in unnamed[:1]:
        part["sentence"] = next(iter(each.said.values()), "")[:_SHOWN]
    return part


def added(parts: dict[str, Any], key: str) -> dict[str, Any]:
    """All parts of a cell together."""
    own = parts_of(parts, key)
    names = ("runs", "claims", "false", "unnamed", "seconds")
    found: dict[str, Any] = {name: sum(part[name] for part in own) for name in names}
    # Most cells break their condition in every run, and parts of them need not say so.
    found["unbroken"] = sum(part.get("unbroken", 0) for part in own)
    found["why"] = sum((Counter(part["why"]) for part in own), Counter[str]())
    found["sentence"] = next((part["sentence"] for part in own if "sentence" in part), "")
    return found


def passes(one: Cell, found: dict[str, Any], delta: float) -> bool:
    """Whether false claims are rare enough, or all say what was broken."""
    # Where nothing was broken there is nothing to name: these are held to δ, of all runs, as which
    # ones they are depends on what was measured.
    if found["unbroken"] / found["runs"] > allowed(delta, found["runs"]):
        return False
    if not found["unnamed"]:
        return True
    rare = found["false"] / found["runs"] <= allowed(delta, found["runs"])
    return rare and not one.certain


def report(parts: dict[str, Any], delta: float) -> tuple[str, list[str]]:
    """The table, and the cells that failed."""
    rows, failed, sentences = [], [], []
    for one in CELLS.values():
        found = added(parts, one.key)
        if not found["runs"]:
            continue
        well = passes(one, found, delta)
        if not well:
            failed.append(one.key)
            sentences.append(f"- {one.key}: {found['sentence']}")
        wrong = f"{found['false']} of {found['runs']}"
        named = f"{found['false'] - found['unnamed']}" if found["false"] else "–"
        row = [one.way, one.door, one.breaks or "nothing", f"{found['claims']}"]
        rows.append([*row, wrong if well else f"**{wrong}**", named, "yes" if well else "**no**"])
    head = ["way of going on", "door", "breaks", "claims", "false", "of these, it is said"]
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    lines = [
        "# Sentences, and whether they are true",
        "",
        f"δ = {delta:g}; {len(rows)} cells, {len(rows) - len(failed)} pass; {minutes:.0f} CPU "
        "minutes. A cell passes if false claims are no more frequent than δ and four standard "
        "errors, or if every sentence of each names the condition that was broken.",
        "",
        table([*head, "passes"], rows),
    ]
    lines += not_recorded(CELLS, parts)
    if sentences:
        lines += ["", "Sentences that are false and name no condition, one of each cell:", ""]
        lines += sentences
    return "\n".join(lines), failed


FRAME = Frame("sentences", "Is a sentence false that stands?", CELLS, measure, report, 200)


def main() -> int:
    parser = FRAME.arguments()
    parser.add_argument(
        "--certificates",
        type=Path,
        metavar="DIR",
        help="instead, write certificates of false claims there (--runs: so many of each case)",
    )
    given = parser.parse_args()
    cells = FRAME.chosen(given)
    if given.certificates:
        keys = {one.key for one in cells}
        write(given.certificates, keys, given.trials, given.seed, given.delta)
        return 0
    return FRAME.main(given, cells)

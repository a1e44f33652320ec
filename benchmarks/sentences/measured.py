"""All cells, measured and recorded."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.recorded import Record, chunks, options, table
from benchmarks.sentences import items, missing, printed, repeated, site, tools  # noqa: F401  (cells)
from benchmarks.sentences.cells import CELLS, DELTA, Cell, allowed
from benchmarks.sentences.certificates import write

_SHOWN = 400  # characters of the sentence that is kept


def measure(task: tuple[str, int, int, int, float]) -> dict[str, Any]:
    """Some runs of a cell."""
    key, first, count, seed, delta = task
    one, started = CELLS[key], time.process_time()
    found = one.outcomes(first, count, seed, delta)
    wrong = [each for each in found if each.false]
    unnamed = [each for each in wrong if not each.names(one.breaks)]
    part: dict[str, Any] = {
        "runs": count,
        "claims": sum(each.false is not None for each in found),
        "false": len(wrong),
        "unnamed": len(unnamed),
        "why": dict(Counter(each.why for each in found if each.false is None)),
        "seconds": round(time.process_time() - started, 1),
    }
    for each in unnamed[:1]:
        part["sentence"] = next(iter(each.said.values()), "")[:_SHOWN]
    return part


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
    names = ("runs", "claims", "false", "unnamed", "seconds")
    found: dict[str, Any] = {name: sum(part[name] for part in own) for name in names}
    found["why"] = sum((Counter(part["why"]) for part in own), Counter[str]())
    found["sentence"] = next((part["sentence"] for part in own if "sentence" in part), "")
    return found


def passes(one: Cell, found: dict[str, Any], delta: float) -> bool:
    """Whether false claims are rare enough, or all say what was broken."""
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
    left = [key for key in CELLS if not added(parts, key)["runs"]]
    if left:
        lines += ["", f"{len(left)} cells have not been recorded:", ""]
        lines += [f"- {key}" for key in left]
    if sentences:
        lines += ["", "Sentences that are false and name no condition, one of each cell:", ""]
        lines += sentences
    return "\n".join(lines), failed


def chosen(words: list[str] | None) -> list[Cell]:
    """The cells whose names have one of these words."""
    found = [
        one
        for one in CELLS.values()
        if not words or any(word.lower() in one.key.lower() for word in words)
    ]
    left_out = [one for one in found if one.needs and find_spec(one.needs) is None]
    for one in left_out:
        print(f"left out, as {one.needs} is not installed: {one.key}")
    found = [one for one in found if one not in left_out]
    if not found:
        raise SystemExit("--only: no cell has such a name; --list shows them")
    return found


def arguments() -> argparse.ArgumentParser:
    """What can be told."""
    from benchmarks.sentences import __main__ as told

    parser = options((told.__doc__ or "").splitlines()[0], trials=200)
    parser.add_argument("--runs", dest="trials", type=int, help="runs of each cell")
    parser.add_argument("--delta", type=float, default=DELTA)
    parser.add_argument("--only", action="append", metavar="WORDS", help="cells with these words")
    parser.add_argument("--anew", action="store_true", help="measure these cells again")
    parser.add_argument(
        "--certificates",
        type=Path,
        metavar="DIR",
        help="instead, write certificates of false claims there (--runs: so many of each case)",
    )
    parser.add_argument("--list", action="store_true", help="name all cells")
    return parser


def main() -> int:
    given = arguments().parse_args()
    cells = chosen(given.only)
    if given.certificates:
        keys = {one.key for one in cells}
        write(given.certificates, keys, given.trials, given.seed, given.delta)
        return 0
    if given.list:
        print("\n".join(one.key for one in cells))
        return 0
    record = Record("sentences", {"seed": given.seed, "delta": given.delta}, given)
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

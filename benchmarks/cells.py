"""Cells: something that happens, at a door, in a world whose truth is known.

The frame of benchmarks that go through many of them (:mod:`benchmarks.sentences`,
:mod:`benchmarks.accidents`): what a cell is, which runs there are to make, and the record of all.
What a run comes to, and when a cell passes, is theirs to say.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import benchmarks.nothing_kept  # noqa: F401
import numpy as np
from benchmarks.recorded import Record, chunks, options

#: the error probability that is asked for, wherever a cell says nothing else
DELTA = 0.2
#: standard errors by which the share of false claims may be above it by chance
ERRORS = 4.0

#: one run, of this generator and with this error probability
Live = Callable[[np.random.Generator, float], Any]


def allowed(delta: float, runs: int) -> float:
    """The largest share of false claims that chance explains."""
    return delta + ERRORS * math.sqrt(delta * (1.0 - delta) / max(runs, 1))


@dataclass(frozen=True)
class Cell:
    """One thing that happens, at one door."""

    way: str
    door: str
    live: Live
    runs: int | None = None  #: the most that are worth their time; None: as many as are asked for
    chunk: int = 10  #: runs that are recorded at once
    needs: str = ""  #: a package without which it is left out
    #: what a run comes to that ended with an error
    failed: ClassVar[Callable[[Exception], Any]]

    @property
    def key(self) -> str:
        """Its name in records."""
        return f"{self.way} · {self.door}"

    def outcomes(self, first: int, count: int, seed: int, delta: float) -> list[Any]:
        """Some runs, each of its own seed: which others were made does not matter."""
        found = []
        for i in range(first, first + count):
            key = (zlib.crc32(self.key.encode()), i)
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
            try:
                found.append(self.live(rng, delta))
            except Exception as error:
                found.append(type(self).failed(error))
        return found


def put(cells: dict[str, Any], one: Cell) -> None:
    """Put a cell into a list, once."""
    if one.key in cells:
        raise ValueError(f"{one.key}: twice")
    cells[one.key] = one


def parts_of(parts: Mapping[str, Any], key: str) -> list[Any]:
    """What was recorded of a cell."""
    return [part for name, part in parts.items() if _cell_of(name) == key]


def not_recorded(cells: Iterable[str], parts: Mapping[str, Any]) -> list[str]:
    """Lines that name the cells without a record."""
    there = set(map(_cell_of, parts))
    left = [key for key in cells if key not in there]
    if not left:
        return []
    return ["", f"{len(left)} cells have not been recorded:", "", *(f"- {key}" for key in left)]


def _cell_of(name: str) -> str:
    return name.rsplit(" | ", 2)[0]


@dataclass(frozen=True)
class Frame:
    """All cells of one kind, and what is made of them."""

    name: str  #: of the record
    about: str  #: the benchmark in a line
    cells: Mapping[str, Cell]
    measure: Callable[[Any], dict[str, Any]]  #: some runs of a cell, as the record has them
    #: the table of what was recorded, with an error probability, and the cells that failed
    report: Callable[[dict[str, Any], float], tuple[str, list[str]]]
    runs: int  #: of each cell, if nothing else is said

    def arguments(self) -> argparse.ArgumentParser:
        """What can be told."""
        parser = options(self.about, trials=self.runs)
        parser.add_argument("--runs", dest="trials", type=int, help="runs of each cell")
        parser.add_argument("--delta", type=float, default=DELTA)
        parser.add_argument("--only", action="append", metavar="WORDS", help="cells with these")
        parser.add_argument("--without", action="append", metavar="WORDS", help="none with these")
        parser.add_argument("--anew", action="store_true", help="measure these cells again")
        parser.add_argument("--list", action="store_true", help="name all cells")
        return parser

    def chosen(self, given: argparse.Namespace) -> list[Cell]:
        """The cells whose names have some of these words."""

        def has(one: Cell, words: list[str]) -> bool:
            return any(word.lower() in one.key.lower() for word in words)

        found = []
        for one in self.cells.values():
            if not has(one, given.only or [""]) or has(one, given.without or []):
                continue
            if one.needs and find_spec(one.needs) is None:
                print(f"left out, as {one.needs} is not installed: {one.key}")
                continue
            found.append(one)
        if not found:
            raise SystemExit("--only: no cell has such a name; --list shows them")
        return found

    def main(self, given: argparse.Namespace, cells: Iterable[Cell]) -> int:
        """Measure and record them; 1 if one fails."""
        if given.list:
            print("\n".join(one.key for one in cells))
            return 0
        record = Record(self.name, {"seed": given.seed, "delta": given.delta}, given)
        if given.anew and not given.check:
            mine = {one.key for one in cells}
            record.parts = {k: part for k, part in record.parts.items() if _cell_of(k) not in mine}
        tasks = {
            f"{one.key} | {first} | {count}": (one.key, first, count, given.seed, given.delta)
            for one in cells
            for first, count in chunks(min(given.trials, one.runs or given.trials), one.chunk)
        }
        record.fill(tasks, self.measure)
        text, failed = self.report(record.parts, given.delta)
        record.write(text)
        return 1 if failed else 0

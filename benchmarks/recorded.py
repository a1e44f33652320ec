"""Results of long measurements: kept part by part, shown while they come in, picked up again.

A record is a JSON file: the settings that it belongs to, and what each finished part found. Run the
same command again and only the missing parts are done. With ``--check 5`` five parts of the record,
from beginning to end, are measured again and compared with it, and nothing is written: whether
changes of the code since then decided anything, without all of the work.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from surepick.engines import local
from surepick.files import write_whole

FOLDER = Path(__file__).parent / "results"
_BETWEEN_LINES, _BETWEEN_SAVES = 10.0, 20.0  # seconds
_TIMES = {"seconds"}  # what no part finds twice


class Record:
    """The results of one measurement, in ``FOLDER/name.json``; its table goes to ``name.md``."""

    def __init__(self, name: str, settings: Mapping[str, Any], given: argparse.Namespace) -> None:
        self.file = Path(given.out) / f"{name}.json"
        self.jobs = given.jobs
        self.settings = json.loads(json.dumps(settings))
        self.parts: dict[str, Any] = {}
        self.check = int(given.check or 0)
        self.checked, self.other = 0, []
        self.file.parent.mkdir(parents=True, exist_ok=True)
        if self.file.exists() and not given.fresh:
            there = json.loads(self.file.read_text())
            if there["settings"] != self.settings:
                raise SystemExit(
                    f"{self.file} belongs to other settings, {there['settings']}: use --fresh to "
                    f"start over, or another folder with --out"
                )
            self.parts = there["parts"]

    def fill(self, tasks: Mapping[str, Any], function: Callable[[Any], Any]) -> dict[str, Any]:
        """What ``function`` found for each task; what is not there yet is done now."""
        if self.check:
            return self._compare(tasks, function)
        left = {key: task for key, task in tasks.items() if key not in self.parts}
        print(f"{len(tasks) - len(left)} of {len(tasks)} parts are there", flush=True)
        started = said = saved = time.monotonic()
        found = self._run(function, left)
        for done, (_, (key, result)) in enumerate(found, 1):
            self.parts[key] = result
            now = time.monotonic()
            if now - saved > _BETWEEN_SAVES:
                self.save()
                saved = time.monotonic()
            if now - said > _BETWEEN_LINES:
                said, hours = now, (now - started) / done * (len(left) - done) / 3600
                print(f"{done} of {len(left)} parts, about {hours:.1f} h left: {key}", flush=True)
        self.save()
        print(f"{len(left)} parts in {(time.monotonic() - started) / 60:.1f} min", flush=True)
        return {key: self.parts[key] for key in tasks}

    def _run(self, function: Callable[[Any], Any], tasks: Mapping[str, Any]) -> Any:
        """Other processes load the function by the name of its module, and all that is beside it.

        What a program itself defines would be sent to them instead, and functions that keep their
        results cannot be.
        """
        if function.__module__ == "__main__" and (own := sys.modules["__main__"].__spec__):
            function = getattr(importlib.import_module(own.name), function.__qualname__)
        return local(self.jobs).run(partial(_keyed, function), tasks.items())

    def _compare(self, tasks: Mapping[str, Any], function: Callable[[Any], Any]) -> dict[str, Any]:
        """Measure some parts of the record again; it stays as it is."""
        there = [key for key in tasks if key in self.parts]
        some = there[:: max(1, math.ceil(len(there) / self.check))]
        found = self._run(function, {key: tasks[key] for key in some})
        for _, (key, result) in found:
            self.checked += 1
            if _without_times(result) != _without_times(self.parts[key]):
                self.other.append(key)
                print(f"not as recorded: {key}\n  {self.parts[key]}\n  now {result}", flush=True)
        return {key: self.parts[key] for key in there}

    def save(self) -> None:
        parts = sorted(self.parts.items())
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(part)}" for key, part in parts)
        head = json.dumps(self.settings)
        write_whole(self.file, f'{{"settings": {head},\n"parts": {{\n{lines}\n}}}}\n')

    def write(self, text: str) -> None:
        """Show the table, and keep it beside the results; after a check say how it went."""
        if self.check:
            same = self.checked - len(self.other)
            print(f"{self.file.stem}: {same} of {self.checked} parts came out as recorded")
            if self.other:
                raise SystemExit(1)
            return
        print(text)
        write_whole(self.file.with_suffix(".md"), text + "\n")


def _without_times(result: Any) -> Any:
    """A result as it would be read back from the record."""
    read = json.loads(json.dumps(result))
    return {k: v for k, v in read.items() if k not in _TIMES} if isinstance(read, dict) else read


def _keyed(function: Callable[[Any], Any], task: tuple[str, Any]) -> tuple[str, Any]:
    return task[0], function(task[1])


def chunks(trials: int, size: int) -> list[tuple[int, int]]:
    """First trial and number of trials of each part."""
    return [(first, min(size, trials - first)) for first in range(0, trials, size)]


def options(description: str, trials: int) -> argparse.ArgumentParser:
    """What all of these measurements can be told."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--trials", type=int, default=trials)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1: one per core")
    parser.add_argument("--out", default=FOLDER, help="folder of the results")
    parser.add_argument("--fresh", action="store_true", help="throw away what is there")
    parser.add_argument("--check", type=int, metavar="N", help="measure N parts again and compare")
    return parser


def table(head: list[str], rows: list[list[str]]) -> str:
    """Lines of a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

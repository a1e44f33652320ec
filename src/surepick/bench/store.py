"""A results folder that survives anything: one small file per finished task.

``plan.json`` says what the folder is for; ``parts/`` holds the rows of each finished task, written
to a temporary file, flushed to disk and renamed, so that a part is either whole or absent.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from surepick.errors import FormatError, InvalidInputError
from surepick.files import write_whole


class ResultsFolder:
    """Results of one plan; reopening it with the same plan continues where it stopped.

    Parameters
    ----------
    path
        The folder; made when missing.
    plan
        What identifies the results: settings and versions, as plain JSON values.
    fresh
        Throw away what is there.
    """

    def __init__(self, path: Path, plan: dict[str, Any], *, fresh: bool = False) -> None:
        self.path = Path(path)
        self.parts = self.path / "parts"
        if fresh and self.parts.exists():
            shutil.rmtree(self.parts)
            (self.path / "plan.json").unlink(missing_ok=True)
        self.parts.mkdir(parents=True, exist_ok=True)
        plan = json.loads(json.dumps(plan))  # as it will be read back
        file = self.path / "plan.json"
        if file.exists():
            _demand_same(file, plan)
        else:
            write_whole(file, json.dumps(plan, indent=1, sort_keys=True) + "\n")

    def has(self, task: str) -> bool:
        """Whether this task has been finished."""
        return (self.parts / f"{task}.json").exists()

    def put(self, task: str, part: Any) -> None:
        """Keep what a task produced."""
        write_whole(self.parts / f"{task}.json", json.dumps(part))

    def get(self, task: str) -> Any:
        """What a finished task produced."""
        file = self.parts / f"{task}.json"
        try:
            return json.loads(file.read_text())
        except ValueError as error:
            raise FormatError(
                f"{file} is damaged ({error}); delete it and run again: only this part is repeated"
            ) from None


class TrialLog:
    """Rows of trials as lines of a file, while a comparison runs: what was killed goes on there.

    It is gone once the comparison has ended: who changes an algorithm and runs again gets new
    trials.

    Parameters
    ----------
    path
        The folder of the results.
    plan
        What the rows depend on, beside what they say of themselves.
    fresh
        Throw away what is there.
    """

    def __init__(self, path: Path, plan: dict[str, Any], *, fresh: bool = False) -> None:
        self.path, about = path / "unfinished.jsonl", path / "unfinished.json"
        if fresh or not about.exists():
            self.path.unlink(missing_ok=True)
            write_whole(about, json.dumps(plan, indent=1, sort_keys=True) + "\n")
        else:
            _demand_same(about, json.loads(json.dumps(plan)))
        self._about = about
        self.rows: list[dict[str, Any]] = []  #: those that were there
        if self.path.exists():
            whole = self.path.read_text(encoding="utf-8").rpartition("\n")[0]  # no torn last line
            self.rows = [json.loads(line) for line in whole.splitlines()]
            write_whole(self.path, whole + "\n" if whole else "")
        self._file = self.path.open("a", encoding="utf-8")

    def add(self, row: dict[str, Any]) -> None:
        """Keep one row."""
        self._file.write(json.dumps(row) + "\n")
        self._file.flush()

    def close(self, finished: bool) -> None:
        """Keep the file for the next run, or have done with it."""
        self._file.close()
        if finished:
            self.path.unlink()
            self._about.unlink()


def _demand_same(file: Path, plan: dict[str, Any]) -> None:
    try:
        there = json.loads(file.read_text())
    except ValueError:
        raise FormatError(f"{file} is damaged; use --fresh to start over") from None
    if there == plan:
        return
    keys = sorted({*there, *plan})
    differ = [
        f"{k}: {_short(there.get(k))} there, {_short(plan.get(k))} asked for"
        for k in keys
        if there.get(k) != plan.get(k)
    ]
    raise InvalidInputError(
        f"{file.parent} contains the results of another plan ({'; '.join(differ)}); choose "
        "another folder with --out, or discard what is there with --fresh"
    )


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."

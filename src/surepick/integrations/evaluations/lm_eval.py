"""Files of lm-evaluation-harness: what ``lm_eval --log_samples --output_path`` writes.

A model is an option; its folder has a file ``samples_TASK_DATE.jsonl`` for each task, with a line
for each document, which is an item. Which fields there are was seen in version 0.4.13.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from surepick.errors import FormatError, InvalidInputError
from surepick.files import write_whole
from surepick.integrations.evaluations.reading import as_table, read_json
from surepick.integrations.evaluations.scores import ScoreTable

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")


def read_lm_eval(
    folders: str | Path | Mapping[str, str | Path],
    task: str,
    metric: str = "acc",
    rewards: Any = "yes-no",
    filter: str | None = None,
) -> ScoreTable:
    """The scores of several models on a task.

    Parameters
    ----------
    folders
        The ``--output_path``, which has a folder for each model; or what to call each model, and
        its folder.
    task, metric
        The task, and which of its metrics. It must have a value for each document.
    rewards
        ``"yes-no"`` for metrics that are 0 or 1, else their bounds.
    filter
        Which filter of answers, where a task has several.

    Examples
    --------
    >>> table = ScoreTable(["small", "large"], ["q1", "q2"], [[1, 0], [1, 1]])
    >>> read_lm_eval(write_lm_eval(table, "results", "sums"), "sums").options
    ('large', 'small')
    """
    if not isinstance(folders, Mapping):
        inside = sorted(path for path in Path(folders).iterdir() if path.is_dir())
        folders = {path.name: path for path in inside}
    asked: dict[str, str] = {}  # the hash of every document, as all must have met the same
    cells = [
        (option, item, score)
        for option, folder in folders.items()
        for item, score in _samples(_newest(Path(folder), task), metric, filter, asked)
    ]
    return as_table(cells, rewards, f"samples of {task}")


def write_lm_eval(table: ScoreTable, folder: str | Path, task: str, metric: str = "acc") -> Path:
    """Write the scores that are known as samples, a folder for each option.

    Documents are the names of items; answers are not in it.

    Examples
    --------
    >>> folder = write_lm_eval(ScoreTable(["small"], ["q1"], [[1]]), "results", "sums")
    >>> [path.name[:13] for path in folder.glob("small/*")]
    ['samples_sums_']
    """
    date = datetime.now(UTC).replace(tzinfo=None).isoformat().replace(":", "-")
    for option, row in zip(table.options, table.scores.tolist()):
        known = [(i, value) for i, value in enumerate(row) if not np.isnan(value)]
        lines = [_line(i, table.items[i], metric, value) for i, value in known]
        path = Path(folder) / re.sub(r"[^\w.-]+", "_", option) / f"samples_{task}_{date}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, "".join(lines))
    return Path(folder)


def _line(number: int, item: str, metric: str, value: float) -> str:
    sample = {
        "doc_id": number,
        "doc": {"item": item},
        "target": "",
        "arguments": {},
        "resps": [],
        "filtered_resps": [],
        "filter": "none",
        "metrics": [metric],
        "doc_hash": hashlib.sha256(item.encode("utf-8", "backslashreplace")).hexdigest(),
        metric: value,
    }
    return json.dumps(sample, ensure_ascii=False) + "\n"


def _newest(folder: Path, task: str) -> Path:
    """The last samples of a task in a folder."""
    found = [m for path in folder.iterdir() if (m := _SAMPLES.fullmatch(path.name))]
    tasks = sorted({m["task"] for m in found})
    if task not in tasks:
        known = ", ".join(tasks) or "none; was it run with --log_samples?"
        raise InvalidInputError(f"task: {folder} has no samples of {task!r}; there are: {known}")
    return folder / max((m for m in found if m["task"] == task), key=lambda m: m["date"])[0]


def _samples(
    path: Path, metric: str, chosen: str | None, asked: dict[str, str]
) -> Iterator[tuple[str, float]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [read_json(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line]
    filters = sorted({row.get("filter", "none") for row in rows})
    if chosen is None and len(filters) > 1:
        raise InvalidInputError(f"filter: {path} has {', '.join(filters)}; choose one")
    for row in rows:
        if chosen is not None and row.get("filter", "none") != chosen:
            continue
        if "doc_id" not in row:
            raise FormatError(f"{path}: a line has no doc_id; is it a file of samples?")
        if not isinstance(row.get(metric), int | float):
            known = ", ".join(row.get("metrics", ())) or "none"
            raise InvalidInputError(f"metric: {path} has no number {metric!r}; there are: {known}")
        item, document = f"doc {row['doc_id']}", str(row.get("doc_hash"))
        if asked.setdefault(item, document) != document:
            raise FormatError(
                f"{path}: {item} is another document than in the files before; compare models "
                f"that were given the same ones"
            )
        yield item, float(row[metric])

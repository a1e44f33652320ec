"""Files of lm-evaluation-harness: what ``lm_eval --log_samples --output_path`` writes.

A model is an option. Its folder has a file ``samples_TASK_DATE.jsonl`` for each task, with a line
for each document, which is an item, and a summary ``results_DATE.json``.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from surepick.errors import FormatError, InvalidInputError, listed
from surepick.files import write_whole
from surepick.integrations.evaluations.reading import (
    as_table,
    numbers_of,
    read_json,
    score_or_nan,
)
from surepick.integrations.evaluations.scores import ScoreTable

_SAMPLES = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl")


def read_lm_eval(
    folders: str | Path | Mapping[str, str | Path],
    task: str,
    metric: str = "acc",
    rewards: Any = "yes-no",
    filter: str | None = None,
) -> ScoreTable:
    """The scores of several models on a task, each from its last run.

    Parameters
    ----------
    folders
        The ``--output_path``, which has a folder for each model; or what to call each option, and
        the folder with its samples, where one model was run with several settings.
    task, metric
        The task, and which of its metrics. It must have a value for each document.
    rewards
        ``"yes-no"`` for metrics that are 0 or 1, else their bounds.
    filter
        Which filter of answers, where a task has several.

    Examples
    --------
    >>> table = ScoreTable(["org/small", "org/large"], ["q1", "q2"], [[1, 0], [1, 1]])
    >>> read_lm_eval(write_lm_eval(table, "results", "sums"), "sums").options
    ('org/large', 'org/small')
    """
    if isinstance(folders, Mapping):
        files = {name: _newest(Path(folder), task) for name, folder in folders.items()}
    else:
        files = _by_model(Path(folders), task)
    asked: dict[str, str] = {}  # the hash of every document, as all must have met the same
    cells = [
        (option, item, score)
        for option, file in files.items()
        for item, score in _samples(file, metric, filter, asked)
    ]
    return as_table(cells, rewards, f"samples of {task}")


def write_lm_eval(table: ScoreTable, folder: str | Path, task: str, metric: str = "acc") -> Path:
    """Write the scores that are known as samples, with a folder and a summary for each option.

    Documents are the names of items; answers are not in it. Where items are called as
    ``read_lm_eval`` calls them ("doc 17"), documents keep their numbers. The mean in a summary is
    that of the items on which this option was evaluated, which may be others than those of the
    next: what ``decide`` says is not read off from it.

    Parameters
    ----------
    table
        Scores; unknown ones are left out.
    folder
        Where to write; made if it is not there.
    task
        Name of the task.
    metric
        Name of the score.

    Returns
    -------
    The folder.

    Examples
    --------
    >>> folder = write_lm_eval(ScoreTable(["small"], ["q1"], [[1]]), "results", "sums")
    >>> sorted(path.name.split("_2")[0] for path in folder.glob("small/*"))
    ['results', 'samples_sums']
    """
    if re.search(r"[/\\]", task):
        raise InvalidInputError(f"task must be the name of a task, without a path; got {task!r}")
    date = datetime.now().isoformat().replace(":", "-")
    numbers = numbers_of(table.items, "doc")
    names = _folder_names(table.options)
    for option, name, row in zip(table.options, names, table.scores.tolist()):
        known = {i: value for i, value in enumerate(row) if not np.isnan(value)}
        if not known:
            continue  # nobody has looked: the harness has no file for that
        inside = Path(folder) / name
        inside.mkdir(parents=True, exist_ok=True)
        summary = _summary(option, task, metric, list(known.values()), len(table.items))
        summary["model_name_sanitized"] = name
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        write_whole(inside / f"results_{date}.json", text)
        lines = [_line(numbers[i], table.items[i], metric, value) for i, value in known.items()]
        write_whole(inside / f"samples_{task}_{date}.jsonl", "".join(lines))
    return Path(folder)


def _folder_names(options: Sequence[str]) -> list[str]:
    """What the folder of each option is called, numbered where two would be the same.

    A slash is written as the harness does, with two underscores. Some file systems do not tell
    capitals from small letters, and take 255 bytes, which is more than 60 letters of any alphabet.
    """
    found: dict[str, str] = {}
    for option in options:
        plain = re.sub(r"[^\w.-]+", "_", option.replace("/", "__"))[:60].strip(".") or "_"
        name, number = plain, 1
        while name.casefold() in found:
            number += 1
            name = f"{plain}_{number}"
        found[name.casefold()] = name
    return list(found.values())


def _summary(
    option: str, task: str, metric: str, values: list[float], items: int
) -> dict[str, Any]:
    """What the harness would say of these samples, as far as it is known here."""
    measured = {
        "alias": task,
        "sample_len": len(values),
        f"{metric},none": float(np.mean(values)),
        f"{metric}_stderr,none": "N/A",  # which items were asked depends on who was left
    }
    kept = {"metric": metric, "aggregation": "mean", "higher_is_better": True}
    return {
        "results": {task: measured},
        "group_subtasks": {},
        "configs": {task: {"task": task, "output_type": "generate_until", "metric_list": [kept]}},
        "versions": {},
        "n-shot": {},
        "higher_is_better": {task: {metric: True}},
        "n-samples": {task: {"original": items, "effective": len(values)}},
        "config": {"model": "surepick", "model_args": {"model": option}},
        "model_source": "surepick",
        "model_name": option,
    }


def _line(number: int, item: str, metric: str, value: float) -> str:
    sample = {
        "doc_id": number,
        "doc": {"item": item},
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": item}},
        "resps": [[""]],
        "filtered_resps": [""],
        "filter": "none",
        "metrics": [metric],
        "doc_hash": hashlib.sha256(item.encode("utf-8", "backslashreplace")).hexdigest(),
        metric: value,
    }
    return json.dumps(sample, ensure_ascii=False) + "\n"


def _by_model(folder: Path, task: str) -> dict[str, Path]:
    """The last samples of each model, by what it is called, or by folder where that is not clear.

    Folders are not called quite as their models, as names of models have slashes in them.
    """
    files = [_newest(path, task) for path in sorted(folder.iterdir()) if path.is_dir()]
    if not files:
        raise InvalidInputError(
            f"folders: {folder} does not have one folder per model; give the names of the models "
            f"and the folders of their samples, such as {{'small': {str(folder)!r}}}"
        )
    names = [_model(file) for file in files]
    if None in names or len(set(names)) < len(names):
        names = [file.parent.name for file in files]
    return {str(name): file for name, file in zip(names, files)}


def _model(samples: Path) -> str | None:
    """What the model of these samples is called, by the summary of the same run."""
    match = _SAMPLES.fullmatch(samples.name)
    assert match is not None
    summary = samples.with_name(f"results_{match['date']}.json")
    if not summary.exists():
        return None
    said = read_json(summary.read_text(encoding="utf-8"), str(summary))
    return (said.get("model_name") or None) if isinstance(said, dict) else None


def _newest(folder: Path, task: str) -> Path:
    found = [m for path in folder.iterdir() if (m := _SAMPLES.fullmatch(path.name))]
    tasks = sorted({m["task"] for m in found})
    if task not in tasks:
        known = listed(tasks, task) or "none; was it run with --log_samples?"
        raise InvalidInputError(f"task: {folder} has no samples of {task!r}; there are: {known}")
    return folder / max((m for m in found if m["task"] == task), key=lambda m: m["date"])[0]


def _samples(
    path: Path, metric: str, chosen: str | None, asked: dict[str, str]
) -> Iterator[tuple[str, float]]:
    # Only these end a line: documents may have other separators in them, which JSON lets stand.
    lines = path.read_text(encoding="utf-8").split("\n")
    rows = [read_json(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line]
    filters = sorted({row.get("filter", "none") for row in rows})
    if chosen is None and len(filters) > 1:
        raise InvalidInputError(f"filter: {path} has {listed(filters)}; choose one")
    rows = [row for row in rows if chosen is None or row.get("filter", "none") == chosen]
    if not any(isinstance(row.get(metric), int | float) for row in rows):
        known = listed(rows[0].get("metrics", ()) if rows else (), metric) or "none"
        raise InvalidInputError(f"metric: {path} has no number {metric!r}; there are: {known}")
    for row in rows:
        if "doc_id" not in row:
            raise FormatError(f"{path}: a line has no doc_id; is it a file of samples?")
        item, document = f"doc {row['doc_id']}", str(row.get("doc_hash"))
        if asked.setdefault(item, document) != document:
            raise FormatError(
                f"{path}: {item} differs from the document in the earlier files; compare models "
                "that were run on the same documents"
            )
        yield item, score_or_nan(row.get(metric), f"{path}: {item}")

"""Everything that was measured for a study, as a table in a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from surepick.errors import UnknownNameError
from surepick.study.core import StudyCore

FORMATS = ("csv", "json", "parquet")
KINDS = ("measurements", "options", "events")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")  # spreadsheets see formulas here


def rows(study: StudyCore, what: str = "measurements") -> list[dict[str, Any]]:
    """The rows of an export.

    Parameters
    ----------
    study
        What to export.
    what
        ``measurements`` (rewards that count), ``options`` (a summary of each) or ``events`` (all
        that did not count: failures, repeats, contradictions).
    """
    if what not in KINDS:
        raise UnknownNameError.among("export", what, KINDS)
    make = {"measurements": _measurements, "options": _options, "events": _events}[what]
    return list(make(study))


def content(rows: list[dict[str, Any]], form: str) -> str | bytes:
    """Rows as the content of a file: CSV, JSON or Parquet.

    In CSV files, texts that a spreadsheet would take for a formula get a quote in front.
    """
    if form not in FORMATS:
        raise UnknownNameError.among("format", form, FORMATS)
    if form == "json":
        return json.dumps(rows, indent=1) + "\n"
    if form == "parquet":
        from surepick.problem.tables.extras import need_pandas

        buffer = io.BytesIO()
        need_pandas("a Parquet file").DataFrame(rows).to_parquet(buffer, index=False)
        return buffer.getvalue()
    text = io.StringIO(newline="\n")
    out = csv.writer(_Lines(text))
    if rows:
        out.writerow([safe(name) for name in rows[0]])
        out.writerows([safe(cell) for cell in row.values()] for row in rows)
    return text.getvalue()


class _Lines:
    """Ends lines with a line feed alone.

    Only cells with a character that ends lines are quoted, so the writer must believe that a
    carriage return does: what follows one in a label would begin a row, and may be a formula.
    """

    def __init__(self, text: io.StringIO) -> None:
        self._text = text

    def write(self, line: str) -> None:
        self._text.write(line.removesuffix("\r\n") + "\n")


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str) or not cell.startswith(_FORMULA_STARTS):
        return "" if cell is None else cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _measurements(study: StudyCore) -> Iterator[dict[str, Any]]:
    rewards, labels = study.rewards(), study.problem.labels
    columns = zip(
        rewards.pulls.tolist(),
        rewards.arms.tolist(),
        rewards.values.tolist(),
        rewards.times.tolist(),
    )
    for pull, arm, value, time in columns:
        row = {"pull": pull, "arm": arm, "label": labels[arm], "reward": value, "time": _iso(time)}
        yield _with_features(row, study.features_of(arm))


def _options(study: StudyCore) -> Iterator[dict[str, Any]]:
    status, problem = study.status(), study.problem
    survivors = set(status["survivors"])
    for arm, label in enumerate(problem.labels):
        row = {
            "arm": arm,
            "label": label,
            "pulls": status["pulls"][arm],
            "failures": status["failures"][arm],
            "mean": status["means"][arm],
        }
        if not problem.transductive:
            estimates = status["estimates"]
            row["estimate"] = None if estimates is None else estimates[arm]
            row["still_in"] = int(problem.same_as[arm]) in survivors
        yield _with_features(row, study.features_of(arm))


def _events(study: StudyCore) -> Iterator[dict[str, Any]]:
    for event in study.events():
        yield {
            "time": _iso(event.at),
            "kind": event.kind,
            "pull": event.pull,
            "arm": event.arm,
            "label": study.problem.labels[event.arm],
            "worker": event.worker,
            "value": event.value,
            "note": event.note,
        }


def _with_features(row: dict[str, Any], features: dict[str, Any]) -> dict[str, Any]:
    """A row with the columns of the option's table; those that are called alike are kept apart."""
    for name, value in features.items():
        key = name
        while key in row:
            key = f"option_{key}"
        row[key] = value
    return row


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")

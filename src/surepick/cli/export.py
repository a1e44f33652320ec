"""``surepick export``: everything that was measured, as a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.studies import features_of, open_study, say, study_options
from surepick.errors import InvalidInputError

if TYPE_CHECKING:
    from surepick.study import Study

_FORMATS = ("csv", "json", "parquet")
_OBEYED = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet takes what begins so for a formula


@click.command("export")
@study_options
@click.option(
    "--what",
    type=click.Choice(["measurements", "options", "events"]),
    default="measurements",
    show_default=True,
    help="Rewards that count; a summary per option; or all that did not count (failures, "
    "repeats, contradictions).",
)
@click.option("--format", "form", type=click.Choice(_FORMATS), help="By default the file's ending.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    default=Path("-"),
    help="File; by default it is printed.",
)
def command(name: str, storage: str, as_json: bool, what: str, form: str | None, out: Path) -> None:
    """Write what was measured as CSV, JSON or Parquet.

    In CSV files, texts that a spreadsheet would take for a formula get a quote in front.
    """
    to_screen = str(out) == "-"
    form = form or (out.suffix[1:].lower() if not to_screen else "json" if as_json else "csv")
    if form not in _FORMATS:
        raise InvalidInputError(f"format: {form!r} is not known; choose {', '.join(_FORMATS)}")
    if to_screen and form == "parquet":
        raise InvalidInputError("out: a Parquet file cannot be printed; name a file")
    study = open_study(name, storage)
    rows = list(
        {"measurements": _measurements, "options": _options, "events": _events}[what](study)
    )
    content = _content(rows, form)
    if to_screen:
        click.echo(content, nl=False)
        return
    from surepick.bench.store import write_whole

    write_whole(out, content)
    say(
        as_json,
        {"file": str(out), "format": form, "what": what, "rows": len(rows)},
        f"{len(rows):,} rows written to {out}",
    )


def _measurements(study: Study) -> Iterator[dict[str, Any]]:
    rewards, labels = study.rewards(), study.problem.labels
    columns = zip(
        rewards.pulls.tolist(),
        rewards.arms.tolist(),
        rewards.values.tolist(),
        rewards.times.tolist(),
    )
    for pull, arm, value, time in columns:
        row = {"pull": pull, "arm": arm, "label": labels[arm], "reward": value, "time": _when(time)}
        yield _beside(row, features_of(study, arm))


def _options(study: Study) -> Iterator[dict[str, Any]]:
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
        yield _beside(row, features_of(study, arm))


def _events(study: Study) -> Iterator[dict[str, Any]]:
    for event in study.events():
        yield {
            "time": _when(event.at),
            "kind": event.kind,
            "pull": event.pull,
            "arm": event.arm,
            "label": study.problem.labels[event.arm],
            "worker": event.worker,
            "value": event.value,
            "note": event.note,
        }


def _beside(row: dict[str, Any], features: dict[str, Any]) -> dict[str, Any]:
    """A row with the columns of the option's table; those that are called alike are kept apart."""
    for name, value in features.items():
        key = name
        while key in row:
            key = f"option_{key}"
        row[key] = value
    return row


def _when(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def _content(rows: list[dict[str, Any]], form: str) -> Any:
    if form == "json":
        return json.dumps(rows, indent=1) + "\n"
    if form == "parquet":
        from surepick.problem.tables.extras import need_pandas

        buffer = io.BytesIO()
        need_pandas("a Parquet file").DataFrame(rows).to_parquet(buffer, index=False)
        return buffer.getvalue()
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    if rows:
        out.writerow([safe(name) for name in rows[0]])
        out.writerows([safe(cell) for cell in row.values()] for row in rows)
    return text.getvalue()


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str) or not cell.startswith(_OBEYED):
        return "" if cell is None else cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell

"""Everything that was measured for a study, as a table in a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from surepick.errors import UnknownNameError
from surepick.problem import Problem
from surepick.storage.records import Event
from surepick.study.acts.limits import LimitChange
from surepick.study.acts.options import OptionChange
from surepick.study.acts.reports import ReportChange, RowChange, set_aside
from surepick.study.acts.rewards import Change
from surepick.study.desk.desk import Desk
from surepick.study.sheet import safe
from surepick.study.traffic.block import reported

FORMATS = ("csv", "json", "parquet")
_WHO = ("reason", "by", "token")
KINDS = ("measurements", "options", "events", "corrections", "option-changes", "limits")


class Exported(Protocol):
    """What is needed of a study."""

    desk: Desk

    @property
    def problem(self) -> Problem: ...
    def features_by_arm(self, arms: Iterable[int]) -> dict[int, dict[str, Any]]: ...
    def status(self) -> dict[str, Any]: ...
    def events(self, *kinds: str) -> list[Event]: ...
    def corrections(self) -> list[Change]: ...
    def report_changes(self) -> list[ReportChange]: ...
    def option_changes(self) -> list[OptionChange]: ...
    def limit_changes(self) -> list[LimitChange]: ...


def rows(study: Exported, what: str = "measurements") -> list[dict[str, Any]]:
    """The rows of an export.

    Parameters
    ----------
    study
        What to export.
    what
        ``measurements`` (rewards that count; of traffic, reports by option), ``options`` (a summary
        of each), ``events`` (all that did not count: failures, repeats, contradictions),
        ``corrections`` (what was told at first, and who changed it when and why),
        ``option-changes`` (which options were added and retired, by whom, when and why) or
        ``limits`` (how what may be measured was changed, by whom, when and why).
    """
    return list(_rows(study, what))


def _rows(study: Exported, what: str) -> Iterator[dict[str, Any]]:
    if what not in KINDS:
        raise UnknownNameError.among("export", what, KINDS)
    made = {"measurements": _measurements, "options": _options, "events": _events}
    made |= {"corrections": _corrections, "option-changes": _option_changes, "limits": _limits}
    return made[what](study)


def stream(study: Exported, what: str, form: str) -> Iterator[bytes]:
    """The content of a file, in parts: it need not fit into memory (but for Parquet)."""
    return parts(_rows(study, what), form)


def content(rows: Iterable[dict[str, Any]], form: str) -> str | bytes:
    """Rows as the content of a file: CSV, JSON or Parquet.

    In CSV files, texts that a spreadsheet would take for a formula get a quote in front.
    """
    whole = b"".join(parts(iter(rows), form))
    return whole if form == "parquet" else whole.decode()


def parts(rows: Iterator[dict[str, Any]], form: str) -> Iterator[bytes]:
    """The content of a file in parts, as rows come in."""
    if form not in FORMATS:
        raise UnknownNameError.among("format", form, FORMATS)
    return {"csv": _as_csv, "json": _as_json, "parquet": _as_parquet}[form](rows)


def _as_json(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    start = "[\n"
    for row in rows:
        yield f"{start} {json.dumps(row)}".encode()
        start = ",\n"
    yield b"[]\n" if start == "[\n" else b"\n]\n"


def _as_parquet(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    from surepick.problem.tables.read import need_pandas

    buffer = io.BytesIO()
    need_pandas("a Parquet file").DataFrame(list(rows)).to_parquet(buffer, index=False)
    yield buffer.getvalue()


def _as_csv(rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    lines = _Lines()
    out = csv.writer(lines)
    for i, row in enumerate(rows):
        if not i:
            out.writerow([safe(name) for name in row])
        out.writerow([safe(cell) for cell in row.values()])
        yield lines.taken().encode()


class _Lines:
    """Ends lines with a line feed alone.

    Only cells with a character that ends lines are quoted, so the writer must believe that a
    carriage return does: what follows one in a label would begin a row, and may be a formula.
    """

    def __init__(self) -> None:
        self._text = ""

    def write(self, line: str) -> None:
        self._text += line.removesuffix("\r\n") + "\n"

    def taken(self) -> str:
        """What was written since the last time."""
        text, self._text = self._text, ""
        return text


def _measurements(study: Exported) -> Iterator[dict[str, Any]]:
    labels = study.problem.labels
    features = study.features_by_arm(range(len(labels)))
    gone = study.desk.storage.read(lambda tx: set_aside(tx, study.desk.record.id))
    for period, arm, row in reported(study.desk.storage, study.desk.record, study.problem):
        row = {"period": period, "arm": arm, "label": labels[arm]} | row
        row |= {"set_aside": period in gone} if gone else {}
        yield _with_features(row | {"time": _iso(row["time"])}, features[arm])
    for one in study.desk.told():
        row = {"pull": one.pull, "arm": one.arm, "label": labels[one.arm], "reward": one.value}
        row |= {"time": _iso(one.at), "worker": one.worker, "token": one.token}
        if study.desk.strata is not None:
            row["stratum"] = one.stratum
        if study.desk.on_items:
            row["item"] = one.stratum
        if study.problem.numbers:
            told = {} if one.numbers is None else json.loads(one.numbers)
            for name in study.problem.numbers:
                row[f"{name} (number)" if name in row else name] = told.get(name)
        yield _with_features(row, features[one.arm])


def _options(study: Exported) -> Iterator[dict[str, Any]]:
    status, problem = study.status(), study.problem
    survivors, retired = set(status["survivors"]), set(status["retired"])
    features = study.features_by_arm(range(problem.n_arms))
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
            row["still_in"] = int(problem.same_as[arm]) in survivors and label not in retired
        yield _with_features(row, features[arm])


def _events(study: Exported) -> Iterator[dict[str, Any]]:
    names = ("worker", "token", "value", "count", "note")
    for event in study.events():
        own = _fields(event, "kind", "pull", "arm")
        yield own | {"label": study.problem.labels[event.arm]} | _fields(event, *names)


def _fields(record: Any, *names: str) -> dict[str, Any]:
    """Some of what a record says, after when that was."""
    return {"time": _iso(record.at), **{name: getattr(record, name) for name in names}}


def _corrections(study: Exported) -> Iterator[dict[str, Any]]:
    for change in study.corrections():
        row = _fields(change, "pull", "arm") | {"label": study.problem.labels[change.arm]}
        row |= {"number": change.number} if study.problem.numbers else {}
        yield row | _fields(change, "old", "new", *_WHO, "batch", "counted")
    for change in study.report_changes():
        for row in change.rows:
            numbers = _numbers("old", row.old) | _numbers("new", row.new)
            what = _fields(change, "period") | {"label": row.label} | _group(row) | numbers
            yield what | _fields(change, *_WHO)


def _group(row: RowChange) -> dict[str, Any]:
    """Which visitors of the option a row is about, where reports say that."""
    if row.bucket is None:
        return {}
    return {"bucket": row.bucket} if row.segment is None else {"segment": row.segment}


def _numbers(when: str, numbers: Sequence[float]) -> dict[str, float]:
    names = ("visits", "sum", "squares")
    return {f"{when}_{name}": number for name, number in zip(names, numbers)}


def _option_changes(study: Exported) -> Iterator[dict[str, Any]]:
    for change in study.option_changes():
        for label in change.labels:
            own = _fields(change, "change") | {"label": label} | _fields(change, *_WHO)
            yield own | {"batch": change.asked}


def _limits(study: Exported) -> Iterator[dict[str, Any]]:
    for change in study.limit_changes():
        yield _fields(change, "max_samples", "budget", *_WHO, "asked")


def _with_features(row: dict[str, Any], features: dict[str, Any]) -> dict[str, Any]:
    """A row with the columns of the option's table; those that are called alike are kept apart."""
    both = [one for one in features.items() if isinstance(one[1], dict)]  # of two options
    flat = {f"{which} {name}": cell for which, cells in both for name, cell in cells.items()}
    for name, value in (flat or features).items():
        key = name
        while key in row:
            key = f"option_{key}"
        row[key] = value
    return row


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")

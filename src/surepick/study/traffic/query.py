"""The report of a period, counted by the site's own database.

The query is run in a transaction that may only read where the database knows such a thing, and is
rolled back in any case. It is told when the period began and ended, so that the same text serves
every period.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from surepick.errors import InvalidInputError, MissingExtraError, RunStateError
from surepick.study.core import StudyCore
from surepick.study.segments import segment_of
from surepick.study.sheet import Sheet
from surepick.study.traffic.report import SEGMENT, rows_of

#: what a query may ask for, and what it then gets
VALUES = {
    "since": "when the period began (UTC)",
    "until": "when it ended; if it is still running, now",
    "window": "how many seconds visitors have to respond",
    "period": "the name of the period",
    "number": "its number, 0 for the first, as split gives it",
}
_VALUE = re.compile(r"(?<![:\w\\]):(\w+)(?!:)")
# What is not closed goes on to the end, so that nothing is looked at twice.
_TEXTS = re.compile(
    r"'(?:[^']|'')*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|--[^\n]*+|/\*.*?(?:\*/|\Z)", re.DOTALL
)
_MOST_ROWS = 1_000_000
_READ_ONLY = {"sqlite": ["PRAGMA query_only = ON"]}
_READ_ONLY["postgresql"] = ["SET TRANSACTION READ ONLY", "SET LOCAL TIME ZONE 'UTC'"]


def query_report(study: StudyCore, sql: str, database: str, period: str) -> Sheet:
    """The report of a period as a query counts it; options without a row had no visitors.

    Parameters
    ----------
    study
        The study, in a database or with a service: the query is run here in any case.
    sql
        A SELECT with the columns of a report. It may use ``:since``, ``:until``, ``:window``,
        ``:period`` and ``:number`` (see :data:`VALUES`).
    database
        Where the events of the site are: an address as SQLAlchemy takes it.
    """
    due = _due(study, period)
    sql = _TEXTS.sub(lambda found: _VALUE.sub(r"\\:\1", found[0]), sql)  # these ask for nothing
    wanted = set(_VALUE.findall(sql))
    unknown = sorted(wanted - VALUES.keys())
    if unknown:
        raise InvalidInputError(
            f"sql: nothing is known for :{unknown[0]}; a query may use "
            f"{', '.join(f':{name}' for name in VALUES)}"
        )
    window = due["window"]
    if "window" in wanted and not window:
        raise InvalidInputError(
            "sql: :window is how long visitors have to respond, and this study was told no window "
            "(surepick new --window 7d)"
        )
    times = {name: due[name] for name in ("since", "until")}
    given = {"window": window, "period": period, "number": due["number"], **times}
    columns = _select(sql, database, {name: given[name] for name in wanted}, times.keys())
    part = segment_of(study.meta)
    if part is not None:  # of a query that counts all segments, the rows of this one
        for name in columns.get(SEGMENT, ()):
            if str(name).strip() not in part.all:
                raise InvalidInputError(
                    f"sql: no segment is called {name!r:.80}; there are {', '.join(part.all)}"
                )
        columns = rows_of(Sheet(columns=columns, source="sql").read(), part.name).cells
    return Sheet(columns=_complete(columns, due["shares"]), source="sql")


def _due(study: StudyCore, name: str) -> dict[str, Any]:
    """The period that is meant: of this name, or the next one, if it has no name yet."""
    for one in study.periods():
        if one["period"] == name or (one["period"] is None and not one["recorded"]):
            return one
    raise RunStateError(
        f"no shares were stored for period {name!r}: there is nothing to count (split first)"
    )


def _select(sql: str, database: str, values: dict[str, Any], times: Any) -> dict[str, list[Any]]:
    from sqlalchemy import create_engine, make_url, text
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.pool import NullPool

    try:
        url = make_url(database)
        kind = url.get_backend_name()
        if kind == "sqlite" and not Path(url.database or "").is_file():
            raise InvalidInputError(f"database: there is no file {url.database!r}")
        engine = create_engine(url, poolclass=NullPool)
    except (ArgumentError, NoSuchModuleError) as error:
        raise InvalidInputError(
            f"database: {error}; an address such as sqlite:///shop.db or "
            "postgresql+psycopg://user@host/shop is needed"
        ) from None
    except ImportError as error:
        raise MissingExtraError(f"database: its driver is not installed ({error})") from None
    for name in values.keys() & times:
        moment = datetime.fromtimestamp(int(values[name]), UTC)
        values[name] = f"{moment:%Y-%m-%d %H:%M:%S}" if kind == "sqlite" else moment
    try:
        with engine.connect() as connection:
            for words in _READ_ONLY.get(kind, ()):
                connection.execute(text(words))
            found = connection.execute(text(sql), values)
            if not found.returns_rows:
                raise InvalidInputError("sql: the query returns no rows; write a SELECT")
            names, rows = list(found.keys()), found.fetchmany(_MOST_ROWS)
            connection.rollback()
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise InvalidInputError(f"sql: the database refused the query: {said}") from None
    finally:
        engine.dispose()
    if len(set(names)) != len(names):
        raise InvalidInputError(f"sql: two columns have the same name: {', '.join(names)}")
    return {name: [_plain(row[i]) for row in rows] for i, name in enumerate(names)}


def _complete(columns: dict[str, list[Any]], shares: Mapping[str, float]) -> dict[str, Any]:
    """Also options that no row is about: a query that groups events does not see them."""
    if "label" not in columns:
        return columns
    there = {str(label) for label in columns["label"]}
    missing = [label for label, share in shares.items() if share and label not in there]
    for group in ("bucket", "segment"):
        if group in columns:
            columns[group] = columns[group] + columns[group][:1] * len(missing)
    for name, cells in columns.items():
        if name not in ("label", "bucket", "segment"):
            columns[name] = cells + [0] * len(missing)
    return columns | {"label": [*columns["label"], *missing]}


def _plain(cell: Any) -> Any:
    """A cell as JSON has it; a decimal number is read from its text."""
    return cell if cell is None or isinstance(cell, str | bool | int | float) else str(cell)

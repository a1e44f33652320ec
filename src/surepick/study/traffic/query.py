"""The report of a period, counted by the site's own database.

It is one SELECT, run in a transaction that may only read where the database knows such a thing, and
rolled back in any case; rows are taken one after the other, and no more than a report can have. It
is told when the period began and ended, so that the same text serves every period.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterable, Mapping
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
_MOST = 2**26  # characters of all cells; a number counts as 16
_LONGEST = 2**20  # characters of a cell
_SECONDS = 600.0  # a query may take
_READ_ONLY = {"postgresql": ["SET TRANSACTION READ ONLY", "SET LOCAL TIME ZONE 'UTC'"]}
_LOOKS = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)


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
    _check_statement(sql)
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


def _check_statement(sql: str) -> None:
    """Refuse what is not one SELECT; the transaction that may only read is the second lock."""
    said = _TEXTS.sub(lambda found: " " if found[0][:2] in ("--", "/*") else "''", sql).strip()
    said = said.rstrip("; \t\r\n")
    if ";" in said:
        raise InvalidInputError("sql: a report is one SELECT; leave out what comes after the ;")
    first = re.split(r"\W", said.lstrip("( \t\r\n"), maxsplit=1)[0]
    if not first:
        raise InvalidInputError("sql: there is no query; write a SELECT")
    if first.upper() not in ("SELECT", "WITH", "VALUES"):
        raise InvalidInputError(f"sql: a report is counted by a SELECT, not by {first!r:.40}")


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
    end = time.monotonic() + _SECONDS
    try:
        with engine.connect() as connection:
            if kind == "sqlite":
                _only_looks(connection.connection.driver_connection, end)
            for words in _READ_ONLY.get(kind, ()):
                connection.execute(text(words))
            if kind == "postgresql":
                connection.execute(text(f"SET LOCAL statement_timeout = {int(1000 * _SECONDS)}"))
            # A cursor of the server's: rows come in small parts, and it runs one statement only.
            streamed = connection.execution_options(stream_results=True, max_row_buffer=1000)
            with streamed.execute(text(sql), values) as found:
                if not found.returns_rows:
                    raise InvalidInputError("sql: the query returns no rows; write a SELECT")
                names = list(found.keys())
                if len(set(names)) != len(names):
                    twice = ", ".join(names)
                    raise InvalidInputError(f"sql: two columns have the same name: {twice}")
                cells = _taken(found, names, end)
            connection.rollback()
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise InvalidInputError(f"sql: the database refused the query: {said}") from None
    finally:
        engine.dispose()
    return cells


def _only_looks(driver: Any, end: float) -> None:
    """Keep an SQLite connection from all that is not looking, and from going on for ever."""

    def allow(act: int, *_about: Any) -> int:
        return sqlite3.SQLITE_OK if act in _LOOKS else sqlite3.SQLITE_DENY

    driver.set_authorizer(allow)
    driver.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
    driver.set_progress_handler(lambda: time.monotonic() > end, 100_000)


def _taken(rows: Iterable[Any], names: list[str], end: float) -> dict[str, list[Any]]:
    """The columns, read row by row; no more than a report can have."""
    cells: list[list[Any]] = [[] for _ in names]
    size = 0
    for row in rows:
        for name, column, cell in zip(names, cells, row):
            plain = _plain(cell, name)
            size += len(plain) if isinstance(plain, str) else 16
            column.append(plain)
        if size > _MOST:
            raise InvalidInputError(
                f"sql: the query gives too much: {len(cells[0]):,} rows, and more to come; a "
                "report has a row for each option, so group by it"
            )
        if time.monotonic() > end:
            raise InvalidInputError(f"sql: the query took more than {_SECONDS:g} seconds")
    return dict(zip(names, cells))


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


def _plain(cell: Any, name: str) -> Any:
    """A cell as JSON has it; a decimal number is read from its text."""
    if isinstance(cell, bytes | bytearray | memoryview):
        raise InvalidInputError(
            f"sql: column {name!r:.80} has bytes; a report has text and numbers"
        )
    plain = cell if cell is None or isinstance(cell, str | bool | int | float) else str(cell)
    if isinstance(plain, str) and len(plain) > _LONGEST:
        raise InvalidInputError(
            f"sql: column {name!r:.80} has a text of {len(plain):,} characters; "
            f"{_LONGEST:,} are the most"
        )
    return plain

"""Reading a table: CSV (nothing else needed), Parquet or a DataFrame, into plain columns.

Cells of a CSV file stay texts until a column is used: what is a number and what is a category is
decided column by column, in :mod:`surepick.problem.tables.cells`, and never by guessing over
single cells.
"""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surepick.arrays.validate import is_dataframe
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.problem.tables.extras import need_pandas

_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Columns:
    """A table as lists, with a name for every row that its owner will recognise."""

    where: str  #: file name, or "table"
    cells: dict[str, list[Any]]  #: cells of each column
    rows: list[str]  #: "line 7" of a file, "row 'blue'" of a DataFrame
    index: list[str] | None = None  #: labels of a DataFrame's rows, where they are not 0, 1, ...
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: Any) -> list[Any]:
        """The cells of one column."""
        if name not in self.cells:
            raise UnknownNameError.among(f"column of {self.where}", name, self.cells)
        return self.cells[name]

    def at(self, row: int, name: str) -> str:
        """A place, in words."""
        return f"{self.where}: column {name!r}, {self.rows[row]}"


def read(source: Any) -> Columns:
    """The columns of a CSV or Parquet file, or of a DataFrame."""
    if is_dataframe(source):
        table = _from_frame(source, "table")
    elif isinstance(source, str | os.PathLike):
        table = _from_file(Path(source))
    else:
        raise InvalidTypeError(
            f"a table must be the path of a CSV or Parquet file, or a DataFrame; got {source!r:.80}"
        )
    if not len(table):
        raise InvalidInputError(f"{table.where} has no rows: there is nothing to choose from")
    return table


def _from_file(path: Path) -> Columns:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InvalidInputError(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise InvalidInputError(f"{str(path)!r} is a folder, not a table") from None
    if content[:4] == b"PAR1":
        return _from_parquet(content, path.name)
    if content[:2] == b"PK":
        raise InvalidInputError(
            f"{path.name} is a spreadsheet or an archive: save the sheet as CSV first"
        )
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{path.name} is not a table in UTF-8: line {line} has a byte that is no text; "
            f"save it as CSV in UTF-8"
        ) from None
    if "\0" in text:
        raise InvalidInputError(f"{path.name} is not a text file: save the table as CSV in UTF-8")
    return _from_csv(text, path.name)


def _from_parquet(content: bytes, where: str) -> Columns:
    pandas = need_pandas("a Parquet file")
    try:
        frame = pandas.read_parquet(io.BytesIO(content))
    except (OSError, ValueError) as error:  # pyarrow's errors are children of these
        raise InvalidInputError(f"{where} is a damaged Parquet file: {error!s:.120}") from None
    return _from_frame(frame, where)


def _from_csv(text: str, where: str) -> Columns:
    header_line = next((line for line in text.splitlines() if line.strip()), "")
    if not header_line:
        raise InvalidInputError(f"{where} is empty: it needs a line of column names, then the rows")
    delimiter = max(_DELIMITERS, key=header_line.count)
    # A field may be as long as the file.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    records, rows = [], []
    try:
        for record in reader:
            if not any(cell.strip() for cell in record):
                continue
            if header is None:
                header = [name.strip() for name in record]
                continue
            if len(record) != len(header):
                raise InvalidInputError(
                    f"{where}: line {reader.line_num} has {len(record)} "
                    f"cell{'' if len(record) == 1 else 's'}, but there are {len(header)} columns"
                )
            records.append(record)
            rows.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise InvalidInputError(f"{where}: line {reader.line_num}: {error}") from None
    assert header is not None
    notes = _check_names(header, where)
    cells = {
        name: [_clean(record[j]) for record in records] for j, name in enumerate(header) if name
    }
    return Columns(where, cells, rows, None, notes)


def _from_frame(frame: Any, where: str) -> Columns:
    names = [str(name).strip() for name in frame.columns]
    notes = _check_names(names, where)
    index = [str(label) for label in frame.index]
    plain = index == [str(i) for i in range(len(index))]
    cells = {
        name: [_clean(cell) for cell in frame.iloc[:, j].tolist()]
        for j, name in enumerate(names)
        if name
    }
    rows = [f"row {i}" if plain else f"row {label!r}" for i, label in enumerate(index)]
    return Columns(where, cells, rows, None if plain else index, notes)


def _check_names(names: list[str], where: str) -> list[str]:
    """Refuse names that are there twice; returns what to say about columns without a name."""
    for j, name in enumerate(names):
        if name and name in names[:j]:
            raise InvalidInputError(
                f"{where}: two columns are called {name!r} (the {names.index(name) + 1}. and the "
                f"{j + 1}.); names must differ"
            )
    unnamed = names.count("")
    if unnamed == len(names):
        raise InvalidInputError(f"{where} has no column names: its first line must name them")
    if not unnamed:
        return []
    what = (
        "A column without a name was" if unnamed == 1 else f"{unnamed} columns without names were"
    )
    return [f"{what} left out."]


def _clean(cell: Any) -> Any:
    """A text without the blanks around it, a number, a bool, or None where nothing is there."""
    if isinstance(cell, str):
        return cell.strip() or None
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    return None if cell != cell else cell

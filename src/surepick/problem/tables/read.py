"""Reading a table: CSV (nothing else needed), Parquet or a DataFrame, into plain columns.

Cells of a CSV file stay texts until a column is used: what is a number and what is a category is
decided column by column, in :mod:`surepick.problem.tables.cells`, and never by guessing over
single cells.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surepick.arrays.validate import is_dataframe
from surepick.errors import InvalidInputError, InvalidTypeError, MissingExtraError, UnknownNameError

_DELIMITERS = (",", ";", "\t")
# What a Parquet file may hold, unless it is as large itself: repetitions take no room in it.
_MOST_VALUES = 5_000_000
_MOST_UNPACKED = 2**28  # bytes
_SEPARATOR_LINE = re.compile(r"sep=(.)\s*", re.IGNORECASE)  # Excel's, before the column names
# How files begin that are no table, and what they are.
_OTHER_FILES = {
    b"PK": "a spreadsheet or an archive: save the sheet as CSV first",
    b"\xd0\xcf\x11\xe0": "a spreadsheet in an old format: save the sheet as CSV first",
    b"\x1f\x8b": "a compressed file: unpack it first",
    b"%PDF": "a PDF file: save the table as CSV",
    b"SQLite format 3": "a database: export the table as CSV",
    b"<": "a web page or XML, not a table: save it as CSV",
    b"{": "JSON, not a table: save it as CSV",
    b"[": "JSON, not a table: save it as CSV",
}


@dataclass(frozen=True)
class Columns:
    """A table as lists, with a name for every row that its owner will recognise."""

    where: str  #: file name, or "table"
    cells: dict[str, list[Any]]  #: cells of each column
    rows: list[str]  #: "line 7" of a file, "row 'blue'" of a DataFrame
    index: list[str] | None = None  #: labels of a DataFrame's rows, where they are not 0, 1, ...
    notes: list[str] = field(default_factory=list)
    headed: bool = True  #: whether names of columns are known to be such; not of a file of lines

    def __len__(self) -> int:
        return len(self.rows)

    def column(self, name: Any) -> list[Any]:
        if name not in self.cells:
            raise UnknownNameError.among(f"column of {self.where}", name, self.cells)
        return self.cells[name]

    def at(self, row: int, name: str) -> str:
        return f"{self.where}: column {name!r}, {self.rows[row]}"


def read(source: Any) -> Columns:
    """The columns of a CSV or Parquet file, or of a DataFrame; columns stay as they are."""
    if isinstance(source, Columns):
        return source
    if is_dataframe(source):
        return _with_rows(_from_frame(source, "table"))
    if not isinstance(source, str | os.PathLike):
        raise InvalidTypeError(
            f"a table must be the path of a CSV or Parquet file, or a DataFrame; got {source!r:.80}"
        )
    path = Path(source)
    content = file_content(path)
    if is_parquet(content):
        return _with_rows(read_parquet_content(content, path.name))
    return read_csv(csv_text(content, path.name), path.name)


def read_csv(text: str, where: str) -> Columns:
    """The columns of a CSV file whose text is known; ``where`` is what to call it."""
    if "\0" in text or not _is_unicode(text):
        raise InvalidInputError(f"{where} is not a text file: save the table as CSV in UTF-8")
    return _with_rows(_from_csv(text.removeprefix("\ufeff"), where))


def read_columns(columns: Mapping[str, Sequence[Any]], index: Any, where: str) -> Columns:
    """Columns that are known as lists of cells, and the labels of their rows, if any."""
    lengths = {name: len(cells) for name, cells in columns.items()}
    count = next(iter(lengths.values()), 0) if index is None else len(index)
    for name, length in lengths.items():
        if length != count:
            raise InvalidInputError(
                f"{where}: column {name!r} has {length} cells, but there are {count} rows"
            )
    check_shape(count, len(columns), where)
    names = [name.strip() for name in columns]
    return _with_rows(_as_columns(names, list(columns.values()), index, where))


def file_content(path: Path) -> bytes:
    """What is in a file, or an error that says why it cannot be a table."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidInputError(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise InvalidInputError(f"{str(path)!r} is a folder, not a table") from None


def is_parquet(content: bytes) -> bool:
    """Whether this is the content of a Parquet file."""
    return content[:4] == b"PAR1"


def csv_text(content: bytes, where: str) -> str:
    """The text of a CSV file."""
    for begin, what in _OTHER_FILES.items():
        if content.startswith(begin):
            raise InvalidInputError(f"{where} is {what}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InvalidInputError(
            f"{where} is not a table in UTF-8: line {line} has a byte that is not text; save it "
            "as CSV in UTF-8"
        ) from None


def _with_rows(table: Columns) -> Columns:
    if not len(table):
        raise InvalidInputError(f"{table.where} has no rows: there is nothing to choose from")
    return table


def _is_unicode(text: str) -> bool:
    """Whether a text can be written down; halves of surrogate pairs cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_parquet_content(content: bytes, where: str) -> Columns:
    """The columns of a Parquet file whose content is known."""
    pandas = need_pandas("a Parquet file")
    try:
        _check_parquet(content, where)
        frame = pandas.read_parquet(io.BytesIO(content))
    except InvalidInputError:
        raise
    except (OSError, ValueError) as error:  # pyarrow's errors are children of these
        raise InvalidInputError(f"{where} is a damaged Parquet file: {error!s:.120}") from None
    return _from_frame(frame, where)


def _check_parquet(content: bytes, where: str) -> None:
    """Refuse what would be too large once it is unpacked; a small file may hold very much.

    First by what the file says about itself; then texts, which stand in it once however often
    they are repeated, are counted while they still do.
    """
    from pyarrow import compute, types
    from pyarrow.parquet import ParquetFile

    about = ParquetFile(io.BytesIO(content)).metadata
    check_shape(about.num_rows, about.num_columns, where)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    values = sum(group.column(j).num_values for group in groups for j in range(about.num_columns))
    most = max(_MOST_VALUES, len(content))
    if values > most:
        raise InvalidInputError(
            f"{where} has {about.num_rows:,} rows with {values:,} values; at most {most:,} are "
            f"accepted in a file of this size"
        )
    _check_unpacked(sum(group.total_byte_size for group in groups), content, where)
    texts = [
        about.schema.column(j).path
        for j in range(about.num_columns)
        if about.schema.column(j).physical_type == "BYTE_ARRAY"
    ]
    if not texts:
        return
    size = 0
    for column in ParquetFile(io.BytesIO(content), read_dictionary=texts).read(texts).columns:
        for part in column.chunks:
            if types.is_dictionary(part.type):
                lengths = compute.call_function("binary_length", [part.dictionary])
                of_each = lengths.take(part.indices).cast("int64")
                size += compute.call_function("sum", [of_each]).as_py() or 0
            else:
                size += part.nbytes
            _check_unpacked(size, content, where)


def _check_unpacked(size: int, content: bytes, where: str) -> None:
    most = max(_MOST_UNPACKED, 4 * len(content))
    if size > most:
        raise InvalidInputError(
            f"{where} would take {size / 2**20:,.0f} MB or more once it is unpacked; at most "
            f"{most / 2**20:,.0f} MB are accepted for a file of this size"
        )


def _from_csv(text: str, where: str) -> Columns:
    header_line = next((line for line in text.splitlines() if line.strip()), "")
    if not header_line:
        raise InvalidInputError(f"{where} is empty: it needs a line of column names, then the rows")
    said = _SEPARATOR_LINE.fullmatch(header_line)
    delimiter = said[1] if said else max(_DELIMITERS, key=header_line.count)
    if not said and delimiter not in header_line and "|" in header_line:
        raise InvalidInputError(
            f"{where}: columns seem to be separated by '|'; separate them by ',' instead"
        )
    # A field may be as long as the file.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] | None = None
    records, rows = [], []
    try:
        for record in reader:
            if not any(cell.strip() for cell in record) or (said and reader.line_num == 1):
                continue
            if header is None:
                header = [name.strip() for name in record]
                check_shape(1, len(header), where)
                continue
            if len(record) != len(header):
                cells = f"{len(record)} cell{'' if len(record) == 1 else 's'}"
                columns = "is 1 column" if len(header) == 1 else f"are {len(header)} columns"
                raise InvalidInputError(
                    f"{where}: line {reader.line_num} has {cells}, but there {columns}"
                )
            records.append(record)
            check_shape(len(records), len(header), where)
            rows.append(f"line {reader.line_num}")
    except csv.Error as error:
        raise InvalidInputError(f"{where}: line {reader.line_num}: {error}") from None
    assert header is not None
    notes = _check_names(header, where)
    cells = {
        name: [_clean(record[j]) for record in records] for j, name in enumerate(header) if name
    }
    return Columns(where, cells, rows, None, notes, headed=False)


def _from_frame(frame: Any, where: str) -> Columns:
    names = [str(name).strip() for name in frame.columns]
    index = [str(label) for label in frame.index]
    plain = index == [str(i) for i in range(len(index))]
    columns = [frame.iloc[:, j].tolist() for j in range(len(names))]
    return _as_columns(names, columns, None if plain else index, where, len(index))


def _as_columns(
    names: list[str],
    columns: Sequence[Sequence[Any]],
    index: list[str] | None,
    where: str,
    count: int | None = None,
) -> Columns:
    notes = _check_names(names, where)
    cells = {}
    for name, given in zip(names, columns):
        if name:
            cells[name] = [_clean(cell) for cell in given]
            _check_single(cells[name], name, where)
    if index is not None:
        return Columns(where, cells, [f"row {label!r}" for label in index], list(index), notes)
    count = len(columns[0]) if count is None else count
    return Columns(where, cells, [f"row {i}" for i in range(count)], None, notes)


def _check_names(names: list[str], where: str) -> list[str]:
    """Refuse names that are there twice; returns what to say about columns without a name."""
    seen: dict[str, int] = {}
    for j, name in enumerate(names):
        first = seen.setdefault(name, j)
        if name and first != j:
            raise InvalidInputError(
                f"{where}: two columns are called {name!r} (the {first + 1}. and the {j + 1}.); "
                f"names must differ"
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


def _check_single(cells: Sequence[Any], name: str, where: str) -> None:
    """Refuse cells that are no single value: as categories they would be read, but how?"""
    for i, cell in enumerate(cells):
        if not isinstance(cell, str) and hasattr(cell, "__len__"):
            what = "bytes" if isinstance(cell, bytes) else "several values"
            raise InvalidInputError(
                f"{where}: column {name!r}, row {i} holds {what}; give each value its own column, "
                "or leave the column out"
            )


def _clean(cell: Any) -> Any:
    """A text without the blanks around it, a number, a bool, or None where nothing is there."""
    if isinstance(cell, str):
        return cell.strip() or None
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(cell, "__len__"):
        return cell  # no single value, and refused
    return None if cell != cell else cell


def need_pandas(what: str) -> Any:
    """pandas, with what its Parquet files need."""
    try:
        import pandas
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            f"{what} needs pandas: install surepick[pandas] (CSV files work without it)"
        ) from None
    return pandas


MOST_COLUMNS = 10_000  #: of a table
MOST_CELLS = 50_000_000  #: of a table, or of the matrix of features
MOST_COEFFICIENTS = 5_000  #: of a formula or a list of features


def check_shape(rows: int, columns: int, where: str) -> None:
    """Refuse a table that is too large to be looked at."""
    if columns > MOST_COLUMNS:
        raise InvalidInputError(
            f"{where} has {columns:,} columns, and at most {MOST_COLUMNS:,} are accepted; leave "
            f"out those that do not describe an option"
        )
    if rows * columns > MOST_CELLS:
        raise InvalidInputError(
            f"{where} has {rows:,} rows and {columns:,} columns; at most {MOST_CELLS:,} cells are "
            f"accepted"
        )


def check_coefficients(count: int, rows: int, what: str) -> None:
    """Refuse more coefficients than can be worked with."""
    most = min(MOST_COEFFICIENTS, max(1, MOST_CELLS // max(rows, 1)))
    if count > most:
        raise InvalidInputError(
            f"{what} gives about {count:,} coefficients, and at most {most:,} are accepted with "
            f"{rows:,} options: use fewer interactions or fewer columns, or group their levels"
        )

"""Tables as they travel between programs: the text of a CSV file, or columns of cells.

And that of the options of a study, with what in it describes them.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.tables import from_table
from surepick.problem.tables.build import TableProblem, as_list
from surepick.problem.tables.cells import naming, nothing_describes
from surepick.problem.tables.read import (
    Columns,
    csv_text,
    file_content,
    is_parquet,
    read,
    read_columns,
    read_csv,
)


@dataclass(frozen=True)
class Sheet:
    """A table that can be written as JSON and read anywhere with the same outcome.

    Examples
    --------
    >>> Sheet(csv="label,size\\na,1\\nb,2\\n").read().cells["size"]
    ['1', '2']
    """

    csv: str | None = None  #: the text of a CSV file
    columns: Mapping[str, Sequence[Any]] | None = None  #: instead: the cells of each column
    index: Sequence[str] | None = None  #: labels of the rows, beside columns
    source: str = ""  #: what the file is called

    def __post_init__(self) -> None:
        if (self.csv is None) == (self.columns is None):
            raise InvalidInputError("give a table either as csv or as columns, not both")
        if self.index is not None and self.columns is None:
            raise InvalidInputError("index: leave it out; a CSV file has its labels in a column")

    @classmethod
    def of(cls, source: Any) -> Sheet:
        """The content of a CSV or Parquet file, or of a DataFrame."""
        if isinstance(source, Sheet):
            return source
        name = ""
        if isinstance(source, str | os.PathLike):
            path = Path(source)
            name, content = path.name, file_content(path)
            if not is_parquet(content):
                return cls(csv=csv_text(content, name), source=name)
        table = read(source)
        columns = {key: [_plain(cell) for cell in cells] for key, cells in table.cells.items()}
        if table.notes:  # a column without a name was left out: reading this sheet notes it again
            columns[""] = [None] * len(table)
        return cls(columns=columns, index=table.index, source=name)

    def read(self, where: str = "table") -> Columns:
        """The table; messages call it by its source, or by ``where`` and the kind it would have."""
        if self.columns is not None:
            return read_columns(self.columns, self.index, self.source or where)
        return read_csv(str(self.csv), self.source or f"{where}.csv")

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        given = {"csv": self.csv, "columns": self.columns, "index": self.index}
        given["source"] = self.source or None
        return {key: value for key, value in given.items() if value is not None}

    @classmethod
    def from_dict(cls, saved: Any, what: str) -> Sheet:
        """What :meth:`to_dict` made; ``what`` is the name of the field."""
        if not isinstance(saved, Mapping):
            raise InvalidTypeError(f"{what} must be a table; got {saved!r:.80}")
        try:
            return cls(**saved)
        except InvalidInputError as error:
            raise InvalidInputError(f"{what}: {error}") from None


def _plain(cell: Any) -> Any:
    """A cell as JSON has it; what JSON does not know is read from its text."""
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    if isinstance(cell, float) and math.isfinite(cell):
        return cell
    return str(cell)


#: what can be said of a table's columns
FEATURE_SETTINGS = ("features", "formula", "label", "unstructured", "cost")


@dataclass(frozen=True)
class OptionTable:
    """A table of options, and how features are made of it.

    Parameters
    ----------
    sheet
        The table.
    features, formula, label, unstructured, cost
        See :func:`surepick.problem.tables.from_table`.

    Examples
    --------
    >>> OptionTable(Sheet(csv="label,size\\na,1\\nb,2\\n")).problem().problem.n_arms
    2
    """

    sheet: Sheet
    features: Sequence[str] | str | None = None
    formula: str | None = None
    label: str | None = None
    unstructured: bool = False
    cost: str | None = None

    @classmethod
    def of(cls, source: Any, **how: Any) -> OptionTable:
        """From a CSV or Parquet file or a DataFrame."""
        return cls(Sheet.of(source), **how)

    @cached_property
    def featureless(self) -> bool:
        """Whether options are measured on their own: asked for, or there are labels only."""
        if self.unstructured or self.features is not None or self.formula is not None:
            return self.unstructured
        try:
            table = self.sheet.read()
            taken = [] if self.cost is None else [self.cost]
            label = self.label
            if label is None and table.index is None:
                label = naming(table, taken)
        except InvalidInputError:  # said where the table is used
            return False
        return nothing_describes(table, label, self.cost)

    def problem(
        self, noise: Any = None, misfit: float = 0.0, minimise: bool = False
    ) -> TableProblem:
        """The problem that it describes, and what became of its columns."""
        return from_table(
            self.sheet.read(),
            self.features,
            self.formula,
            self.label,
            noise,
            misfit,
            self.cost,
            unstructured=self.unstructured,
            minimise=minimise,
        )

    def cells(self, labels: Sequence[str]) -> dict[str, list[Any]]:
        """The table as it is, less the labels: whoever measures is given the cells of its row."""
        read = self.sheet.read().cells
        columns = {name: [plain_cell(c) for c in column] for name, column in read.items()}
        return {name: c for name, c in columns.items() if [str(cell) for cell in c] != list(labels)}

    @property
    def how(self) -> dict[str, Any]:
        """What describes the options in it, as far as it was said."""
        how = {key: getattr(self, key) for key in FEATURE_SETTINGS if getattr(self, key)}
        if "features" in how:
            how["features"] = as_list(how["features"])
        return how

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return self.sheet.to_dict() | self.how

    @classmethod
    def from_dict(cls, saved: Any) -> OptionTable:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise InvalidTypeError(f"table must be a table; got {saved!r:.80}")
        how = {key: saved[key] for key in FEATURE_SETTINGS if key in saved}
        rest = {key: value for key, value in saved.items() if key not in FEATURE_SETTINGS}
        return cls(Sheet.from_dict(rest, "table"), **how)


def plain_cell(cell: Any) -> Any:
    """A cell as it is kept with a study."""
    if cell is None or isinstance(cell, str | bool | int):
        return cell
    return str(cell)  # numbers of a Parquet file keep all their digits this way


# Spreadsheets see formulas here, and where a semicolon parts columns also after one; some read
# the signs of East Asian keyboards like the plain ones. A bar or a percent sign begins a command
# to another program, or a macro, in some.
_FORMULA = re.compile(r"(?:^|(?<=;))(?=[\s\"']*[=+\-@|%\t\r\uff1d\uff0b\uff0d\uff20\uff5c\uff05])")


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula; numbers stay numbers."""
    if not isinstance(cell, str) or not _FORMULA.search(cell):
        return "" if cell is None else cell
    try:
        float(cell)
    except ValueError:
        return _FORMULA.sub("'", cell)
    return cell if cell.isascii() else f"'{cell}"

"""A small table: named columns of equal length, without needing pandas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from surepick.errors import InvalidInputError, UnknownNameError


class Table:
    """Columns by name: ``table["samples"]`` is an array, ``table.samples`` too.

    Examples
    --------
    >>> table = Table.from_rows([{"a": 1, "b": 2.0}, {"a": 3, "b": 4.0}])
    >>> table["a"].sum(), len(table)
    (np.int64(4), 2)
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = {name: np.asarray(values) for name, values in columns.items()}
        shapes = {c.shape for c in self._columns.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise InvalidInputError(f"columns must be flat, of one length; got {sorted(shapes)}")

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Table:
        """From dicts with the same keys."""
        rows = list(rows)
        names = list(rows[0]) if rows else []
        for i, row in enumerate(rows):
            if set(row) != set(names):
                raise InvalidInputError(f"row {i} has columns {list(row)}, row 0 has {names}")
        return cls({name: [row[name] for row in rows] for name in names})

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._columns)

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        if name not in self._columns:
            raise UnknownNameError.among("column", name, self._columns)
        return self._columns[name]

    def __getattr__(self, name: str) -> np.ndarray[Any, Any]:
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"table has no column {name!r}")
        return self._columns[name]

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()))) if self._columns else 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows as dicts of plain values."""
        for values in zip(*(column.tolist() for column in self._columns.values())):
            yield dict(zip(self._columns, values))

    def to_pandas(self) -> Any:
        """As a pandas DataFrame (needs the extra ``pandas``)."""
        from surepick.errors import MissingExtraError

        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas needs pandas: install surepick[pandas]") from None
        return pandas.DataFrame(self._columns)

    def __repr__(self) -> str:
        return f"Table({len(self)} rows: {', '.join(self.columns)})"

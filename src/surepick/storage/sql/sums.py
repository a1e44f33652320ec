"""A sum over each row of an SQLite file, looked at whenever the row is read.

SQLite notices when its own structure is damaged, not when a number in a row has become another
one: a disk that returns a wrong bit changes a reward without a word. So every row has a column with
the CRC-32 of all others, which SQLite itself works out at each write by a function of ours, and
rows whose sum is another one are refused. PostgreSQL does that for whole pages (data checksums).

Programs that do not have the function can read such a file, but not write to it.
"""

from __future__ import annotations

import zlib
from typing import Any

from sqlalchemy import BigInteger, Column, Computed, Table
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn
from sqlalchemy.sql.functions import FunctionElement

_COLUMN, _FUNCTION, _CHECKED = "sum", "surepick_sum", "surepick_checked"
_EXACT = 2**53  # from here on floats skip whole numbers

_WHOLE = (int, bool)


def sum_of(*values: Any) -> int:
    """The sum over a row; whole numbers count as such in columns of either kind."""
    plain = [float(v) if type(v) in _WHOLE and -_EXACT < v < _EXACT else v for v in values]
    return zlib.crc32(repr(plain).encode("utf-8", "surrogatepass"))


def _checked(wanted: Any, kept: int, *values: Any) -> Any:
    """What is wanted of a row that is as it was written; anything else ends the statement."""
    if kept != sum_of(*values):
        raise ValueError
    return wanted


def provide(connection: Any, _record: object = None) -> None:
    """Give a connection of SQLite's the functions."""
    connection.create_function(_FUNCTION, -1, sum_of, deterministic=True)
    connection.create_function(_CHECKED, -1, _checked, deterministic=True)


def is_damage(error: object) -> bool:
    """Whether this error of SQLite's says that a row is not as it was written."""
    return "user-defined function raised exception" in str(error)


def summed(table: Table) -> Table:
    """The table, with a column for the sum; PostgreSQL's has none."""
    names = ", ".join(f'"{column.name}"' for column in table.columns)
    made = Computed(f"{_FUNCTION}({names})", persisted=True)
    table.append_column(Column(_COLUMN, BigInteger, made))
    return table


@compiles(CreateColumn, "postgresql")
def _without_sum(element: Any, compiler: Any, **settings: Any) -> str | None:
    """How a column is made; one for sums is left out."""
    if element.element.name == _COLUMN:
        return None
    return compiler.visit_create_column(element, **settings)


class checked(FunctionElement[Any]):
    """A column of a row that is as it was written; any other row ends the statement.

    It stands among what is selected, not among conditions: there SQLite may put a constant in the
    place of a column, and look at rows that are not meant.
    """

    inherit_cache = True

    def __init__(self, column: Column[Any]) -> None:
        table = column.table
        values = [other for other in table.columns if other.name != _COLUMN]
        super().__init__(column, table.c[_COLUMN], *values)
        self.type = column.type


@compiles(checked)
def _as_it_is(element: Any, compiler: Any, **settings: Any) -> str:
    return compiler.process(next(iter(element.clauses)), **settings)


@compiles(checked, "sqlite")
def _as_it_was(element: Any, compiler: Any, **settings: Any) -> str:
    return f"{_CHECKED}({compiler.process(element.clauses, **settings)})"

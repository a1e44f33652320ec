"""What a table and a formula would cost, counted before anything is built.

A short formula can stand for millions of coefficients: categories that are all crossed multiply
their levels, powers multiply terms. More coefficients than this can neither be told apart by
measurements nor kept in memory, so they are counted first, and refused with what would fit.
"""

from __future__ import annotations

from surepick.errors import InvalidInputError

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

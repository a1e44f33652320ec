"""Turning what users pass in into clean arrays, or into an error that names the culprit."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping, Set, Sized
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays import cutoffs
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.text import as_passage

_SMALLEST, _LARGEST = 1e-120, 1e120  # of numbers in the unit of rewards
_LEAST = 1e-200  # probability
MOST = 2**53  #: of any count: up to here JSON's numbers, and floats, tell whole ones apart
SEEDS = 2**128 - 1  #: the largest seed, as NumPy makes them
A_MONTH = 30 * 86400.0  #: seconds that a single measurement may take
TEN_YEARS = 10 * 365.25 * 86400.0  #: seconds that anything may take or wait


def is_dataframe(value: Any) -> bool:
    """Whether ``value`` quacks like a DataFrame (without importing any library)."""
    return hasattr(value, "columns") and hasattr(value, "index") and hasattr(value, "to_numpy")


def as_matrix(value: Any, name: str) -> FloatArray:
    """A finite float64 matrix with one row per ``name``, as a fresh C-contiguous copy."""
    columns = rows = None
    if is_dataframe(value):
        columns, rows = [str(c) for c in value.columns], [str(r) for r in value.index]
        value = value.to_numpy()
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(float), np.nan)
    try:
        raw = np.asarray(value)
    except ValueError:
        raise _ragged(value, name) from None
    if raw.dtype == object and raw.ndim < 2:
        raise _ragged(value, name)
    if raw.ndim != 2:
        hint = " (for one feature use shape (K, 1))" if raw.ndim == 1 else ""
        raise InvalidInputError(
            f"{name} must be a matrix with one row each, shape (K, d){hint}; "
            f"got {raw.ndim} dimension(s), shape {raw.shape}"
        )
    if raw.shape[0] == 0 or raw.shape[1] == 0:
        raise InvalidInputError(
            f"{name} must have at least one row and one column; got {raw.shape}"
        )
    if np.iscomplexobj(raw):
        raise InvalidTypeError(f"{name} must be real numbers; got complex ones")
    if raw.dtype.kind not in "biuf":
        # The entries as given: beside a text, NumPy turns numbers into texts.
        entries = np.array(value, dtype=object) if raw.dtype.kind in "US" else raw
        _check_entries(entries, name, rows, columns)
    matrix = np.array(raw, dtype=np.float64, order="C")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        i, j = (int(v) for v in bad[0])
        raise InvalidInputError(
            f"{name}{_place(i, j, rows, columns)} is {matrix[i, j]}; every entry must be a finite "
            f"number ({len(bad)} bad entr{'y' if len(bad) == 1 else 'ies'} in all)"
        )
    return matrix + 0.0  # turns -0.0 into 0.0, so that equal rows have equal bytes


def in_reach(number: float, name: str) -> float:
    """A number in the unit of rewards, or 0, whose square can be computed with."""
    if number and not _SMALLEST <= abs(number) <= _LARGEST and not math.isinf(number):
        raise InvalidInputError(
            f"{name} is {number!r}: write rewards in a unit in which it is between {_SMALLEST:g} "
            f"and {_LARGEST:g}"
        )
    return number


def positive(value: Any, name: str, most: float = math.inf) -> float:
    """A finite number above zero, and ``most`` at most."""
    number = real(value, name)
    if number <= 0:
        raise InvalidInputError(f"{name} must be above 0; got {value!r}")
    if number > most:
        raise InvalidInputError(f"{name} must be at most {most:g}; got {value!r}")
    return number


def real(value: Any, name: str, *, finite: bool = True) -> float:
    """A real number, finite unless infinity has a meaning."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InvalidTypeError(f"{name} must be a number; got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number) or (finite and math.isinf(number)):
        raise InvalidInputError(f"{name} must be finite; got {value!r}")
    return number


def probability(value: Any, name: str) -> float:
    """A number strictly between 0 and 1."""
    number = real(value, name)
    if not 0 < number < 1:
        raise InvalidInputError(f"{name} must lie strictly between 0 and 1; got {value!r}")
    if number < _LEAST:
        raise InvalidInputError(f"{name} must be at least {_LEAST:g}; got {value!r}")
    return number


def risk(value: Any, name: str) -> float:
    """A probability of being wrong that somebody accepts: from one half on, a slip is meant.

    Theorems hold at any probability; whoever sets up something new is asked here.
    """
    number = probability(value, name)
    if number >= 0.5:
        right = round(1.0 - number, 12)
        meant = (
            f"for an answer that is right with {number:g}, give {right:g}" if right < 0.5 else ""
        )
        raise InvalidInputError(
            f"{name} is the probability of a wrong answer and must be below 0.5; got {number:g}"
            + (f" ({meant})" if meant else "")
        )
    return number


def whole(value: Any, name: str, least: int = 0, most: int = MOST) -> int:
    """An integer of at least ``least``, and ``most`` at most."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InvalidTypeError(f"{name} must be a whole number; got {value!r}")
    if value < least:
        raise InvalidInputError(f"{name} must be at least {least}; got {_short(value)}")
    if int(value) > most:
        raise InvalidInputError(f"{name} must be at most {most:,}; got {_short(value)}")
    return int(value)


def _short(value: Any) -> str:
    """A whole number of any size, on one line."""
    number = int(value)
    return f"a number of {number.bit_length()} bits" if abs(number) > 10**30 else repr(value)


def as_numbers(value: Any, name: str) -> FloatArray:
    """A flat float64 array; its entries may still be NaN or infinite."""
    try:
        raw = np.asarray(value)
        fine = raw.dtype.kind in "biuf"
        if raw.dtype.kind == "O":
            fine = all(v is None or isinstance(v, numbers.Real | Decimal) for v in raw.flat)
        out = np.array(raw if fine else 0.0, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        fine, out = False, np.empty(0)
    if not fine:
        raise InvalidTypeError(f"{name} must be a list of numbers; got {value!r:.80}")
    if out.ndim != 1:
        raise InvalidInputError(f"{name} must be a flat list; got shape {out.shape}")
    return out


def as_labels(labels: Any, count: int, name: str) -> tuple[str, ...]:
    """``count`` distinct labels as strings."""
    if isinstance(labels, str):
        raise InvalidTypeError(f"{name} must be a sequence of labels, not one string {labels!r}")
    if isinstance(labels, Set | Mapping) or not isinstance(labels, Iterable):
        raise InvalidTypeError(
            f"{name} must be a sequence of labels, in the order of the rows; got {labels!r:.80}"
        )
    out = tuple(str(v) for v in labels)
    if len(out) != count:
        raise InvalidInputError(
            f"{name} must have one label per row: {count} rows, {len(out)} given"
        )
    seen: dict[str, int] = {}
    for i, label in enumerate(out):
        if len(label) > cutoffs.LONGEST_LABEL or not label.isprintable():
            as_passage(label, f"{name}: the label of row {i}", cutoffs.LONGEST_LABEL)
        if label in seen:
            raise InvalidInputError(
                f"{name}: {label!r} is the label of both row {seen[label]} and row {i}; labels "
                "must differ"
            )
        seen[label] = i
    return out


def _place(i: int, j: int, rows: list[str] | None, columns: list[str] | None) -> str:
    row = f"row {i}" if rows is None else f"row {rows[i]!r}"
    column = f"column {j}" if columns is None else f"column {columns[j]!r}"
    return f" at {row}, {column}"


def _check_entries(
    entries: NDArray[Any], name: str, rows: list[str] | None, columns: list[str] | None
) -> None:
    """Refuse the first of these objects that is no real number."""
    for i, j in np.ndindex(*entries.shape):
        entry = entries[i, j]
        if not isinstance(entry, numbers.Real | Decimal | np.bool_):
            shown = entry if isinstance(entry, str) else str(entry)
            raise InvalidInputError(
                f"{name}{_place(i, j, rows, columns)} is {shown!r}, which is not a number; "
                f"encode text and categories as numbers first"
            )
        try:
            float(entry)
        except (OverflowError, ValueError):
            raise InvalidInputError(
                f"{name}{_place(i, j, rows, columns)} is too large for a float"
            ) from None


def _ragged(value: Any, name: str) -> InvalidInputError:
    rows = value if isinstance(value, list | tuple) else ()
    sizes = [len(row) if isinstance(row, Sized) else 1 for row in rows]
    for i, size in enumerate(sizes):
        if size != sizes[0]:
            return InvalidInputError(
                f"{name}: row {i} has {size} entr{'y' if size == 1 else 'ies'} but row 0 has "
                f"{sizes[0]}; all rows must have the same number of features"
            )
    return InvalidInputError(f"{name} must be a matrix of numbers, shape (K, d); got {value!r:.80}")

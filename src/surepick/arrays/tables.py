"""Features of many arms: taken as they are, not copied, and checked block by block.

A table of up to ``cutoffs.LARGE_TABLE`` entries is copied and handled as a whole by
:func:`surepick.arrays.validate.as_matrix`. A larger one of float64 numbers stays where it is: in
memory, in a memory-mapped file, or on a GPU.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST, Backend, backend_of
from surepick.arrays.memory import demand_memory
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import as_matrix, is_dataframe
from surepick.errors import InvalidInputError, InvalidTypeError, MissingExtraError

# Tables that were checked, with what was worked out about them: by identity, as long as they live.
_KNOWN: dict[int, tuple[weakref.ref[Any], dict[str, Any]]] = {}


def mark_checked(table: Any) -> None:
    """Say that a table is a finite float64 matrix that nobody will change: its owner knows."""

    def forget(_: Any, key: int = id(table)) -> None:
        _KNOWN.pop(key, None)

    _KNOWN[id(table)] = weakref.ref(table, forget), {}


def _known(table: Any) -> dict[str, Any] | None:
    """What is known about a table that was checked; None for any other."""
    found = _KNOWN.get(id(table))
    return None if found is None or found[0]() is not table else found[1]


def kept_of(table: Any, name: str, make: Callable[[], Any]) -> Any:
    """Something large about a table that was checked, made once; None for any other table."""
    known = _known(table)
    if known is None:
        return None
    if name not in known:
        known[name] = make()
    return known[name]


def gram_of(table: Any, backend: Backend) -> FloatArray:
    """Σ xxᵀ over the rows x; worked out once for a table that was checked."""

    def gram() -> FloatArray:
        found = backend.gram(table)
        found.setflags(write=False)
        return found

    found = kept_of(table, "gram", gram)
    return backend.gram(table) if found is None else found


def is_large(value: Any) -> bool:
    """Whether this is an array of more than ``cutoffs.LARGE_TABLE`` entries."""
    shape = getattr(value, "shape", ())
    return len(shape) == 2 and shape[0] * shape[1] > cutoffs.LARGE_TABLE


def as_table(value: Any, name: str, backend: Backend | None = None) -> Any:
    """A finite float64 matrix on ``backend`` (by default where it is), not copied if large."""
    source = backend_of(value)
    target = source if backend is None else backend
    if source == target and _known(value) is not None:
        return value
    if source.plain and target.plain and not is_large(value):
        return as_matrix(value, name)
    if source.plain:
        table = _host_table(value, name)
        check_finite(table, name, HOST)
        if target.plain:
            return table
        demand_memory(8.0 * table.shape[1], len(table), target.free_memory(), name)
        return target.put(table)
    if value.ndim != 2 or 0 in value.shape:
        raise InvalidInputError(f"{name} must be a matrix, shape (K, d); got {tuple(value.shape)}")
    xp = source.xp
    if not xp.isdtype(value.dtype, ("bool", "integral", "real floating")):
        raise InvalidTypeError(f"{name} must be real numbers; got {value.dtype}")
    table = xp.astype(value, xp.float64, copy=False)
    check_finite(table, name, source)
    if target == source:
        return table
    return target.put(source.host(table))


def _host_table(value: Any, name: str) -> FloatArray:
    """A NumPy matrix, read-only, without a copy where it is one of float64 already."""
    if is_dataframe(value) or not is_large(value):
        return as_matrix(value, name)
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        return as_matrix(value, name)
    if value.dtype.kind not in "biuf":
        return as_matrix(value, name)  # which says what is wrong with it
    if value.dtype == np.float64 and value.flags.c_contiguous:
        table = value.view()
    else:
        demand_memory(8.0 * value.shape[1], len(value), HOST.free_memory(), name)
        table = np.ascontiguousarray(value, dtype=np.float64)
    table.setflags(write=False)
    return table


def read_only(table: FloatArray) -> FloatArray:
    """A read-only view of a table, as tables of features must not be written to.

    Numba compiles a kernel once for tables of this kind and once more for others.
    """
    if table.flags.writeable:
        table = table.view()
        table.setflags(write=False)
    return table


def check_finite(table: Any, name: str, backend: Backend) -> None:
    """Refuse a table with an entry that is no finite number, and say which it is."""
    xp = backend.xp
    for rows in backend.blocks(table):
        if not bool(xp.all(xp.isfinite(table[rows]))):
            block = backend.host(table[rows])
            i, j = (int(v) for v in np.argwhere(~np.isfinite(block))[0])
            raise InvalidInputError(
                f"{name} at row {rows.start + i}, column {j} is {block[i, j]}; every entry must "
                f"be a finite number"
            )


def table_digest(table: Any, backend: Backend) -> str:
    """SHA-256 of the entries: float64, little-endian, row by row, with 0.0 for -0.0.

    The same on every backend, and for a memory-mapped file.
    """
    found = hashlib.sha256()
    for rows in backend.blocks(table):
        block = backend.host(table[rows]) + 0.0  # no -0.0: equal rows, equal bytes
        found.update(np.ascontiguousarray(block, dtype="<f8").tobytes())
    return found.hexdigest()


def read_parquet(path: str | Path, features: list[str] | None = None) -> FloatArray:
    """Numeric columns of a Parquet file as one float64 matrix, read piece by piece."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("Parquet files need pyarrow; install surepick[pandas]") from None

    with pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        if features is None:
            kinds = (pa.types.is_floating, pa.types.is_integer, pa.types.is_boolean)
            features = [f.name for f in schema if any(kind(f.type) for kind in kinds)]
        for column in features:
            if column not in schema.names:
                raise InvalidInputError(f"features: the file has no column {column!r}")
        if not features:
            raise InvalidInputError(f"{path} has no numeric column")
        rows = file.metadata.num_rows
        demand_memory(8.0 * len(features), rows, HOST.free_memory(), f"the table in {path}")
        table = np.empty((rows, len(features)))
        start = 0
        for batch in file.iter_batches(batch_size=cutoffs.FILE_ROWS, columns=features):
            for j, column in enumerate(features):
                values = batch.column(column).to_numpy(zero_copy_only=False)
                table[start : start + batch.num_rows, j] = values
            start += batch.num_rows
    return table

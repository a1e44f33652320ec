"""The tables that a certificate is about, read a block of rows at a time.

Part of the verifier: nothing here is shared with the problem and the algorithms. A table may be a
list of rows, a NumPy array, a memory-mapped file, or an array of PyTorch or CuPy; what is read of
it is copied to this machine, block by block, as float64.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

BLOCK_ENTRIES = 1 << 18  # entries of a block: it stays in a processor's cache


class Rows:
    """The rows of a table, each column divided by a scale, and perhaps each row too.

    Parameters
    ----------
    table
        A matrix of numbers.
    scale
        One number per column; by default all one.
    units
        One number per row; by default all one.
    """

    def __init__(
        self, table: Any, scale: np.ndarray | None = None, units: np.ndarray | None = None
    ) -> None:
        self._table, self._scale, self._units = table, scale, units
        self.shape: tuple[int, int] = (int(table.shape[0]), int(table.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> np.ndarray:
        """A row by its number, or several by a slice or a list of numbers."""
        rows = on_host(self._table[which])
        if self._units is not None:
            rows = rows / self._units[which][..., None]
        return rows if self._scale is None else rows / self._scale

    def __matmul__(self, matrix: np.ndarray) -> np.ndarray:
        """The product with a matrix or a vector."""
        out = np.empty((len(self), *matrix.shape[1:]))
        for part, rows in self.blocks():
            out[part] = rows @ matrix
        return out

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, some at a time, and where they are."""
        for part in slices(len(self), self.shape[1]):
            yield part, self[part]

    def scaled(self, scale: np.ndarray) -> Rows:
        """This table with its columns divided by a scale."""
        return Rows(self._table, scale, self._units)

    def per(self, units: np.ndarray) -> Rows:
        """This table with each row divided by its own unit."""
        return Rows(self._table, self._scale, units)

    def column_scale(self) -> np.ndarray:
        """Largest absolute entry of each column; 1 where all are zero."""
        scale = np.zeros(self.shape[1])
        for _, rows in self.blocks():
            scale = np.maximum(scale, np.abs(rows).max(axis=0))
        scale[scale == 0] = 1.0
        return scale

    def factor(self) -> np.ndarray:
        """R of a QR factorisation: RᵀR is the sum of xxᵀ over all rows x."""
        found = np.empty((0, self.shape[1]))
        for _, rows in self.blocks():
            found = np.asarray(np.linalg.qr(np.vstack([found, rows]), mode="r"))
        return found

    def is_finite(self) -> bool:
        """Whether all entries are finite numbers."""
        return all(bool(np.isfinite(rows).all()) for _, rows in self.blocks())

    def digest(self) -> str:
        """SHA-256 of the entries: float64, little-endian, row by row, with 0.0 for -0.0."""
        found = hashlib.sha256()
        for _, rows in self.blocks():
            found.update(np.ascontiguousarray(rows + 0.0, dtype="<f8").tobytes())
        return found.hexdigest()


def slices(count: int, width: int) -> Iterator[slice]:
    """Slices of rows that make up a block each."""
    step = max(1, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def on_host(array: Any) -> np.ndarray:
    """An array of any library as one of NumPy, float64."""
    if hasattr(array, "detach"):  # PyTorch
        array = array.detach().cpu().numpy()
    elif not isinstance(array, np.ndarray) and hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asarray(array, dtype=np.float64)

"""Weights of very many arms, nearly all of them 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray


class FewWeights:
    """A vector of which only the entries that are not 0 are kept.

    Sums and multiples of such vectors are ones; NumPy sees it as the whole vector.

    Examples
    --------
    >>> both = 0.5 * FewWeights(np.array([1, 4]), np.ones(2), 6) + FewWeights.of(np.eye(6)[4])
    >>> both.indices.tolist(), np.asarray(both).tolist()
    ([1, 4], [0.0, 0.5, 0.0, 0.0, 1.5, 0.0])
    """

    def __init__(self, indices: IntArray, values: FloatArray, size: int) -> None:
        self.indices, self.values, self._size = indices, values, size

    @classmethod
    def of(cls, weights: Any) -> FewWeights:
        """Weights in sparse form, from a full array or from weights that are sparse already."""
        if isinstance(weights, cls):
            return weights
        indices = np.flatnonzero(weights)
        return cls(indices, weights[indices], len(weights))

    def any(self) -> bool:
        """Whether some entry is not 0."""
        return bool(len(self.indices))

    def at(self, indices: IntArray) -> FloatArray:
        """Some entries; the indices ascend and hold all of those that are kept."""
        found = np.zeros(len(indices))
        found[np.searchsorted(indices, self.indices)] = self.values
        return found

    def __len__(self) -> int:
        return self._size

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> FloatArray:
        whole = np.zeros(self._size)
        whole[self.indices] = self.values
        return whole if dtype is None else whole.astype(dtype, copy=False)

    def __rmul__(self, factor: float) -> FewWeights:
        return FewWeights(self.indices, factor * self.values, self._size)

    def __add__(self, other: FewWeights) -> FewWeights:
        indices = np.union1d(self.indices, other.indices)
        return FewWeights(indices, self.at(indices) + other.at(indices), self._size)

"""The closest alternative: the parameter that best explains the data with another answer.

For a metric M (pull counts or weights turned into a matrix) and a direction y, minimise lᵀMl
over the halfspace lᵀy >= eps, and optionally over the ball ‖l‖ <= radius as well. A union of
halfspaces is minimised by taking the best of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepick.arrays.types import FloatArray


@dataclass(frozen=True)
class Alternative:
    """Minimum over each halfspace, and the overall winner."""

    values: FloatArray  #: minimum for each direction, inf where there is no feasible point
    points: FloatArray  #: minimiser for each direction, one per row
    best: int  #: direction with the smallest minimum

    @property
    def value(self) -> float:
        """The smallest minimum: squared distance to the union of the halfspaces."""
        return float(self.values[self.best])


def closest_alternative(
    metric: FloatArray, directions: FloatArray, eps: float, radius: float = np.inf
) -> Alternative:
    """Minimise lᵀ·metric·l over lᵀy >= eps, ‖l‖ <= radius for each direction y.

    Examples
    --------
    >>> closest_alternative(np.eye(2), np.array([[1.0, -1.0]]), eps=1.0).value
    0.5
    """
    from surepick.arrays.kernels import alternative

    eigenvalues, basis = np.linalg.eigh(metric)
    coords = np.ascontiguousarray(directions @ basis)
    values = np.empty(len(coords))
    points = np.empty_like(coords)
    for i in range(len(coords)):
        values[i] = alternative(coords[i], eigenvalues, eps, radius, points[i])
    return Alternative(values, points @ basis.T, int(np.argmin(values)))

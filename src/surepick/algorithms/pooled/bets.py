"""What PooledPeleg bets on, and what one block of pulls makes of it."""

from __future__ import annotations

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares

# Prior precisions of the stakes, as multiples of what the first block would tell about the same
# difference if it made one pull per dimension; and the capital that each account starts with. One
# account alone is best when the run takes 3 to 30 times as many pulls; two cover easy and hard.
PRECISIONS = (10.0, 150.0)
ACCOUNTS = (1 / 3, 2 / 3)
# A rival that trails the leader by z standard errors gets exp(−DOUBT z²) of its share.
DOUBT = 4.0
RIVALS = 8  # the leader and those who trail it least


class BlockFit:
    """Least squares on one block, which may leave some directions open.

    Attributes
    ----------
    white : array, (M, r)
        The points in coordinates in which squared distances are variances of differences.
    outside : array, (M, d)
        Their parts that the block says nothing about; no columns where there are none.
    means : array, (M,)
        Their estimated values.
    """

    def __init__(
        self, problem: Problem, points: FloatArray, counts: IntArray, sums: FloatArray
    ) -> None:
        pulled = np.flatnonzero(counts)
        root = np.sqrt(counts[pulled])
        u, s, vt = np.linalg.svd(problem.features[pulled] * root[:, None], full_matrices=False)
        keep = s > s[0] * 1e-7
        u, s, vt = u[:, keep], s[keep], vt[keep]
        inside = points @ vt.T
        self.white: FloatArray = inside / s
        self.means: FloatArray = self.white @ (u.T @ (sums[pulled] / root))
        spans = len(s) == problem.rank
        self.outside: FloatArray = points[:, :0] if spans else points - inside @ vt


class Market:
    """Bets against candidates: who they are on, and what the past says about the stakes.

    Everything is fixed before the block is seen: the rivals, in the order of how far they trail
    the leader in standard errors (``rivals[0]`` is the leader), and pooled estimates.

    Parameters
    ----------
    points
        All candidates, (M, d).
    past
        Least squares on all earlier blocks.
    first
        The first block.
    scale
        Dimension over pulls of the first block: turns its information into the unit.
    """

    def __init__(
        self, points: FloatArray, past: LeastSquares, first: BlockFit, scale: float
    ) -> None:
        self._points, self._first, self._scale = points, first, scale
        self._white, self.means = past.white(points), points @ past.theta
        leader = int(np.argmax(self.means))
        self.gaps: FloatArray = self.means[leader] - self.means
        self.variances: FloatArray = ((self._white[leader] - self._white) ** 2).sum(axis=1)
        trailing = self.gaps**2 / np.where(self.variances > 0, self.variances, 1.0)
        trailing[leader] = -1.0
        self.rivals: IntArray = np.argsort(trailing, kind="stable")[:RIVALS]
        self._doubt = DOUBT * np.maximum(trailing[self.rivals], 0.0)

    def settle(self, capital: FloatArray, against: IntArray, block: BlockFit) -> None:
        """Multiply the capital against some candidates by what their bets on all rivals paid."""
        self._pay(capital, against, block, len(self.rivals), 0.0)

    def settle_close(
        self, capital: FloatArray, against: IntArray, block: BlockFit, epsilon: float
    ) -> None:
        """The same for bets on "not more than epsilon better than the leader"."""
        self._pay(capital, against, block, 1, epsilon)

    def _pay(
        self, capital: FloatArray, against: IntArray, block: BlockFit, rivals: int, shift: float
    ) -> None:
        from surepick.algorithms.pooled.kernels import pay

        pay(
            capital,
            against,
            self.rivals[:rivals],
            self._doubt[:rivals],
            self._points,
            (self._white, self.means),
            (block.white, block.means, block.outside),
            (self._first.white, self._scale),
            np.array(PRECISIONS),
            shift,
        )

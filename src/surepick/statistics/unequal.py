"""Evidence that rewards of some arms vary more than those of others, whatever the scale of all.

Of each arm that a block pulls more than once, SS_k is the sum of squared deviations from the arm's
own mean in the block, with ν_k degrees of freedom. Where noise is normal and of one scale, the
shares b_k = SS_k / Σ SS have a law that does not depend on that scale nor on any mean (Dirichlet,
with parameters ν_k / 2). Had the arms variances in proportions v_k, the shares would have another
density, and the ratio of the two is

    Π_k v_k^(−ν_k/2) · (Σ_k b_k / v_k)^(−ν/2),    ν = Σ ν_k.

So its mean is 1 while scales are equal, for any v that was fixed before the block; products over
blocks, and averages of such products, are martingales that start at 1. By Ville's inequality they
ever reach 1/level with probability at most level. The common scale may change between blocks.

Half of the evidence is about one arm against all others, each arm alike, at a few ratios; half is
about the variances that earlier blocks suggest.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

RATIOS = np.array([1 / 16, 1 / 4, 4.0, 16.0])  #: of the variances, one arm to the others
_CAUTION = 4.0  # degrees of freedom that "all alike" counts for in a guess


def log_ratio(freedom: FloatArray, shares: FloatArray, variances: FloatArray) -> float:
    """Log of the density of these shares under these variances, over that under equal ones."""
    explained = float((shares / variances).sum())
    return -0.5 * float(freedom @ np.log(variances) + freedom.sum() * math.log(explained))


class UnequalScales:
    """The evidence, block by block."""

    def __init__(self, n_arms: int) -> None:
        self.freedom: FloatArray = np.zeros(n_arms)
        self.squares: FloatArray = np.zeros(n_arms)  #: in units of each block's own variance
        self._alone = np.zeros((n_arms, len(RATIOS)))
        self._guessed = 0.0

    def add(self, arms: IntArray, freedom: IntArray, squares: FloatArray) -> None:
        """A block: degrees of freedom and sums of squared deviations of its arms."""
        seen = freedom > 0
        arms, each, squares = arms[seen], freedom[seen].astype(np.float64), squares[seen]
        total = float(squares.sum())
        if len(arms) < 2 or total <= 0.0:
            return  # one arm has nobody to differ from
        shares, nu = squares / total, float(each.sum())
        self._guessed += log_ratio(each, shares, self.variances()[arms])
        others = 1.0 + shares[:, None] * (1.0 / RATIOS - 1.0)
        self._alone[arms] -= 0.5 * (each[:, None] * np.log(RATIOS) + nu * np.log(others))
        self.freedom[arms] += each
        self.squares[arms] += nu * shares

    def variances(self) -> FloatArray:
        """Variances of the arms that the blocks so far suggest, in units of the common one."""
        return (_CAUTION + self.squares) / (_CAUTION + self.freedom)

    @property
    def log_evidence(self) -> float:
        """Log of the evidence that scales are not equal."""
        top = max(self._guessed, float(self._alone.max()))
        alone = float(np.exp(self._alone - top).mean())
        return top + math.log(0.5 * math.exp(self._guessed - top) + 0.5 * alone)

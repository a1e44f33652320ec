"""Least squares on what was measured, weighted by how much rewards vary."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.values import Seen, Values
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares


class Scales(NamedTuple):
    """How much a single reward varies, as the past has it: for stakes, designs and weights."""

    variance: float = 1.0  #: where it is the same for all arms
    by_arm: FloatArray | None = None  #: where it is not, (K,)
    means: FloatArray | None = None  #: predicted mean rewards, where a payoff needs them, (K,)
    #: squares of how far means may lie apart, where that is less than single rewards vary, (K,)
    leads: FloatArray | None = None

    def for_leads(self) -> Scales:
        """Scales for the prior of stakes, which is about how large leads may be."""
        return self if self.leads is None else self._replace(by_arm=self.leads)

    def of(self, arms: IntArray) -> float | FloatArray:
        """Variances of single rewards of these arms."""
        return self.variance if self.by_arm is None else self.by_arm[arms]


class BlockFit(NamedTuple):
    """Least squares on one block, which may leave some directions open."""

    root: FloatArray  #: (d, r): squared lengths of rootᵀy are variances of yᵀθ̂
    theta: FloatArray  #: (d,)
    blind: FloatArray  #: (d, d − r): orthonormal directions that the block says nothing about
    #: (d, q): for each pair of candidates a payoff gets yᵀcolumns, where it needs that
    columns: FloatArray | None = None
    facts: Any = None  #: what else the payoff needs
    rounding: float = 0.0  #: that a lead may be too large by

    def seen(self, points: FloatArray) -> Seen:
        """What it says about these candidates."""
        values = Values(points @ self.theta, points @ self.root, np.zeros(len(points)))
        columns = None if self.columns is None else points @ self.columns
        return Seen(values, points @ self.blind, columns, self.facts)


def least_squares(
    problem: Problem,
    counts: IntArray,
    sums: FloatArray,
    scales: Scales,
    pulled: IntArray | None = None,
) -> LeastSquares:
    """Least squares on all arms that were pulled; which these are, where that is known."""
    pulled = np.flatnonzero(counts) if pulled is None else pulled
    rows, variances = problem.feature_rows(pulled), scales.of(pulled)
    if isinstance(variances, float):
        fit = LeastSquares(rows, counts[pulled], sums[pulled])
        if variances != 1.0:
            fit.root *= math.sqrt(variances)
        return fit
    deviations = np.sqrt(variances)
    return LeastSquares(rows / deviations[:, None], counts[pulled], sums[pulled] / deviations)


def block_fit(problem: Problem, rows: Rows, scales: Scales) -> BlockFit:
    """Least squares on the pulls of one block, one row for each arm."""
    variances = scales.of(rows.arms)
    features = problem.feature_rows(rows.arms) * np.sqrt(rows.counts / variances)[:, None]
    u, s, vt = np.linalg.svd(features, full_matrices=len(features) < features.shape[1])
    seen = int((s > s[0] * 1e-7).sum())
    scaled = vt[:seen].T / s[:seen]
    theta = scaled @ (u[:, :seen].T @ (rows.sums / np.sqrt(rows.counts * variances)))
    return BlockFit(scaled, theta, vt[seen:].T)

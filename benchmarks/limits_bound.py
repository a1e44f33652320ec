"""The least number of measurements that "the best of those that keep the limits" can take.

Options have rewards y and numbers c_1 … c_L, normal with means of their own and one covariance Σ,
which is known; limits are c_l ≤ τ_l. An algorithm that is right with probability 1 − δ on every
instance has to tell this one from every other with another answer, so it takes at least
kl(1 − δ, δ) / D measurements on average (Garivier and Kaufmann 2016), kl the relative entropy of
two coins, and

    D = max over shares w of min over alternatives of Σ_k w_k ½ d_kᵀ Σ⁻¹ d_k

where d_k is how far an alternative moves the means of option k. Where i is the answer:

- i breaks limit l: ½ w_i m² / Σ_ll, with m how far it is inside.
- r keeps all limits and is as good as i: a small quadratic program, with limits that r breaks and
  the lead of i, which both may give up. Its dual is max over λ ≥ 0 of λᵀb − ½ λᵀMλ with b what is
  missing and M = Σ'/w_r + σ_y²/w_i (the latter for the lead alone), Σ' with the signs of the
  constraints; it is solved by trying all sets of constraints that bind. An option that breaks a
  limit *and* is worse has to be moved by both.

Where nobody keeps them, an alternative is that k does, by such a program without the lead.

Each alternative's value is concave in w and below the line through its solution, so D comes from
cutting planes: linear programs whose values are too large, until the best shares found come within
a tolerance. What is returned is the former, so that the bound on measurements holds.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

_TOLERANCE, _ROUNDS, _FLOOR = 1e-4, 2_000, 1e-9


class Bound(NamedTuple):
    """How hard an instance is."""

    D: float  #: at least; measurements take log(1/δ)/D as δ gets small
    shares: np.ndarray  #: the best shares of measurements

    def measurements(self, delta: float) -> float:
        """That no algorithm right with probability 1 − delta can beat on average."""
        return (1 - 2 * delta) * math.log((1 - delta) / delta) / self.D


def bound(y: np.ndarray, c: np.ndarray, limits: np.ndarray, covariance: np.ndarray) -> Bound:
    """For rewards (K,), numbers (K, L), limits (L,) and the covariance of (y, c), (1 + L, 1 + L).

    Examples
    --------
    >>> one = bound(np.zeros(1), np.array([[-0.5]]), np.zeros(1), np.eye(2))
    >>> round(1 / one.D, 6)  # 2σ²/m²
    8.0
    """
    K = len(y)
    answer = best(y, c, limits)
    shares = chosen = np.full(K, 1.0 / K)
    found, cuts = 0.0, list[np.ndarray]()
    for _ in range(_ROUNDS):
        lines = _alternatives(shares, y, c, limits, covariance, answer)
        value = float((lines @ shares).min())
        if value > found:
            found, chosen = value, shares
        cuts.extend(lines)
        # maximise t where t ≤ line · w for all lines, w shares
        rows = np.column_stack([-np.array(cuts), np.ones(len(cuts))])
        solved = linprog(
            np.append(np.zeros(K), -1.0),
            A_ub=rows,
            b_ub=np.zeros(len(cuts)),
            A_eq=[[1.0] * K + [0.0]],
            b_eq=[1.0],
            bounds=[(_FLOOR, 1)] * K + [(0, None)],
        )
        most = -float(solved.fun)
        if most <= found * (1 + _TOLERANCE):
            return Bound(most, chosen)
        # half-way to the best so far: cutting planes alone jump about
        shares = 0.5 * (solved.x[:K] + chosen)
    raise ArithmeticError("the cutting planes did not come together")


def best(y: np.ndarray, c: np.ndarray, limits: np.ndarray) -> int | None:
    """Who is right; None where nobody keeps the limits."""
    keeps = (c <= limits).all(axis=1)
    return int(np.argmax(np.where(keeps, y, -np.inf))) if keeps.any() else None


def _alternatives(
    shares: np.ndarray,
    y: np.ndarray,
    c: np.ndarray,
    limits: np.ndarray,
    covariance: np.ndarray,
    answer: int | None,
) -> np.ndarray:
    """What telling each nearest alternative apart gains by a measurement of each option."""
    K, L = c.shape
    lines = []
    variances = np.diag(covariance)
    if answer is not None:
        for number in range(L):
            line = np.zeros(K)
            line[answer] = 0.5 * (limits[number] - c[answer, number]) ** 2 / variances[1 + number]
            lines.append(line)
    signs = np.diag([1.0] + [-1.0] * L)
    moved = signs @ covariance @ signs
    for r in range(K):
        if r == answer:
            continue
        missing = np.append(-math.inf, c[r] - limits)
        M = moved / shares[r]
        if answer is not None:
            missing[0] = y[answer] - y[r]
            M = M + np.diag([variances[0] / shares[answer]] + [0.0] * L)
        force = _binding(missing, M)
        line = np.zeros(K)
        line[r] = 0.5 * float(force @ moved @ force) / shares[r] ** 2
        if answer is not None:
            line[answer] = 0.5 * variances[0] * (force[0] / shares[answer]) ** 2
        lines.append(line)
    return np.array(lines)


def _binding(missing: np.ndarray, M: np.ndarray) -> np.ndarray:
    """λ ≥ 0 that maximises λᵀb − ½ λᵀMλ."""
    n = len(missing)
    best_value, found = 0.0, np.zeros(n)
    for size in range(1, n + 1):
        for some in map(list, itertools.combinations(np.flatnonzero(np.isfinite(missing)), size)):
            force = np.linalg.solve(M[np.ix_(some, some)], missing[some])
            if (force < 0).any():
                continue
            value = 0.5 * float(force @ missing[some])
            if value > best_value:  # any λ ≥ 0 is below the optimum: the largest is it
                best_value, found = value, np.zeros(n)
                found[some] = force
    return found

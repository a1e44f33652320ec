"""Arms that cost different amounts: designs share out money, blocks are made of pulls.

An arm of cost c tells as much for its money as x/√c would for one pull. So designs are made for
arms divided by √c; their weights are shares of money, and their values are sums of money.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


def per_money(problem: Problem, arms: Any) -> Any:
    """Arms as designs see them."""
    return arms if problem.costs is None else arms / np.sqrt(problem.costs)[:, None]


def prices(problem: Problem) -> FloatArray | float:
    """What a pull of each arm costs."""
    return 1.0 if problem.costs is None else problem.costs


def in_pulls(problem: Problem, weights: FloatArray, money: float) -> tuple[FloatArray, float]:
    """Shares of pulls, and how many, from shares of money and how much of it."""
    if problem.costs is None:
        return weights, money
    pulls = weights / problem.costs
    total = float(pulls.sum())
    return pulls / total, money * total


def spanning_arms(problem: Problem) -> IntArray:
    """Arms that span everything: far apart for their money."""
    if problem.costs is None:
        return problem.spanning_arms
    from scipy.linalg import qr

    found: Any = qr(per_money(problem, problem.features).T, mode="economic", pivoting=True)
    return np.sort(np.asarray(found[2][: problem.rank], dtype=np.int64))

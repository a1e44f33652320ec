"""Arms that cost different amounts: designs share out money, blocks are made of pulls.

An arm of cost c tells as much for its money as x/√c would for one pull. So designs are made for
arms divided by √c; their weights are shares of money, and their values are sums of money.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.algorithms.pulls import Pulls
from surepick.arrays.grid import spread_rows
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
    return np.sort(spread_rows(per_money(problem, problem.features), problem.rank))


def within(problem: Problem, money: float, size: int, make: Callable[[int], Pulls]) -> Pulls:
    """As many pulls as ``make`` is asked for, or as many below that as this money pays for.

    One pull it must pay for, of whichever arm.
    """
    pulls = make(size)
    while problem.costs is not None and size > 1:
        cost = float((pulls.counts * problem.costs[pulls.arms]).sum())
        if cost <= money:
            break
        size = max(1, min(size - 1, int(size * (money / cost))))
        pulls = make(size)
    return pulls

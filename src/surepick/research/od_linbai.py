"""OD-LinBAI: optimal designs in as many stages as the dimension can be halved.

Paper: Yang, Tan, "Minimax Optimal Fixed-Budget Best Arm Identification in Linear Bandits",
NeurIPS 2022 (arXiv 2105.13017), Algorithm 1.

⌈log₂ d⌉ stages of m pulls each, m = (T − min(K, d(d+1)/2) − Σ ⌈d/2^r⌉) / ⌈log₂ d⌉; after stage r
the best ⌈d/2^r⌉ arms go on. So the first stage leaves at most d/2 of however many there are.

Guarantee: the error probability falls exponentially in T over a complexity of the gaps of the d
best arms (the paper's upper bound); see :mod:`surepick.research.fixed_budget` why that is no
promise, for what must be known, and for departures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from surepick.problem import Problem
from surepick.research.fixed_budget import FixedBudget


@dataclass(frozen=True)
class OdLinBai(FixedBudget):
    """As many stages as the dimension can be halved.

    Parameters
    ----------
    delta, epsilon
        Play no part.
    max_samples
        The budget, in pulls.

    Examples
    --------
    >>> OdLinBai(0.1, max_samples=300).max_samples
    300
    """

    name: ClassVar[str] = "od-linbai"

    def stages(self, problem: Problem) -> list[tuple[int, int]]:
        d, K = problem.rank, len(problem.distinct)
        count = max(1, math.ceil(math.log2(d)))
        kept = [math.ceil(d / 2**r) for r in range(1, count)]
        rounding = min(K, d * (d + 1) // 2) + sum(kept)
        each = (self.pulls - rounding) // count
        return [(most, max(each, most, d)) for most in (*kept, 1)]

"""Generalised successive elimination: a fixed share of the arms goes on after each stage.

Paper: Azizi, Kveton, Ghavamzadeh, "Fixed-Budget Best-Arm Identification in Structured Bandits",
IJCAI 2022 (arXiv 2106.04763), with the G-optimal design of its practical form. With ``share=2``,
the default, it is sequential halving (Karnin, Koren, Somekh 2013) with least squares in place of
means, called linear sequential halving; where arms are unrelated it is sequential halving itself.

⌈log_η K⌉ stages of T/⌈log_η K⌉ pulls each, η = ``share``; the best ⌈K η^−s⌉ go on after stage s.

Guarantee: the error probability falls exponentially in T times the squared least gap over
d log_η K (the paper's theorem on linear models); see :mod:`surepick.research.fixed_budget` why that
is no promise, for what must be known, and for departures.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from surepick.arrays.validate import real
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.fixed_budget import FixedBudget


@dataclass(frozen=True)
class Gse(FixedBudget):
    """A fixed share of the arms goes on after each stage.

    Parameters
    ----------
    delta, epsilon
        Play no part.
    max_samples
        The budget, in pulls.
    share
        One of so many arms goes on.

    Examples
    --------
    >>> Gse(0.1, max_samples=300).share
    2.0
    """

    share: float = field(default=2.0, kw_only=True)

    name: ClassVar[str] = "gse"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not real(self.share, "share") > 1:
            raise InvalidInputError(f"share must be above 1; got {self.share!r}")

    def stages(self, problem: Problem) -> list[tuple[int, int]]:
        K = len(problem.distinct)
        count = max(1, math.ceil(math.log(K) / math.log(self.share) - 1e-9))
        kept = [math.ceil(K * self.share**-s - 1e-9) for s in range(1, count)]
        each = max(self.pulls // count, min(K, problem.rank))
        return [(most, each) for most in (*kept, 1)]

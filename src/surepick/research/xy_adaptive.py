"""XY-adaptive: phases that restart the design on the pairs that are still undecided.

Paper: Soare, Lazaric, Munos, "Best-Arm Identification in Linear Bandits", NeurIPS 2014, Section 5.

Guarantee: delta-PAC in both forms, by the argument in
:mod:`surepick.research.elimination`. Known in advance: the noise scale only. Candidates
may differ from the arms.

Phase j pulls the design for the pairs of survivors until rho_j/n_j < alpha·rho_{j−1}/n_{j−1}, then
eliminates on that phase's data alone.

How the ratio is read. Let rho be the value of the design: the worst variance, over pairs of
survivors, for each pull. Either the rho of the stopping rule is that, and the worst variance rho/n
must fall by alpha in each phase; or it is the worst variance of the pulls made, and rho/n² must.
Both are found in public code. We take the second: a phase has
n_j = n_{j−1} sqrt(rho_j / (alpha·rho_{j−1})) pulls, with rho_0/n_0² = 1/(d(d+1)+1) to start from,
d the rank. While nobody is eliminated phases then grow by 1/sqrt(alpha) = 3.2, and
overshooting wastes less than with the 1/alpha = 10 of the first reading.

Departures, all delta-PAC:

- Designs are solved and rounded instead of followed by greedy steps; the pulls of a phase do
  not depend on its rewards either way.
- Level delta/(j(j+1)) over the |X_j| − 1 one-sided comparisons that can lose the best candidate.
- ``constants="program"`` has the widths sqrt(2 a_y log(2 pi²K²j²/(6 delta))) of the public
  repository of RAGE's authors. Theirs starts each phase with the identity in place of d pulls,
  which it counts.
- ``constants="printed"`` has the paper's widths 2√2 sqrt(a_y log(6n²K²/(pi²delta))), n the pulls of
  the phase. Such a width is the one of a comparison at level (pi²delta/(6n²K²))⁴. While
  nobody is dropped n grows, and somebody is dropped fewer than K times, so the levels of all
  comparisons sum to less than K²·(pi²delta/(6K²))⁴·1.01 < delta.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm, Pulls
from surepick.arrays.cache import PlanCache, fingerprint
from surepick.arrays.grid import coarse
from surepick.arrays.validate import probability
from surepick.problem import Problem
from surepick.research.designs import pair_design, whole_pulls
from surepick.research.elimination import PhasedAlgorithm, PhasedState, PhasePlan

_PLANS = PlanCache()


@dataclass(frozen=True)
class XYAdaptive(PhasedAlgorithm):
    """XY-allocation restarted in phases.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    alpha
        How much smaller the paper's ratio has to become in each phase.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.

    Examples
    --------
    >>> XYAdaptive(delta=0.1).alpha
    0.1
    """

    alpha: float = field(default=0.1, kw_only=True)

    name: ClassVar[str] = "xy-adaptive"

    def __post_init__(self) -> None:
        super().__post_init__()
        probability(self.alpha, "alpha")

    def begin(self, problem: Problem, rng: np.random.Generator) -> PhasedState:
        """A fresh state; nothing is drawn at random."""
        return _State(self, problem)


class _State(PhasedState):
    config: XYAdaptive
    saved: ClassVar[tuple[str, ...]] = (*PhasedState.saved, "last")

    def __init__(self, config: Algorithm, problem: Problem) -> None:
        super().__init__(config, problem)
        self.last: list[float] | None = None  # rho and n of the phase before this one

    def plan(self, budget: int) -> PhasePlan:
        design = pair_design(self.problem, self.active)
        self.design_gaps.append(design.gap)
        n = self._length(design.rho)
        self.last = [design.rho, float(n)]
        key = (self.problem.key, n, fingerprint(self.active))
        pulls: Pulls = _PLANS.get(
            key, lambda: Pulls.from_counts(whole_pulls(self.problem, design.weights, n))
        )
        K = len(self.problem.distinct)
        if self.config.constants == "program":
            level = 3 * self.config.delta / (math.pi**2 * K**2 * self.phase**2)
        elif self.config.constants == "printed":
            level = (math.pi**2 * self.config.delta / (6 * pulls.total**2 * K**2)) ** 4
        else:
            level = self.config.delta / (self.phase * (self.phase + 1)) / (len(self.active) - 1)
        return PhasePlan(pulls, level, None)

    def _length(self, rho: float) -> int:
        """The smallest n with rho/n² <= alpha·(rho/n² of the last phase)."""
        d = self.problem.rank
        last = 1 / (d * (d + 1) + 1) if self.last is None else self.last[0] / self.last[1] ** 2
        return max(math.ceil(coarse(math.sqrt(rho / (self.config.alpha * last)))), d)

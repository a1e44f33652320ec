"""RAGE: phases that halve the accuracy, each with the design best for telling survivors apart.

Paper: Fiez, Jain, Jamieson, Ratliff, "Sequential Experimental Design for Transductive Linear
Bandits", NeurIPS 2019, Algorithm 1.

Guarantee: delta-PAC in both forms, by the argument in
:mod:`surepick.research.elimination`. Known in advance: the noise scale only. Candidates
may differ from the arms.

Phase t solves w = argmin_w max over pairs of survivors of ‖z − z'‖²_{A(w)⁻¹}, value rho, rounds w
to N_t pulls that make every pairwise width at most 2^−t, and eliminates on that phase's data.

Forms and departures:

- ``Rage(delta, constants="paper")``: delta_t = delta/t² and
  N_t = max(⌈2·4^t·rho(1+eps)·log(|Z|²/delta_t)⌉, r(eps)), with eps = 0.1 and r(eps) = s(1+eps)/eps
  for s arms in the design: with so many pulls rounding, which keeps a share of at least 1 − s/N
  of the information, loses no more than the factor 1 + eps. z is dropped when some z' is ahead
  by more than 2^−t.
- ``Rage(delta)``, the default, spends the same risk where it counts. The level of phase t is
  delta/(t(t+1)) (which sums to delta), over the |Z_t| − 1 one-sided comparisons that can lose the
  best candidate instead of |Z|² two-sided ones; the 1 + eps is what rounding loses in this
  phase, not a bound on it; and z is dropped when it is behind by its actual width, which for
  most pairs is below 2^−t.

Designs are solved to a certified gap and rounded by Pukelsheim and Rieder's method. Phases are
never pooled: fixed-design widths do not hold for data gathered by several adaptive designs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.arrays.cache import PlanCache, fingerprint
from surepick.arrays.grid import coarse
from surepick.problem import Problem
from surepick.research.designs import Solved, all_pairs, pair_design, pulls_reaching
from surepick.research.elimination import PhasedAlgorithm, PhasedState, PhasePlan

_PLANS = PlanCache()
_EPS = 0.1  # the paper's rounding loss


@dataclass(frozen=True)
class Rage(PhasedAlgorithm):
    """Randomised adaptive gap elimination (nothing is drawn at random, despite the name).

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    constants
        ``"ours"``, or ``"paper"`` for the paper's levels, phase lengths and fixed widths.

    Examples
    --------
    >>> Rage(delta=0.1).constants
    'ours'
    """

    name: ClassVar[str] = "rage"

    def begin(self, problem: Problem, rng: np.random.Generator) -> PhasedState:
        """A fresh state; nothing is drawn at random."""
        return _State(self, problem)


class _State(PhasedState):
    config: Rage

    def plan(self, budget: int) -> PhasePlan:
        t, delta = self.phase, self.config.delta
        paper = self.config.constants == "paper"
        if paper:
            level = delta / t**2 / len(self.problem.distinct) ** 2
        else:
            level = delta / (t * (t + 1)) / (len(self.active) - 1)
        make = self._paper_pulls if paper else self._pulls
        key = (self.problem.key, paper, delta, t, fingerprint(self.active))
        return PhasePlan(_PLANS.get(key, lambda: make(level)), level, 2.0**-t if paper else None)

    def _pulls(self, level: float) -> Pulls:
        design = self._design()
        # sqrt(2 a_y log(1/level)) <= 2^-t for every pair
        variance = 4.0**-self.phase / (2 * math.log(1 / level))
        return pulls_reaching(self.problem, design, all_pairs(self.problem, self.active), variance)

    def _paper_pulls(self, level: float) -> Pulls:
        from surepick.design import round_design

        weights, rho, _ = self._design()
        least = math.ceil(np.count_nonzero(weights) * (1 + _EPS) / _EPS)  # r(eps)
        n = math.ceil(coarse(2 * 4.0**self.phase * rho * (1 + _EPS) * math.log(1 / level)))
        return Pulls.from_counts(round_design(weights, max(n, least)))

    def _design(self) -> Solved:
        design = pair_design(self.problem, self.active)
        self.design_gaps.append(design.gap)
        return design

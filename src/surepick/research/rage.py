"""RAGE: phases that halve the accuracy, each with the design best for telling survivors apart.

Paper: Fiez, Jain, Jamieson, Ratliff, "Sequential Experimental Design for Transductive Linear
Bandits", NeurIPS 2019, Algorithm 1.

Guarantee: delta-PAC in both forms, by the argument in
:mod:`surepick.research.elimination`. Known in advance: the noise scale only. Candidates
may differ from the arms.

Phase t solves w = argmin_w max over pairs of survivors of ‖z − z'‖²_{A(w)⁻¹}, value rho, rounds w
to N_t pulls, and eliminates on that phase's data.

Levels of constants and departures:

- ``Rage(delta, constants="printed")``: delta_t = delta/t² and N_t = max(⌈8 (2^(t+1))² rho (1+eps)
  log(|Z|²/delta_t)⌉, r(eps)), eps = 0.1; z is dropped when some z' is ahead by more than 2^−(t+2),
  the width that so many pulls give. Here r(eps) = s(1+eps)/eps for s arms in the design: with so
  many pulls Pukelsheim and Rieder's rounding, which keeps a share of at least 1 − s/N of the
  information, loses no more than the factor 1 + eps. N_t is the larger one in all of the paper's
  settings.
- ``Rage(delta, constants="program")``: what the authors' public program runs. A phase is sixteen
  times shorter, N_t = max(⌈8 (2^(t−1))² rho (1+eps) log(2|Z|²/delta_t)⌉, 20 s), and z is dropped
  when some z' is ahead by the actual width sqrt(2 a_y log(2|Z|²/delta_t)). Theirs has the number
  of arms in place of |Z| in that width, which is too narrow where there are more candidates than
  arms, and solves designs by Frank-Wolfe steps that end when they become short.
- ``Rage(delta)``, the default, is ``"tight"``: it asks for widths of 2^−t, and spends the same
  risk where it counts. The level of phase t is delta/(t(t+1)) (which sums to delta), over the
  |Z_t| − 1 one-sided comparisons that can lose the best candidate instead of |Z|² two-sided ones;
  the 1 + eps is what rounding loses in this phase, not a bound on it; and z is dropped when it is
  behind by its actual width, which for most pairs is below 2^−t.

Designs are solved to a certified gap and rounded by Pukelsheim and Rieder's method. Phases are
never pooled: fixed-design widths do not hold for data gathered by several adaptive designs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
_EPS = 0.1  # the loss by rounding that the paper and its program plan for


@dataclass(frozen=True)
class Rage(PhasedAlgorithm):
    """Randomised adaptive gap elimination (nothing is drawn at random, despite the name).

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.

    Examples
    --------
    >>> Rage(delta=0.1).constants
    'tight'
    """

    name: ClassVar[str] = "rage"

    def begin(self, problem: Problem, rng: np.random.Generator) -> PhasedState:
        """A fresh state; nothing is drawn at random."""
        return _State(self, problem)


class _State(PhasedState):
    config: Rage

    def plan(self, budget: int) -> PhasePlan:
        t, delta, constants = self.phase, self.config.delta, self.config.constants
        union = len(self.problem.distinct) ** 2
        make: Callable[[float], Pulls]
        if constants == "printed":
            level, width, make = delta / t**2 / union, 2.0 ** -(t + 2), self._printed
        elif constants == "program":
            level, width, make = delta / t**2 / (2 * union), None, self._program
        else:
            level, width, make = delta / (t * (t + 1)) / (len(self.active) - 1), None, self._tight
        key = (self.problem.key, constants, delta, t, fingerprint(self.active))
        return PhasePlan(_PLANS.get(key, lambda: make(level)), level, width)

    def _tight(self, level: float) -> Pulls:
        design = self._design()
        # sqrt(2 a_y log(1/level)) <= 2^-t for every pair
        variance = 4.0**-self.phase / (2 * math.log(1 / level))
        return pulls_reaching(self.problem, design, all_pairs(self.problem, self.active), variance)

    def _printed(self, level: float) -> Pulls:
        return self._at_once(level, self.phase + 1, (1 + _EPS) / _EPS)  # r(eps)

    def _program(self, level: float) -> Pulls:
        return self._at_once(level, self.phase - 1, 20)

    def _at_once(self, level: float, power: int, each: float) -> Pulls:
        """8 (2^power)² rho (1+eps) log(1/level) pulls; at least ``each`` for an arm used."""
        from surepick.design import round_design

        weights, rho, _ = self._design()
        least = math.ceil(each * np.count_nonzero(weights))
        n = math.ceil(coarse(8 * 4.0**power * rho * (1 + _EPS) * math.log(1 / level)))
        return Pulls.from_counts(round_design(weights, max(n, least)))

    def _design(self) -> Solved:
        design = pair_design(self.problem, self.active)
        self.design_gaps.append(design.gap)
        return design

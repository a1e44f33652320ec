"""GLUCB: LUCB for linear models, with the confidence ellipsoid in place of intervals.

Paper: Zaki, Mohan, Gopalan, "Towards Optimal and Efficient Best Arm Identification in Linear
Bandits", 2019 (arXiv 1911.01695).

Guarantee: delta-PAC, by the confidence ellipsoid of :mod:`surepick.research.ellipsoid`,
whatever the sampling rule. Known in advance: the noise scale and ``norm_bound``, a bound S on
‖theta*‖ in units of the reward per unit of the features as given. If theta* is longer, nothing is
guaranteed.

In each round the leader z_i has the highest estimate and the challenger z_j the largest advantage
theta'(z_j − z_i) over all theta' in the ellipsoid, which is its estimated advantage plus
C_t ‖z_j − z_i‖_{A⁻¹}; stop when that is at most epsilon (the paper: zero). With y = z_i − z_j, the
arm pulled is argmax (xᵀA⁻¹y)²/(1 + ‖x‖²_{A⁻¹}): the one whose next pull shrinks ‖y‖_{A⁻¹} most.

Settled here, where the description available to us leaves a choice:

- The radius is the determinant form of the self-normalised bound, without a factor for K.
- The arm's gain ignores that a pull also lets the radius grow a little.
- The start: each of ``rank`` spanning arms once. LinGapE's greedy rule starts with every arm;
  from there on the two rules are the same one.
- The guard of LinGapE's greedy rule against starved arms is used here too (at most sqrt(t) pulls).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surepick.problem import Problem
from surepick.research.ellipsoid import EllipsoidAlgorithm, EllipsoidState


@dataclass(frozen=True)
class Glucb(EllipsoidAlgorithm):
    """Generalised lower and upper confidence bounds.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    norm_bound
        Bound on the Euclidean length of the true parameter theta* (rewards as measured, features
        as given); the guarantee needs it.
    regularisation
        lambda, the weight of the prior: any value is valid, about 1 is good when
        rewards/noise and features are of order one.

    Examples
    --------
    >>> Glucb(delta=0.05).registered_name()
    'glucb'
    """

    name: ClassVar[str] = "glucb"

    def begin(self, problem: Problem, rng: np.random.Generator) -> EllipsoidState:
        """A fresh state; nothing is drawn at random."""
        return GlucbState(self, problem)


class GlucbState(EllipsoidState):
    """A running GLUCB."""

    def build(self) -> None:
        self.start(self.problem.spanning_arms, greedy=True)

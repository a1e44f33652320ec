"""XY-oracle: the allocation of somebody who knows the truth. A yardstick, not a competitor.

Paper: Soare, Lazaric, Munos, "Best-Arm Identification in Linear Bandits", NeurIPS 2014, Section 3.

Guarantee: delta-PAC, by the argument in :mod:`surepick.research.static`, whatever
``theta`` is: the allocation is fixed in advance, and the stop looks at the rewards only.
Known in advance: the noise scale, and ``theta``, the truth, handed in by the caller. A wrong
``theta`` costs pulls, not correctness.

The design is w* = argmin_w max_x ‖x* − x‖²_{A(w)⁻¹} / Delta_x² with x* and the gaps Delta_x under
``theta``, solved to a certified gap and rounded to a cycle that is repeated.

Departures: the stop is that of :mod:`surepick.research.xy_static` and tests the candidate that
leads by the estimates; ``theta`` is not used in it, so that the answer is an answer. (The oracle
in public code tests the true best arm only and cannot be wrong.) ``constants="printed"`` stops at
2√2 sqrt(a_y log(6n²K/(pi²delta))); K and not K² because only directions to x* can do harm.
``constants="program"`` stops at sqrt(2 a_y log(2j²K/delta)) at look j, as the public program. Gaps
below ``epsilon`` count as ``epsilon``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.research.designs import Solved, solve
from surepick.research.static import StaticAlgorithm

_TIED = 1e-12  # share of the largest value below which a gap is rounding


@dataclass(frozen=True)
class XYOracle(StaticAlgorithm):
    """XY-allocation for a known truth.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    theta
        The true parameter, one number per feature.
    growth
        How much the pulls grow from one look to the next.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.

    Examples
    --------
    >>> XYOracle(delta=0.1, theta=[0.5, 0.0]).theta
    (0.5, 0.0)
    """

    theta: tuple[float, ...] = field(kw_only=True)

    name: ClassVar[str] = "xy-oracle"
    union_power: ClassVar[int] = 1
    program_growth: ClassVar[float] = 1.1

    def __post_init__(self) -> None:
        super().__post_init__()
        try:
            theta = np.array(self.theta, dtype=float)
        except (TypeError, ValueError):
            raise InvalidTypeError(f"theta must be numbers; got {self.theta!r:.80}") from None
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise InvalidInputError(f"theta must be finite numbers; got {self.theta!r:.80}")
        object.__setattr__(self, "theta", tuple(theta.tolist()))

    def design(self, problem: Problem) -> tuple[Any, Solved, Any]:
        from surepick.design import Listed

        directions = Listed(self._directions(problem))
        key = ("oracle", self.theta, self.epsilon)
        return key, solve(problem, key, lambda: directions), directions

    def begin(self, problem: Problem, rng: np.random.Generator):
        """A fresh state; ``theta`` must fit the problem."""
        if len(self.theta) != problem.n_features:
            raise InvalidInputError(
                f"theta must have one number per feature: {problem.n_features} expected, "
                f"{len(self.theta)} given"
            )
        return super().begin(problem, rng)

    def _directions(self, problem: Problem) -> np.ndarray:
        """(x* − x) / Delta_x for every x that is not x*, in whitened coordinates."""
        values = problem.candidates[problem.distinct] @ (problem.sign * np.array(self.theta))
        best = int(np.argmax(values))
        others = np.delete(np.arange(len(values)), best)
        gaps = np.maximum(values[best] - values[others], self.epsilon)
        tied = np.flatnonzero(gaps <= _TIED * np.abs(values).max())
        if len(tied):
            pair = problem.distinct[[best, others[tied[0]]]]
            labels = " and ".join(repr(problem.candidate_labels[i]) for i in pair)
            raise InvalidInputError(
                f"theta: candidates {labels} tie for the best, and no number of pulls can tell "
                "them apart; set epsilon above 0 to accept either"
            )
        targets = problem.targets[problem.distinct]
        return (targets[best] - targets[others]) / gaps[:, None]

"""Lazy Track-and-Stop: plug-in optimal weights, solved rarely and averaged.

Paper: Jedra, Proutière, "Optimal Best-arm Identification in Linear Bandits", NeurIPS 2020.

The optimal shares of pulls for θ̂ are computed only now and then; pulls track the sum of the
weights in force so far. Whenever λ_min(V) has fallen below c₀ sqrt(t), c₀ = λ_min(V₀)/sqrt(d), the
next arm of a spanning set A₀ (Gram matrix V₀) is pulled instead.

Guarantee: delta-PAC by the GLR stop at the paper's determinant threshold (u = 0.1; argument in
:mod:`surepick.research.thresholds`); the paper shows that the number of pulls is
asymptotically optimal when delta goes to 0. Known in advance: the noise scale only.

Departures:

- A₀ is really pulled, once each arm, at the start; λ_min and the threshold's c refer to
  coordinates in which the arms' second moment is the identity (the theorem holds in any);
- the weights come from a certified minimax design, not from a fixed number of Frank-Wolfe steps,
  at times that grow by the factor ``refresh`` (paper: doublings); a gap estimated as zero counts
  as a small fraction of the largest;
- ``threshold="self-normalised"`` offers a proven threshold that is tighter than the paper's;
- with epsilon, gaps count as epsilon larger in the design.

``LazyTrackAndStop.heuristic(delta)`` stops at log((1 + log t)/delta): no guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.arrays.grid import coarse
from surepick.arrays.validate import real
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.glr import AdaptiveGlr, GlrState

_LEAST_GAP = 1e-4  # of the largest: below it a gap's direction dominates the design anyway


@dataclass(frozen=True)
class LazyTrackAndStop(AdaptiveGlr):
    """Track plug-in optimal weights that are refreshed at growing intervals.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold, norm_bound, regularisation
        The stop; see :class:`~surepick.research.glr.AdaptiveGlr`.
    refresh
        Weights are computed again when the pulls have grown by this factor.

    Examples
    --------
    >>> LazyTrackAndStop(0.05).threshold
    'determinant'
    """

    threshold: str = field(default="determinant", kw_only=True)
    refresh: float = field(default=2.0, kw_only=True)

    name: ClassVar[str] = "lazy-ts"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not real(self.refresh, "refresh") > 1:
            raise InvalidInputError(f"refresh must be above 1; got {self.refresh!r}")

    def begin(self, problem: Problem, rng: np.random.Generator) -> LazyState:
        """A fresh state; nothing is drawn at random."""
        return LazyState(self, problem)


class LazyState(GlrState):
    """Weights in force and the clock of their refreshment."""

    rebuilt = GlrState.rebuilt | {"exploration", "shifted", "factor"}

    def __init__(self, config: LazyTrackAndStop, problem: Problem) -> None:
        self.refresh = config.refresh
        super().__init__(config, problem)

    def build(self) -> None:
        from surepick.research.lazy_ts_kernels import LazyMemory, choose, many, update

        core = self.new_core()
        K, d = core.arms.shape
        rows = core.arms[core.first]
        least = float(np.linalg.eigvalsh(rows.T @ rows)[0])
        self.memory = LazyMemory(
            core=core,
            weights=np.zeros(K),
            targets=np.zeros(K),
            schedule=np.zeros(2, dtype=np.int64),
            exploration=np.array([least / math.sqrt(d)]),
            shifted=np.empty((d, d)),
            factor=np.zeros((d, d)),
        )
        self.update, self.choose, self.many = update, choose, many

    def supply(self) -> None:
        """Optimal weights for θ̂, in force from now on, and when they are due again."""
        from surepick.research.glr_kernels import TIME
        from surepick.research.lazy_ts_kernels import DUE

        memory = self.memory
        memory.weights[:] = self._plug_in()
        pulls = int(memory.core.place[TIME])
        memory.schedule[DUE] = max(pulls + 1, math.ceil(self.refresh * pulls))

    def _plug_in(self) -> np.ndarray:
        """argmin_w max over rivals of ‖y‖²_{A(w)⁻¹} / (gap of y)², within 1 %."""
        from surepick.design import minimax
        from surepick.research.glr_kernels import LEADER

        core = self.memory.core
        leader = int(core.place[LEADER])
        gaps = core.gaps + core.epsilon[0]
        others = np.flatnonzero(np.arange(len(gaps)) != leader)
        least = _LEAST_GAP * gaps[others].max()
        gaps = np.maximum(gaps[others], least) if least > 0 else np.ones(len(others))
        points = core.columns.T
        directions = (points[leader] - points[others]) / gaps[:, None]
        return coarse(minimax(core.arms, directions, tol=0.01).weights)

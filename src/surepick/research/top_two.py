"""Top-two: the leader, its closest challenger, and the arms that tell these two apart.

Papers: Jourdan, Degenne, Baudry, de Heide, Kaufmann, "Top Two Algorithms Revisited", NeurIPS 2022
(the empirical best as leader, the rival with the least transportation cost as challenger); Qin,
You, "Dual-Directed Algorithm Design for Efficient Pure Exploration", 2023 (arXiv 2310.19319), for
how often each arm is pulled then: by its share of what is known about the pair. In a linear bandit
that share is w_k (x_kᵀA(w)⁻¹y)² / yᵀA(w)⁻¹y, y the difference of the two; shares are summed up, and
the arm with the least pulls per sum is next.

Guarantee: delta-PAC by the GLR stop, whatever the sampling rule. Nothing is proven here of the
number of pulls: the papers' theorems on it are about unrelated arms.
Known in advance: the noise scale only.

Departures:

- shares are tracked, not drawn, so nothing is random; together all arms start with one share per
  dimension, since an arm without one would never get any;
- the challenger has the least cost − log a_y: where options are unrelated that is the papers'
  cost + log(pulls), which keeps a best arm that was unlucky at first from being left out while
  others tie;
- the threshold is the pairwise one of :mod:`surepick.research.thresholds`, which is proven: of
  the papers' own, one is for unrelated arms and the other asymptotic.

``TopTwo.heuristic(delta)`` stops at log((1 + log t)/delta), as the papers' plots do: no guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.problem import Problem
from surepick.research.glr import AdaptiveGlr, GlrState


@dataclass(frozen=True)
class TopTwo(AdaptiveGlr):
    """The leader against the challenger that is hardest to tell from it.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    threshold, norm_bound, regularisation
        The stop; see :class:`~surepick.research.glr.AdaptiveGlr`.

    Examples
    --------
    >>> TopTwo(0.05).threshold
    'pairwise'
    """

    threshold: str = field(default="pairwise", kw_only=True)

    name: ClassVar[str] = "top-two"

    def begin(self, problem: Problem, rng: np.random.Generator) -> TopTwoState:
        """A fresh state; nothing is drawn at random."""
        return TopTwoState(self, problem)


class TopTwoState(GlrState):
    """Summed shares of the arms."""

    rebuilt = GlrState.rebuilt | {"along"}

    def build(self) -> None:
        from surepick.research.top_two_kernels import TopTwoMemory, choose, many, update

        core = self.new_core()
        (K, d) = core.arms.shape
        self.memory = TopTwoMemory(core, np.full(K, d / K), np.zeros(K), np.empty(K))
        self.update, self.choose, self.many = update, choose, many

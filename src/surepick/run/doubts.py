"""What single rewards say against the kind of noise that a run was promised.

A run that is told single rewards looks at them on the way; one that is told sums cannot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surepick.algorithms.base import Guarantee, Told
from surepick.algorithms.pooled.ledger import Rows
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.run.answer import Answer
from surepick.run.batch import Batch
from surepick.run.strata import TextArray

if TYPE_CHECKING:  # loaded when they are first used, as are the designs behind them
    from surepick.run.diagnostics.finding import Finding
    from surepick.statistics.triples import Triples
    from surepick.statistics.unequal import UnequalScales

#: what does not hold, in a few words each
SKEWED = "rewards reach further to one side of their mean than to the other"
UNEVEN = "some options vary more than others"


class Doubts:
    """Looks at the rewards of a run."""

    def __init__(self) -> None:
        self._triples: Triples | None = None

    def look(
        self, problem: Problem, batch: Batch, rewards: FloatArray, strata: TextArray | None
    ) -> None:
        """Rewards of a batch, as its rows list them."""
        from surepick.run.diagnostics.symmetry import SYMMETRIC
        from surepick.statistics.triples import Triples

        if problem.noise_kind.kind not in SYMMETRIC or batch.row_items is not None:
            return
        if self._triples is None:
            self._triples = Triples(problem.n_arms)
        arms = np.repeat(batch.pulls.arms, batch.pulls.counts)
        if strata is None:
            self._triples.add(arms, rewards)
            return
        for name in np.unique(strata.astype(str)):
            own = np.flatnonzero(strata == name)
            self._triples.add(arms[own], rewards[own])

    def skew(self, problem: Problem) -> Finding | None:
        """Whether rewards are symmetric; None where nothing rests on it, or nobody looked."""
        from surepick.run.diagnostics.symmetry import skewed_noise

        return None if self._triples is None else skewed_noise(problem, self._triples)

    def broken(self, problem: Problem, told: list[Told]) -> list[str]:
        """The assumptions that do not hold, in a few words each."""
        from surepick.run.diagnostics.scales import unequal_noise

        if self._triples is None:
            return []
        found = [SKEWED] if self.skew(problem) else []
        if problem.noise_kind.kind == "equal" and unequal_noise(problem, scales_of(problem, told)):
            found.append(UNEVEN)
        return found

    def save(self) -> Any:
        """What is kept of it."""
        return None if self._triples is None else self._triples.save()

    def load(self, saved: Any) -> None:
        """Take on what was kept; runs of older versions kept nothing."""
        from surepick.statistics.triples import Triples

        self._triples = None if saved is None else Triples.load(saved)


def scales_of(problem: Problem, told: list[Told]) -> UnequalScales:
    """How much rewards of the same option differ, batch by batch."""
    from surepick.statistics.unequal import UnequalScales

    scales = UnequalScales(problem.n_arms)
    for one in told:
        if one.spreads is not None:
            rows = Rows.of(one).by_arm()
            scales.add(rows.arms, rows.counts - 1, rows.spreads)
    return scales


def without_guarantee(answer: Answer, why: str) -> Answer:
    """The answer, promising nothing, for a reason; as it is where there is none, or no promise."""
    if not why or not answer.guarantee:
        return answer
    text = f"no guarantee: {why}; otherwise it would be {answer.guarantee}"
    # Not "none", which says that the run was cut short: verifiers still check how it ended.
    return replace(answer, guarantee=Guarantee("heuristic", text))

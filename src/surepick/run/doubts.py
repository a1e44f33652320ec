"""What single rewards say against what a run was promised: the kind of noise, and no drift.

A run that is told single rewards looks at them on the way; one that is told sums cannot.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surepick.algorithms.base import ToldPulls
from surepick.algorithms.findings import Guarantee
from surepick.algorithms.rows import Rows
from surepick.arrays.types import FloatArray
from surepick.calls.afresh import REPEATED, Repeats, cure_of
from surepick.problem import Problem
from surepick.promise import Reason
from surepick.run.answer import Answer
from surepick.run.batch import Batch
from surepick.run.rewards import TextArray

if TYPE_CHECKING:  # loaded when they are first used, as are the designs behind them
    from surepick.run.diagnostics.beside import Beside
    from surepick.run.diagnostics.finding import Finding
    from surepick.statistics.triples import Triples
    from surepick.statistics.unequal import UnequalScales

#: what does not hold, in a few words each
SKEWED = "rewards reach further to one side of their mean than to the other"
UNEVEN = "some options vary more than others"
DRIFTED = "rewards changed over time"
_LEVEL = 0.05  # of the check of drift, as in studies
_KEPT = 20_000  # pulls whose rewards are kept one by one; of more than these only sums


class InTime:
    """Single rewards in the order of time, for who asks in the end whether an option drifted.

    Whether one did is worked out only then: batch by batch it would take as long as the run itself.
    The level of that check holds over all looks, so it holds for one.
    """

    def __init__(self) -> None:
        self._batches: list[tuple[Any, Any, Any]] = []  # arms, rewards and strata, if any
        self._first = self._made = 0  # pulls before those that are kept, and all
        self._before: Beside | None = None  # what those before them said

    def add(self, n_arms: int, arms: Any, rewards: Any, strata: Any) -> None:
        """A batch, in the order in which it was measured."""
        self._batches.append((arms, rewards, strata))
        self._made += len(arms)
        if self._made - self._first > _KEPT:
            self._before = self._beside(n_arms)
            self._first, self._batches = self._made, []

    def _kept(self) -> tuple[Any, ...]:
        """Numbers, arms and rewards of the pulls that are kept, their batches and strata."""
        sizes = [len(arms) for arms, _, _ in self._batches]
        arms, rewards, strata = (list(column) for column in zip(*self._batches))
        return (
            self._first + np.arange(sum(sizes)),
            np.concatenate(arms),
            np.concatenate(rewards),
            np.repeat(np.arange(len(sizes)), sizes),
            None if strata[0] is None else np.concatenate(strata),
        )

    def _beside(self, n_arms: int) -> Beside:
        """Options beside each other; where some came or went, from what is kept alone."""
        from surepick.run.diagnostics.beside import Beside

        found, known = Beside(n_arms), self._before
        if known is not None and known.n_arms == n_arms:
            found = known.copy()
        if self._batches:
            found.add(*self._kept())
        return found

    def drift(self, problem: Problem, levels_cancel: bool) -> Finding | None:
        """Whether an option changed on its own; None where that is out of the question."""
        from surepick.run.diagnostics.beside import may_drift
        from surepick.run.diagnostics.drift import Timeline, drift

        if self._before is None:
            if not self._batches:
                return None
            numbers, arms, rewards, batches, _ = self._kept()
            if not may_drift(numbers, arms, rewards, batches, levels_cancel, _LEVEL):
                return None
        timeline = Timeline(problem.n_arms)
        timeline.beside = self._beside(problem.n_arms)
        how = {"levels_cancel": levels_cancel, "scale_known": False}
        return drift(problem, timeline, level=_LEVEL, **how)

    def save(self) -> Any:
        """What is kept of it; of more pulls than are kept, those to come are looked at alone."""
        if self._before is not None or not self._batches:
            return None
        _, arms, rewards, _, strata = self._kept()
        return {
            "sizes": np.array([len(arms) for arms, _, _ in self._batches]),
            "arms": arms,
            "rewards": rewards,
            "strata": None if strata is None else strata.tolist(),
        }

    def load(self, saved: Any) -> None:
        if saved is None:
            return
        ends = np.cumsum(saved["sizes"])
        strata = None if saved["strata"] is None else np.asarray(saved["strata"])
        for first, end in zip([0, *ends[:-1]], ends):
            own = None if strata is None else strata[first:end]
            self._batches.append((saved["arms"][first:end], saved["rewards"][first:end], own))
        self._made = len(saved["arms"])


class Doubts:
    """Looks at the rewards of a run."""

    def __init__(self) -> None:
        self._triples: Triples | None = None
        self._in_time = InTime()
        self._repeats = Repeats()
        self.told: list[str] = []  #: by who measures: what else it noticed, in a few words each
        self._drift: tuple[int, Finding | None] = (0, None)  # as of so many batches

    def keep(self, batch: Batch, rewards: FloatArray, strata: Any) -> None:
        """Rewards of a batch in the order in which they were measured, of a run that is no study.

        A study looks at them by itself, while it runs.
        """
        cells = strata if batch.items is None else batch.items
        cells = None if cells is None else np.asarray(cells)
        self._in_time.add(batch.n_arms, batch.arms, rewards, cells)
        if batch.items is None:  # a cell of a table is the same whenever it is measured
            self._repeats.add(batch.arms, rewards)

    def not_afresh(self) -> list[str]:
        """What gives away that one draw was counted often, in a few words each."""
        return [*([REPEATED] if self._repeats.options() else []), *self.told]

    def drift(self, problem: Problem, batches: int, levels_cancel: bool) -> Finding | None:
        """Whether an option changed on its own, after so many batches."""
        if self._drift[0] != batches:
            self._drift = batches, self._in_time.drift(problem, levels_cancel)
        return self._drift[1]

    def look(
        self, problem: Problem, batch: Batch, rewards: FloatArray, strata: TextArray | None
    ) -> None:
        """Rewards of a batch, as its rows list them."""
        from surepick.run.assumed import ASSUMED
        from surepick.statistics.triples import Triples

        if not ASSUMED.of(problem.noise_kind).symmetric or batch.row_items is not None:
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
        from surepick.run.diagnostics.noise import skewed_noise

        return None if self._triples is None else skewed_noise(problem, self._triples)

    def broken(self, problem: Problem, told: list[ToldPulls]) -> list[str]:
        """The assumptions that do not hold, in a few words each."""
        from surepick.run.assumed import ASSUMED
        from surepick.run.diagnostics.noise import unequal_noise

        if self._triples is None:
            return []
        found = [SKEWED] if self.skew(problem) else []
        equal = ASSUMED.of(problem.noise_kind).equal
        if equal and unequal_noise(problem, scales_of(problem, told)):
            found.append(UNEVEN)
        return found

    def save(self) -> dict[str, Any]:
        triples = None if self._triples is None else self._triples.save()
        return {"doubts": triples, "in_time": self._in_time.save(), "noticed": self.told}

    def load(self, saved: dict[str, Any]) -> None:
        from surepick.statistics.triples import Triples

        triples = saved["doubts"]
        self._triples = None if triples is None else Triples.load(triples)
        self.told = list(saved["noticed"])
        in_time = saved["in_time"]
        self._in_time.load(in_time)
        if in_time is not None:
            self._repeats.add(in_time["arms"], in_time["rewards"])


def scales_of(problem: Problem, told: list[ToldPulls]) -> UnequalScales:
    """How much rewards of the same option differ, batch by batch."""
    from surepick.statistics.unequal import UnequalScales

    scales = UnequalScales(problem.n_arms)
    for one in told:
        if one.spreads is not None:
            rows = Rows.of(one).by_arm()
            scales.add(rows.arms, rows.counts - 1, rows.spreads)
    return scales


def reason(why: str) -> Reason:
    """Why a promise is withdrawn; in plain words also what to do about it, where that is known."""
    cure = cure_of(why)
    return Reason(why, f"{why}. {cure[:1].upper()}{cure[1:]}" if cure else None)


def without_guarantee(answer: Answer, why: str) -> Answer:
    """The answer, promising nothing, for a reason; as it is where there is none, or no promise."""
    if not why or not answer.guarantee.shown:
        return answer
    # Not "none", which says that the run was cut short: verifiers still check how it ended.
    promise = answer.guarantee.promise.withdrawn(reason(why))
    return replace(answer, guarantee=Guarantee.of(promise))

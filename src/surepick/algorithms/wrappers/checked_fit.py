"""CheckedFit: another algorithm, with extra pulls that let a wrong model show. Our own.

Guarantee: that of the algorithm inside, which never sees the rewards of the extra pulls.

An algorithm measures what decides between candidates, often hardly more options than there are
coefficients: any rewards of so few options fit the model. Here every batch has some pulls beside
those of the algorithm, of arms that it does not measure in this batch, least measured first; once
it has stopped, what is still missing follows. In the end a misfit of a given size would probably
(nine times out of ten) have raised the alarm of :func:`surepick.run.diagnostics.lack_of_fit`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm, Pulls, State, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive
from surepick.design.misfit import check_pulls
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import Promise


@dataclass(frozen=True)
class CheckedFit(Algorithm):
    """An algorithm with pulls that check the linear model.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm; extra pulls count as part of the budget.
    inner, options
        Registry name of the algorithm proper, which must measure in batches, and its settings.
    size
        Misfit to be noticed, in units of the noise: root mean square over the options of what the
        best linear model misses.
    share
        Extra pulls in a batch, as a share of the others; the rest follows at the end.

    Examples
    --------
    >>> CheckedFit(0.05).inner
    'pooled-peleg'
    """

    inner: str = field(default=registry.DEFAULT, kw_only=True)
    options: dict[str, Any] = field(default_factory=dict, kw_only=True, hash=False)
    size: float = field(default=1.0, kw_only=True)
    share: float = field(default=0.5, kw_only=True)

    name: ClassVar[str] = "checked-fit"
    needs_scale: ClassVar[bool] = False
    trusts_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.size, "size")
        positive(self.share, "share")
        if self.inner == self.name:
            raise InvalidInputError("inner must be another algorithm")
        if self.options.get("items") is not None:
            raise InvalidInputError(
                "check_fit: options that are measured on items do not use features; leave it out"
            )
        best = {"baseline": None, "threshold": None, "top": 1, "quantile": None, "guess": False}
        for name, usual in best.items():
            if self.options.get(name, usual) != usual:
                raise InvalidInputError(
                    "check_fit: extra pulls are only possible if the question is which option is "
                    f"best; leave out check_fit or {name}"
                )
        # What follows is what the algorithm inside says, where that is everything.
        inner = self.proper().follows
        object.__setattr__(self, "follows", inner if inner == "pulls" else "nothing")

    def proper(self) -> Algorithm:
        """The algorithm inside."""
        return registry.get(self.inner, delta=self.delta, epsilon=self.epsilon, **self.options)

    def check_problem(self, problem: Problem) -> None:
        """Refuse what the algorithm inside cannot work on."""
        super().check_problem(problem)
        self.proper().check_problem(problem)

    def levels_cancel(self, problem: Problem) -> bool:
        """Where they cancel for the algorithm inside."""
        return self.proper().levels_cancel(problem)

    def begin(self, problem: Problem, rng: np.random.Generator) -> CheckedFitState:
        """A fresh state; the generator is for the algorithm inside."""
        inner = self.proper().begin(problem, rng)
        if not inner.needs_batches:
            raise InvalidInputError(
                f"extra pulls for checks are not possible with {self.inner!r}, which does not "
                "measure in batches; use pooled-peleg, peleg or rage"
            )
        return CheckedFitState(self, problem, inner)

    def promise(self, kind: NoiseKind, epsilon_used: bool) -> Promise:
        """That of the algorithm inside."""
        return self.proper().promise(kind, epsilon_used)


class CheckedFitState(State):
    """The state inside, and the pulls that are not its own."""

    saved: ClassVar[tuple[str, ...]] = ("counts", "missing", "extra", "extras")

    def __init__(self, config: CheckedFit, problem: Problem, inner: State) -> None:
        self.config, self.problem, self.inner = config, problem, inner
        self.needs_spread, self.demands_spread = inner.needs_spread, inner.demands_spread
        self.counts: IntArray = np.zeros(problem.n_arms, dtype=np.int64)
        self.missing: IntArray = np.zeros(problem.n_arms, dtype=np.int64)  # after the inner stop
        self.extra: IntArray = np.zeros(0, dtype=np.int64)  # arms of this batch that are not its
        self.extras: list[list[int]] = []  # the same, of all batches told
        self._enough = int(self._needed().max())

    def _needed(self) -> IntArray:
        return check_pulls(self.problem, self.counts, self.config.size * self.problem.unit)

    # -- ask and tell ----------------------------------------------------------------------
    def as_recorded(self, evidence: dict[str, Any]) -> None:
        self.inner.as_recorded(evidence["inner"])

    def propose(self, budget: int) -> Pulls:
        most = min(budget, self.config.options.get("max_batch") or budget)
        if self.inner.finished:
            pulls = Pulls.from_counts(self.missing)
            if self.piece is None:
                pulls = pulls.capped(most)
            else:
                pulls = self.piece(len(self.extras), pulls, 0, min(most, pulls.total))
            self.extra = pulls.arms
            return pulls
        self.inner.piece = self.piece
        own = self.inner.propose(budget)
        room = max(0, min(math.ceil(self.config.share * own.total), most - own.total))
        lacking = self.counts < self._enough
        lacking[own.arms] = False  # its sum of rewards must be its own
        arms = np.flatnonzero(lacking)
        arms = arms[np.argsort(self.counts[arms], kind="stable")][:room]
        self.extra = np.sort(arms)
        order = np.argsort(np.append(own.arms, self.extra), kind="stable")
        columns = [(own.arms, self.extra), (own.counts, np.ones_like(self.extra))]
        if own.parts is not None:
            columns.append((own.parts, np.zeros_like(self.extra)))
        return Pulls(*(np.append(*column)[order] for column in columns))

    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        own = ~np.isin(pulls.arms, self.extra)
        if own.any():
            self.inner.observe_spread(_some(pulls, own), spread[own])

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        own = ~np.isin(pulls.arms, self.extra)
        np.add.at(self.counts, pulls.arms, pulls.counts)
        self.extras.append(self.extra.tolist())
        if self.inner.finished:
            self.missing[pulls.arms] -= pulls.counts
            return
        self.inner.observe(_some(pulls, own), sums[own])
        if self.inner.finished:
            self.missing = self._needed()

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        return self.inner.split_past(arms, rewards, evidence)

    def observe_past(self, batches: list[ToldPulls], evidence: bool) -> None:
        self.inner.observe_past(batches, evidence)
        if evidence:
            for told in batches:
                np.add.at(self.counts, told.pulls.arms, told.pulls.counts)
        if self.inner.finished:
            self.missing = self._needed()

    # -- where it stands -------------------------------------------------------------------
    @property
    def noise_factor(self) -> float | None:
        """The noise scale in use."""
        return self.inner.noise_factor

    @property
    def scale_estimated(self) -> bool:
        """Whether that is an estimate."""
        return self.inner.scale_estimated

    def reward_scale(self) -> float | FloatArray | None:
        return self.inner.reward_scale()

    @property
    def active(self) -> IntArray:
        """Candidates not ruled out."""
        return self.inner.active

    @property
    def finished(self) -> bool:
        """Whether the algorithm inside has stopped, and the check has its pulls."""
        return self.inner.finished and not self.missing.any()

    def leader(self) -> int:
        return self.inner.leader()

    def progress(self) -> FloatArray | None:
        return self.inner.progress()

    def evidence(self) -> dict[str, Any]:
        return {"rule": "checked-fit", "extra": self.extras, "inner": self.inner.evidence()}

    def save(self) -> dict[str, Any]:
        return super().save() | {"inner": self.inner.save()}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.inner.load(memory["inner"])


def _some(pulls: Pulls, rows: Any) -> Pulls:
    """Some rows of these."""
    parts = None if pulls.parts is None else pulls.parts[rows]
    return Pulls(pulls.arms[rows], pulls.counts[rows], parts)

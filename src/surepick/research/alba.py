"""ALBA: random draws from a G-optimal design, in rounds that halve the survivors.

Paper: Tao, Blanco, Zhou, "Best Arm Identification in Linear Bandits with Linear Dimension
Dependency", ICML 2018 (ALBA with Y-ElimTil).

Guarantee: delta-PAC, provided that ‖theta*‖ <= ``norm_bound`` (argument below).
Known in advance: the noise scale and ``norm_bound``, in units of the reward per unit of the
features as given. Candidates may differ from the arms.

Round r = 0, 1, … eliminates until at most ⌊d/2^r⌋ candidates are left. Arms are drawn
independently from the design w that minimises the worst variance of the survivors S, and
θ̂ = (nM)⁻¹ Σ x_s·reward with M = A(w): the expected Gram matrix, not the one of the draws.

What the estimate is worth. For a direction y put u_k = yᵀM⁻¹x_k. The draws do not depend on
rewards, so all that follows is given the draws: with N_k draws of arm k,

    n·yᵀθ̂ = Σ_k u_k N_k x_kᵀθ* + Σ_s u_s η_s = n·Wᵀθ* + noise of variance V = Σ_k N_k u_k²,

W = Σ_k u_k (N_k/n) x_k, close to y. If yᵀθ* <= −e then Wᵀθ* <= ‖W − cy‖·‖θ*‖ − ce for every c >= 0,
and c = max(0, Wᵀy/‖y‖²) makes the first term least. So when x* is not worse than x (y = x − x*),
n·yᵀθ̂ exceeds n·‖W − cy‖·norm_bound only by noise, whose weights u are fixed.

Forms and departures:

- ``Alba(delta)``, the default. Within a round the design stays and draws are kept: a step adds to
  them until there are ``growth``² times as many, which improves the accuracy by ``growth``. Given
  the draws the noise is a sum with fixed weights, so the test of
  :mod:`surepick.statistics.mixture` holds for all steps of the round at once. Its level is
  delta/R/(|S| − 1), R the rounds whose goal is below the number of candidates (at most
  2 + log2 d); the leader rules out whom it beats, so that x* is only lost through the one-sided
  events about x − x*, of total level delta. Where halving goes from 3 to 1, a round with goal 2 is
  put between, so that the last round's design is for the two that are hardest to tell apart.
- ``Alba(delta, constants="printed")``: delta_r = 6delta/(pi²(r+1)²), and steps s = 1, 2, … of
  accuracy e = 2^−s with fresh draws, n = ⌈c0(2 + (6+e)d)/e² · log(5|S|²/(2delta_s))⌉ of them,
  delta_s = 6delta_r/(pi²s²), c0 = max(4‖theta*‖²L², 3), d the dimension of S, L the longest arm;
  x is dropped when the leader is ahead by e. The guarantee does not rest on the formula for n:
  should the width that the draws earned at level 2delta_s/(5|S|²) be larger than e, it takes
  the place of e.
- ``Alba(delta, constants="program")``: the steps of the public repository of RAGE's authors
  (ALBA's have published none), e = 4/1.1^s and d that of the arms, so that samples grow by 1.21
  from step to step; x is dropped when the leader is ahead by the width that the draws earned at
  the level above. Theirs has a width of its own in that place, counts those who were in at the
  beginning of the round in |S|, and has a design that is one arm too small where K = d.
- The design may use all arms, not only survivors (it is never worse, and transductive problems
  have no other choice). Where K <= d the first rounds have nothing to do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.algorithms.conditions import norm_condition
from surepick.arrays.grid import first_best
from surepick.arrays.memory import demand_memory
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import positive, real
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.promise import Condition
from surepick.research.designs import candidate_design, root_of_inverse
from surepick.research.levels import LevelledAlgorithm
from surepick.statistics.mixture import log_evidence


@dataclass(frozen=True)
class Alba(LevelledAlgorithm):
    """Adaptive linear best arm.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    norm_bound
        Bound on the Euclidean length of the true parameter theta* (rewards as measured, features
        as given); the guarantee needs it.
    growth
        Default form: factor by which the accuracy improves from one step to the next.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.

    Examples
    --------
    >>> Alba(delta=0.1, norm_bound=2.0).norm_bound
    2.0
    """

    norm_bound: float = field(default=1.0, kw_only=True)
    growth: float = field(default=1.05, kw_only=True)

    name: ClassVar[str] = "alba"
    follows: ClassVar[str] = "size"
    theorem: ClassVar[str] = (
        "noise widths given the draws, bias by the norm bound; union over one-sided comparisons"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.norm_bound, "norm_bound")
        if not 1 < real(self.growth, "growth") <= 4:
            raise InvalidInputError(f"growth must lie above 1 and up to 4; got {self.growth!r}")

    def begin(self, problem: Problem, rng: np.random.Generator) -> _State:
        """A fresh state; ``rng`` draws the arms."""
        tight = self.constants == "tight"
        return (_State if tight else _PaperState)(self, problem, rng)

    def needs(self) -> tuple[Condition, ...]:
        return (norm_condition(self.norm_bound),)


class _Lead(NamedTuple):
    """What comparing one leader with its rivals takes, whatever the draws; a row per rival."""

    rivals: IntArray
    y: FloatArray  #: differences to the leader, in the coordinates of ``features``
    u: FloatArray  #: yᵀM⁻¹x for each arm x of the design
    y_true: FloatArray  #: the differences as given, where lengths matter
    squared: FloatArray  #: their squared lengths
    unit: FloatArray  #: yᵀM⁻¹y: expected V per draw


class _Comparison(NamedTuple):
    """The leader against its rivals, given the draws; one entry per rival."""

    rivals: IntArray
    totals: FloatArray  #: n·yᵀθ̂
    bias: FloatArray  #: n·‖W − cy‖·norm_bound
    slopes: FloatArray  #: n·c: what a shift of yᵀθ* by one does to the total
    variances: FloatArray  #: V
    unit: FloatArray  #: as above


class _State(State):
    """Our default form: one design and one growing sample per round."""

    config: Alba
    saved: ClassVar[tuple[str, ...]] = (
        "active",
        "finished",
        "rng",
        "round",
        "step",
        "batches",
        "stages",
        "weights",
        "counts",
        "sums",
        "_best",
    )

    def __init__(self, config: Alba, problem: Problem, rng: np.random.Generator) -> None:
        self.config, self.problem, self.rng = config, problem, rng
        self.active: IntArray = problem.distinct
        self.finished = len(self.active) == 1
        self.round = self.step = self.batches = 0
        self.stages: list[dict[str, Any]] = []  # one design and sample each
        self.weights = np.zeros(problem.n_arms)
        self.counts = np.zeros(problem.n_arms, dtype=np.int64)
        self.sums = np.zeros(problem.n_arms)
        self._best = int(self.active[0])
        self._root: FloatArray | None = None  # of M⁻¹, for the design in use
        self._leads: dict[tuple[int, int], _Lead] = {}  # by leader and number of candidates left
        if not self.finished:
            self._open()

    # -- rounds and steps ------------------------------------------------------------------
    def _goals(self) -> list[int]:
        """Candidates that each round may leave: d, ⌊d/2⌋, …, 1, and 2 where that is skipped."""
        goals = _halvings(self.problem.rank)
        return goals if 2 in goals or len(goals) == 1 else [*goals[:-1], 2, 1]

    def _open(self) -> None:
        """Start the sample of the next step; skip rounds that have nothing to do."""
        while len(self.active) <= self._goals()[self.round]:
            self.round, self.step = self.round + 1, 0
        self.weights = candidate_design(self.problem, self.active).weights
        self._root, self._leads = None, {}
        self.counts = np.zeros(self.problem.n_arms, dtype=np.int64)
        self.sums = np.zeros(self.problem.n_arms)
        arms = np.flatnonzero(self.weights)
        self.stages.append(
            {
                "batch": self.batches,
                "members": self.active,
                "arms": arms,
                "weights": self.weights[arms],
                "dropped": [],
                **self._terms(),
            }
        )

    def _terms(self) -> dict[str, Any]:
        """Level of each comparison of this stage, and its first sample size."""
        M = len(self.problem.distinct)
        rounds = sum(goal < M for goal in self._goals())  # those with something to do
        level = self.config.delta / rounds / (len(self.active) - 1)
        return {"level": level, "threshold": None, "first": 4 * self.problem.rank}

    def _more(self) -> int:
        """Draws of the step that starts now."""
        drawn = int(self.counts.sum())
        if drawn == 0:
            return self.stages[-1]["first"]
        return math.ceil(drawn * (self.config.growth**2 - 1))

    def propose(self, budget: int) -> Pulls:
        n = min(self._more(), budget)
        return Pulls.from_counts(self.rng.multinomial(n, self.weights / self.weights.sum()))

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.counts[pulls.arms] += pulls.counts
        self.sums[pulls.arms] += sums
        self.batches += 1
        self.step += 1
        against = self._compare()
        beaten = self._passes(against, 0.0)
        if beaten.any():
            n, noise = self.counts.sum(), self.problem.unit
            self.stages[-1]["dropped"] += [
                {
                    "batch": self.batches - 1,
                    "candidate": int(i),
                    "by": self._best,
                    "gap": float(total / n * noise),
                    "bias": float(bias / n * noise),
                }
                for i, total, bias in zip(
                    against.rivals[beaten], against.totals[beaten], against.bias[beaten]
                )
            ]
            self.active = np.setdiff1d(self.active, against.rivals[beaten])
        if len(self.active) == 1:
            self.finished = True
        elif self.config.epsilon > 0:
            close = self._passes(against, self.config.epsilon / self.problem.unit)
            self.finished = bool(close.all())
        if not self.finished:
            self._next()

    def _next(self) -> None:
        """After a step: the next round once enough are gone."""
        if len(self.active) <= self._goals()[self.round]:
            self._open()

    # -- comparisons -----------------------------------------------------------------------
    def _compare(self) -> _Comparison:
        """Estimate, find the leader among those left, and compare it with the others."""
        problem, n = self.problem, int(self.counts.sum())
        arms = np.flatnonzero(self.weights)
        x, counts = problem.features[arms], self.counts[arms]
        if self._root is None:
            self._root = root_of_inverse(x, self.weights[arms])  # M⁻¹ = root rootᵀ
        theta = self._root @ (self._root.T @ (x.T @ self.sums[arms])) / n
        self._best = int(self.active[first_best(problem.targets[self.active] @ theta)])
        lead = self._lead(arms, self._root)
        lengths, _ = problem.isometric
        W = (lead.u * (counts / n)) @ lengths[arms]
        c = np.maximum((W * lead.y_true).sum(axis=1) / lead.squared, 0.0)
        norm = self.config.norm_bound / problem.unit
        return _Comparison(
            rivals=lead.rivals,
            totals=n * (lead.y @ theta),
            bias=n * norm * np.linalg.norm(W - c[:, None] * lead.y_true, axis=1),
            slopes=n * c,
            variances=lead.u**2 @ counts,
            unit=lead.unit,
        )

    def _lead(self, arms: IntArray, root: FloatArray) -> _Lead:
        """The geometry of the present leader against the others left."""
        key = (self._best, len(self.active))  # candidates only ever leave within a stage
        if key not in self._leads:
            problem, best = self.problem, self._best
            rivals = self.active[self.active != best]
            # u and its square have an entry for each rival and each arm of the design.
            free = problem.backend.free_memory()
            demand_memory(16.0 * len(arms), len(rivals), free, "alba: a table of all candidates")
            y = problem.targets[best] - problem.targets[rivals]
            u = (y @ root) @ (problem.features[arms] @ root).T
            _, candidates = problem.isometric
            y_true = candidates[best] - candidates[rivals]
            squared = (y_true**2).sum(axis=1)
            self._leads[key] = _Lead(rivals, y, u, y_true, squared, u**2 @ self.weights[arms])
        return self._leads[key]

    def _passes(self, against: _Comparison, epsilon: float) -> np.ndarray:
        """For whom it is settled that the leader is better, or worse by at most epsilon."""
        stage = self.stages[-1]
        surplus = against.totals - against.bias + epsilon * against.slopes
        bar = math.log(1 / stage["level"])
        first = stage["first"] * against.unit
        return log_evidence(surplus, against.variances, first, bar) >= bar

    def leader(self) -> int:
        return self._best

    def evidence(self) -> dict[str, Any]:
        return {"rule": "alba", "norm_bound": self.config.norm_bound, "stages": self.stages}


class _PaperState(_State):
    """The paper's steps and those of the program: fresh draws in each."""

    def _goals(self) -> list[int]:
        return _halvings(self.problem.rank)

    def _terms(self) -> dict[str, Any]:
        s, size = self.step + 1, len(self.active)
        program = self.config.constants == "program"
        e = 4 / 1.1**s if program else 2.0**-s
        delta_r = 6 * self.config.delta / (math.pi**2 * (self.round + 1) ** 2)
        level = 2 * (6 * delta_r / (math.pi**2 * s**2)) / (5 * size**2)
        arms, _ = self.problem.isometric
        longest = float((arms**2).sum(axis=1).max())  # L²
        c0 = max(4 * (self.config.norm_bound / self.problem.unit) ** 2 * longest, 3.0)
        d = self.problem.rank
        if not program:
            d = int(np.linalg.matrix_rank(self.problem.targets[self.active]))
        n = math.ceil(c0 * (2 + (6 + e) * d) / e**2 * math.log(1 / level))
        return {"level": level, "threshold": 0.0 if program else e, "first": n}

    def _next(self) -> None:
        if len(self.active) <= self._goals()[self.round]:
            self.round, self.step = self.round + 1, 0
        self._open()

    def _passes(self, against: _Comparison, epsilon: float) -> np.ndarray:
        stage, n = self.stages[-1], self.counts.sum()
        # Where the budget cut the sample short, the width that it reached is larger than planned.
        earned = np.sqrt(2 * against.variances * math.log(1 / stage["level"]))
        needed = np.maximum(earned + against.bias - epsilon * against.slopes, 0.0)
        fixed = n * max(stage["threshold"] - epsilon, 0.0)
        return against.totals > np.maximum(needed, fixed)


def _halvings(d: int) -> list[int]:
    """⌊d/2^r⌋ for r = 0, 1, … down to one."""
    return [d >> r for r in range(d.bit_length())]

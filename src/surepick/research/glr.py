"""What the algorithms that stop on the generalised likelihood ratio share.

The stop and its thresholds, with the argument why they are right, are in
:mod:`surepick.research.thresholds`; each algorithm adds its own rule for which arm to pull,
on which the argument does not depend.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.algorithms.conditions import REGULARISATION, norm_condition
from surepick.arrays.grid import product
from surepick.arrays.types import IntArray
from surepick.arrays.validate import positive
from surepick.errors import InvalidInputError
from surepick.promise import Condition
from surepick.research.sequential import SequentialState
from surepick.research.thresholds import (
    Determinant,
    Heuristic,
    Pairwise,
    Regularised,
    RoundRobin,
    SelfNormalised,
    Threshold,
)
from surepick.statistics.estimate import LeastSquares

if TYPE_CHECKING:
    from surepick.research.glr_kernels import Core

_PLAIN: dict[str, Threshold] = {
    t.name: t for t in (SelfNormalised(), Pairwise(), Determinant(), RoundRobin(), Heuristic())
}


@dataclass(frozen=True)
class GlrAlgorithm(Algorithm):
    """Settings of an algorithm with the GLR stop.

    Parameters
    ----------
    threshold
        Name of the threshold, see :mod:`surepick.research.thresholds`.
    """

    threshold: str = field(default="self-normalised", kw_only=True)

    #: thresholds whose assumptions the sampling rule meets
    thresholds: ClassVar[tuple[str, ...]] = (
        "self-normalised",
        "pairwise",
        "determinant",
        "heuristic",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threshold not in self.thresholds:
            raise InvalidInputError(
                f"threshold must be one of {', '.join(self.thresholds)}; got {self.threshold!r}"
            )
        # empty for the heuristic one
        object.__setattr__(self, "theorem", self.stop_rule().theorem)

    @classmethod
    def heuristic(
        cls, delta: float, *, epsilon: float = 0.0, max_samples: int | None = None
    ) -> Self:
        """The form in most plots: threshold log((1 + log t)/delta), without a guarantee."""
        return cls(delta, epsilon=epsilon, max_samples=max_samples, threshold="heuristic")

    def stop_rule(self) -> Threshold:
        """The threshold as a value."""
        return _PLAIN[self.threshold]

    def registered_name(self) -> str:
        shared = {f.name for f in fields(Algorithm)} | {"threshold"}
        plain = self.threshold == "heuristic" and super().settings().keys() <= shared
        return f"{self.name}-heuristic" if plain else self.name

    def settings(self) -> dict[str, Any]:
        given = super().settings()
        if self.registered_name() != self.name:
            del given["threshold"]
        return given


@dataclass(frozen=True)
class AdaptiveGlr(GlrAlgorithm):
    """Settings of the adaptive ones, which can use the regularised threshold too.

    Parameters
    ----------
    threshold
        ``"self-normalised"``, ``"pairwise"``, ``"determinant"``, ``"regularised"`` or
        ``"heuristic"``.
    norm_bound
        Regularised threshold: a number that ‖theta*‖ does not exceed, in units of the reward per
        unit of the features as given. It must be known: the guarantee rests on it.
    regularisation
        Regularised threshold: the multiple of the identity added to the Gram matrix.
    """

    norm_bound: float | None = field(default=None, kw_only=True)
    regularisation: float = field(default=REGULARISATION, kw_only=True)

    thresholds: ClassVar[tuple[str, ...]] = (
        "self-normalised",
        "pairwise",
        "determinant",
        "regularised",
        "heuristic",
    )

    def __post_init__(self) -> None:
        positive(self.regularisation, "regularisation")
        super().__post_init__()
        if self.norm_bound is not None and self.threshold != "regularised":
            raise InvalidInputError(
                f"norm_bound is used by threshold='regularised' only; got {self.threshold!r}"
            )

    def stop_rule(self) -> Threshold:
        if self.threshold != "regularised":
            return super().stop_rule()
        if self.norm_bound is None:
            raise InvalidInputError(
                "threshold='regularised' needs norm_bound, a number that the length of theta* "
                "does not exceed"
            )
        return Regularised(self.norm_bound, self.regularisation)

    def needs(self) -> tuple[Condition, ...]:
        if self.norm_bound is None:
            return ()
        return (norm_condition(self.norm_bound, self.regularisation),)


class GlrState(SequentialState):
    """Data, estimate and stop; children add the sampling rule.

    ``memory`` is a named tuple whose entry ``core`` is a :class:`~.glr_kernels.Core`. Constants
    and scratch, named in ``rebuilt``, are not saved.
    """

    config: GlrAlgorithm
    rebuilt: ClassVar[frozenset[str]] = frozenset(
        {"arms", "columns", "first", "code", "parameters", "epsilon"}
        | {"white", "variances", "square", "precision", "y", "u"}
    )

    def first_arms(self) -> IntArray:
        """Arms pulled once each before the rule sets in; they span."""
        return self.problem.spanning_arms

    def new_core(self) -> Core:
        """A fresh core; arrays are copied because compiled code wants them writable."""
        from surepick.research.glr_kernels import Core

        problem, config, rule = self.problem, self.config, self.config.stop_rule()
        arms, candidates = rule.coordinates(problem)
        first = np.array(self.first_arms(), dtype=np.int64)
        parameters = rule.parameters(config.delta, problem, first)
        (K, d), M = arms.shape, len(problem.distinct)
        return Core(
            arms=np.array(arms, order="C"),
            columns=np.array(candidates[problem.distinct].T, order="C"),
            first=first,
            code=np.array([rule.code]),
            parameters=parameters,
            epsilon=np.array([config.epsilon / problem.unit]),
            pulls=np.zeros(K, dtype=np.int64),
            sums=np.zeros(K),
            V=rule.prior * np.eye(d),
            moment=np.zeros(d),
            lower=np.zeros((d, d)),
            theta=np.zeros(d),
            gaps=np.zeros(M),
            levels=np.zeros((rule.count_levels(parameters), 2)),
            place=np.zeros(4, dtype=np.int64),
            white=np.empty((d, M)),
            variances=np.empty(M),
            square=np.zeros((d, d)),
            precision=np.zeros((d, d)),
            y=np.empty(d),
            u=np.empty(d),
        )

    # -- where it stands -------------------------------------------------------------------
    def leader(self) -> int:
        distinct = self.problem.distinct
        if len(distinct) == 1:
            return int(distinct[0])
        core = self.memory.core
        from surepick.research.glr_kernels import LEADER, READY

        if core.place[READY]:
            return int(distinct[core.place[LEADER]])
        fit = LeastSquares(self.problem.features, core.pulls, core.sums)  # a budget cut it short
        return int(distinct[np.argmax(self.problem.targets[distinct] @ fit.theta)])

    def remaining(self) -> list[int]:
        if len(self.problem.distinct) == 1 or self.config.epsilon == 0:
            return [self.leader()]
        from surepick.research.glr_kernels import standing

        mask = np.empty(len(self.problem.distinct), dtype=bool)
        standing(self.memory.core, 0.0, mask)
        return [int(i) for i in self.problem.distinct[mask]]

    def evidence(self) -> dict[str, Any]:
        rule = self.config.stop_rule()
        told = rule.evidence(self.first_arms())
        return {"rule": "glr", "threshold": rule.name, **told}

    # -- save and load ---------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        if len(self.problem.distinct) == 1:
            return {}
        own = self.memory._asdict()
        core = own.pop("core")._asdict()
        kept = {k: v for k, v in (core | own).items() if k not in self.rebuilt}
        return {"arm": self.arm, "finished": self.finished, "memory": kept}

    def load(self, memory: dict[str, Any]) -> None:
        if not memory:
            return
        self.arm, self.finished = memory["arm"], memory["finished"]
        saved = dict(memory["memory"])
        fresh = self.memory.core
        core = {k: saved.pop(k) for k in fresh._fields if k not in self.rebuilt}
        self.memory = self.memory._replace(core=self._here(fresh._replace(**core)), **saved)

    def _here(self, core: Core) -> Core:
        """What was saved, in the coordinates of this problem: other machines have others.

        What depends on them follows from the pulls and the sums of their rewards.
        """
        V = self.config.stop_rule().prior * np.eye(core.arms.shape[1])
        V += product(core.arms.T * core.pulls, core.arms)
        if np.allclose(V, core.V, rtol=1e-9, atol=1e-9 * float(np.abs(V).max())):
            return core
        from surepick.arrays.kernels import cholesky
        from surepick.research.glr_kernels import READY, rank, solve

        core = core._replace(V=V, moment=product(core.arms.T, core.sums[:, None])[:, 0])
        if core.place[READY] and cholesky(V, core.lower):
            solve(core.lower, core.moment, core.y, core.theta)
            rank(core.columns, core.theta, core.gaps)
        return core

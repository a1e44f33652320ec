"""Instances: a problem together with the truth. Simulation only."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem


class Instance:
    """A problem plus the true parameter, from which rewards can be drawn.

    Examples
    --------
    >>> instance = Instance(Problem([[1, 0], [0, 1]]), theta=[0.5, 0.2])
    >>> instance.best, [round(float(g), 2) for g in instance.gaps]
    (0, [0.0, 0.3])
    """

    def __init__(
        self, problem: Problem, theta: Any, name: str = "instance", off: Any = 0.0
    ) -> None:
        if not isinstance(problem, Problem):
            raise InvalidTypeError(f"problem must be a surepick.Problem; got {problem!r:.80}")
        try:
            self.theta: FloatArray = np.array(theta, dtype=float)
        except (TypeError, ValueError):
            raise InvalidTypeError(f"theta must be numbers; got {theta!r:.80}") from None
        if self.theta.shape != (problem.n_features,) or not np.isfinite(self.theta).all():
            raise InvalidInputError(
                f"theta must be {problem.n_features} finite numbers, one per feature; "
                f"got shape {self.theta.shape}"
            )
        self.theta.setflags(write=False)
        self.problem = problem
        self.name = name
        self._off = off  # how far the mean of each arm is from what its features say
        if np.ndim(off) and problem.transductive:
            raise InvalidInputError("misfit: candidates must be the arms, or nobody could see it")

    def off_by(self, zeta: float, rng: np.random.Generator) -> Instance:
        """The same, with means off by up to ``zeta``; equal options by as much."""
        off = rng.uniform(-zeta, zeta, self.problem.n_arms)[self.problem.same_as]
        return Instance(self.problem, self.theta, self.name, off)

    @cached_property
    def means(self) -> FloatArray:
        """Mean reward of each arm."""
        return _values(self.problem, self.problem.arms, self.theta) + self._off

    @cached_property
    def values(self) -> FloatArray:
        """True value of each candidate."""
        return _values(self.problem, self.problem.candidates, self.theta) + self._off

    @cached_property
    def best(self) -> int:
        """The best candidate (the first, where several are equally good)."""
        return int(np.argmax(self.problem.sign * self.values))

    @cached_property
    def gaps(self) -> FloatArray:
        """How much worse than the best each candidate is."""
        return self.problem.sign * (self.values[self.best] - self.values)

    def is_correct(self, candidate: int, epsilon: float = 0.0) -> bool:
        """Whether ``candidate`` is a best one (within ``epsilon``)."""
        if self.problem.same_as[candidate] == self.problem.same_as[self.best]:
            return True
        return bool(self.gaps[candidate] <= epsilon)

    def __repr__(self) -> str:
        return f"Instance({self.name!r}, {self.problem!r})"


def _values(problem: Problem, table: FloatArray, theta: FloatArray) -> FloatArray:
    if not problem.large:
        return table @ theta
    return problem.backend.host(problem.backend.product(table, theta))

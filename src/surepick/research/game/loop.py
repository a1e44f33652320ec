"""The two-player game: a learner over arms against the closest alternative.

:func:`play_phase` plays it while pulling arms, as one PELEG phase; :func:`solve_game` plays it
alone and reports the certified bracket it reaches.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.grid import product
from surepick.arrays.tables import read_only
from surepick.arrays.types import FloatArray
from surepick.errors import SolverError
from surepick.research.game.learners import AdaHedge, ExponentialWeights, Learner

_CHUNK = 100_000  # rounds between returns to Python, where Ctrl-C is heard


def play_phase(
    arms: FloatArray,
    points: FloatArray,
    constants: Mapping[str, float],
    budget: int,
    learner: Learner | None = None,
) -> tuple[NDArray[np.int64], bool]:
    """Pulls per arm of one phase of Algorithm 1, and whether it ran to its stop.

    ``constants`` holds D, r2, eps and radius of the phase; the learner is the paper's unless given.
    No reward is involved: the pulls are known before the first measurement. The phase may end
    early, at ``budget`` pulls.
    """
    from surepick.research.game import kernels

    stated = ExponentialWeights(rate=1.0 / constants["D"] ** 2, offset=len(arms))
    learner = stated if learner is None else learner
    phase = Phase(arms, points, learner, constants["eps"], constants["radius"], constants["r2"])
    while True:
        stop = min(phase.rounds + _CHUNK, budget)
        if kernels.play_phase(*phase.arrays(stop)):
            return phase.pulls, True
        if phase.rounds >= budget:
            return phase.pulls, False


class Phase:
    """Memory of one phase: pulls, tracked weights, learner, and the last closest alternative."""

    def __init__(
        self,
        arms: FloatArray,
        points: FloatArray,
        learner: Learner,
        eps: float,
        radius: float,
        goal: float,
    ) -> None:
        K, d = arms.shape
        self.arms = read_only(np.ascontiguousarray(arms))
        self.columns = np.ascontiguousarray(points.T)
        self.learner = learner
        self.settings = np.array([*learner.parameters, eps, radius, goal])
        self.pulls = np.ones(K, dtype=np.int64)  # burn-in: every arm once
        self.targets = np.ones(K)  # the tracker starts at the burn-in counts
        self.memory = np.zeros(K + 2)
        self.V = product(arms.T, arms)
        self.witness = np.zeros(d + 1)  # an alternative and its value; inf: not found yet
        self.witness[d] = np.inf
        self.tracking = np.zeros(2)  # largest excess and shortfall of pulls seen at any round

    @property
    def rounds(self) -> int:
        """Rounds played, burn-in included."""
        return int(self.pulls.sum())

    def arrays(self, stop: int) -> tuple[Any, ...]:
        """What the compiled loop works on, until ``stop`` pulls."""
        return (
            self.arms,
            self.columns,
            self.learner.code,
            self.settings,
            self.pulls,
            self.targets,
            self.memory,
            self.V,
            self.witness,
            self.tracking,
            stop,
        )


@dataclass(frozen=True)
class GameResult:
    """Where a game stands: averaged weights and the bracket around the game's value.

    The value of the game on directions Y is B = min_w max_y yᵀA(w)⁻¹y.

    Examples
    --------
    >>> result = solve_game(np.eye(2), np.array([[1.0, -1.0]]), tol=0.01)
    >>> result.gap <= 0.01, result.weights.round(1).tolist()
    (True, [0.5, 0.5])
    """

    weights: FloatArray  #: averaged strategy of the learner
    lower: float  #: certified: B is at least this
    upper: float  #: certified: the worst direction under ``weights``
    rounds: int
    visited: NDArray[np.int64]  #: distinct directions the opponent answered, as index pairs
    visits: NDArray[np.int64]  #: how often each of them was answered

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return self.upper / self.lower - 1.0


def solve_game(
    arms: FloatArray,
    points: FloatArray,
    *,
    pairs: bool = False,
    tol: float = 1e-2,
    max_rounds: int = 10_000,
    learner: Learner | None = None,
) -> GameResult:
    """Play until the bracket is narrower than ``tol``, or for ``max_rounds``.

    Parameters
    ----------
    arms
        ``(K, d)``, spanning the space.
    points
        Directions ``(P, d)``; with ``pairs``, points whose differences are the directions.
    pairs
        Whether ``points`` are taken two at a time.
    tol
        Width of the bracket, as a share of its lower end, at which it is enough.
    max_rounds
        Rounds after which it ends anyway.
    learner
        :class:`AdaHedge` unless given.

    Examples
    --------
    >>> result = solve_game(np.eye(2), np.array([[1.0, -1.0]]))
    >>> round(result.lower, 6), round(result.upper, 6)
    (4.0, 4.0)
    """
    from surepick.research.game import kernels

    learner = learner or AdaHedge()
    K = len(arms)
    columns = np.ascontiguousarray(points.T)
    arms = np.ascontiguousarray(arms)
    memory, average, total = np.zeros(K + 2), np.zeros(K), np.zeros(K)
    seen: list[NDArray[np.int64]] = []
    played = 0
    while True:
        rounds = min(max(50, played), max_rounds - played)
        visits = np.empty((rounds, 2), dtype=np.int64)
        ok = kernels.play_game(
            arms, columns, pairs, learner.code, *learner.parameters, memory, average, total, visits
        )
        if not ok:
            raise SolverError("the arms do not span the directions: the design matrix is singular")
        played += rounds
        seen.append(visits)
        weights = average / played
        lower = played / float(total.max())
        upper = kernels.largest_variance(arms, columns, pairs, weights)
        if upper / lower - 1.0 <= tol or played >= max_rounds:
            visited, counts = np.unique(np.concatenate(seen), axis=0, return_counts=True)
            return GameResult(weights, lower, upper, played, visited, counts)

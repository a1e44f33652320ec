"""LinGapE: pull what tells the leader from its most ambiguous rival.

Paper: Xu, Honda, Sugiyama, "A fully adaptive algorithm for pure exploration in linear bandits",
AISTATS 2018 (Algorithm 1).

Guarantee: delta-PAC, by the confidence ellipsoid of :mod:`surepick.research.ellipsoid`.
Known in advance: the noise scale and ``norm_bound``, a bound S on ‖theta*‖ in units of the reward
per unit of the features as given. If theta* is longer, nothing is guaranteed.

Every arm once; then in each round the leader z_i with the highest estimate, the challenger
z_j = argmax theta'(z_j − z_i) + C_t ‖z_j − z_i‖_{A⁻¹}; stop when that maximum is at most epsilon.

Which arm is pulled:

- ``LinGapE(delta)``, the rule the paper analyses. c = argmin{‖c‖₁ : sum of c_k x_k = z_i − z_j} is
  the cheapest way to measure the difference; pull the arm with the smallest T_k/|c_k|, T_k its
  pulls so far. The linear program is solved once per pair and problem and kept for all runs of
  the process: by a small simplex method that proves its result, or else by HiGHS.
- ``LinGapE.greedy(delta)``, the rule of the paper's experiments: the arm whose next pull shrinks
  ‖z_i − z_j‖ most. It looks one pull ahead, and nothing keeps it from leaving an arm that matters
  to later pairs unpulled for very long, so it is guarded: when t is a square number and the least
  pulled of ``rank`` spanning arms has fewer than sqrt(t)/rank pulls, that arm is pulled instead.
  These are at most sqrt(t) pulls in all, and the guarantee holds for any sampling rule.

Levels of constants: printed, C_t = sqrt(2 log(K² det(A/lambda)^½ / delta)) + sqrt(lambda) S. K² is
not needed for validity, since one ellipsoid serves all pairs: ``"tight"`` leaves it out.
``"program"`` is as printed: so is the public repository of RAGE's authors. (The script of
LinGapE's own authors replaces the determinant by a bound in terms of t, sqrt(d log(K²(1+t)/(lambda
delta))), which is wider, and follows the greedy rule.) With separate candidates the pairs are
pairs of candidates, and K counts them.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from surepick.arrays.cache import PlanCache
from surepick.arrays.tables import read_only
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.research.ellipsoid import EllipsoidAlgorithm, EllipsoidState
from surepick.research.levels import LevelledAlgorithm

_TABLES = PlanCache(size=32)
_PROVEN = 1e-7  # largest acceptable excess of a combination over the proven optimum
_NO_SHARE = 1e-9  # a smaller share of the pulls is a rounding error of the linear program


@dataclass(frozen=True)
class LinGapE(EllipsoidAlgorithm, LevelledAlgorithm):
    """Linear gap-based exploration.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    norm_bound
        Bound on the Euclidean length of the true parameter theta* (rewards as measured, features
        as given); the guarantee needs it.
    regularisation
        lambda, the weight of the prior: any value is valid, about 1 is good when
        rewards/noise and features are of order one.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.
    rule
        ``"ratio"``, the analysed rule, or ``"greedy"``.

    Examples
    --------
    >>> LinGapE(delta=0.05, norm_bound=2.0).registered_name()
    'lingape'
    >>> LinGapE.greedy(0.05).registered_name()
    'lingape-greedy'
    """

    rule: str = field(default="ratio", kw_only=True)

    name: ClassVar[str] = "lingape"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in ("ratio", "greedy"):
            raise InvalidInputError(f"rule must be 'ratio' or 'greedy'; got {self.rule!r}")

    @classmethod
    def greedy(cls, delta: float, **settings: Any) -> LinGapE:
        """The greedy rule; settings as for the class, without ``rule``."""
        if "rule" in settings:
            raise InvalidInputError("rule: an unexpected argument, the greedy form fixes it")
        return cls(delta, rule="greedy", **settings)

    def registered_name(self) -> str:
        return "lingape-greedy" if self.rule == "greedy" else "lingape"

    def settings(self) -> dict[str, Any]:
        return {k: v for k, v in super().settings().items() if k != "rule"}

    def level(self, problem: Problem) -> float:
        """delta, or delta/K² as printed."""
        return self.delta / (1 if self.constants == "tight" else len(problem.distinct) ** 2)

    def begin(self, problem: Problem, rng: np.random.Generator) -> EllipsoidState:
        """A fresh state; nothing is drawn at random."""
        return LinGapEState(self, problem)


class LinGapEState(EllipsoidState):
    """A running LinGapE."""

    def build(self) -> None:
        assert isinstance(self.config, LinGapE)
        greedy = self.config.rule == "greedy"
        self.start(np.arange(self.problem.n_arms), greedy)
        if not greedy:
            self._adopt(self._table())

    def supply(self) -> None:
        """Solve the linear program of the pair asked for."""
        from surepick.research.ellipsoid_kernels import WANTED

        table = self._table()
        table.add(int(self.memory.whole[WANTED]))
        self._adopt(table)

    def _table(self) -> _Shares:
        return _TABLES.get(self.problem.digest, lambda: _Shares(self.problem))

    def _adopt(self, table: _Shares) -> None:
        """Use all pairs known by now."""
        pairs, support, shares = table.arrays
        self.memory = self.memory._replace(
            pairs=pairs, support=support, shares=shares, last=np.array([-1, 0])
        )


class _Shares:
    """The arm shares p of the pairs solved so far, for one problem.

    A vertex of the linear program has at most ``rank`` arms, so rows are short. ``arrays`` are
    snapshots: pairs are added to new ones, and rows beyond those they refer to.
    """

    def __init__(self, problem: Problem) -> None:
        self._features = problem.features
        self._columns = read_only(np.ascontiguousarray(problem.features.T))
        self._basis = problem.spanning_arms.copy()
        self._inverse = np.ascontiguousarray(np.linalg.inv(self._features[self._basis].T))
        self._targets = problem.targets[problem.distinct]
        self._lock = threading.Lock()
        self.arrays = (
            np.empty((2, 0), dtype=np.int64),
            np.full((16, problem.rank), -1, dtype=np.int64),
            np.zeros((16, problem.rank)),
        )

    def add(self, pair: int) -> None:
        """Add the pair i < j, written i M + j."""
        with self._lock:
            pairs, support, shares = self.arrays
            at, row = int(np.searchsorted(pairs[0], pair)), pairs.shape[1]
            if at < row and pairs[0, at] == pair:
                return
            if row == len(support):
                support = np.concatenate([support, np.full_like(support, -1)])
                shares = np.concatenate([shares, np.zeros_like(shares)])
            arms, p = self._solve(*divmod(pair, len(self._targets)))
            support[row, : len(arms)], shares[row, : len(arms)] = arms, p
            self.arrays = (np.insert(pairs, at, [pair, row], axis=1), support, shares)

    def _solve(self, i: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """p ∝ |c| for c = argmin{‖c‖₁ : sum of c_k x_k = z_i − z_j}, where it is not zero."""
        from surepick.design import one_direction
        from surepick.research.lingape_kernels import cheapest

        y = self._targets[i] - self._targets[j]
        rank = len(y)
        p = np.zeros(len(self._features))
        basis, inverse = self._basis.copy(), self._inverse.copy()
        c, excess = cheapest(self._columns, basis, inverse, y / np.linalg.norm(y), 50 * rank)
        p[basis] = np.abs(c) / np.abs(c).sum()
        if not abs(excess) <= _PROVEN:
            p = one_direction(self._features, y).weights
        p = p.round(12)  # equal shares should be equal
        largest = np.argsort(-p, kind="stable")[:rank]
        arms = np.sort(largest[p[largest] > _NO_SHARE])
        return arms, p[arms]

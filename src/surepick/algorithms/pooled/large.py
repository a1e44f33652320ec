"""PooledPeleg for very many candidates: the same rule, block by block, on any array library.

Nothing here is decided otherwise than in :mod:`surepick.algorithms.pooled.state`: rivals, stakes,
bets and drops are the same numbers. What differs is how they are computed. Everything with one
entry per candidate lives where the features are, in memory or on a GPU, and is worked on in blocks
of rows; no table of candidates beside the features is ever made. Designs come from the certified
first-order solver, and are rounded to few arms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.bets import ACCOUNTS, DOUBT, PRECISIONS, RIVALS
from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.algorithms.pooled.rounding import round_many
from surepick.algorithms.pooled.state import CAUTION, ENOUGH, RECHECK, SMALLEST, PooledState
from surepick.arrays.backend import Backend
from surepick.arrays.cache import PlanCache
from surepick.arrays.tables import mark_checked
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem
from surepick.statistics.estimate import LeastSquares
from surepick.statistics.payoffs import array_log_payoff

_TOL = 0.1  # certified gap at which the design of a block is good enough
_LOOKS = 6  # and looks at everything after which it has to do: bounds lag behind the design
_JUDGES = 512  # directions by which ways to round a design are compared
_FIRST_DESIGNS = PlanCache(4)
_MOVED = ("capital", "dropped_at", "spare", "close")  # arrays that live where the features are


class Fit(NamedTuple):
    """Least squares on one block: small matrices that apply to any candidate."""

    root: FloatArray  #: (d, r): squared lengths of rootᵀy are variances of yᵀθ̂
    theta: FloatArray  #: (d,)
    blind: FloatArray  #: (d, d − r): orthonormal directions that the block says nothing about


class Judged(NamedTuple):
    """A design, and the directions that it was made for."""

    weights: FloatArray  #: (K,)
    value: float
    indices: IntArray
    shares: FloatArray
    vectors: FloatArray  #: of the judges: those with the largest shares
    by: FloatArray  #: their shares


class LargePooledState(PooledState):
    """As :class:`PooledState`; see the head of this file."""

    def __init__(self, config: PooledPeleg, problem: Problem) -> None:
        self._b: Backend = problem.backend
        super().__init__(config, problem)
        self.design_gaps: list[float] = []  # certified gaps of the designs so far; not saved
        self.shares[:] = 0.0
        self._to_device()

    def _to_device(self) -> None:
        for name in _MOVED:
            setattr(self, name, self._b.put(getattr(self, name)))

    def save(self) -> dict[str, Any]:
        memory = super().save()
        return memory | {name: self._b.host(memory[name]) for name in _MOVED}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self._to_device()

    def _gather(self) -> Any:
        if len(self.problem.distinct) == self.problem.n_candidates:
            return self.problem.targets
        points = self._b.take(self.problem.targets, self.problem.distinct)
        mark_checked(points)
        return points

    # -- asking ----------------------------------------------------------------------------
    def _plan(self, budget: int) -> IntArray:
        first = self._first_design()
        n = int(self.total_counts.sum())
        if n == 0:
            design, weights, size = first, first.weights, 0.0
        else:
            design = self._next_design(first)
            weights, size = self._blend(design.weights, first.weights), self._size(design.value)
        size = min(self._whole_batches(max(size, SMALLEST * self.problem.rank)), budget)
        at_work = np.union1d(np.flatnonzero(weights), self.problem.spanning_arms)
        counts = np.zeros(self.problem.n_arms, dtype=np.int64)
        counts[at_work] = round_many(
            self.problem.feature_rows(at_work),
            weights[at_work],
            size,
            design.vectors,
            design.by,
            np.searchsorted(at_work, self.problem.spanning_arms),
            must_span=n == 0,
        )
        return counts

    def _first_design(self) -> Judged:
        """For the candidates around their centre, and a little for all that arms span."""

        def compute() -> Judged:
            centre = self._b.host(self._b.xp.mean(self._points, axis=0))
            found = self._solve(centre, None, None, None)
            weights = 0.9 * found.weights
            spanning = self.problem.spanning_arms
            weights[spanning] += 0.1 / len(spanning)
            return found._replace(weights=weights)

        return _FIRST_DESIGNS.get(self.problem.key, compute)

    def _next_design(self, first: Judged) -> Judged:
        """For the leads that lack evidence; its value is the number of pulls that seem missing."""
        market, pulls = self._open_market(), self._lacking_pulls()
        start = self.weights if self.weights.any() else first.weights
        old = np.flatnonzero(self.shares)
        seed = (old, self.shares[old]) if len(old) else None
        leader = int(market.rivals[0])
        scales = self._b.xp.sqrt(2.0 * pulls)
        found = self._solve(self._b.rows(self._points, np.array([leader]))[0], scales, start, seed)
        self.weights = found.weights
        self.shares[:] = 0.0
        self.shares[found.indices] = found.shares
        return found

    def _solve(self, centre: FloatArray, scales: Any, start: Any, seed: Any) -> Judged:
        from surepick.design import Leads, minimax

        leads = Leads(self._points, centre, scales)
        result = minimax(
            self.problem.features, leads, tol=_TOL, start=start, seed=seed, max_rounds=_LOOKS
        )
        self.design_gaps.append(result.gap)
        heavy = np.argsort(-result.direction_weights, kind="stable")[:_JUDGES]
        by = result.direction_weights[heavy]
        return Judged(
            result.weights,
            result.value,
            result.directions,
            result.direction_weights,
            leads.vectors(result.directions[heavy]),
            by,
        )

    def _lacking_pulls(self) -> Any:
        """Pulls, for a variance of one per pull, that each lead lacks; as ``_lacking`` has it."""
        xp, market = self._b.xp, self._open_market()
        leader, goal = int(market.rivals[0]), -math.log(self.config.delta)
        gone = self.dropped_at > 0
        lacking = xp.clip(goal - self._evidence(), ENOUGH, None)
        if bool(xp.any(gone)):
            lacking = xp.where(gone, goal - self._assured(market), lacking)
        noise = xp.clip(CAUTION * market.variances, 1e-300, None)
        pulls = lacking / (market.gaps**2 + noise)
        if self.config.epsilon > 0 and not bool(gone[leader]):
            wide = market.gaps + self.config.epsilon / self.problem.noise
            spare = xp.clip(goal - self._spare_evidence(leader), ENOUGH, None)
            spare = xp.where(self._is_close(leader), 0.0 * spare, spare)
            pulls = xp.where(gone, pulls, xp.minimum(pulls, spare / (wide**2 + noise)))
        pulls[leader] = 0.0
        return xp.clip(pulls, 0.0, None)

    def _assured(self, market: Any) -> Any:
        xp, n = self._b.xp, float(self.total_counts.sum())
        dropped = xp.clip(xp.astype(self.dropped_at, xp.float64), 1.0, None)
        late = xp.log(xp.clip(n / (RECHECK * dropped), 1.0, None))
        return market.gaps**2 / xp.clip(2.0 * market.variances, 1e-300, None) - late

    # -- telling ---------------------------------------------------------------------------
    def _fit(self, counts: IntArray, sums: FloatArray) -> Any:
        pulled = np.flatnonzero(counts)
        root = np.sqrt(counts[pulled])
        rows = self.problem.feature_rows(pulled) * root[:, None]
        u, s, vt = np.linalg.svd(rows, full_matrices=len(rows) < rows.shape[1])
        seen = int((s > s[0] * 1e-7).sum())
        scaled = vt[:seen].T / s[:seen]
        theta = scaled @ (u[:, :seen].T @ (sums[pulled] / root))
        return Fit(scaled, theta, vt[seen:].T)

    def _make_market(self, past: LeastSquares, first: Any, scale: float) -> Any:
        return LargeMarket(self._b, self._points, past, first, scale)

    def _bet(self, block: Any, record: dict[str, Any]) -> None:
        xp, market = self._b.xp, self._open_market()
        record["rivals"] = [self._name(r) for r in market.rivals]
        alive = self.dropped_at == 0
        market.settle(self.capital, alive, block)
        evidence = self._evidence()
        lost = self._b.nonzero(alive & (evidence >= -math.log(self.config.delta)))
        self.dropped_at[lost] = int(self.total_counts.sum() + self.counts.sum())
        places = self._b.host(lost)
        record["dropped"] = {
            "candidate": self.problem.distinct[places],
            "log_capital": self._b.host(xp.take(evidence, lost, axis=0)),
        }
        if self.config.epsilon > 0:
            self._bet_on_closeness(alive, block)

    def _bet_on_closeness(self, alive: Any, block: Any) -> None:
        xp, market = self._b.xp, self._open_market()
        leader, M = int(market.rivals[0]), self._points.shape[0]
        k = self._leader_number(leader)
        if k == len(self.leaders):
            self.leaders.append(leader)
            fresh = self._b.put(np.tile(np.log(ACCOUNTS), (1, M, 1)))
            self.spare = xp.concat([self.spare, fresh])
            self.close = xp.concat([self.close, self._b.full((1, M), False, "bool")])
        others = xp.asarray(alive, copy=True)
        others[leader] = False
        epsilon = self.config.epsilon / self.problem.noise
        market.settle_close(self.spare[k], others, block, epsilon)
        self.close[k] |= self._spare_evidence(leader) >= -math.log(self.config.delta)
        for k, leader in enumerate(self.leaders):
            left = self.dropped_at == 0
            left[leader] = False
            alone = not bool(xp.any(left & ~self.close[k]))
            if not bool(self.dropped_at[leader] > 0) and alone:
                self.finished, self._best = True, leader

    # -- where it stands -------------------------------------------------------------------
    def _alive(self) -> IntArray:
        return self._b.host(self._b.nonzero(self.dropped_at == 0)).astype(np.int64)

    def _top(self, means: Any) -> int:
        xp = self._b.xp
        return int(xp.argmax(xp.where(self.dropped_at == 0, means, means * 0.0 - math.inf)))

    def _values(self, theta: FloatArray) -> Any:
        return self._b.product(self._points, theta)

    def _evidence(self) -> Any:
        total = _log_sum(self._b, self.capital)
        return total - math.log(2.0) if self.config.epsilon > 0 else total

    def _spare_evidence(self, rival: int) -> Any:
        k = self._leader_number(rival)
        if k == len(self.leaders):
            total = self._b.full((self._points.shape[0],), 0.0)
        else:
            total = _log_sum(self._b, self.spare[k])
        return total - math.log(2.0 * (k + 1) * (k + 2))

    def _is_close(self, rival: int) -> Any:
        k = self._leader_number(rival)
        if k < len(self.leaders):
            return self.close[k]
        return self._b.full((self._points.shape[0],), False, "bool")

    def progress(self) -> FloatArray:
        xp = self._b.xp
        share = xp.clip(self._evidence() / -math.log(self.config.delta), 0.0, 1.0)
        share = self._b.host(xp.where(self.dropped_at > 0, 0.0 * share + 1.0, share))
        return share[np.searchsorted(self.problem.distinct, self.problem.same_as)]


class LargeMarket:
    """As :class:`surepick.algorithms.pooled.bets.Market`, without a table of its own."""

    def __init__(
        self, backend: Backend, points: Any, past: LeastSquares, first: Fit, scale: float
    ) -> None:
        self._b, self._points, self._past, self._first = backend, points, past, first
        self._scale = scale
        xp = backend.xp
        self.means = backend.product(points, past.theta)
        leader = int(xp.argmax(self.means))
        centre = backend.rows(points, np.array([leader]))[0]
        self.gaps = self.means[leader] - self.means
        self.variances = backend.quadratic(points, past.root, centre)
        trailing = self.gaps**2 / xp.where(
            self.variances > 0, self.variances, 0.0 * self.variances + 1.0
        )
        trailing[leader] = -1.0
        self.rivals, least = backend.largest(-trailing, RIVALS)
        self._doubt = DOUBT * np.maximum(-least, 0.0)
        self._rows = backend.rows(points, self.rivals)  # (R, d)

    def settle(self, capital: Any, against: Any, block: Fit) -> None:
        """Multiply the capital against those of a mask by what their bets on all rivals paid."""
        self._pay(capital, against, block, len(self.rivals), 0.0)

    def settle_close(self, capital: Any, against: Any, block: Fit, epsilon: float) -> None:
        """The same for bets on "not more than epsilon better than the leader"."""
        self._pay(capital, against, block, 1, epsilon)

    def _pay(self, capital: Any, against: Any, block: Fit, rivals: int, shift: float) -> None:
        b = self._b
        against = b.nonzero(against)
        if against.shape[0] == self._points.shape[0]:
            for rows in b.blocks(self._points):
                capital[rows] += self._paid(self._points[rows], against[rows], block, rivals, shift)
            return
        for part in b.blocks(self._points, against.shape[0]):
            rows = against[part]
            capital[rows] += self._paid(b.take(self._points, rows), rows, block, rivals, shift)

    def _paid(self, x: Any, places: Any, block: Fit, rivals: int, shift: float) -> Any:
        """Log of what a block paid to each account, (n, J), for bets against candidates x.

        As :func:`surepick.algorithms.pooled.kernels.pay`: the capital of each account is split
        over the rivals r ≠ x in proportion to exp(−doubt_r) times the information of the first
        block about r − x, and staked on r − x by a normal around the past's estimate, cut at 0.
        """
        b, xp = self._b, self._b.xp
        r = self._rows[:rivals]
        own = places[:, None] == b.put(self.rivals[:rivals])[None, :]
        one = 0.0 * xp.astype(own, xp.float64) + 1.0
        unit = self._scale / xp.where(own, one, self._apart(x, r, self._first.root))
        information = 1.0 / xp.where(own, one, self._apart(x, r, self._past.root))
        told = self._told(x, r, block, own)
        score = information * (self._lead(x, r, self._past.theta) + shift)
        news = told * (self._lead(x, r, block.theta) + shift)
        share = xp.log(unit) - b.put(self._doubt[:rivals])[None, :]
        share = xp.where(own, share * 0.0 - math.inf, share)
        whole = _log_sum(b, share)
        alone = whole == -math.inf  # x has no rival but itself
        paid = []
        for precision in PRECISIONS:
            payoff = array_log_payoff(b, score, information + precision * unit, news, told)
            gained = _log_sum(b, share + payoff) - xp.where(alone, xp.zeros_like(whole), whole)
            paid.append(xp.where(alone, xp.zeros_like(gained), gained))
        return xp.stack(paid, axis=1)

    def _told(self, x: Any, r: FloatArray, block: Fit, own: Any) -> Any:
        """Information of the block about r − x; none where it is blind to part of that."""
        xp = self._b.xp
        apart = self._apart(x, r, block.root)
        blind = own | (apart == 0)
        if block.blind.shape[1]:
            blind = blind | self._unseen(x, r, block.blind)
        one = 0.0 * apart + 1.0
        return xp.where(blind, 0.0 * apart, 1.0 / xp.where(blind, one, apart))

    def _unseen(self, x: Any, r: FloatArray, blind: FloatArray) -> Any:
        """Where r − x sticks out of what the block measured.

        One projection shows it for nearly all; the others are looked at in full.
        """
        b, xp = self._b, self._b.xp
        generic = blind @ np.cos(1.0 + np.arange(blind.shape[1]))
        across = self._lead(x, r, generic) ** 2
        length = b.squares(x)[:, None] + b.put((r**2).sum(axis=1))[None, :]
        clear = across > 2e-18 * float(generic @ generic) * length
        doubtful = b.nonzero(~xp.all(clear, axis=1))
        if doubtful.shape[0]:
            rows = b.take(x, doubtful)
            outside = self._apart(rows, r, blind)
            apart = self._apart(rows, r, np.eye(blind.shape[0]))
            clear[doubtful] = outside > 1e-18 * apart
        return clear

    def _apart(self, x: Any, r: FloatArray, root: FloatArray) -> Any:
        """‖rootᵀ(x − r)‖² for each x and each r, free of cancellation, (n, R)."""
        b, xp = self._b, self._b.xp
        image = xp.matmul(x, b.put(root))
        columns = []
        for point in b.put(r @ root):
            difference = image - point
            columns.append(b.squares(difference))
        return xp.stack(columns, axis=1)

    def _lead(self, x: Any, r: FloatArray, theta: FloatArray) -> Any:
        """(r − x)ᵀθ, (n, R)."""
        b, xp = self._b, self._b.xp
        return b.put(r @ theta)[None, :] - xp.matmul(x, b.put(theta))[:, None]


def _log_sum(backend: Backend, logs: Any) -> Any:
    """log Σ exp over the last axis; −inf where all are."""
    xp = backend.xp
    top = xp.max(logs, axis=-1)
    safe = xp.where(xp.isfinite(top), top, 0.0 * xp.ones_like(top))
    with np.errstate(divide="ignore"):
        return safe + xp.log(xp.sum(xp.exp(logs - safe[..., None]), axis=-1))

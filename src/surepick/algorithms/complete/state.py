"""The state of a run on a complete table: N items in one random order, each cell measured once.

All options that are in meet the next items of the order together, block by block. Against every
option x capital is bet on "a rival has the larger total": most of it on whoever leads the others
when a block begins, the rest on the one after that. (:mod:`surepick.statistics.complete` has the
bets.) x is out when the capital reaches 1/delta, or when it cannot catch up any more. Where x has
the largest total no bet has a positive expectation, so that it is ruled out with probability at
most delta, by Ville's inequality: no union over options is paid, and neither weights nor rivals
have to be known at the start. At the latest all items are met, and who is left has the largest
total of these.

- Who is in, and who is bet on, is decided between blocks; a block that was begun is completed.
- Options that come later are measured on all items met so far first, which are known and not bet
  on, and begin with the least capital against anyone who is left (or 1, if that is less). The items
  left get another order, drawn after the options were recorded: nobody can have made them for it.
- When one that is in is retired, nobody has more capital against it than the retired one had, and
  who was ruled out is back, unless somebody who is there is ahead of it for certain. Items that
  were missed are caught up on, and not bet on. :mod:`surepick.algorithms.pooled.options` has the
  proof of both rules.
- With epsilon, half of the capital is for "x is not ahead of the one that leads by more than
  epsilon on average", which is shown for everybody who is in before it is named; the k-th leader
  has 1/(k(k+1)) of that half.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from surepick.algorithms.base import Known, Pulls, State, ToldPulls
from surepick.algorithms.complete.scores import Scale
from surepick.algorithms.pooled.ledger import OpenBlock
from surepick.algorithms.pooled.prices import within
from surepick.arrays.grid import reached
from surepick.arrays.scrambled import shuffled
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.statistics.complete import STAKES, WEIGHTS, behind, log_paid, log_sum, new_items

RULE = 1  #: by which bets are made
SEEDS = 2**53  #: of orders
_RIVALS = np.array([0.8, 0.2])  # capital on who leads the others, and on who comes next
_GROWTH = 32  # a block has this part of the items met
_START = np.log(_RIVALS[:, None] * WEIGHTS)
_NEAR = np.log(WEIGHTS)
_NOBODY = -1  # in the place of a leader whose bets on closeness count no more
NO_WITHDRAWAL = (
    "withdraw: a score that was counted belongs to a cell of the table, which cannot be left out; "
    "correct it instead"
)
NO_PAST = (
    "past: it is not known on which items past measurements were made; leave them out, or hand "
    "them in as a table of scores (surepick.integrations.evaluations.decide)"
)


class CompleteSettings(Protocol):
    """What the state reads of its configuration."""

    @property
    def delta(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def min_batch(self) -> int: ...
    @property
    def max_batch(self) -> int | None: ...
    @property
    def complete(self) -> int | None: ...


class OnItems(NamedTuple):
    """What an answer on a complete table says beside its promise; options by their numbers."""

    items: int  #: all there are
    met: int  #: by those that were not ruled out
    tied: list[int]  #: with the same total as the answer, where all items were met
    rival: int | None  #: who comes closest
    low: float  #: between these lies the lead over it on new items drawn alike, …
    high: float
    sure: float  #: … with this probability, whichever pair of options it is


class CompleteState(State):
    """Scores by place in the order of items, and the capital against every option."""

    saved: ClassVar[tuple[str, ...]] = (
        *("orders", "met", "capital", "alive", "against", "retired", "blocks"),
        *("leaders", "near", "close", "best", "accepted"),
    )
    minds_costs = True

    def __init__(self, config: CompleteSettings, problem: Problem, seed: int) -> None:
        assert config.complete is not None
        self.config, self.problem, self.items = config, problem, config.complete
        self.scale = Scale.of(problem)
        K = problem.n_arms
        self.orders: list[dict[str, int]] = [{"from": 0, "seed": seed}]
        self._recorded: list[int] = []  # seeds of a run that is made again
        self.order = self._in_order()
        self.scores: IntArray = np.full((K, self.items), -1, dtype=np.int64)  # −1: not known
        self.met = 0  # items that everybody who is in has met, or will be caught up on
        self.capital: FloatArray = np.tile(_START, (K, 1, 1))  # logs, (K, rivals, stakes)
        self.alive: BoolArray = np.ones(K, dtype=bool)
        self.against: FloatArray = np.zeros(K)  # log capital against each, when it was last bet on
        self.retired = np.zeros(K, dtype=bool)
        self.blocks: list[dict[str, Any]] = []
        self.leaders: list[int] = []  # with epsilon: all that ever led when a block began
        self.near: FloatArray = np.zeros((0, K, STAKES))
        self.close: BoolArray = np.zeros((0, K), dtype=bool)
        self.best, self.accepted = 0, False
        self.block = OpenBlock()

    def save(self) -> dict[str, Any]:
        memory = super().save()
        known = np.where(self.scores >= 0, self.scores + 1, 0)  # sparse, where little is known
        return memory | {"scores": known, "block": self.block.save()}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.scores = memory["scores"] - 1
        self.block.load(memory["block"])
        self.order = self._in_order()

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        """Go by the orders of items that were drawn; further ones are used when options come."""
        seeds = [int(one["seed"]) for one in evidence["orders"]]
        self.orders[0]["seed"], self._recorded = seeds[0], seeds[1:]
        self.order = self._in_order()

    def _in_order(self) -> IntArray:
        """The items in the order in which they are met."""
        found = np.arange(self.items)
        for one in self.orders:
            found[one["from"] :] = shuffled(found[one["from"] :], one["seed"])
        return found

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        if not self.block.left.total:
            self.block.begin(self._plan(budget))
        most = min(budget, self.config.max_batch or budget, self.block.left.total)
        return within(self.problem, self.funds, most, self._next)

    def _plan(self, budget: int) -> Pulls:
        """Items that somebody has to catch up on; otherwise the next ones, for all who are in."""
        arms = np.flatnonzero(self.alive)
        missing = self.scores[arms, : self.met] < 0
        if missing.any():
            rows, places = np.nonzero(missing)
            return _cells(arms[rows], places)
        size = max(-(-self.met // _GROWTH), -(-self.config.min_batch // len(arms)), 1)
        costs = self.problem.costs
        money = math.inf if costs is None else self.funds / float(costs[arms].sum())
        size = min(size, self.items - self.met, max(1, budget // len(arms)))
        size = min(size, max(1, int(min(money, size))))
        places = np.arange(self.met, self.met + size)
        return _cells(np.repeat(arms, size), np.tile(places, len(arms)))

    def _next(self, size: int) -> Pulls:
        return self.block.next(size, self.piece, len(self.blocks))

    def replace(self, pulls: Pulls) -> None:
        self.block.begin(pulls)

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        raise InvalidInputError(NO_WITHDRAWAL)

    def items_of(self, pulls: Pulls, later: int = 0) -> IntArray | None:
        return None if pulls.parts is None else self.order[pulls.parts]

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        raise InvalidInputError(NO_PAST)

    # -- telling ---------------------------------------------------------------------------
    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.block.take(ToldPulls(pulls, sums))
        scores = sums * np.asarray(self.problem.noise_kind.units(pulls.arms))
        assert pulls.parts is not None
        self.scores[pulls.arms, pulls.parts] = self.scale.units(scores)
        if not self.block.left.total:
            self._settle()

    def _settle(self) -> None:
        """The block is complete: pay out the bets on its items, and see who is out."""
        block, first = self.block, self.met
        last = max(first, int(block.told.parts.max(initial=-1)) + 1)
        arms = np.flatnonzero(self.alive)
        record: dict[str, Any] = {"batches": block.pieces, "items": last - first, "bets": True}
        self.met, self.block = last, OpenBlock()
        if last == first or (self.scores[arms, first:last] < 0).any():
            # Somebody has caught up; or, where scores were corrected since, has to.
            record["bets"] = False
            peaks = self.against[arms]
        else:
            peaks = self._bet(arms, first, last)
        caught_up = (self.scores[arms, :last] >= 0).all(axis=1)
        totals = self.scores[arms, :last].sum(axis=1)
        top = int(totals[caught_up].max(initial=0))
        certain = caught_up & behind(top - totals, self.items - last, self.scale.unit)
        lost = certain | (reached(peaks, self._goal) if record["bets"] else np.zeros_like(certain))
        record["dropped"] = {
            "candidate": arms[lost].tolist(),
            "log_capital": peaks[lost].tolist(),
            "certain": certain[lost].tolist(),
        }
        if record["bets"]:
            self.against[arms] = np.where(lost, peaks, self._log_capital(arms))
        self.against[arms[certain]] = math.inf
        self.alive[arms[lost]] = False
        self.blocks.append(record)
        self._look()
        if self.config.epsilon > 0:
            self._accept()

    def _bet(self, arms: IntArray, first: int, last: int) -> FloatArray:
        """Item by item; the largest log capital against each of these options on the way."""
        own, n, unit = self.scores[arms], len(arms), self.scale.unit
        totals = own[:, :first].sum(axis=1)
        ranked = np.lexsort((np.arange(n), -totals))[: len(_RIVALS) + 1]
        rivals = _rivals(ranked, n)
        squares = np.empty((n, len(ranked)))
        for k, r in enumerate(ranked):
            squares[:, k] = (((own[r, :first] - own[:, :first]) / unit) ** 2).sum(axis=1)
        places = {int(r): k for k, r in enumerate(ranked)}
        column = np.array([[places[int(r)] for r in row] for row in rivals])
        rows = np.arange(n)[:, None]
        leader = int(ranked[0])
        near = self._open_near(int(arms[leader])) if self.config.epsilon > 0 else None
        peaks = np.full(n, -math.inf)
        for t in range(first, last):
            now = own[:, t]
            leads, gained = totals[rivals] - totals[:, None], now[rivals] - now[:, None]
            paid = log_paid(leads, gained, squares[rows, column], t, self.items, unit)
            self.capital[arms] += paid
            if near is not None:
                self._bet_on_closeness(near, arms, leader, totals, now, squares[:, 0], t)
            totals = totals + now
            for k, r in enumerate(ranked):
                squares[:, k] += ((now[r] - now) / unit) ** 2
            peaks = np.maximum(peaks, self._log_capital(arms))
        return peaks

    def _bet_on_closeness(
        self,
        near: int,
        arms: IntArray,
        leader: int,
        totals: IntArray,
        now: IntArray,
        squares: FloatArray,
        t: int,
    ) -> None:
        unit, slack = self.scale.unit, self._slack
        leads, gained = totals[leader] - totals, now[leader] - now
        self.near[near, arms] += log_paid(leads, gained, squares, t, self.items, unit, slack)
        certain = behind(leads + gained, self.items - t - 1, unit, slack)
        shown = reached(self._log_near(near)[arms], self._goal)
        self.close[near, arms] |= certain | shown

    def _open_near(self, leader: int) -> int:
        """The accounts on closeness to this leader; new ones where it has not led before."""
        if leader not in self.leaders:
            K = self.problem.n_arms
            self.leaders.append(leader)
            self.near = np.concatenate([self.near, np.tile(_NEAR, (1, K, 1))])
            self.close = np.concatenate([self.close, np.zeros((1, K), dtype=bool)])
        return self.leaders.index(leader)

    @property
    def _goal(self) -> float:
        return -math.log(self.config.delta)

    @property
    def _slack(self) -> int:
        return self.scale.slack(self.config.epsilon, self.items)

    def _log_capital(self, arms: IntArray) -> FloatArray:
        total = log_sum(self.capital[arms], 2)
        return total - math.log(2.0) if self.config.epsilon > 0 else total

    def _log_near(self, near: int) -> FloatArray:
        k = near + 1  # the k-th leader has 1/(k(k+1)) of one half
        return log_sum(self.near[near]) - math.log(2 * k * (k + 1))

    def _look(self) -> None:
        """Who leads now: the largest total of those that are in and have met all items so far."""
        arms = np.flatnonzero(self.alive)
        if not len(arms):  # of probability delta: who led before is named
            self.alive[self.best] = True
            return
        there = arms[(self.scores[arms, : self.met] >= 0).all(axis=1)]
        if len(there):
            self.best = int(there[int(self.scores[there, : self.met].sum(axis=1).argmax())])
        elif not self.alive[self.best]:
            self.best = int(arms[0])

    def _accept(self) -> None:
        """With epsilon: name the one that leads where nobody who is in may be far ahead of it."""
        if self.best in self.leaders:
            shown = self.close[self.leaders.index(self.best)].copy()
            shown[self.best] = True
            self.accepted = bool(shown[self.alive].all())

    # -- options that come and go ----------------------------------------------------------
    @property
    def at_rest(self) -> bool:
        """Whether it stands between two blocks."""
        return self.block.empty

    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Between two blocks: other options than before."""
        count = problem.n_arms - self.problem.n_arms
        self.problem, self.accepted = problem, False
        if count:
            self._enter(count)
        for arm in np.flatnonzero(retired & ~self.retired):
            self._leave(int(arm), retired)
        self.retired = retired
        self._look()

    def _enter(self, count: int) -> None:
        arms = np.flatnonzero(self.alive)
        least = min(0.0, float(log_sum(self.capital[arms], 2).min()))
        own = np.tile(_START + least, (count, 1, 1))
        held = log_sum(self.near)[:, arms]  # (leaders, n)
        begun = np.minimum(0.0, held.min(axis=1, initial=math.inf))
        on_closeness = np.tile(_NEAR + begun[:, None, None], (1, count, 1))
        self.scores = np.vstack([self.scores, np.full((count, self.items), -1, dtype=np.int64)])
        self.capital = np.concatenate([self.capital, own])
        self.near = np.concatenate([self.near, on_closeness], axis=1)
        self.close = np.hstack([self.close, np.zeros((len(self.close), count), dtype=bool)])
        self.alive = np.append(self.alive, np.ones(count, dtype=bool))
        self.retired = np.append(self.retired, np.zeros(count, dtype=bool))
        self.against = np.append(self.against, np.zeros(count))
        self.against[-count:] = self._log_capital(np.arange(len(self.alive)))[-count:]
        if self.met < self.items:
            seed = self._recorded.pop(0) if self._recorded else self.fresh
            assert seed is not None
            self.orders.append({"from": self.met, "seed": seed})
            self.order = self._in_order()

    def _leave(self, arm: int, retired: BoolArray) -> None:
        was_in = self.alive[arm]
        self.alive[arm] = False
        if not was_in:
            return
        held = log_sum(self.capital, 2)
        out = ~self.alive & ~retired
        less = np.minimum(0.0, held[arm] - held)
        self.capital += less[:, None, None]
        self.capital[out] = _START + np.minimum(held, held[arm])[out, None, None]
        low, high = self._reach()
        ahead = low[~retired].max(initial=0)
        back = out & (high >= ahead)
        self.alive |= back
        self.against[out & ~back] = math.inf
        self.against[self.alive] = self._log_capital(np.flatnonzero(self.alive))
        self.leaders = [_NOBODY] * len(self.leaders)
        self.close[:] = False

    def _reach(self) -> tuple[IntArray, IntArray]:
        """The least and the largest total that each option can have in the end."""
        low = np.where(self.scores >= 0, self.scores, 0).sum(axis=1)
        return low, low + (self.scores < 0).sum(axis=1) * self.scale.unit

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether one is left, or close enough, or all items were met."""
        if self.accepted or self.alive.sum() <= 1:
            return True
        return self.met == self.items and not (self.scores[self.alive] < 0).any()

    @property
    def active(self) -> IntArray:
        """Options that are in; at the end all that tie."""
        return np.flatnonzero(self.alive)

    def leader(self) -> int:
        return self.best

    def named(self) -> list[int]:
        return self._tied() or [self.best]

    def _tied(self) -> list[int]:
        """Those in the first place, where several are left and all items were met."""
        if self.alive.sum() < 2 or not self.finished or (self.scores[self.alive] < 0).any():
            return []
        arms = np.flatnonzero(self.alive)
        totals = self.scores[arms].sum(axis=1)
        return arms[totals == totals.max()].tolist()

    @property
    def certain(self) -> bool:
        """Whether nobody can have a larger total than the answer, or the same: no matter of chance.

        Those that tie with it are part of the answer.
        """
        low, high = self._reach()
        others = ~self.retired
        others[self.named()] = False
        return self.finished and bool((high[others] < low[self.best]).all())

    def p_value(self) -> float | None:
        others = ~self.retired
        others[self.best] = False
        if len(self.named()) > 1 or not others.any():
            return None
        return float(np.exp(-np.maximum(self.against[others], 0.0)).max())

    def progress(self) -> FloatArray:
        share = np.clip(self.against / self._goal, 0.0, 1.0)
        return np.where(self.alive | self.retired, share, 1.0)

    def now(self) -> Known | None:
        known = self.scores >= 0
        counts = known.sum(axis=1)
        if not counts.any():
            return None
        own = np.where(known, self.scores, 0)
        both = known & known[self.best]
        met = both.sum(axis=1)
        gap = np.where(both, self.scores[self.best] - self.scores, 0)
        leads, unit = gap.sum(axis=1), self.scale.unit
        width = self.scale.high - self.scale.low
        some = np.maximum(met, 1)
        mean = leads / unit / some
        spread = np.maximum((np.square(gap / unit)).sum(axis=1) / some - mean**2, 0.0)
        left = 1.0 - met / self.items
        error = np.where(met > 0, np.sqrt(spread / some * left), math.nan)
        open_ = (self.items - met) * unit  # how far the lead can still move
        open_[self.best] = 0
        ends = [(leads + sign * open_) / unit / self.items for sign in (-1, 1)]
        return Known(
            self.scale.means(own.sum(axis=1), counts),
            width * np.where(met > 0, mean, math.nan),
            width * error,
            width * ends[0],
            width * ends[1],
            np.exp(-np.maximum(self.against, 0.0)),
        )

    def on_items(self) -> OnItems:
        """What an answer says beside its promise."""
        tied = self._tied()
        others = ~self.retired
        others[[*tied, self.best]] = False
        met = int((self.scores[self.best] >= 0).sum())
        if not others.any():
            return OnItems(self.items, met, tied, None, -1.0, 1.0, 1.0)
        both = (self.scores >= 0) & (self.scores[self.best] >= 0)
        leads = np.where(both, self.scores[self.best] - self.scores, 0)
        means = leads.sum(axis=1) / np.maximum(both.sum(axis=1), 1)
        places = np.flatnonzero(others)
        rival = int(places[means[places].argmin()])
        n, own = self.problem.n_arms, leads[rival, both[rival]] / self.scale.unit
        low, high = new_items(own, self.config.delta / max(1, n * (n - 1) // 2))
        width = self.scale.high - self.scale.low
        sure = 1.0 - self.config.delta
        return OnItems(self.items, met, tied, rival, width * low, width * high, sure)

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "complete",
            "bets": RULE,
            "items": self.items,
            "orders": self.orders,
            "blocks": self.blocks,
        }


def _cells(arms: IntArray, places: IntArray) -> Pulls:
    return Pulls(arms.astype(np.int64), np.ones(len(arms), dtype=np.int64), places.astype(np.int64))


def _rivals(ranked: IntArray, n: int) -> IntArray:
    """Whom each of n options is compared with, (n, 2): the first two of these that it is not."""
    found = np.empty((n, len(_RIVALS)), dtype=np.int64)
    for x in range(n):
        others = [int(r) for r in ranked if r != x]
        found[x] = [others[min(k, len(others) - 1)] for k in range(len(_RIVALS))]
    return found

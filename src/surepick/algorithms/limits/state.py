"""A run in which options have to keep limits.

Pulls come in blocks that are fixed before any of their results is seen. A pull gives the reward and
all further numbers; nothing is bet on the first block. What is bet on the others, and when it is
answered, is up to the question (:mod:`surepick.algorithms.limits.decision`).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Claims, Pulls, State, ToldPulls
from surepick.algorithms.findings import Kept, Known
from surepick.algorithms.limits.best import BestThatKeeps
from surepick.algorithms.limits.cheapest import CheapestThatKeeps
from surepick.algorithms.limits.claims import BetterThatKeep
from surepick.algorithms.limits.decision import Decision, Ground, price_each
from surepick.algorithms.limits.marks import Mark
from surepick.algorithms.limits.measured import WAYS, Measured
from surepick.algorithms.limits.question import Further, Limited
from surepick.algorithms.limits.traffic import GuardedTraffic
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.pace import USUAL
from surepick.algorithms.pooled.parts import Parts, dealt, dealt_again
from surepick.algorithms.pooled.past import past_blocks
from surepick.algorithms.pooled.prices import prices, within
from surepick.algorithms.pooled.settings import FEWEST_PULLS, BlockSettings, block_size
from surepick.algorithms.questions import candidate_of
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.promise import Promise
from surepick.proof.payoffs.stakes import ACCOUNTS
from surepick.statistics.spending import Spent

_BY_SIDE = 0.85  # of delta: whether a limit is kept; the rest is for by how much
_WIDE = 2.0  # standard errors on each side of an estimate, where nothing is proven
_PARTS = 2.0**20  # of a pull, to which it is rounded what an arm is due


class KeepingState(State):
    """What is known of each option, by every number."""

    saved: ClassVar[tuple[str, ...]] = ("blocks", "samples", "kept", "retired", "came")
    minds_costs = True
    waits = True
    at_rest = True  # every batch is a block

    def __init__(self, config: BlockSettings, problem: Problem) -> None:
        self._begin(config, problem)

    def _begin(self, config: BlockSettings, problem: Problem) -> None:
        assert isinstance(config.asked, Limited)
        self.config, self.problem, self.asked = config, problem, config.asked
        K = problem.n_arms
        self.retired = np.zeros(K, dtype=bool)
        self.further: tuple[Further, ...] = self.asked.further(problem)
        self.reward = Measured(problem, self.asked.number is not None)
        plain = problem.with_direction(False)
        self.numbers = [Measured(plain.with_noise(one.kind.given), True) for one in self.further]
        self.measured = [self.reward, *self.numbers]
        self.limits = self.asked.limits
        self.marks = tuple(self._mark(limit) for limit in self.limits)
        needed = {one.ways.parts for one in self.measured}
        self.parts: Parts = "own" if "own" in needed else "none"
        self.parts = "single" if "single" in needed else self.parts
        self.singly = self.parts == "single"
        self.needs_spread = self.demands_spread = self.reward.reading.demands_spread
        self.by_wins = not self.reward.reading.about_means
        self.scale_estimated = self.reward.reading.estimates_scale
        self.intervals = [self.measured[m.column].leads(m.reference) for m in self.marks]
        ground = Ground(config, problem, self.asked, self.marks, self.measured)
        best = BestThatKeeps if self.asked.within is None else CheapestThatKeeps
        self.decision: Decision = (BetterThatKeep if self.asked.compares else best)(ground)
        self.kept: FloatArray = np.zeros((2, len(self.marks), K))  # of keeping, breaking: the most
        self.blocks: list[dict[str, Any]] = []
        self.samples = 0
        self.came = False  # whether options came on the way
        self._spreads: FloatArray | None = None
        self._told: dict[str, Any] = {}

    def _mark(self, limit: Any) -> Mark:
        column = 1 + [one.name for one in self.further].index(limit.column)
        problem, K = self.measured[column].problem, self.problem.n_arms
        reference = K if limit.than is None else candidate_of(self.problem, limit.than)
        tolerance = limit.tolerance / problem.unit
        certain = np.arange(K) == reference
        return Mark(limit.up, column, reference, problem.seen(limit.mark), tolerance, certain)

    def save(self) -> dict[str, Any]:
        memory = super().save()
        memory["decision"] = self.decision.save()
        memory["numbers"] = [one.save() for one in self.measured]
        memory["intervals"] = [one.save() for one in self.intervals]
        return memory

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        for one, own in zip(self.measured, memory["numbers"], strict=True):
            one.load(own)
        self.decision.load(memory["decision"])
        for one, own in zip(self.intervals, memory["intervals"], strict=True):
            one.load(own)

    # -- options that come and go ----------------------------------------------------------
    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Other options than before: see :mod:`surepick.algorithms.limits.histories`."""
        count = problem.n_arms - self.problem.n_arms
        for own in self.intervals:  # those of the others go on: nothing is spent on them again
            own.grow(count)
        memory = self.save()
        memory["numbers"] = [one.grown(count) for one in self.measured]
        none = np.zeros((2, len(self.marks), count))
        memory["kept"] = np.concatenate([memory["kept"], none], axis=2)
        self._begin(self.config, problem)
        self.load(memory)
        self.retired, self.came = retired, self.came or count > 0
        self.decision.turn(~retired)
        if self._bets:
            self.decision.look()

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        weights, size = self._planned()
        size = min(size, budget, self.config.max_batch or size)

        def block(pulls: int) -> Pulls:
            return dealt(_whole(weights, pulls), self.parts)

        return within(self.problem, self.funds, size, block)

    def traffic(self) -> GuardedTraffic:
        return GuardedTraffic(self.decision, self.samples, self._missing)

    def _planned(self) -> tuple[FloatArray, int]:
        """Shares of the next block, and how many pulls it has."""
        config = self.config
        if not self._bets:
            first = self._first()
            n = max(math.ceil(FEWEST_PULLS * first.sum()), config.min_batch)
            return first / first.sum(), n
        weights, missing = self._missing()
        width = np.count_nonzero(weights)
        size = block_size(config, USUAL, self.samples, 0, missing, FEWEST_PULLS * width)
        return weights, size

    def _missing(self) -> tuple[FloatArray, float]:
        """Shares of what comes next, and about how many pulls are missing."""
        K = self.problem.n_arms
        if not self._bets:
            first = self._first() | (self.decision.compared() & bool(self.blocks))
            return first / first.sum(), math.inf
        counts = self.decision.missing(price_each(self.problem, prices(self.problem)))
        missing = float(counts.sum())
        if not missing:
            return np.zeros(K), 0.0
        width = np.count_nonzero(counts)
        explore = min(0.5, math.sqrt(width / max(self.samples, 1)))
        even = np.where(counts > 0, 1.0, 0.0) / width
        return (1.0 - explore) * counts / missing + explore * even, missing

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        return dealt_again(self.problem, pulls, counts, self.parts)

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        """Blocks of the reward, or of a further number: the cuts are by arms alone."""
        return past_blocks(self.problem, arms, rewards, evidence, self.parts)

    # -- telling ---------------------------------------------------------------------------
    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        self._spreads = spread

    def observe_numbers(self, pulls: Pulls, numbers: dict[str, Any]) -> None:
        self._told = numbers

    def observe_past(self, batches: list[ToldPulls], evidence: bool) -> None:
        for told in batches:
            if not self.finished:
                own = told.pulls, told.sums, told.spreads, told.numbers or {}
                self._settle(*own, {"batches": 0, "past": 1})

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        spread, told = self._spreads, self._told
        self._spreads, self._told = None, {}
        if self.finished:  # it only waits
            self.blocks.append({"batches": 1, "rivals": [], "dropped": []})
            return
        self._settle(pulls, sums, spread, told, {"batches": 1})

    def _read(
        self, pulls: Pulls, sums: FloatArray, spread: FloatArray | None, told: dict[str, Any]
    ) -> list[Rows]:
        """A block by rows, of the reward and of further numbers."""
        for one in self.further:
            if one.name not in told:
                raise RunStateError(
                    f"{one.number!r} is missing: options have to keep a limit on it, so rewards "
                    "alone do not do (simulations have no further numbers for now)"
                )
        further = zip(self.further, self.numbers)
        own = [known.rows(pulls, *told[one.name]) for one, known in further]
        return [_rows(pulls, sums, spread), *own]

    def _settle(
        self,
        pulls: Pulls,
        sums: FloatArray,
        spread: FloatArray | None,
        told: dict[str, Any],
        made_of: dict[str, int],
    ) -> None:
        """The block is complete: pay out the bets, and see what follows."""
        rows = self._read(pulls, sums, spread, told)
        self.samples += pulls.total
        record: dict[str, Any] = made_of | {"rivals": [], "dropped": []}
        if self._bets:
            bets = [known.bets(own) for known, own in zip(self.measured, rows)]
            record |= self.decision.settle(bets, len(self.blocks) + 1)
            for mark, leads in zip(self.marks, self.intervals):
                leads.take(bets[mark.column].market, bets[mark.column].blocks)
            self.kept = np.maximum(self.kept, self.decision.on_limits())
        for known, own in zip(self.measured, rows):
            known.add(own)
        self.blocks.append(record)
        if self._bets:
            self.decision.look()

    @property
    def _bets(self) -> bool:
        """Whether the next block is bet on: something is known of everybody.

        The first block of a run measures everybody; what was measured before it may not, and
        nothing is known of options that come later.
        """
        before = self.came or any("past" in block for block in self.blocks)
        unknown = (self.reward.totals.counts == 0) & ~self.retired
        return bool(self.blocks) and not (before and unknown.any())

    def _first(self) -> BoolArray:
        """Whom to measure without bets: everybody, or those who came since."""
        unknown = (self.reward.totals.counts == 0) & ~self.retired
        return unknown if self.came and self.blocks else ~self.retired

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        return bool(self.decision.finished)

    @property
    def active(self) -> IntArray:
        return self.decision.active

    def left(self) -> int:
        return self.decision.left()

    def leader(self) -> int:
        return self.decision.best

    def named(self) -> list[int]:
        return self.decision.named()

    def promise(self) -> Promise | None:
        return self.decision.promise()

    def claims(self) -> Claims | None:
        return self.decision.claims()

    def progress(self) -> FloatArray:
        return self.decision.progress()

    def p_value(self) -> float | None:
        return None

    def now(self) -> Known | None:
        if not self._bets:
            return None
        means, errors = self.reward.means, self.reward.errors
        best = self.decision.best
        apart = np.sqrt(errors + errors[best])
        apart[best] = 0.0
        shown = self.reward.reading.shown(means, means[best] - means, apart)
        K = len(means)
        ends = np.full(K, -math.inf), np.full(K, math.inf)
        values, behind, error = shown
        return Known(values, behind, error, *ends, self.decision.p_values())

    def limits_kept(self) -> list[Kept]:
        """How each option stands to each limit."""
        return [self._kept(number) for number in range(len(self.marks))] if self._bets else []

    def spent(self) -> dict[str, float]:
        return self.decision.spent()

    def risks(self) -> list[Spent]:
        return [self._spent(number) for number in range(len(self.marks))]

    def _spent(self, number: int) -> Spent:
        """Of what is said of an option and a limit."""
        delta = self.config.delta
        shares = {"verdict": _BY_SIDE * delta, "by how much": (1.0 - _BY_SIDE) * delta}
        return Spent(f"an option and {self.limits[number].text}", delta, shares, own=True)

    def _kept(self, number: int) -> Kept:
        mark, K = self.marks[number], self.problem.n_arms
        known = self.measured[mark.column]
        unit, bounds = known.problem.unit, known.problem.noise_kind.bounds
        counts, sums = known.totals.counts, known.totals.sums
        own = np.divide(sums, counts, out=np.full(K, math.nan), where=counts > 0)
        spent = self._spent(number)
        low, high = self.intervals[number].interval(spent["by how much"])
        if mark.reference < K:  # how far above that option
            own = own - own[mark.reference]
        elif bounds is not None:
            ends = sorted(map(known.problem.seen, bounds))
            low, high = np.maximum(low, ends[0]), np.minimum(high, ends[1])
        # A verdict is ever wrong with 0.85 δ, and one of the ends with the rest: together with δ.
        keeps, breaks = self.kept[:, number] >= -math.log(spent["verdict"])
        above, below = (keeps, breaks) if mark.up else (breaks, keeps)
        low = np.where(above, np.maximum(low, mark.mark), low)
        high = np.where(below, np.minimum(high, mark.mark), high)
        words = np.where(keeps, "keeps", np.where(breaks, "breaks", "not clear yet"))
        limit = self.limits[number]
        ends = own * unit, low * unit, high * unit
        return Kept(limit.text, *ends, words.tolist(), limit.mark, limit.up, limit.about)

    def not_beaten(self) -> BoolArray | None:
        """By intervals of two standard errors; a number that has limits on both sides is left out.

        A view that proves nothing: who is better on one number may be so by chance.
        """
        if not self._bets:
            return None
        seen = [(self.reward.means, self.reward.errors)]
        for column, known in enumerate(self.numbers, 1):
            ways = {mark.up for mark in self.marks if mark.column == column}
            if len(ways) == 1:
                seen.append((known.means if ways.pop() else -known.means, known.errors))
        if len(seen) == 1:
            return None
        beats = np.ones((self.problem.n_arms, self.problem.n_arms), dtype=bool)  # (r, x)
        for means, variances in seen:
            half = _WIDE * np.sqrt(variances)
            beats &= (means - half)[:, None] > (means + half)[None, :]
        return np.logical_not(beats.any(axis=0))

    def reward_scale(self) -> float | FloatArray | None:
        return self.reward.scale

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "keeping",
            "limits": [limit.text for limit in self.asked.limits],
            "precisions": list(self.reward.reading.direct_payoff.precisions),
            "accounts": list(ACCOUNTS),
            "ways": list(WAYS),
            "blocks": self.blocks,
            **self.decision.evidence(),
        }


def _rows(pulls: Pulls, sums: FloatArray, spreads: FloatArray | None) -> Any:
    """Rewards of a block, which come in the units of bets."""
    from surepick.algorithms.rows import Rows

    return Rows.of(ToldPulls(pulls, sums, spreads))


def _whole(weights: FloatArray, n: int) -> IntArray:
    """Whole pulls: what each is due, and one more for those who lack most of one."""
    due = np.round(weights * n * _PARTS) / _PARTS
    counts = np.floor(due).astype(np.int64)
    order = np.argsort(counts - due, kind="stable")
    missing = n - int(counts.sum())
    counts[order[: max(missing, 0)]] += 1
    return counts

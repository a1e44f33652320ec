"""The state of a run on a complete table: N items in one random order, each cell measured once.

All options that are in meet the next items of the order together, block by block. What is bet on
them is a matter of the question (:mod:`.race`, :mod:`.compared`), with the bets of
:mod:`surepick.proof.payoffs.table`. At the latest all items are met, and everything is known.

- Who is in, and what is bet on, is decided between blocks; a block that was begun is completed.
- While a block is measured, the next items may be asked for, from those that are in then: a bet
  depends on items before its own only, whenever these were measured, and nobody meets items beyond
  the others' because of results. Cells of an option that was ruled out meanwhile are kept, and
  nothing is bet on them.
- Options that come later are measured on all items met so far first, which are known and not bet
  on. The items left get another order, drawn after the options were recorded: nobody can have made
  them for it.
- Who was ruled out and is back, as another one was retired, catches up on items that it missed;
  nothing is bet on these.
- Items on which every option is known beforehand may come first, in any order; nothing is bet on
  them. The totals there are known then, as those of the items that somebody catches up on, and the
  order of the items left is drawn without looking at any score (:mod:`surepick.algorithms.items`).

What is said of new items rests on another thing: that options and items have nothing to do with
each other. So it counts only items that were met after both options were there, and on which
nothing was known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.base import Claims, Known, Pulls, State, ToldPulls
from surepick.algorithms.complete.cheapest import CheapestOnTable
from surepick.algorithms.complete.compared import Compared
from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.question import OnTable
from surepick.algorithms.complete.race import Race
from surepick.algorithms.complete.scores import Scale
from surepick.algorithms.items import in_order
from surepick.algorithms.pooled.ledger import OpenBlock
from surepick.algorithms.pooled.prices import within
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.proof.payoffs.table import new_items
from surepick.statistics.spending import Spent

RULE = 1  #: by which bets are made
#: what can be asked of a table, and what answers it
QUESTIONS: dict[str, type[OnTable]] = {
    "best": Race,
    "top": Race,
    "baseline": Compared,
    "cheapest": CheapestOnTable,
}
_GROWTH = 48  # a block has this part of the items met
_AHEAD = 16  # items are asked for ahead up to this part of those met, ...
_BUSY = 64  # ... or so many cells, if that is more
NO_WITHDRAWAL = (
    "withdraw: a score that was counted belongs to a cell of the table, which cannot be left out; "
    "correct it instead"
)
NO_PAST = (
    "past: it is not known on which items past measurements were made; leave them out, or hand "
    "them in as a table of scores (surepick.integrations.evaluations.decide)"
)


class OnItems(NamedTuple):
    """What an answer on a complete table says beside its promise; options by their numbers."""

    items: int  #: all there are
    met: int  #: by those that were not decided
    tied: list[int]  #: with the same total, where all items were met
    ahead: int  #: whose lead over the rival is looked at
    rival: int | None  #: who comes closest
    low: float  #: between these lies the lead over it on new items drawn alike, …
    high: float
    sure: float  #: … with this probability, whichever pair of options it is
    sampled: int  #: items on which that rests: met when both were there, and nothing was known


class CompleteState(State):
    """The table, in which order its items are met, and what is asked of it."""

    saved: ClassVar[tuple[str, ...]] = ("orders", "blocks", "asked", "joined")
    minds_costs = True

    def __init__(self, config: BlockSettings, problem: Problem, question: str, seed: int) -> None:
        assert config.complete is not None
        self.config, self.problem, self.items = config, problem, config.complete
        self.grid = Grid(problem.n_arms, self.items, Scale.of(problem))
        self.question = QUESTIONS[question](config, problem, self.grid)
        #: where each begins, and its seed; and of the first one, which items come first unshuffled,
        #: as all was known there, and on which others something was
        self.orders: list[dict[str, Any]] = [{"from": 0, "seed": seed}]
        self._recorded: list[int] = []  # seeds of a run that is made again
        self.order = self._in_order()
        self.blocks: list[dict[str, Any]] = []
        self.asked = 0  # items that were asked for
        self.joined = np.zeros(problem.n_arms, dtype=np.int64)  # items met when each came
        self.block = OpenBlock()

    def save(self) -> dict[str, Any]:
        known = np.where(self.grid.scores >= 0, self.grid.scores + 1, 0)  # sparse at first
        own = {"scores": known, "met": self.grid.met, "retired": self.grid.retired}
        own["block"] = self.block.save()
        return super().save() | own | {"question": self.question.save()}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.grid.scores, self.grid.met = memory["scores"] - 1, memory["met"]
        self.grid.retired = memory["retired"]
        self.block.load(memory["block"])
        self.question.load(memory["question"])
        self.order = self._in_order()

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        """Go by the orders of items that were drawn; further ones are used when options come."""
        first, *later = evidence["orders"]
        self.orders = [{**first, "seed": int(first["seed"])}]
        self._recorded = [int(one["seed"]) for one in later]
        self.order = self._in_order()

    def begin_with(self, first: Sequence[int], seen: Sequence[int] = ()) -> None:
        """Meet these items first, on which every option is known, without bets on them.

        Something is known on those seen, too. Before anything was asked for; the seed has to be
        mixed with what is known.
        """
        assert not self.asked
        assert not self.blocks
        found = {"first": [int(one) for one in first], "seen": [int(one) for one in seen]}
        self.orders[0] |= {name: items for name, items in found.items() if items}
        self.order = self._in_order()

    @property
    def _known(self) -> int:
        """How many items come first without bets."""
        return len(self.orders[0].get("first", ()))

    def _in_order(self) -> IntArray:
        """The items in the order in which they are met."""
        found = np.arange(self.items)
        for one in self.orders:
            head = np.array(one.get("first", ()), dtype=np.int64)
            left = np.setdiff1d(found, head) if len(head) else found[one["from"] :]
            found[one["from"] :] = np.concatenate([head, in_order(left, one["seed"])])
        return found

    # -- asking ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        if not self.block.left.total:
            self.asked = self.grid.met  # nothing is out
            self.block.begin(self._missing() or self._plan(budget))
        most = min(budget, self.config.max_batch or budget, self.block.left.total)
        return within(self.problem, self.funds, most, self._next)

    def propose_ahead(self, budget: int, out: int) -> Pulls | None:
        arms = self.question.measured()
        far = max(self.grid.met // _AHEAD, -(-_BUSY // len(arms)))
        if self.asked == self.items or self.asked - self.grid.met > far or budget < len(arms):
            return None
        costs = self.problem.costs
        if costs is not None and float(costs[arms].sum()) > self.funds:
            return None
        return None if self._missing() else self._plan(budget)

    def note_ahead(self, pulls: Pulls) -> None:
        if pulls.parts is not None:
            self.asked = max(self.asked, int(pulls.parts.max()) + 1)

    def _missing(self) -> Pulls | None:
        """Cells that somebody has to catch up on."""
        arms = self.question.measured()
        rows, places = np.nonzero(self.grid.scores[arms, : self.grid.met] < 0)
        return _cells(arms[rows], places) if len(rows) else None

    def _plan(self, budget: int) -> Pulls:
        """The next items, for all who are in."""
        arms, met = self.question.measured(), self.asked
        size = max(-(-met // _GROWTH), -(-self.config.min_batch // len(arms)), 1)
        costs = self.problem.costs
        money = math.inf if costs is None else self.funds / float(costs[arms].sum())
        if met < self._known:
            size = self._known - met
        size = min(size, self.items - met, max(1, budget // len(arms)))
        size = min(size, max(1, int(min(money, size))))
        places = np.arange(met, met + size)
        self.asked = met + size
        return _cells(np.repeat(arms, size), np.tile(places, len(arms)))

    def _next(self, size: int) -> Pulls:
        return self.block.next(size, self.piece, len(self.blocks))

    def replace(self, pulls: Pulls) -> None:
        self.block.begin(pulls)
        self.note_ahead(pulls)

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
        self.grid.scores[pulls.arms, pulls.parts] = self.grid.scale.units(scores)
        if not self.block.left.total:
            self._settle()

    def _settle(self) -> None:
        """The block is complete: pay out the bets on its items, and see what follows."""
        block, grid, first = self.block, self.grid, self.grid.met
        last = max(first, int(block.told.parts.max(initial=-1)) + 1)
        arms = self.question.measured()
        grid.met, self.block = last, OpenBlock()
        # Somebody may have caught up; or, where scores were corrected since, may have to.
        bets = last > first >= self._known and not (grid.scores[arms, first:last] < 0).any()
        record: dict[str, Any] = {"batches": block.pieces, "items": last - first, "bets": bets}
        self.blocks.append(record | self.question.settle(arms, first, bets))

    # -- options that come and go ----------------------------------------------------------
    @property
    def retired(self) -> BoolArray:
        """Who is not there any more."""
        return self.grid.retired

    @property
    def at_rest(self) -> bool:
        """Whether it stands between two blocks."""
        return self.block.empty

    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Between two blocks: other options than before."""
        race = self.question
        assert isinstance(race, Race)  # other questions refuse it
        count = problem.n_arms - self.problem.n_arms
        self.problem, race.accepted = problem, False
        if count:
            race.enter(count)
            self.grid.grow(count)
            self.joined = np.append(self.joined, np.full(count, self.grid.met))
            self._draw_again()
        gone, self.grid.retired = np.flatnonzero(retired & ~self.retired), retired
        for arm in gone:
            race.leave(int(arm))
        race.turned()

    def accept(self, config: Any) -> None:
        self.config = config
        self.question.ground = self.question.ground._replace(config=config)
        self.question.accept()

    def _draw_again(self) -> None:
        """The items left get another order."""
        if self.grid.left:
            seed = self._recorded.pop(0) if self._recorded else self.fresh
            assert seed is not None
            self.orders.append({"from": self.grid.met, "seed": seed})
            self.order = self._in_order()

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self.question.finished

    @property
    def active(self) -> IntArray:
        """Options that are not decided; at the end all that tie."""
        return self.question.open()

    def left(self) -> int:
        return self.question.left()

    def leader(self) -> int:
        return self.question.named()[0]

    def named(self) -> list[int]:
        return self.question.named()

    @property
    def certain(self) -> bool:
        """Whether nobody can have a larger total than the answer, or the same: no matter of chance.

        Those that tie with it are part of the answer.
        """
        return self.question.certain

    def claims(self) -> Claims | None:
        return self.question.claims()

    def p_value(self) -> float | None:
        return self.question.p_value()

    def progress(self) -> FloatArray:
        return self.question.progress()

    def now(self) -> Known | None:
        means, counts = self.grid.means()
        if not counts.any():
            return None
        best = self.leader()
        leads, both = self.grid.leads(self.grid.scores[best])
        met = both.sum(axis=1)
        width, some = self.grid.scale.high - self.grid.scale.low, np.maximum(met, 1)
        mean = leads.sum(axis=1) / some
        spread = np.maximum((leads**2).sum(axis=1) / some - mean**2, 0.0)
        error = np.where(met > 0, np.sqrt(spread / some * (1.0 - met / self.items)), math.nan)
        open_ = self.items - met  # how far the lead can still move
        open_[best] = 0
        ends = [(leads.sum(axis=1) + sign * open_) / self.items for sign in (-1, 1)]
        return Known(
            means,
            width * np.where(met > 0, mean, math.nan),
            width * error,
            width * ends[0],
            width * ends[1],
            self.question.p_values(),
        )

    def on_items(self) -> OnItems:
        """What an answer says beside its promise."""
        one, rivals, pairs = self.question.compared()
        tied = self.question.tied()
        leads, both = self.grid.leads(self.grid.scores[one])
        met = self.grid.met
        means = leads.sum(axis=1) / np.maximum(both.sum(axis=1), 1)
        rival = min(rivals, key=lambda arm: float(means[arm]), default=one)
        counts = both[rival] & self._sampled(one, rival)
        sampled = 0 if rival == one else int(counts.sum())
        if not sampled:  # nothing is known of new items
            return OnItems(self.items, met, tied, one, None, -1.0, 1.0, 1.0, 0)
        low, high = new_items(leads[rival, counts], self._spent(pairs)["0"])
        width = self.grid.scale.high - self.grid.scale.low
        ends, sure = (width * low, width * high), 1.0 - self.config.delta
        return OnItems(self.items, met, tied, one, rival, *ends, sure, sampled)

    def spent(self) -> dict[str, float]:
        return self.question.spent()

    def risks(self) -> list[Spent]:
        return [self._spent(self.question.compared()[2])]

    def _spent(self, pairs: int) -> Spent:
        """Of leads on new items: which pair is shown is chosen by its results."""
        each = self.config.delta / pairs
        each_of = {str(i): each for i in range(pairs)}
        return Spent("on new items", self.config.delta, each_of, own=True)

    def _sampled(self, one: int, other: int) -> BoolArray:
        """Places of items that nobody can have looked at to make these two, by their scores."""
        found = np.arange(self.items) >= max(self.joined[one], self.joined[other])
        known = [*self.orders[0].get("first", ()), *self.orders[0].get("seen", ())]
        return found & ~np.isin(self.order, known)

    def evidence(self) -> dict[str, Any]:
        own = {"rule": "complete", "bets": RULE, "items": self.items, "orders": self.orders}
        return own | {"blocks": self.blocks} | self.question.evidence()


def _cells(arms: IntArray, places: IntArray) -> Pulls:
    return Pulls(arms.astype(np.int64), np.ones(len(arms), dtype=np.int64), places.astype(np.int64))

"""The state of a PooledPeleg run: its blocks, one after the other, and what is bet on them.

The state asks for pulls, block by block, and reads what was told. What to ask for next is a
function of what is known (:mod:`surepick.algorithms.pooled.planning`); what is bet on a block, and
when there is an answer, is up to the question (:mod:`surepick.algorithms.pooled.questions`). A
planner and a market, which are compiled, or made for very many candidates, do the work.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Claims, Known, Pulls, State, ToldPulls
from surepick.algorithms.pooled.dealing import in_two, said_of, seed_in
from surepick.algorithms.pooled.estimates import known_of
from surepick.algorithms.pooled.evidence import Evidence, ways_of
from surepick.algorithms.pooled.guide import without_level
from surepick.algorithms.pooled.items import NO_PAST, items_of
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import OpenBlock, Rows, Totals, by_block
from surepick.algorithms.pooled.make import make_planner, make_question, make_reading, points_of
from surepick.algorithms.pooled.market import DOUBT, Market
from surepick.algorithms.pooled.options import covers, first_left, turned
from surepick.algorithms.pooled.pace import Pace, pace_of
from surepick.algorithms.pooled.parts import dealt_again
from surepick.algorithms.pooled.past import one_block, past_blocks
from surepick.algorithms.pooled.planner import Planner
from surepick.algorithms.pooled.planning import Situation, next_block
from surepick.algorithms.pooled.prices import within
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.algorithms.pooled.strata import demand_strata
from surepick.algorithms.pooled.suggested import Suggested
from surepick.algorithms.pooled.traffic import PlannedTraffic
from surepick.algorithms.pooled.values import with_zero
from surepick.arrays.backend import HOST, Backend
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.statistics.spending import Spent

_NO_PULLS = (
    "segments: a single measurement does not say which segment it is of; only a traffic study "
    "(traffic=True, --traffic), which is told visitors by segment, can weigh them"
)
_CHEAP = 300  # settled blocks that are gone through again


class PooledState(State):
    """Blocks, and the question that they answer.

    Candidates are numbered by their place in ``problem.distinct``, except in what leaves the state.
    """

    saved: ClassVar[tuple[str, ...]] = (
        "first",
        "weights",
        "shares",
        "blocks",
        "follows_levels",
        "seed",
        "strata",
        "retired",
        "opening",
        "deal",
    )
    minds_costs = True
    waits = True

    def __init__(self, config: BlockSettings, problem: Problem, seed: int = 0) -> None:
        self.config, self.problem, self.seed = config, problem, seed
        self.retired = np.zeros(problem.n_arms, dtype=bool)
        self.opening = False  # whether the next block has to make newcomers known, without bets
        self.deal: str | None = None  # seed by which the first report is dealt into two
        self._choose_tools(ways_of(problem, config.items))
        self.needs_spread = self.demands_spread = self._reading.demands_spread
        self.singly = self._reading.singly
        self.by_wins = not self._reading.about_means and config.asked.quantile is None
        self.scale_estimated = self._reading.estimates_scale
        K = problem.n_arms
        #: whether a level that all rewards of a block share is kept out of later estimates
        self.follows_levels = config.asked.levels_cancel and (
            self.ways.ways != ("linear",) or problem.has_level
        )
        self.first = np.zeros(K, dtype=np.int64)  # pulls of blocks without bets
        kept = self.demands_spread or config.items is not None
        self.totals = Totals(K, kept, self._reading.cells)  # all settled ones
        self.block = OpenBlock()
        self.weights = np.zeros(K)  # last design, and the shares of its directions
        self.shares = self.planner.first_shares()
        self.blocks: list[dict[str, Any]] = []
        self.strata = 1  # of the last block: how many the next one will have to be enough for
        self.held: list[ToldPulls] = []  # past measurements that wait for a first block to bet by
        self._spreads: FloatArray | None = None  # of the batch that is being told
        self.suggested = self._suggest()

    def _choose_tools(self, ways: tuple[str, ...]) -> None:
        """Choose what depends on how blocks are read."""
        problem = self.problem
        self._reading: Reading = make_reading(problem, ways)
        if self.deal is not None:
            self._reading = self._reading.of_reports() or self._reading
        number = self.config.asked.number is not None
        self.ways = Evidence(self._reading, ways, number)
        # Options compared directly have few numbers each: in memory, wherever features are.
        self._b: Backend = HOST if "direct" in ways or "paired" in ways else problem.backend
        self._points: Any = points_of(problem, self._b)
        ground = Ground(self.config, problem, self._b, self.ways, self._points.shape[0])
        if number:  # candidates are compared with one more, which has no features
            self._points = with_zero(self._points)
        self.planner: Planner = make_planner(
            *(problem, self._points, ways, self._reading.in_parts, self.retired, self._pace)
        )
        self.question: Question = make_question(ground)

    @property
    def _pace(self) -> Pace:
        return pace_of(self.problem, self.ways.ways, self.config.guess)

    def _suggest(self) -> Suggested:
        """What the settled blocks suggest, with nothing worked out yet."""
        own = (self.problem, self._points, self._reading, self.question)
        return Suggested(*own, self.totals, self.first)

    def save(self) -> dict[str, Any]:
        memory = super().save() | self.question.save()
        memory["weights"] = np.asarray(self.weights)
        memory["ways"] = list(self.ways.ways)
        memory["block"] = self.block.save()
        memory["totals"] = [self.totals.counts, self.totals.sums, self.totals.spreads]
        memory["held"] = [told.columns() for told in self.held]
        if self.totals.cells is not None:
            memory["cells"] = self.totals.cells
        return memory

    def load(self, memory: dict[str, Any]) -> None:
        self.retired = memory["retired"]
        other = (self.deal is None) != (memory["deal"] is None)
        self.deal = memory["deal"]
        ways = tuple(memory["ways"])  # on another device they may be others
        if ways != self.ways.ways or other or self.retired.any():
            self._choose_tools(ways)
        super().load(memory)
        self.held = [ToldPulls.from_columns(columns) for columns in memory["held"]]
        self.totals.load(*memory["totals"])
        self.totals.cells = memory["cells"].copy() if self._reading.cells else None
        self.block.load(memory["block"])
        self.question.load(memory)
        self.suggested = self._suggest()

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        seed = seed_in(evidence.get("blocks", []))
        if seed is not None:
            self.deal_by(seed)

    def deal_by(self, seed: str) -> None:
        if self.deal is None and not self.blocks and self.block.empty and self._can_be_dealt:
            self.load(self.save() | {"deal": seed})

    @property
    def _can_be_dealt(self) -> bool:
        return self.ways.ways == ("direct",) and self._reading.of_reports() is not None

    @property
    def design_gaps(self) -> list[float]:
        """Certified gaps of the designs so far, where they have one; not saved."""
        return self.planner.gaps()

    # -- asking ----------------------------------------------------------------------------
    def situation(self) -> Situation:
        """What is known now, from which blocks are planned."""
        return Situation(
            *(self.config, self.problem, self.ways, self.planner),
            *(self._pace, self.question, self.suggested),
            *(self.weights, self.shares, self.strata, self.opening, self.funds),
        )

    def propose(self, budget: int) -> Pulls:
        if self._reading.reports_only:
            raise InvalidInputError(_NO_PULLS)
        if not self.block.left.total:
            planned = self.propose_ahead(budget, out=0)
            assert planned is not None  # in turn it never is too early
            self.block.begin(planned)
        most = min(budget, self.config.max_batch or budget, self.block.left.total)
        return within(self.problem, self.funds, most, self._next)

    def propose_ahead(self, budget: int, out: int) -> Pulls | None:
        planned = next_block(self.situation(), budget, out)
        if planned is None:
            return None
        self.weights, self.shares = planned.weights, planned.shares
        return planned.pulls

    def _next(self, size: int) -> Pulls:
        """So many pulls of the block under way."""
        return self.block.next(size, self.piece, len(self.blocks))

    def replace(self, pulls: Pulls) -> None:
        self.block.begin(pulls)

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        return dealt_again(self.problem, pulls, counts, self.ways.parts)

    # -- telling ---------------------------------------------------------------------------
    def observe_spread(self, pulls: Pulls, spread: FloatArray) -> None:
        self._spreads = spread

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        self.block.take(ToldPulls(pulls, sums, self._spreads))
        self._spreads = None
        if not self.block.left.total:
            self._settle()
        else:
            everything = self.totals.plus(self._reading.midway(self.block.told))
            self.question.look(self._reading.guide.candidates(everything, self._points))

    def stratum(self, arms: IntArray, rewards: FloatArray) -> ToldPulls:
        demand_strata(self.config, self.problem, self.ways.ways)
        return one_block(self.problem, arms, rewards, self.ways.parts)

    def observe_strata(self, pulls: Pulls, strata: list[ToldPulls]) -> None:
        self.block.take_strata(strata, pulls)
        if not self.block.left.total:
            self._settle_strata()

    def _settle_strata(self) -> None:
        """Every stratum is a block of its own, but for the first block, which has no bets."""
        block = self.block
        self.strata = len(block.strata)
        if not self.blocks or self.opening:
            rows = self._reading.of_strata(block)
            self.block = OpenBlock.complete(rows, len(block.strata), block.pieces_of_past)
            self._settle(rows)
            return
        for number, told in enumerate(block.strata):
            if self.finished:  # what is left decides nothing
                rest = len(block.strata) - number
                self.blocks.append({"batches": rest, "rivals": [], "dropped": []})
                break
            self.block = OpenBlock.complete(Rows.of(told), 1)
            self._settle()
        self.block = OpenBlock()

    def items_of(self, pulls: Pulls, later: int = 0) -> IntArray | None:
        return items_of(pulls, self.config.items, self.seed, len(self.blocks) + later)

    def split_past(self, arms: IntArray, rewards: FloatArray, evidence: bool) -> list[ToldPulls]:
        if self.config.items is not None:
            raise InvalidInputError(NO_PAST)
        if self._reading.reports_only:
            raise InvalidInputError(_NO_PULLS)
        return past_blocks(self.problem, arms, rewards, evidence, self.ways.parts)

    def observe_past(self, batches: list[ToldPulls], evidence: bool) -> None:
        self.held = list(batches)
        if not evidence:
            self.question.guided()
        if self.finished:
            return
        if self.problem.spanned_by(batches[0].pulls.arms):
            self.block.take_past(self.held.pop(0))
            self._settle()
        elif not evidence:
            # with the pulls of the first block, on which nothing is bet
            self.block.take_past(self.held.pop(0))

    def _settle(self, by_arm: Rows | None = None) -> None:
        """The block is complete: pay out the bets, drop who lost, stop where one is left."""
        block = self.block
        if self.deal is not None and not self.blocks and block.pieces and not block.pieces_of_past:
            guides, rest = in_two(self.problem, block.told, self.deal)
            for rows, pieces in ((guides, 0), (rest, block.pieces)):
                self.block = OpenBlock.complete(rows, pieces)
                self._settle()
            return
        if self.finished and self.blocks and not block.pieces_of_past:  # it only waits
            self.blocks.append({"batches": block.pieces, "rivals": [], "dropped": []})
            self.block = OpenBlock()
            return
        told = self._reading.by_arm(block.told) if by_arm is None else by_arm
        record: dict[str, Any] = {"batches": block.pieces, "rivals": [], "dropped": []}
        if block.pieces_of_past:
            record["past"] = block.pieces_of_past
        elif not block.pieces:
            record["dealt"] = said_of(str(self.deal))
        if not len(told.arms):  # all visitors of the first report guide: nothing is left to bet on
            self.blocks.append(record)
            self.block = OpenBlock()
            return
        opening = self.opening or not self.blocks  # no past to choose rivals and stakes by
        if not opening:
            pulls = self.totals.pulls + int(block.told.counts.sum())
            read = self.ways.read(block.told, self.suggested.scales)
            self.ways.half_kept = len(self.blocks) == 1 and seed_in(self.blocks) is not None
            record |= self.question.bet(self.suggested.market, read, pulls)
        else:
            self.first[told.arms] += told.counts
            self.question.begin(block.told)
        self.blocks.append(record)
        if len(self.blocks) > 1 and self.follows_levels:
            known = self.totals.counts[told.arms] > 0 if opening else None
            guide, past = self._reading.guide, self.suggested.estimate
            told = without_level(guide, told, past, self.suggested.scales, known)
        self.totals.add(told)
        self.totals.note(block.told, self.problem.seen(1.0))
        self.block = OpenBlock()
        self.suggested.forget(first_too=opening)
        self.opening = self.opening and not self._covered()
        self.question.conclude(self._market)
        if self.held and not self.finished:
            self.block.take_past(self.held.pop(0))
            self._settle()

    def _market(self) -> Market:
        return self.suggested.market

    # -- options that come and go ----------------------------------------------------------
    @property
    def at_rest(self) -> bool:
        """Whether it stands between two blocks."""
        return self.block.empty and not self.held

    def turn(self, problem: Problem, retired: BoolArray) -> None:
        """Between two blocks: other options than before; see the module ``options``."""
        memory = turned(self.save(), self.problem, problem, retired, self.ways.accounts)
        self.problem, self.retired = problem, retired
        self._choose_tools(self.ways.ways)
        self.load(memory)
        self.weights, self.shares = np.zeros(problem.n_arms), self.planner.first_shares()
        self.opening = bool(self.blocks) and not self._covered()
        self.question.reconsider(self._market if self.blocks else None)

    def accept(self, config: Any) -> None:
        self.config = config
        self.question.ground = self.question.ground._replace(config=config)
        self.question.accept()
        self.suggested.forget(first_too=False)

    def _covered(self) -> bool:
        """Whether what was measured says something about everybody."""
        measured, offered = np.flatnonzero(self.totals.counts), np.flatnonzero(~self.retired)
        return covers(self.problem, measured, offered)

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether the question is answered."""
        return self.question.finished

    @property
    def active(self) -> IntArray:
        """Candidates that are not decided yet."""
        return self.problem.distinct[self.question.open()]

    def left(self) -> int:
        return self.question.left()

    def traffic(self) -> PlannedTraffic:
        return PlannedTraffic(self.situation())

    def enough(self, told: list[ToldPulls], problem: Problem) -> int | None:
        if not 0 < len(self.blocks) <= _CHEAP or self._reading.reports_only:
            return None
        again = PooledState(self.config, problem, self.seed)
        again.observe_past(by_block(self.blocks, told), True)
        return again.totals.pulls if again.finished else None

    def leader(self) -> int:
        best = int(self.problem.distinct[self.question.best])
        return first_left(self.problem, best, self.retired) if self.retired.any() else best

    def named(self) -> list[int]:
        if self.retired.any():  # where options come and go, one is asked for
            return [self.leader()]
        return self.problem.distinct[self.question.named()].tolist()

    def claims(self) -> Claims | None:
        return self.question.claims()

    def p_value(self) -> float | None:
        values = self.question.p_values()
        if len(self.named()) > 1 or self.claims() is not None or len(values) < 2:
            return None
        offered = self.question.offered()
        rivals = np.ones(len(values), dtype=bool) if offered is None else offered.copy()
        rivals[self.question.best] = False
        return float(values[rivals].max(initial=0.0))

    def spent(self) -> dict[str, float]:
        return self.question.spent()

    def risks(self) -> list[Spent]:
        return self.question.risks()

    def now(self) -> Known | None:
        if not self.totals.counts.any():
            return None
        known = self.question.known()
        if known is not None:
            return known
        market, leader = self.suggested.market, self.question.best
        means = market.means
        if len(self.block.told.arms):  # what was told of the block under way is looked at, too
            everything = self.totals.plus(self._reading.midway(self.block.told))
            means = self._reading.guide.candidates(everything, self._points)
        values = self._b.host(means)[: len(self.problem.distinct)]
        errors = self._b.host(market.errors(leader))
        return known_of(self.problem, self.question, self._reading, values, errors)

    @property
    def level_is_free(self) -> bool:
        own = self.problem.rank == self.problem.n_arms or self.config.items is not None
        return self.follows_levels and own

    def reward_scale(self) -> float | FloatArray | None:
        if not self._reading.about_means or (self.scale_estimated and not self.totals.counts.any()):
            return None
        scales = self.suggested.scales
        return math.sqrt(scales.variance) if scales.by_arm is None else np.sqrt(scales.by_arm)

    def progress(self) -> FloatArray:
        share = self.question.progress()
        return share[np.searchsorted(self.problem.distinct, self.problem.same_as)]

    def evidence(self) -> dict[str, Any]:
        return {
            "rule": "pooled",
            "doubt": DOUBT,
            "precisions": list(self._reading.direct_payoff.precisions),
            **self.ways.written(self.follows_levels),
            "blocks": self.blocks,
            **self.question.evidence(),
        }

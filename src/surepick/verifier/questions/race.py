"""Bets on measurements, block by block: who is in, and what the record must say of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.verifier.blocks import (
    Block,
    Noted,
    blocks_of,
    cancels_of,
    check_strata,
    in_strata,
    levels_of,
    read_block,
    ways_of,
)
from surepick.verifier.check import Check
from surepick.verifier.formulas import Closeness, NotAmong
from surepick.verifier.options import Offer, epsilon_at_first
from surepick.verifier.order import check_pieces
from surepick.verifier.payoffs.measurements import Measurements, Round
from surepick.verifier.questions.answers import check_dropped, check_p_value
from surepick.verifier.record import Batch

# Doubt, how much more than others a near rival gets at most, the stakes' prior precisions and the
# capital of their accounts: none was chosen after rewards were seen.
DOUBT, _NEARNESS, _PRECISIONS, _ACCOUNTS = 4.0, 10.0, [10.0, 150.0], [1 / 3, 2 / 3]
_OF_REPORTS = [150.0, 1500.0]  # the precisions where the first report is dealt


def raced(check: Check, make: Callable[[np.ndarray], Race]) -> list[int]:
    """Who is left of all candidates that can be told apart."""
    everyone = check.distinct()
    if len(everyone) > 1:
        return make(np.array(everyone)).left()
    check_prior(check)
    check.demand("p_value" not in check.claim, "its p-value is of no comparison")
    return everyone


def check_prior(check: Check) -> list[float]:
    """What stakes are made from must have been fixed before anything was measured."""
    evidence, ways = check.evidence, len(ways_of(check))
    prior = [evidence[part] for part in ("doubt", "nearness", "precisions", "accounts")]
    precisions = _OF_REPORTS if check.dealt or check.kind.shares else _PRECISIONS
    accounts = [share / ways for share in _ACCOUNTS] * ways
    check.demand(
        prior == [DOUBT, _NEARNESS, precisions, accounts],
        "the stakes' prior is not one that was fixed in advance",
    )
    return precisions


class Race(ABC):
    """Who has bet how much on what, worked out again from the record.

    Candidates are numbered by their place among the distinct ones. With ``m``, it is asked which
    are the m best.
    """

    def __init__(self, check: Check, candidates: np.ndarray, m: int = 1) -> None:
        precisions = check_prior(check)
        self.check, self.candidates, self.m = check, candidates, m
        self.start = np.log(check.evidence["accounts"])  # log capital of each account
        self.goal = math.log(m) - math.log(check.delta)
        self.epsilon = epsilon_at_first(check) / check.noise
        self.ways, self.levels = ways_of(check), levels_of(check)
        self.known = Measurements(check, self.ways, precisions)
        self.offer = Offer(check, candidates)
        self.alive = self.offer.there.copy()
        self.against = NotAmong(len(candidates), self.start)
        self.close = Closeness(len(candidates), self.start, m, self.goal, self.epsilon)
        self.rounding = 0.0  # of log capital

    # -- what a question says --------------------------------------------------------------
    @abstractmethod
    def rivals(self, note: Noted, where: str) -> np.ndarray:
        """The places of those that are bet on in a block; the leader is the first."""

    @abstractmethod
    def pay(self, round: Round, rivals: np.ndarray, where: str) -> None:
        """Pay out a block; who was bet on must follow from what was known before it."""

    def has_rivals(self, note: Noted) -> bool:
        """Whether anything was bet on a block."""
        return len(note.rivals) > 0

    def log_capital(self) -> np.ndarray:
        """Against each candidate, less what is for closeness where that is asked for."""
        return self.against.total() + self.close.shares.racing

    @property
    def answered(self) -> bool:
        """Whether nothing is bet on any more, until options come or go."""
        return int(self.alive.sum()) <= 1

    def check_close(self) -> None:  # noqa: B027
        """The answer must be shown to be close enough."""

    # -- the blocks ------------------------------------------------------------------------
    def left(self) -> list[int]:
        """Who is left when all bets are paid out."""
        check = self.check
        check.risk += check.delta
        self.follow()
        left = self.candidates[self.alive].tolist()
        if not left or check.first_like(check.claim["candidate"]) in left:  # else it is refused
            there = self.offer.there
            check_p_value(check, self.candidates[there], self.log_capital()[there], self.rounding)
        if check.claim["guarantee"] == "eps-pac":
            self.check_close()
        # Everybody dropped: an event of probability at most delta, and any answer will do.
        return left or [check.claim["candidate"]]

    def follow(self) -> None:
        """Pay out one block after the other."""
        check, blocks, offer, told = self.check, blocks_of(self.check), self.offer, 0
        check_strata(check, blocks, cancels_of(check))
        check_pieces(check, blocks)
        end, dealt = len(blocks) - check.waited, check.dealt
        for number, (note, batches) in enumerate(blocks, start=1):
            where, past = f"block {number}", self.known.past
            self.known.payoff.half_kept = dealt and number == 2  # a tenth is a poor guide
            offer.take(told, self)
            told += note.batches  # past ones were there before anybody came or went
            if number > end:
                check.demand(note.nothing, "bets were made after the decision")
            elif not any(len(batch.arms) for batch in batches):  # all of the first report guides
                fine = dealt and number == 2 and note.nothing
                check.demand(fine, f"{where} has no measurements to bet on")
            elif number == 1 or (past is not None and offer.opens(past.arms)):
                self._begin(note, batches, where)
            elif not self.has_rivals(note) and (number == end or offer.due(told) or self.answered):
                check.demand(note.nobody_dropped, f"{where} drops without a bet")
                ended = number == end or self.answered  # then it only waits
                check.demand(ended, f"{where} was not bet on, though nothing was decided")
            else:
                self.settle(note, read_block(check, batches), where)
        offer.take(told, self)
        offer.end()

    def _begin(self, note: Noted, batches: list[Batch], where: str) -> None:
        """A block without bets: what the next one is bet by."""
        check, known, payoff = self.check, self.known, self.known.payoff
        check.demand(note.nothing, f"{where} has no past to bet by")
        strata = in_strata(check, batches)
        if strata:
            told = block = payoff.of_strata(strata)
        else:
            block = read_block(check, batches)
            if known.past is not None or not check.past or check.past_counts:  # else not dealt
                payoff.check_dealt(block, where, self.ways != ["linear"])
            told = payoff.by_arm(block)
        known.first = told if known.first is None else known.first.plus(told)
        if known.past is not None and self.levels:
            seen = np.isin(told.arms, known.past.arms)
            told = known.guide.without_level(known.past, told, known.look(), seen)
        payoff.remember(block)
        known.add(told)

    def settle(self, note: Noted, block: Block, where: str) -> None:
        """Pay out one block, and drop the candidates that it drops."""
        known, payoff = self.known, self.known.payoff
        parts = payoff.check_dealt(block, where, self.ways != ["linear"])
        outlook = known.look()
        self.rounding = self.check.rounding_per_noise / outlook.scale
        rivals = self.rivals(note, where)
        self.pay(self._open(outlook, rivals).read(block, parts), rivals, where)
        self.drop(note, where)
        told = payoff.by_arm(block)
        payoff.remember(block)
        if self.levels:
            assert known.past is not None
            told = known.guide.without_level(known.past, told, outlook)
        known.add(told)

    def _open(self, outlook: Any, rivals: np.ndarray) -> Round:
        return Round(self.known, outlook, self.candidates, int(rivals[0]), self.offer.rank)

    def places(self, named: np.ndarray) -> np.ndarray:
        """Where candidates are among the distinct ones; anywhere for those that are not."""
        return np.minimum(np.searchsorted(self.candidates, named), len(self.candidates) - 1)

    def drop(self, note: Noted, where: str) -> None:
        """Those that are dropped must have enough against them."""
        named, recorded = note.dropped
        places = self.places(named)
        fine = (self.candidates[places] == named).all() and self.alive[places].all()
        fine = fine and len(np.unique(named)) == len(named)
        self.check.demand(fine, f"{where} drops an absent candidate")
        capital = self.log_capital()[places]
        enough = capital >= self.goal - 1e-6
        check_dropped(self.check, named, recorded, capital, enough, self.rounding, where)
        self.alive[places] = False

    # -- options that come and go ----------------------------------------------------------
    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by what is measured later."""
        self.close.accept(self.against.total())
        self.epsilon = epsilon / self.check.noise

    def enter(self, places: np.ndarray) -> None:
        """Newcomers have no more against them than anybody who is left, in any account."""
        self.close.shares.enter(places, self.alive)
        for held in (self.against.others.logs, *self.close.purses()):
            held[places] = np.vstack([self.start, held[self.alive]]).min(axis=0)
        self.alive[places] = True

    def leave(self, place: int) -> None:
        """Nobody has more against it than who goes, in any account; all are back."""
        if not self.alive[place]:
            return
        held = self.against.others
        held.logs = np.minimum(held.logs, held.logs[place])
        self.alive = self.offer.there.copy()
        self.close.leave(place)

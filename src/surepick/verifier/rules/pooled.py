"""Bets that pool the evidence of all blocks (PooledPeleg)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.accepting import Shares, beside, epsilon_at_first, of_leader
from surepick.verifier.blocks import Block, blocks_of, read_block
from surepick.verifier.check import Check
from surepick.verifier.dealing import is_dealt
from surepick.verifier.estimate import log_sum
from surepick.verifier.guide import Guide, Outlook
from surepick.verifier.options import Offer
from surepick.verifier.order import check_pieces
from surepick.verifier.p_value import check_p_value
from surepick.verifier.payoffs import payoff_of
from surepick.verifier.payoffs.base import News, Pairs
from surepick.verifier.payoffs.stakes import STAKES
from surepick.verifier.rows import slices
from surepick.verifier.strata import check_strata, in_strata
from surepick.verifier.views import ByArm, ByFeatures, Field, Leaning, View
from surepick.verifier.ways import cancels_of, levels_of, ways_of

# Doubt, how much more than others a near rival gets at most, the stakes' prior precisions and the
# capital of their accounts: none was chosen after rewards were seen.
_DOUBT, _NEARNESS, _PRECISIONS, _ACCOUNTS = 4.0, 10.0, [10.0, 150.0], [1 / 3, 2 / 3]
_OF_REPORTS = [150.0, 1500.0]  # the precisions where the first report is dealt
RIVALS = 8


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta.

    Block after block, the rivals must be the candidates that trailed the leader least in the
    earlier blocks, and shares and stakes what those blocks suggest. Each payoff, of the kind that
    the noise calls for, then has an expectation of at most 1 while the candidate bet against is the
    best. With epsilon, a share of the capital is bet on "not more than epsilon better than the
    leader" instead, leader after leader; both together show closeness.
    """
    check_prior(check)
    everyone = check.distinct()
    if published.is_own(check):
        check.demand(check.settings.get("top", 1) == 1, "more than one candidate was asked for")
        check.demand(check.settings.get("quantile") is None, "a quantile was asked for")
        check.demand(not check.settings.get("cheapest"), "the cheapest was asked for")
    if len(everyone) == 1:
        check.demand("p_value" not in check.claim, "its p-value is of no comparison")
        return everyone
    return race(check, Book(check, np.array(everyone)))


def race(check: Check, book: Book) -> list[int]:
    """Who is left of those that are in when all bets are paid out."""
    check.risk += check.delta
    settle_all(check, book)
    left = book.candidates[book.alive].tolist()
    if not left or check.first_like(check.claim["candidate"]) in left:  # else it is refused anyway
        book.check_p_value()
    if check.claim["guarantee"] == "eps-pac":
        book.check_close()
    # Everybody dropped: an event of probability at most delta, and any answer will do.
    return left or [check.claim["candidate"]]


def check_prior(check: Check) -> None:
    """What stakes are made from must have been fixed before anything was measured."""
    evidence, ways = check.body["evidence"], len(ways_of(check))
    prior = [evidence[part] for part in ("doubt", "nearness", "precisions", "accounts")]
    precisions = _OF_REPORTS if is_dealt(check) or check.kind.shares else _PRECISIONS
    accounts = [share / ways for share in _ACCOUNTS] * ways
    check.demand(
        prior == [_DOUBT, _NEARNESS, precisions, accounts],
        "the stakes' prior is not one that was fixed in advance",
    )


def settle_all(check: Check, book: Book) -> None:
    """Pay out one block after the other."""
    blocks, offer, told = blocks_of(check), book.offer, 0
    check_strata(check, blocks, cancels_of(check))
    check_pieces(check, blocks)
    end = len(blocks) - check.waited
    dealt = is_dealt(check)
    for number, (block, batches) in enumerate(blocks, start=1):
        where = f"block {number}"
        book.payoff.half_kept = dealt and number == 2  # a tenth of a report is a poor guide
        offer.take(told, book)
        told += block["batches"]  # past ones were there before anybody came or went
        if number > end:
            none = not block["rivals"] and not block["dropped"]
            check.demand(none, "bets were made after the decision")
        elif not any(batch["arms"] for batch in batches):  # all of the first report guides
            none = not block["rivals"] and not block["dropped"]
            check.demand(dealt and number == 2 and none, f"{where} has no measurements to bet on")
        elif number == 1 or (book.past is not None and offer.opens(book.past.arms)):
            book.begin(block, batches, where)
        elif not book.has_rivals(block) and (number == end or offer.due(told) or book.answered):
            check.demand(not block["dropped"], f"{where} drops without a bet")
            ended = number == end or book.answered  # then it only waits
            check.demand(ended, f"{where} was not bet on, though nothing was decided")
        else:
            book.settle(block, read_block(check, batches), where)
    offer.take(told, book)
    offer.end()


class Market:
    """Who is bet on in one block, and by what: all of it from earlier blocks.

    Rows of candidates are counted from the leader on: differences of large numbers that all
    candidates share would cost digits.
    """

    def __init__(self, rivals: np.ndarray, rows: np.ndarray, before: View, unit: View) -> None:
        self.rivals, self.before, self.unit = rivals, before, unit
        self.leader_row = rows[0]
        self.rows = rows - rows[0]  # (R, d)

    def field(self, x: np.ndarray, places: np.ndarray) -> Field:
        """Candidates with all rivals."""
        return Field(x, places, self.rows, self.rivals)

    def pairs(self, field: Field, own: np.ndarray, now: View) -> Pairs:
        """What is known about them; where both are the same (``own``), any numbers."""
        unit, information, told = (
            1.0 / np.where(own, 1.0, view.variances(field))  # 0 where nothing is said
            for view in (self.unit, self.before, now)
        )
        lead, new_lead = (view.leads(field) for view in (self.before, now))
        return Pairs(field, lead, information, unit, new_lead, told, np.zeros(own.shape))

    def trail(self, field: Field) -> np.ndarray:
        """By how many squared standard errors candidates trail the leader."""
        only = field.some(np.arange(len(field.x)), 1)
        return (self.before.leads(only) ** 2 / self.before.variances(only))[:, 0]


class Book:
    """Who has bet how much on what, worked out again from the record.

    Candidates are numbered by their place among the distinct ones.
    """

    def __init__(self, check: Check, candidates: np.ndarray) -> None:
        self.check, self.candidates = check, candidates
        evidence = check.body["evidence"]
        self.doubt, self.precisions = evidence["doubt"], evidence["precisions"]
        self.start = np.log(evidence["accounts"])  # log capital of each account
        self.goal = -math.log(check.delta)
        self.epsilon = epsilon_at_first(check) / check.noise
        self.shares = Shares(self.epsilon, len(candidates))
        self.ways, self.levels = ways_of(check), levels_of(check)
        paired = self.ways == ["paired"]
        guide = Guide(check, paired or "direct" in self.ways)
        self.payoff = payoff_of(check.kind, items=paired)(guide, self.precisions)
        self.offer = Offer(check, candidates)
        self.alive = self.offer.there.copy()
        self.capital = np.tile(self.start, (len(candidates), 1))
        self.spare: dict[int, np.ndarray] = {}  # on closeness to each leader, in order
        self.close: dict[int, np.ndarray] = {}  # where that was shown
        self.past: Block | None = None  # all blocks so far, by arm
        self.first: Block | None = None
        self.rounding = 0.0  # of log capital
        # Bets are worked out for so many candidates at once that a block of memory holds them.
        self.width = max(check.candidates.shape[1], 2 * RIVALS * STAKES)

    def has_rivals(self, record: dict[str, Any]) -> bool:
        """Whether anything was bet on a block."""
        return bool(record["rivals"])

    def begin(self, record: dict[str, Any], batches: list[dict[str, Any]], where: str) -> None:
        """A block without bets: what the next one is bet by."""
        check, payoff = self.check, self.payoff
        self.check.demand(
            not record["dropped"] and not record["rivals"], f"{where} has no past to bet by"
        )
        strata = in_strata(check, batches)
        if strata:
            told = block = payoff.of_strata(strata)
        else:
            block = read_block(check, batches)
            if self.past is not None or not check.past or check.past_counts:  # else not dealt
                payoff.check_dealt(block, where, self.ways != ["linear"])
            told = payoff.by_arm(block)
        if self.past is None or self.first is None:
            payoff.remember(block)
            self.past = self.first = told
            return
        self.first = self.first.plus(told)
        if self.levels:
            known = np.isin(told.arms, self.past.arms)
            outlook = self.payoff.look(self.past)
            told = self.payoff.guide.without_level(self.past, told, outlook, known)
        payoff.remember(block)
        self.past = self.past.plus(told)

    def settle(self, record: dict[str, Any], block: Block, where: str) -> None:
        """Pay out one block, and drop the candidates that it drops."""
        check, payoff = self.check, self.payoff
        parts = payoff.check_dealt(block, where, self.ways != ["linear"])
        assert self.past is not None
        outlook = payoff.look(self.past)
        self.rounding = check.rounding_per_noise / outlook.scale
        market = self._open(record["rivals"], outlook, where)
        leader = int(market.rivals[0])
        if self.epsilon > 0 and leader not in self.spare:
            self.spare[leader] = np.tile(self.start, (len(self.candidates), 1))
            self.close[leader] = np.zeros(len(self.candidates), dtype=bool)
        news = [payoff.read(way, block, outlook, parts) for way in self.ways]
        self._pay_all(market, news, outlook.scale, where)
        if self.epsilon > 0:
            shown = beside(self._log_capital(), self._log_capital(leader)) >= self.goal - 1e-9
            self.close[leader] |= shown & self.alive
        self._drop(record["dropped"], where)
        told = payoff.by_arm(block)
        payoff.remember(block)
        if self.levels:
            told = payoff.guide.without_level(self.past, told, outlook)
        self.past = self.past.plus(told)

    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by what is measured later."""
        self.shares.accept(log_sum(self.capital))
        self.epsilon = epsilon / self.check.noise
        self.spare, self.close = {}, {}

    @property
    def answered(self) -> bool:
        """Whether nothing is bet on any more, until options come or go."""
        left = np.flatnonzero(self.alive)
        near = (self.close[a][left] | (left == a) for a in left.tolist() if a in self.close)
        return len(left) <= 1 or any(bool(shown.all()) for shown in near)

    @property
    def _rivals(self) -> np.ndarray:
        """Who can be bet on: where wins are counted, not means, only who is left."""
        return self.alive if self.payoff.counts_wins else self.offer.there

    def _open(self, rivals: Any, outlook: Outlook, where: str) -> Market:
        complaint = f"{where}: the rivals are not the right number of candidates"
        named = exact.whole_numbers(rivals, f"{where}: the rivals")
        places = self._places(named)
        self.check.demand(
            len(np.unique(named)) == len(named) == min(RIVALS, int(self._rivals.sum()))
            and (self.candidates[places] == named).all()
            and self._rivals[places].all(),
            complaint,
        )
        assert self.past is not None
        guide, rows = self.payoff.guide, self.check.candidates[named]
        before = guide.view(self.past, outlook)
        return Market(places, rows, before, self.unit(outlook))

    def unit(self, outlook: Outlook) -> View:
        """What the first block would tell with one pull per dimension, or a pull of each arm."""
        guide, first = self.payoff.guide, self.first
        assert first is not None
        if outlook.leads is not None:
            outlook = outlook._replace(variances=outlook.leads)
        if guide.deviations:
            everyone = np.arange(len(guide.units))
            single = outlook.variances(everyone) * guide.units**2
            return ByArm(0.0 * single, np.zeros((len(single), 0)), single)
        share = self.offer.rank / first.pulls
        counts, sums = first.counts * share, first.sums * share
        return ByFeatures(guide.fit(first._replace(counts=counts, sums=sums), outlook))

    def _places(self, named: np.ndarray) -> np.ndarray:
        """Where candidates are among the distinct ones; anywhere for those that are not."""
        return np.minimum(np.searchsorted(self.candidates, named), len(self.candidates) - 1)

    def _pay_all(self, market: Market, news: list[News], scale: float, where: str) -> None:
        """One pass over all candidates: who leads, who trails, and what bets against each paid."""
        check = self.check
        trail = np.append(0.0, market.trail(market.field(market.rows[1:], market.rivals[1:])))
        shares = -self.doubt * trail
        rest = self._rivals.copy()
        rest[market.rivals] = False
        top = market.before.size(market.leader_row)
        ahead, size, others = -math.inf, top, math.inf
        for part in slices(len(self.candidates), self.width):
            x = check.candidates[self.candidates[part]] - market.leader_row
            places = np.arange(part.start, part.stop)
            field = market.field(x, places)
            there = np.flatnonzero(self._rivals[part])
            leads = -market.before.leads(field.some(there, 1))
            ahead = np.maximum(ahead, leads.max(initial=-math.inf))
            size = max(size, top + float(np.abs(leads).max(initial=0.0)))
            beside = rest[part]
            trailing = market.trail(market.field(x[beside], places[beside]))
            others = np.minimum(others, trailing.min(initial=math.inf))
            still = self.alive[part]
            self._pay(market.field(x[still], places[still]), market, shares, news)
        check.demand(
            ahead <= 1e-6 * (size + scale),
            f"{where}: {self.candidates[market.rivals[0]]} did not lead before",
        )
        check.demand(
            trail.max() <= others * (1 + 1e-6) + 1e-9,
            f"{where}: other candidates trailed the leader less than these rivals",
        )

    def _pay(self, field: Field, market: Market, shares: np.ndarray, news: list[News]) -> None:
        """Bets against some candidates, and those on their closeness to the leader."""
        places, leader = field.places, int(market.rivals[0])
        own = places[:, None] == market.rivals[None, :]
        for number, told in enumerate(news):
            accounts = range(number * len(self.precisions), (number + 1) * len(self.precisions))
            pairs = market.pairs(field, own, told.view)
            if isinstance(told.view, Leaning):
                misfit = self.check.misfit / self.check.noise
                pairs = pairs.raised(-misfit * told.view.allowances(field))
            pairs = pairs.raised(-told.rounding)
            units = np.where(own, math.inf, pairs.unit)  # nobody is its own rival
            units = np.minimum(units, _NEARNESS * units.min(axis=1, keepdims=True))
            logs = np.where(own, -math.inf, shares + np.log(units))
            whole = log_sum(logs)
            for j, payoff in zip(accounts, self.payoff.log_paid(pairs, told), strict=True):
                paid = log_sum(np.where(own, -math.inf, logs + payoff)) - whole
                self.capital[places, j] += paid
            if self.epsilon > 0:
                others = places != leader
                closer = pairs.on_leader(others).raised(self.epsilon)
                for j, payoff in zip(accounts, self.payoff.log_paid(closer, told), strict=True):
                    self.spare[leader][places[others], j] += payoff[:, 0]

    def _log_capital(self, leader: int | None = None) -> np.ndarray:
        """Against each candidate; with a leader, on being close to that one."""
        if leader is None:
            return log_sum(self.capital) + self.shares.racing
        part = of_leader(list(self.spare).index(leader)) + self.shares.behind
        return log_sum(self.spare[leader]) + part

    def _drop(self, dropped: Any, where: str) -> None:
        check = self.check
        named, recorded = check.columns(dropped, "candidate", "log_capital")
        places = self._places(named)
        check.demand(
            (self.candidates[places] == named).all()
            and self.alive[places].all()
            and len(np.unique(named)) == len(named),
            f"{where} drops an absent candidate",
        )
        capital = self._log_capital()[places]
        check.agree_all(
            recorded,
            capital,
            lambda i: f"{where}: the log capital against {named[i]}",
            self.rounding,
        )
        check.demand_all(
            capital >= self.goal - 1e-6,
            lambda i: f"{where}: the capital against {named[i]} is not high enough",
        )
        self.alive[places] = False
        check.checked += len(named)

    def check_p_value(self) -> None:
        """How sure the answer is, if it says so."""
        there = self.offer.there
        check_p_value(self.check, self.candidates[there], self._log_capital()[there], self.rounding)

    def check_close(self) -> None:
        """Nobody who is left may be more than epsilon better than the answer."""
        chosen = self.check.first_like(self.check.claim["candidate"])
        chosen = int(np.searchsorted(self.candidates, chosen))
        left = np.flatnonzero(self.alive)
        shown = self.close.get(chosen, np.zeros(len(self.candidates), dtype=bool))
        self.check.demand_all(
            shown[left] | (left == chosen),
            lambda i: f"candidate {self.candidates[left[i]]} may be more than epsilon better",
        )
        self.check.checked += len(left)

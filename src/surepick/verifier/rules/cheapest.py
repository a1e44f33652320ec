"""Bets on which is the cheapest candidate that is at most ε below the best.

Candidates stand in the order of their costs. C_rs is bet on "r is not more than ε below s", F_sx on
"s is more than ε above x". Of the answer no F is a bet with a positive expectation, and of each
candidate before it, which is too far below somebody, at least one C; the least of these counts:

    W_x = ½ (½ mean of F_sx + ½ Π F of the leader, block by block)
        + ½ (½ mean over r before x of min C_rs + ½ Π over r before x of min C_rs where r was head)

where the head of a block is the cheapest that seemed to be good enough, and for the first candidate
the first half is all. Who has W ≥ 1/δ is out. With a tolerance η a share of the capital is
for accepting the first that is in: when 1/K of it, on "not more than ε + η below s", is 1/δ for
all s.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.accepting import ACCEPTING, RACING
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News
from surepick.verifier.rules.pooled import Book, Market, check_prior, race
from surepick.verifier.views import Leaning

_PER_WIN = 2.0 * math.sqrt(math.pi)  # lead in scores that goes with a share of wins
_CLOSE = 1e-6  # what rounding may make of an estimate


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta."""
    check_prior(check)
    within = _read(check)
    everyone = check.distinct()
    if len(everyone) == 1:
        check.demand("p_value" not in check.claim, "its p-value is of no comparison")
        return everyone
    return race(check, _Cheapest(check, np.array(everyone), within, _costs(check)))


def _read(check: Check) -> float:
    asked = exact.mapping(check.evidence["question"], "the question")
    within = exact.number(asked["cheapest"], "how far below the best is good enough")
    check.demand(within > 0 and set(asked) == {"cheapest"}, "the question makes no sense")
    own = check.settings.get("cheapest") is True and check.settings.get("within") == within
    check.demand(own, "the question is not the one that the algorithm was set to")
    check.demand(check.body["problem"]["candidates"] is None, "its candidates are not its arms")
    check.demand(len(check.distinct()) == len(check.candidates), "two candidates are the same")
    cheapest = f"the cheapest option {check.kind.good(within)}"
    if check.claim["guarantee"] == "none":
        cheapest = f"the cheapest option within {within:.12g} of the best"
    check.best = cheapest
    own_good = check.kind.good(within + check.epsilon)
    check.near = f"no dearer than {cheapest}, and itself one {own_good},"
    return within


def _costs(check: Check) -> np.ndarray:
    held = check.body["problem"].get("costs")
    check.demand(held is not None, "it does not say what options cost")
    found = exact.numbers(held, "the costs")
    check.demand(len(found) == len(check.candidates), "not every option has a cost")
    return found


class _Cheapest(Book):
    """Capital of all pairs."""

    def __init__(
        self, check: Check, candidates: np.ndarray, within: float, costs: np.ndarray
    ) -> None:
        super().__init__(check, candidates)
        M = len(candidates)
        self.near, self.epsilon = self.epsilon, 0.0  # closeness is to everybody, not to a leader
        self.within = within / check.noise
        self.seems_within = self.within * (_PER_WIN if self.payoff.counts_wins else 1.0)
        self.order = sorted(range(M), key=lambda i: (costs[i], i))
        start = np.tile(self.start, (M, M, 1))
        self.on_far, self.on_close, self.on_near = start, start.copy(), start.copy()
        self.on_leaders, self.on_heads = np.zeros(M), np.zeros((M, M))
        self.logs = np.zeros(M)

    def _open(self, rivals: Any, outlook: Outlook, where: str) -> Market:
        named = exact.whole_numbers(rivals, f"{where}: the rivals")
        fine = len(named) == 2 and ((named >= 0) & (named < len(self.candidates))).all()
        self.check.demand(fine, f"{where}: the rivals are not a leader and a head")
        assert self.past is not None
        before = self.payoff.guide.view(self.past, outlook)
        return Market(named, self.check.candidates[named], before, self.unit(outlook))

    def _pay_all(self, market: Market, news: list[News], scale: float, where: str) -> None:
        leader, head = (int(one) for one in market.rivals)
        everyone, M = np.arange(len(self.candidates)), len(self.candidates)
        x = self.check.candidates - market.leader_row
        behind = market.before.leads(market.field(x, everyone).some(everyone, 1))[:, 0]
        size = market.before.size(market.leader_row) + float(np.abs(behind).max()) + scale
        self._check_rivals(leader, head, behind, _CLOSE * size, where)
        field = market.field(x, everyone)._replace(rivals=x, rival_places=everyone)
        own = np.eye(M, dtype=bool)
        far, close = log_sum(self.on_far), log_sum(self.on_close)
        J = len(self.precisions)
        for number, told in enumerate(news):
            pairs = market.pairs(field, own, told.view)
            if isinstance(told.view, Leaning):
                misfit = self.check.misfit / self.check.noise
                pairs = pairs.raised(-misfit * told.view.allowances(field))
            pairs = pairs.raised(-told.rounding)
            bets = [(self.on_far, -self.within), (self.on_close, self.within)]
            if self.near > 0:
                bets.append((self.on_near, self.within + self.near))
            for capital, by in bets:
                logs = np.stack(self.payoff.log_paid(pairs.raised(by), told), axis=-1)
                capital[:, :, number * J : (number + 1) * J] += np.where(own[..., None], 0.0, logs)
        self.on_leaders += (log_sum(self.on_far) - far)[:, leader]
        self.on_heads[:, head] += (log_sum(self.on_close) - close)[:, head]
        self.logs[self.alive] = self._worked_out()[self.alive]

    def _check_rivals(
        self, leader: int, head: int, behind: np.ndarray, close: float, where: str
    ) -> None:
        """Both must follow from earlier blocks; ``close`` is what rounding may hide."""
        check, name = self.check, self.candidates
        check.demand(behind.min() >= -close, f"{where}: {name[leader]} did not lead before")
        if not self.alive.any():
            return
        check.demand(self.alive[head], f"{where}: {name[head]} is out, and cannot be the head")
        in_turn = [i for i in self.order if self.alive[i]]
        surely = [i for i in in_turn if behind[i] < self.seems_within - close]
        fine = behind[head] <= self.seems_within + close
        if not surely:  # then the best of those in will do as well
            fine |= behind[head] <= behind[in_turn].min() + close
        else:
            fine &= in_turn.index(head) <= in_turn.index(surely[0])
        check.demand(fine, f"{where}: {name[head]} did not seem to be the cheapest good enough")

    def _worked_out(self) -> np.ndarray:
        M = len(self.candidates)
        own, found = np.eye(M, dtype=bool), np.empty(M)
        far = np.where(own, -math.inf, log_sum(self.on_far))
        mean = np.logaddexp.reduce(far, axis=1) - math.log(M - 1)
        here = np.logaddexp(mean, self.on_leaders) - math.log(2)
        good = np.where(own, math.inf, log_sum(self.on_close)).min(axis=0)
        heads = np.where(own, math.inf, self.on_heads).min(axis=0)
        for number, place in enumerate(self.order):
            before = self.order[:number]
            found[place] = here[place]
            if before:
                mean_good = np.logaddexp.reduce(good[before]) - math.log(number)
                cheaper = np.logaddexp(mean_good, heads[before].sum()) - math.log(2)
                found[place] = np.logaddexp(here[place], cheaper) - math.log(2)
        return found + (RACING if self.near > 0 else 0.0)

    def _log_capital(self, leader: int | None = None) -> np.ndarray:
        return self.logs

    def check_close(self) -> None:
        """The answer must be the first that is in, and close enough to everybody."""
        check, M = self.check, len(self.candidates)
        check.demand(self.near > 0, "there is no tolerance")
        chosen = check.claim["candidate"]
        first = next((i for i in self.order if self.alive[i]), None)
        check.demand(chosen == first, "a cheaper option is still in the race")
        logs = log_sum(self.on_near)[:, chosen] + ACCEPTING - math.log(M)
        logs[chosen] = math.inf
        check.demand_all(
            logs >= self.goal - _CLOSE, lambda i: f"the answer may be too far below candidate {i}"
        )
        check.checked += M - 1

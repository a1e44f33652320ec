"""Which is the cheapest candidate that is at most ε below the best?

Candidates stand in the order of their costs. C_rs is bet on "r is not more than ε below s", F_sx on
"s is more than ε above x". Of the answer no F is a bet with a positive expectation, and of each
candidate before it, which is too far below somebody, at least one C; the least of these counts:

    W_x = ½ (½ mean of F_sx + ½ Π F of the leader, block by block)
        + ½ (½ mean over r before x of min C_rs + ½ Π over r before x of min C_rs where r was head)

where the head of a block is the cheapest that seemed to be good enough, and for the first candidate
the first half is all. Who has W ≥ 1/δ is out. With a tolerance η a share of the capital is
for accepting the first that is in: when 1/K of it, on "not more than ε + η below s", is 1/δ for
all s.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Noted
from surepick.verifier.check import Check
from surepick.verifier.formulas import ACCEPTING, Purses, averaged, without_own
from surepick.verifier.payoffs.measurements import Round
from surepick.verifier.payoffs.table import STAKES, Question, Table, paid
from surepick.verifier.questions.answers import check_dropped, check_p_value
from surepick.verifier.questions.race import Race, raced

PER_WIN = 2.0 * math.sqrt(math.pi)  # lead in scores that goes with a share of wins
_CLOSE = 1e-6  # what rounding may make of an estimate


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta."""
    within = _read(check)
    return raced(check, lambda everyone: _Cheapest(check, everyone, within))


def read_within(check: Check) -> float:
    """How far below the best is good enough, which must be what the algorithm was set to."""
    asked = exact.mapping(check.evidence["question"], "the question")
    within = exact.number(asked["cheapest"], "how far below the best is good enough")
    check.demand(within > 0 and set(asked) == {"cheapest"}, "the question makes no sense")
    own = check.settings.get("cheapest") is True and check.settings.get("within") == within
    check.demand(own, "the question is not the one that the algorithm was set to")
    return within


def _read(check: Check) -> float:
    within = read_within(check)
    check.demand(not check.separate, "its candidates are not its arms")
    check.demand(len(check.distinct()) == len(check.candidates), "two candidates are the same")
    cheapest = f"the cheapest option {check.kind.good(within)}"
    if check.claim["guarantee"] == "none":
        cheapest = f"the cheapest option within {within:.12g} of the best"
    check.best = cheapest
    own_good = check.kind.good(within + check.epsilon)
    check.near = f"no dearer than {cheapest}, and itself one {own_good},"
    return within


def read_costs(check: Check) -> np.ndarray:
    """What each arm costs."""
    if check.costs is None:
        exact.refuse("it does not say what options cost")
    fine = len(check.costs) == len(check.arms)
    check.demand(fine, "not everything that is measured has a cost")
    return check.costs


class _Cheapest(Race):
    """Capital of all pairs: (x, s) in the ways of the formula."""

    def __init__(self, check: Check, candidates: np.ndarray, within: float) -> None:
        super().__init__(check, candidates)
        M, costs = len(candidates), read_costs(check)
        self.within = within / check.noise
        self.seems_within = self.within * (PER_WIN if self.known.payoff.counts_wins else 1.0)
        self.order = sorted(range(M), key=lambda i: (costs[i], i))
        self.purses, self.near = OfAll(self.order, self.start), Purses((M, M), self.start)
        self.logs = np.zeros(M)

    def rivals(self, note: Noted, where: str) -> np.ndarray:
        named = note.rivals
        fine = len(named) == 2 and ((named >= 0) & (named < len(self.candidates))).all()
        self.check.demand(fine, f"{where}: the rivals are not a leader and a head")
        return named

    def pay(self, round: Round, rivals: np.ndarray, where: str) -> None:
        (leader, head), everyone = rivals.tolist(), np.arange(len(self.candidates))
        behind = -round.seems(everyone, leader)[0]
        size = round.size + float(np.abs(behind).max()) + round.outlook.scale
        self._check_rivals(leader, head, behind, _CLOSE * size, where)
        far = round.beats(everyone, everyone, -self.within)
        self.purses.pay(far, round.beats(everyone, everyone, self.within), leader, head)
        if self.epsilon > 0:
            self.near.pay(round.beats(everyone, everyone, self.within + self.epsilon))
        logs = self.purses.against() + self.close.shares.racing
        self.logs[self.alive] = logs[self.alive]

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

    def log_capital(self) -> np.ndarray:
        return self.logs

    def check_close(self) -> None:
        """The answer must be the first that is in, and close enough to everybody."""
        check, M = self.check, len(self.candidates)
        check.demand(self.epsilon > 0, "there is no tolerance")
        chosen = check.claim["candidate"]
        first = next((i for i in self.order if self.alive[i]), None)
        check.demand(chosen == first, "a cheaper option is still in the race")
        logs = self.near.total[:, chosen] + ACCEPTING - math.log(M)
        logs[chosen] = math.inf
        check.demand_all(
            logs >= self.goal - _CLOSE, lambda i: f"the answer may be too far below candidate {i}"
        )
        check.checked += M - 1


class OfAll:
    """Purses of all pairs of candidates, (x, s), in the ways of the formula."""

    def __init__(self, order: list[int], start: np.ndarray) -> None:
        M = len(order)
        self.order = order
        self._far, self._good = (Purses((M, M), start) for _ in range(2))
        self._on_leaders, self._on_heads = np.zeros(M), np.zeros((M, M))

    def pay(self, far: np.ndarray, good: np.ndarray, leader: int | np.ndarray, head: int) -> None:
        """Pay out a block, before which these were chosen; ``leader`` may be one for each."""
        self._on_leaders += self._far.pay(far)[np.arange(len(self.order)), leader]
        self._on_heads[:, head] += self._good.pay(good)[:, head]

    def not_beaten(self, x: int) -> np.ndarray:
        """Log capital on "this one is good enough beside s", for all others s."""
        return without_own(self._good.total, math.inf)[:, x]

    def against(self) -> np.ndarray:
        """Log capital against each being the answer."""
        far = without_own(self._far.total, -math.inf)
        own = np.logaddexp.reduce(far, axis=1) - math.log(len(far) - 1)
        found = np.logaddexp(own, self._on_leaders) - math.log(2)
        least, heads = (
            without_own(logs, math.inf).min(axis=0) for logs in (self._good.total, self._on_heads)
        )
        for number, place in enumerate(self.order):
            before = self.order[:number]
            if before:
                cheaper = np.logaddexp(averaged(least[before]), heads[before].sum()) - math.log(2)
                found[place] = np.logaddexp(found[place], cheaper) - math.log(2)
        return found


# -- on a table that could be filled in -----------------------------------------------------------
def verify_on_table(check: Check) -> list[int]:
    """Who is left, worked out again place by place: everybody meets all items."""
    within = _read(check)
    check.demand(check.epsilon == 0, "a tolerance is set, and there is none on a table")
    check.risk += check.delta
    table = Table(check)
    check.demand(not table.turns.any, "options come and go, and the cheapest is asked for")
    own = _OnTable(check, table, within)
    table.follow(own)
    left = own.left()
    everyone = np.arange(len(own.alive))
    check_p_value(check, everyone, own.logs, 0.0)
    # Nobody is left: an event of probability at most delta, and any answer will do.
    return left or [check.claim["candidate"]]


class _OnTable(Question):
    """The cheapest on a table; what nothing to come can change needs no capital."""

    def __init__(self, check: Check, table: Table, within: float) -> None:
        K, costs = len(check.arms), read_costs(check)
        self.check, self.table, self.goal = check, table, -math.log(check.delta)
        share = within / (check.kind.high - check.kind.low) * table.items * table.unit
        self.slack = math.floor(share * (1.0 + 1e-12) + 1e-9)
        self.order = sorted(range(K), key=lambda i: (costs[i], i))
        self.purses = OfAll(self.order, np.log(STAKES))
        self.alive, self.logs = np.ones(K, dtype=bool), np.zeros(K)
        self.last = self.order[0]  # who would have been named last

    def left(self) -> list[int]:
        """Who is in."""
        return np.flatnonzero(self.alive).tolist()

    def measured(self) -> list[int]:
        return list(range(len(self.alive)))

    def settle(self, note: Noted, first: int, where: str) -> None:
        if note.bets:
            self._bet(first)
        sure = self.alive & self._sure()
        (named, recorded), says = note.dropped, note.certain
        there = len(set(named.tolist())) == len(named) and self.alive[named].all()
        self.check.demand(there, f"{where} drops an absent candidate")
        same = sure[named].tolist() == says
        self.check.demand(same, f"{where}: who is out for certain is another")
        kept = set(np.flatnonzero(sure).tolist()) <= set(named.tolist())
        self.check.demand(kept, f"{where} keeps who is out for certain")
        enough = sure | (note.bets & (self.logs >= self.goal - 1e-6))
        capital = np.where(sure, 1e300, self.logs)
        check_dropped(self.check, named, recorded, capital[named], enough[named], 1e-6, where)
        self.alive[named] = False
        self.last = self._head(self.table.met)

    def _bet(self, first: int) -> None:
        table, head = self.table, self._head(first)
        own = table.scores[:, : table.met]
        leader = int(own[:, :first].sum(axis=1).argmax())
        leads, by = (own[None] - own[:, None]) / table.unit, self.slack / table.unit
        far = np.sum(list(paid(leads, first, table.items, -by)), axis=0)
        good = np.sum(list(paid(leads, first, table.items, by)), axis=0)
        for one in (far, good):
            one[np.arange(len(own)), np.arange(len(own))] = 0.0
        self.purses.pay(far, good, leader, head)
        self.logs[self.alive] = self.purses.against()[self.alive]

    def _head(self, met: int) -> int:
        """The cheapest that is in and seemed good enough after so many items, or the best."""
        totals = [int(total) for total in self.table.scores[:, :met].sum(axis=1)]
        in_turn = [x for x in self.order if self.alive[x]]
        for x in in_turn:
            if (max(totals) - totals[x]) * self.table.items <= self.slack * met:
                return x
        return max(in_turn, key=lambda x: totals[x]) if in_turn else self.last

    def _sure(self) -> np.ndarray:
        """Who ends too far below somebody, or behind a cheaper one that ends good enough."""
        low, high = self.table.reach()
        found, good = np.zeros(len(low), dtype=bool), False
        for x in self.order:
            found[x] = good or int(low.max()) - int(high[x]) > self.slack
            rest = np.delete(high, x)
            good = good or bool((rest - low[x] <= self.slack).all())
        return found

"""Which is the cheapest of the options that keep limits and are within ε of the best of these?

With G, B as in :mod:`surepick.verifier.questions.keeping`, F_sx on "s is more than ε above x", and
C_rs on "r is not more than ε below s":

    V_x = W_x of there, F in the place of E, whoever leads as rival, ruled out or not
    D_r = min(G_r for each limit, ½ C_rs + ½ mean of B_s over limits for each s ≠ r)
    U_x = ½ V_x + ¼ mean over r before x of D_r + ¼ Π over r before x of D_r where r was the head

by blocks in the last, where shares of what C and B pay go by what was known before, as f does.
The head of a block is the cheapest in that seemed to keep the limits and to be good enough. For
the first option U_x = V_x. Whoever has U ≥ 1/δ is out.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Noted
from surepick.verifier.check import Check
from surepick.verifier.formulas import averaged, without_own
from surepick.verifier.payoffs.limits import Numbers, read_limits, squared
from surepick.verifier.questions.answers import check_left
from surepick.verifier.questions.cheapest import PER_WIN, read_costs, read_within
from surepick.verifier.questions.keeping import (
    Book,
    Epoch,
    Found,
    Paid,
    Places,
    Stakes,
    conclude,
    follow,
    settle_one,
)
from surepick.verifier.statement import check_statement

_CLOSE = 1e-6  # what rounding may make of an estimate


def verify(check: Check) -> Found:
    """Who is left, worked out again block by block."""
    return follow(check, _Book(check, read_within(check)))


def conclude_cheapest(check: Check, found: Found) -> None:
    """The claim must follow from what was shown."""
    kind, within = check.claim["guarantee"], check.evidence["question"]["cheapest"]
    if not found.left:
        conclude(check, found)
        return
    check_left(check, found.left, "pac", "heuristic", "none")
    keep = " and ".join(one.text for one in found.limits)
    if kind == "none":
        near = f"within {within:.12g} of the best"
        check.best = f"of those that keep {keep}, if there are any, the cheapest {near}"
        check_statement(check, len(found.left))
        return
    check.demand(len(found.left) == 1, "other candidates are still in the race")
    check.demand(found.somebody, "it is not shown that the answer keeps the limits")
    settle_one(check, "pac", f"of those that keep {keep}, the cheapest {check.kind.good(within)}")


class _Epoch(Epoch):
    """All capital; ``close`` is on C."""

    def __init__(self, numbers: Numbers, order: list[int]) -> None:
        super().__init__(numbers, 0.0, 1)
        self.order = order
        itself = np.eye(numbers.K, dtype=bool)
        self.headed = Places(1, np.hstack([self.somebody.certain, itself]))
        self.head, self.near = 0, np.zeros(numbers.K)  # of the block at hand, and its log odds

    def pay(self, paid: Paid, stakes: Stakes) -> tuple[np.ndarray, np.ndarray]:
        before = self.close.total
        keeps, broken = super().pay(paid, stakes)
        grown = (self.close.total - before)[:, self.head]
        mixed = np.logaddexp(
            broken - np.logaddexp(0.0, self.near), grown - np.logaddexp(0.0, -self.near)
        )
        self.headed.rivals[self.head, 0] += np.append(keeps[:, self.head], mixed)
        return keeps, broken

    def against(self) -> np.ndarray:
        found = super().against()
        broken = averaged(self.numbers.certain(self.breaks.total, False))
        mixed = np.logaddexp(self.close.total, broken[:, None]) - math.log(2)
        good = np.minimum(self.kept_by(), without_own(mixed, math.inf).min(axis=0))
        heads = self.headed.by_rival()[:, 0]
        for number, place in enumerate(self.order):
            before = self.order[:number]
            if before:
                cheaper = np.logaddexp(averaged(good[before]), heads[before].sum()) - math.log(2)
                found[place] = np.logaddexp(found[place], cheaper) - math.log(2)
        return found


class _Book(Book):
    """Who is in, in the order of costs."""

    def __init__(self, check: Check, within: float) -> None:
        costs = read_costs(check)
        self.order = sorted(range(len(costs)), key=lambda i: (costs[i], i))
        super().__init__(check, read_limits(check), 1)
        self.within = within / check.noise
        by_wins = self.numbers.known[0].payoff.counts_wins
        self.apart = self.within * (PER_WIN if by_wins else 1.0)
        check.demand(not self.turns.any, "options come and go, and the cheapest is asked for")
        check.demand(not self.numbers.loose, "something close is accepted, and the cheapest sought")

    def epoch(self, begun: float) -> Epoch:
        return _Epoch(self.numbers, self.order)

    def rivals(self, note: Noted, where: str) -> tuple[list[int], int, int]:
        check, named, K = self.check, note.rivals.tolist(), self.numbers.K
        fine = len(named) == min(2, K) + 1 and set(named) <= set(range(K))
        check.demand(fine, f"{where}: the rivals are not two that lead, and a head")
        *leading, head = named
        first, second = leading[0], leading[1] if K > 1 else -1
        check.demand(first != second, f"{where}: the rivals are the same")
        self.check_best(first, [*range(K)], where)
        if second >= 0:
            self.check_best(second, [x for x in range(K) if x != first], where)
        self._check_head(head, first, where)
        epoch = self.epochs[0]
        assert isinstance(epoch, _Epoch)
        means, doubt, _ = self.numbers.estimates()
        inside = self.numbers.surely(self.numbers.margins()).min(axis=0)
        near = squared(means[head] - means + self.apart, doubt[head] + doubt)
        epoch.head, epoch.near = head, 0.5 * (near + inside)
        return [], first, second

    def _check_head(self, head: int, leader: int, where: str) -> None:
        check, alive = self.check, np.flatnonzero(self.alive).tolist()
        if not alive:
            return
        said = f"{where}: {head} did not seem to be the cheapest that keeps limits"
        check.demand(head in alive, said)
        means, worst = self.numbers.estimates()[0], self.numbers.margins().apart.min(axis=0)
        near = _CLOSE * (float(np.abs(means).max()) + float(np.ptp(means)))
        behind = means[leader] - means
        in_turn = [x for x in self.order if self.alive[x]]
        surely = [x for x in in_turn if worst[x] > _CLOSE and behind[x] < self.apart - near]
        fine = worst[head] >= -_CLOSE and behind[head] <= self.apart + near
        if surely:
            fine &= in_turn.index(head) <= in_turn.index(surely[0])
            check.demand(fine, said)
        elif not fine:
            self.check_best(head, alive, where)

    def stakes(self, sure: list[int], first: int, second: int, by: float = 0.0) -> Stakes:
        found = super().stakes(sure, first, second, self.apart)
        return found._replace(nobody=np.full(self.numbers.K, self.numbers.K <= 1))

    def paid(self) -> Paid:
        reward, everyone = self.numbers.rounds[0], np.arange(self.numbers.K)
        close = reward.beats(everyone, everyone, self.within)
        return (
            super()
            .paid()
            ._replace(ahead=reward.beats(everyone, everyone, -self.within), close=close)
        )

"""Bets on who is not among the m best.

Of each candidate x there are m capitals. m − 1 candidates are *sure*: there is one for each of
them, bet on "it beats x"; the last is bet on "one of the others beats x". The smallest counts. If x
is one of the m best, then either a sure candidate is none of them, and bets on it have no positive
expectation, or all of the sure ones are, and none of the others beats x. Who is sure stays so while
it is one of the m that look best; who comes in its place, and the last capital, go on with the
smallest, and who stays keeps at most what was bet on who left. x is dropped at m/delta: with
probability 1 − delta none of the m best ever is.

With epsilon a share of the capital is for bets on "x is not more than epsilon better than a", for
all a that were ever one of the m that look best: the first m of them have 1/(2m) of that share for
each x, the next m have 1/(6m), then 1/(12m), and so on, in parts that add up to 1; x is close to a
when that and what is bet against x reach m/delta together.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.accepting import ACCEPTING, RACING, beside, of_leader
from surepick.verifier.check import Check
from surepick.verifier.chosen import Chosen, read_top
from surepick.verifier.estimate import log_sum
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News
from surepick.verifier.rules.pooled import RIVALS, Book, Market, check_prior, settle_all
from surepick.verifier.views import Leaning


def verify(check: Check) -> Chosen:
    """Who is left, and to whom everyone left is close."""
    check_prior(check)
    m = read_top(check)
    everyone = check.distinct()
    check.demand(len(everyone) == len(check.candidates), "candidates cannot be told apart")
    check.demand(len(everyone) > m, "there are not more candidates than were asked for")
    check.risk += check.delta
    book = _TopM(check, np.array(everyone), m)
    settle_all(check, book)
    close = {int(a): set(np.flatnonzero(shown).tolist()) for a, shown in book.near_to.items()}
    return Chosen(m, np.flatnonzero(book.alive).tolist(), close)


class _TopM(Book):
    """m capitals against each candidate."""

    def __init__(self, check: Check, candidates: np.ndarray, m: int) -> None:
        super().__init__(check, candidates)
        self.m, self.goal = m, math.log(m) - math.log(check.delta)
        self.near, self.epsilon = self.epsilon, 0.0  # closeness is to several, not to a leader
        self.sure: list[int] = []
        self.on_sure: dict[int, np.ndarray] = {}
        self.on_near: dict[int, np.ndarray] = {}  # closeness to each, in their order
        self.near_to: dict[int, np.ndarray] = {}  # where it was shown
        self._recorded: Any = None

    def settle(self, record: dict[str, Any], block: Any, where: str) -> None:
        """Pay out one block, and drop the candidates that it drops."""
        self._recorded = record["sure"]
        super().settle(record, block, where)

    def _open(self, rivals: Any, outlook: Outlook, where: str) -> Market:
        named = [
            exact.whole_numbers(listed, f"{where}: {what}")
            for listed, what in ((rivals, "the rivals"), (self._recorded, "the sure candidates"))
        ]
        both = np.concatenate(named)
        M, m = len(self.candidates), self.m
        places = self._places(both)
        self.check.demand(
            (len(named[0]), len(named[1])) == (min(RIVALS, M - m + 1), m - 1)
            and len(np.unique(both)) == len(both)
            and (self.candidates[places] == both).all(),
            f"{where}: the rivals are not the right number of candidates",
        )
        assert self.past is not None
        before = self.payoff.guide.view(self.past, outlook)
        return Market(places, self.check.candidates[both], before, self.unit(outlook))

    def _pay_all(self, market: Market, news: list[News], scale: float, where: str) -> None:
        first = len(market.rivals) - (self.m - 1)  # rivals that are not sure, the highest first
        sure, edge = market.rivals[first:].tolist(), int(market.rivals[0])
        x = self.check.candidates[self.candidates] - market.leader_row
        everyone = market.field(x, np.arange(len(x)))
        values = -market.before.leads(everyone.some(np.arange(len(x)), 1))[:, 0]
        size = market.before.size(market.leader_row) + float(np.abs(values).max())
        self._check_sure(sure, edge, values, 1e-6 * (size + scale), where)
        trail = np.zeros(len(x))
        others = np.arange(len(x)) != edge
        trail[others] = market.trail(market.field(x[others], np.flatnonzero(others)))
        rest = np.setdiff1d(np.arange(len(x)), market.rivals)
        least = trail[rest].min(initial=math.inf)
        self.check.demand(
            trail[market.rivals[:first]].max() <= least * (1 + 1e-6) + 1e-9,
            f"{where}: other candidates trailed the highest less than these rivals",
        )
        self._take_places(sure)
        still = np.flatnonzero(self.alive)
        field = market.field(x[still], still)
        own = still[:, None] == market.rivals[None, :]
        shares = -self.doubt * trail[market.rivals[:first]]
        leading = sorted([edge, *sure])
        for a in leading if self.near > 0 else ():
            if a not in self.on_near:
                self.on_near[a] = np.tile(self.start, (len(x), 1))
                self.near_to[a] = np.zeros(len(x), dtype=bool)
        bet_on = ~np.isin(still, sure)
        for number, told in enumerate(news):
            accounts = range(number * len(self.precisions), (number + 1) * len(self.precisions))
            pairs = market.pairs(field, own, told.view)
            if isinstance(told.view, Leaning):
                misfit = self.check.misfit / self.check.noise
                pairs = pairs.raised(-misfit * told.view.allowances(field))
            pairs = pairs.raised(-told.rounding)
            logs = np.where(own, -math.inf, 0.0)[:, :first] + shares + np.log(pairs.unit[:, :first])
            for j, paid in zip(accounts, self.payoff.log_paid(pairs, told), strict=True):
                mixed = log_sum(np.where(own[:, :first], -math.inf, logs + paid[:, :first]))
                self.capital[still[bet_on], j] += (mixed - log_sum(logs))[bet_on]
                for column, place in enumerate(sure, start=first):
                    self.on_sure[place][still[bet_on], j] += paid[bet_on, column]
            if self.near > 0:
                closer = self.payoff.log_paid(pairs.raised(self.near), told)
                for j, paid in zip(accounts, closer, strict=True):
                    for column, a in [(0, edge), *enumerate(sure, start=first)]:
                        self.on_near[a][still, j] += np.where(own[:, column], 0.0, paid[:, column])
        for a in leading if self.near > 0 else ():
            part = ACCEPTING + of_leader(list(self.on_near).index(a), self.m)
            near = log_sum(self.on_near[a]) + part
            shown = beside(self._log_capital(), near) >= self.goal - 1e-9
            shown[a] = False
            self.near_to[a] |= shown & self.alive

    def _check_sure(
        self, sure: list[int], edge: int, values: np.ndarray, close: float, where: str
    ) -> None:
        """Who is sure must follow from earlier blocks; ``close`` is what rounding may hide."""
        check, m = self.check, self.m
        outside = np.setdiff1d(np.arange(len(values)), sure)
        check.demand(
            (values[outside] <= close).all(),
            f"{where}: {self.candidates[edge]} did not lead among those that are not sure",
        )
        for place in sure:
            ahead = int((values > values[place] + close).sum())
            check.demand(
                ahead < m,
                f"{where}: {self.candidates[place]} is not one of the {m} that looked best",
            )
            if place not in self.sure:
                higher = (values[outside] > values[place] + close).any()
                check.demand(
                    not higher, f"{where}: others looked better than {self.candidates[place]}"
                )
        for place in self.sure:
            near = int((values >= values[place] - close).sum()) - 1
            check.demand(
                place in sure or near >= m,
                f"{where}: {self.candidates[place]} is no longer sure, and should be",
            )

    def _take_places(self, sure: list[int]) -> None:
        """Who comes in the place of another goes on with what counted."""
        if not self.sure:
            self.on_sure = {p: np.tile(self.start, (len(self.candidates), 1)) for p in sure}
        elif set(sure) != set(self.sure):
            fresh = self._counted()[:, None] + self.start
            ceiling = np.full(len(self.candidates), math.inf)
            for place in set(self.sure) - set(sure):
                ceiling = np.minimum(ceiling, self._bet_on(place))
            before, self.on_sure = self.on_sure, {}
            for place in sure:
                if place not in before:
                    self.on_sure[place] = fresh.copy()
                    continue
                excess = np.maximum(log_sum(before[place]) - ceiling, 0.0)
                self.on_sure[place] = before[place] - excess[:, None]
            self.capital = fresh
        self.sure = sure

    def _counted(self) -> np.ndarray:
        found = log_sum(self.capital)
        for place in self.on_sure:
            found = np.minimum(found, self._bet_on(place))
        return found

    def _bet_on(self, place: int) -> np.ndarray:
        """Log capital bet on a sure candidate, against each other one."""
        total = log_sum(self.on_sure[place])
        total[place] = math.inf
        return total

    def _log_capital(self, leader: int | None = None) -> np.ndarray:
        return self._counted() + (RACING if self.near > 0 else 0.0)

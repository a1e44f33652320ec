"""Bets on both sides of a baseline: which candidates are better, and which are worse.

Of each candidate x there is capital against "x is not better than the baseline" and against "x is
not worse"; with epsilon also against "x is epsilon better, or more" and "epsilon worse, or more",
the smaller of which counts against "x is at least epsilon away". For no x are more than two of
these true. With M candidates beside the baseline:

- all claims together are right with probability 1 − delta if each could be made by the steps of
  :mod:`surepick.verifier.rules.steps`;
- of k claims at the end, a share of delta is wrong on average if each has 2M/(k delta) (e-BH).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.comparison import CLAIMS, Comparison, read_question
from surepick.verifier.estimate import log_sum
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News, Pairs
from surepick.verifier.rules.pooled import Book, Market, check_prior, settle_all
from surepick.verifier.rules.steps import Steps
from surepick.verifier.views import Field, Leaning


def verify(check: Check) -> Comparison:
    """What was shown about candidates, worked out again block by block."""
    check_prior(check)
    asked = read_question(check)
    everyone = check.distinct()
    check.risk += check.delta
    book = _Comparison(check, np.array(everyone), asked)
    if len(book.others):
        settle_all(check, book)
    return book.conclusion()


class _Comparison(Book):
    """Capital on both sides, and what was claimed."""

    def __init__(self, check: Check, candidates: np.ndarray, asked: Comparison) -> None:
        super().__init__(check, candidates)
        self.near, self.epsilon = self.epsilon, 0.0  # no leader that others could be close to
        self.asked, M = asked, len(candidates)
        self.number = 0.0
        if asked.threshold is not None:
            self.number = check.sign * asked.threshold / check.noise
        self.reference, self.others = M, np.arange(M)
        if asked.baseline is not None:
            self.reference = int(np.searchsorted(candidates, check.first_like(asked.baseline)))
            self.others = np.delete(np.arange(M), self.reference)
        else:
            check.demand(not self.levels, "a number does not move with levels")
        n = len(self.others)
        self.sides, self.closer = (np.tile(self.start, (2, n, 1)) for _ in range(2))
        self.left = list(exact.mappings(check.evidence["claims"], "the claims"))
        self.claims: dict[str, list[int]] = {name: [] for name in CLAIMS}
        self.steps: Steps | None = None
        self.settled = 1  # the first block, which has no bets

    def has_rivals(self, record: dict[str, Any]) -> bool:
        """Whether anything was bet on a block; a number is no candidate, and is not named."""
        return self.asked.baseline is None or super().has_rivals(record)

    def settle(self, record: dict[str, Any], block: Any, where: str) -> None:
        """Pay out one block, and check what is claimed after it."""
        self.settled += 1
        super().settle(record, block, where)

    def _open(self, rivals: Any, outlook: Outlook, where: str) -> Market:
        due = [] if self.reference == len(self.candidates) else [self.candidates[self.reference]]
        self.check.demand(rivals == due, f"{where}: the only rival is the baseline")
        assert self.past is not None
        before = self.payoff.guide.view(self.past, outlook)
        unit, row = self.unit(outlook), np.zeros(self.check.candidates.shape[1])
        if self.asked.baseline is None:
            before, unit = before.with_number(), unit.with_number()
        else:
            row = self.check.candidates[self.candidates[[self.reference]]][0]
        return Market(np.array([self.reference]), row[None], before, unit)

    def _pay_all(self, market: Market, news: list[News], scale: float, where: str) -> None:
        """Bets on each candidate against the baseline, and on the baseline against each."""
        x = self.check.candidates[self.candidates[self.others]] - market.leader_row
        one, here = np.zeros((1, x.shape[1])), np.array([self.reference])
        fields = Field(one, here, x, self.others), Field(x, self.others, one, here)
        if self.steps is None:  # by what was known before the first bets
            seems = -market.before.leads(fields[1])[:, 0] - self.number
            variances = np.clip(market.before.variances(fields[1])[:, 0], 1e-300, 1e300)
            unit = 1.0 / market.unit.variances(fields[1])[:, 0]
            self.steps = Steps(seems, variances, unit, self.near)
            self.sides += np.tile(self.steps.accounts(np.exp(self.start)), len(news))
        for number, told in enumerate(news):
            told = self.payoff.with_number(told) if self.asked.baseline is None else told
            accounts = range(number * len(self.precisions), (number + 1) * len(self.precisions))
            for side, field in enumerate(fields):
                pairs = market.pairs(
                    field, np.zeros((len(field.x), len(field.rivals)), bool), told.view
                )
                if isinstance(told.view, Leaning):
                    misfit = self.check.misfit / self.check.noise
                    pairs = pairs.raised(-misfit * told.view.allowances(field))
                pairs = pairs.raised((2 * side - 1) * self.number - told.rounding)
                wider = pairs._replace(unit=self.steps.prior * pairs.unit)
                self._pay_side(self.sides[side], wider, told, accounts)
                if self.near > 0:  # the one on the other side is close from here
                    self._pay_side(self.closer[side], pairs.raised(self.near), told, accounts)

    def _pay_side(self, capital: np.ndarray, pairs: Pairs, news: News, accounts: range) -> None:
        for j, payoff in zip(accounts, self.payoff.log_paid(pairs, news), strict=True):
            capital[:, j] += payoff.ravel()

    def _drop(self, dropped: Any, where: str) -> None:
        """Nobody is dropped; claims are made."""
        self.check.demand(not len(dropped), f"{where} drops a candidate")
        if self.asked.claims == "all":
            while self.left and self._block_of(self.left[0]) == self.settled:
                self._accept(self.left.pop(0), None, where)

    def _block_of(self, claim: dict[str, Any]) -> int:
        return exact.whole(claim["block"], "the block of a claim")

    def _needed(self, kind: str, place: int) -> float:
        """Log capital that the next of claims takes which are all to be right."""
        assert self.steps is not None
        named = {c: CLAIMS.index(kind) for kind, claimed in self.claims.items() for c in claimed}
        made = [named.get(int(candidate)) for candidate in self.candidates[self.others]]
        capital = [self._capital(name) for name in CLAIMS[: 3 if self.near > 0 else 2]]
        spent = self.steps.needed(np.array(capital) - self.goal, made, CLAIMS.index(kind), place)
        return spent + self.goal

    def _accept(self, claim: dict[str, Any], needed: float | None, where: str) -> None:
        check = self.check
        candidate = exact.whole(claim["candidate"], "the candidate of a claim")
        kind = exact.text(claim["claim"], "what is claimed")
        place = np.flatnonzero(self.candidates[self.others] == candidate)
        known = len(place) == 1 and kind in (CLAIMS if self.near > 0 else CLAIMS[:2])
        before = [named for claimed in self.claims.values() for named in claimed]
        check.demand(known and candidate not in before, f"{where}: a claim about {candidate}")
        capital = self._capital(kind)[place]
        recorded = np.array([exact.number(claim["log_capital"], "the capital of a claim")])
        what = f"{where}: the log capital of {candidate} being {kind}"
        check.agree_all(recorded, capital, lambda _: what, self.rounding)
        if needed is None:
            needed = self._needed(kind, int(place[0]))
        check.demand(capital[0] >= needed - 1e-6, f"{what} is {capital[0]:.6g}, below {needed:.6g}")
        self.claims[kind].append(candidate)
        check.checked += 1

    def _capital(self, kind: str) -> np.ndarray:
        if kind == "close":
            return np.minimum(*(log_sum(side) for side in self.closer))
        return log_sum(self.sides[CLAIMS.index(kind)])

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        if self.asked.claims == "fdr" and self.left:
            k = len(self.left)
            needed = math.log(2 * len(self.others) / k) + self.goal
            for claim in self.left:
                at_end = self._block_of(claim) == self.settled
                self.check.demand(at_end, "a claim is not made at the end")
                self._accept(claim, needed, "at the end")
            self.left = []
        self.check.demand(not self.left, "claims are not in the order of blocks")
        shown = {name: sorted(claimed) for name, claimed in self.claims.items()}
        done = [named for claimed in shown.values() for named in claimed]
        rest = [int(c) for c in self.candidates[self.others] if c not in done]
        return self.asked._replace(shown=shown, open=rest)

"""Which candidate has the best p-quantile?

Let v be the p-quantile of the best candidate x. With probability p at most a measurement of x is
below v; and as no other quantile is larger, a measurement of any other candidate is at most v with
probability p at least. Bets against both, on measurements of x and of another candidate, multiply:
they are about different measurements. Averaged over the other candidates they are capital against x
for whoever knows v; the least over all v is no more than that. Where small is good, "below" and "at
most" change places.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Block, Noted
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum
from surepick.verifier.payoffs.measurements import Round
from surepick.verifier.questions.race import Race, raced

_STAKES = 10  # that capital is split into: shifts of log odds by 3.2, 1.6, 0.8, …
_MIDDLE = 3  # the one with the largest part; others have 1/2, 1/3, … of that
_KEPT = 0.05  # that is not staked


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta."""
    p = _read(check)
    return raced(check, lambda everyone: _Quantiles(check, everyone, p))


def _read(check: Check) -> float:
    asked = exact.mapping(check.evidence["question"], "the question")
    p = exact.number(asked["quantile"], "the quantile")
    check.demand(0 < p < 1 and set(asked) == {"quantile"}, "the question makes no sense")
    check.demand(
        check.settings.get("quantile") == p,
        "the question is not the one that the algorithm was set to",
    )
    check.demand(
        check.kind.singly and check.items is None and check.epsilon == 0,
        "quantiles cannot be asked for here",
    )
    check.demand(
        not any(batch.stratum is not None for batch in check.batches),
        "quantiles are not compared within strata",
    )
    check.meaning = (
        f"where better means a better {p:.12g}-quantile, the least number that a measurement does "
        f"not exceed with a probability of at least {p:.12g}, which does not change over time"
    )
    return p


class _Quantiles(Race):
    """Measurements one by one: those that were bet on."""

    def __init__(self, check: Check, candidates: np.ndarray, p: float) -> None:
        super().__init__(check, candidates)
        check.demand(self.ways == ["direct"], "quantiles are those of own measurements")
        check.demand(not self.levels, "quantiles move with levels")
        self.p, self.small = p, check.smaller
        self.turns = 0  # of options, that were taken into account
        self.base = self.against.others.logs.copy()
        self.bets: list[Block] = []

    def has_rivals(self, note: Noted) -> bool:
        """Something is bet on every block but the first, and those that make newcomers known."""
        return True

    def rivals(self, note: Noted, where: str) -> np.ndarray:
        none = len(note.rivals) == 0
        self.check.demand(none, f"{where}: there are no rivals among quantiles")
        return note.rivals

    def pay(self, round: Round, rivals: np.ndarray, where: str) -> None:
        """Bets are on numbers, not on what is known of means."""

    def settle(self, note: Noted, block: Block, where: str) -> None:
        """Pay out all bets up to this block, and drop the candidates that it drops."""
        held = self.against.others
        if self.offer.changes != self.turns:  # everybody bets anew with what they have
            self.turns, self.base, self.bets = self.offer.changes, held.logs.copy(), []
        self.known.payoff.check_dealt(block, where, own=True)
        self.rivals(note, where)
        self.bets.append(block)
        held.logs[self.alive] = (self.base + self._least()[:, None])[self.alive]
        self.drop(note, where)
        self.known.add(self.known.payoff.by_arm(block))

    def _least(self) -> np.ndarray:
        """Log of the least that each candidate's bets came to; 0 for those that are not there."""
        arms, values = (
            np.concatenate([getattr(block, name) for block in self.bets])
            for name in ("arms", "sums")
        )
        numbers, place = np.unique(-values if self.small else values, return_inverse=True)
        found, there = np.zeros(len(self.candidates)), np.flatnonzero(self.offer.there)
        if len(there) < 2:
            return found
        sides = []
        for candidate in self.candidates[there]:
            here = np.bincount(place[arms == candidate], minlength=len(numbers))
            sides.append(_both(np.cumsum(here), here, self.p))
        own = np.array([pair[self.small] for pair in sides])
        rival = np.array([pair[not self.small] for pair in sides])
        for i, x in enumerate(there):
            others = log_sum(np.delete(rival, i, axis=0).T) - math.log(len(there) - 1)
            found[x] = (own[i] + others).min()
        return found


def _both(upto: np.ndarray, here: np.ndarray, p: float) -> tuple[np.ndarray, np.ndarray]:
    """Log payoffs at each number: on a quantile below it, and on one above it.

    ``upto`` measurements are at most that number, ``here`` of them exactly that.
    """
    n, below = int(here.sum()), upto - here
    parts = 1.0 / (1.0 + np.abs(np.arange(_STAKES) - _MIDDLE))
    parts = np.log((1.0 - _KEPT) * parts / parts.sum())
    found = []
    for sign, counted in ((1.0, below), (-1.0, upto)):
        odds = p / (1.0 - p) * np.exp(sign * 3.2 / 2.0 ** np.arange(_STAKES))
        stakes = (odds / (1.0 + odds) - p) / (p * (1.0 - p))  # on those that are counted
        hit, miss = np.log1p(stakes * (1.0 - p)), np.log1p(-stakes * p)
        logs = parts + np.outer(counted, hit) + np.outer(n - counted, miss)
        found.append(np.logaddexp(log_sum(logs), math.log(_KEPT)))
    return found[0], found[1]

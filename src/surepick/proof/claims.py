"""Claims about every candidate beside a baseline: which may be made, and what the next one takes.

Of each candidate x there are statements that bets are made against: "x is not better", "x is not
worse" and, with epsilon, "x is at least epsilon away". A claim refutes one of them.

**All right together, with probability 1 − δ.** Each statement h has a weight w_h, fixed before
anything is bet. If T is the set of those that are true, the capital Σ w_h E_h over T starts at
W(T) = Σ w_h and is a supermartingale, so that it reaches W(T)/δ at any time with probability at
most δ. While it has not, this is safe: refute h once

    Σ over j in T of w_j (δ E_j − 1) ≥ 0   for every T that contains h and may be the true one,

since the true set is then none of these (closed testing, with weighted means of capital). Which
sets may be true is seen candidate by candidate: nobody is both better and worse, so at least one of
these two statements is true, and never are all three; a claim made earlier leaves only the sets in
which it is right. A statement lacks w_j (1 − δ E_j), or nothing, and a claim is made once

    w_h (δ E_h − 1) ≥ what others about x may lack + Σ what those about other candidates may lack.

The weights come from the block on which nothing is bet: the odds of what each candidate seems to
be. If a claim is right with probability p and its statement true with probability 1 − p, then the
capital that claims take, log((w + W)/w) with W the weight of all that is true, is least on average
where w is about p/(1 − p). Small lifts take most of the pulls, and get somewhat more.

**Of those made, a share of δ wrong on average** (e-BH, Wang and Ramdas 2022). k claims are made if
each of them has a capital of cM/(kδ) at the end, of M candidates about each of which c statements
can be true.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.arrays.grid import coarse, first_best, level, reached
from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.payoffs.stakes import ACCOUNTS, PRECISIONS

BETTER, WORSE, CLOSE = range(3)
CAUTION = 1.5  #: squared standard errors added to a squared gap: it may seem small by chance
_BY_SIDE = 0.75  # of δ: on which side of the baseline a lift is; the rest is for how far
_MEDIAN = 0.455  # of the square of a standard normal number
_WIDEST = 20.0  # that prior precisions are divided by at most
_TURNED = math.log(4.0)  # a prior four times as wide turns the accounts round
_LEAST = 1e-4  # that anything is likely


class ClaimsMade:
    """What was claimed about each of some candidates.

    Parameters
    ----------
    candidates
        Their numbers, ascending.
    kinds
        What can be claimed, by the numbers of statements.
    delta
        The probability of a wrong claim, or the share of wrong ones.
    share
        Whether it is that share.
    one_true
        Whether of the statements about a candidate never more than one is true.
    lasting
        Whether claims stay, as nothing more is bet on whom they are about.
    """

    def __init__(
        self,
        candidates: IntArray,
        kinds: tuple[str, ...],
        delta: float,
        *,
        share: bool = False,
        one_true: bool = False,
        lasting: bool = False,
    ) -> None:
        self.candidates, self.kinds, self._delta = candidates, kinds, delta
        self._share, self._one_true, self._lasting = share, one_true, lasting
        self.made: list[dict[str, Any]] = []
        #: of statements, (kinds, candidates); fixed before the first bets
        self.weights: FloatArray | None = None

    def by_number(self) -> IntArray:
        """Which kind was claimed about each; −1 for nothing."""
        found = np.full(len(self.candidates), -1)
        places = np.searchsorted(self.candidates, [claim["candidate"] for claim in self.made])
        found[places] = [self.kinds.index(claim["claim"]) for claim in self.made]
        return found

    def of(self, kind: int) -> IntArray:
        """About whom this was claimed."""
        return self.candidates[self.by_number() == kind]

    def undecided(self) -> IntArray:
        """About whom nothing was claimed."""
        return self.candidates[self.by_number() < 0]

    @property
    def finished(self) -> bool:
        """Whether something was claimed about everybody."""
        return len(self.made) == len(self.candidates)

    def settle(self, sides: FloatArray, record: Callable[[int, int], dict[str, Any]]) -> None:
        """Make whatever claims may be made, by log capital against each statement.

        ``record`` says what is written down of a claim beside what it is and about whom, by the
        numbers of both.
        """
        if not len(self.candidates):
            return
        found = self._discoveries(sides) if self._share else self._refuted(sides)
        known = self.by_number()
        kept = self.made if self._lasting or not self._share else []
        fresh = [one for one in found if not kept or known[one[1]] < 0]
        self.made = kept + [
            {"candidate": int(self.candidates[number]), "claim": self.kinds[kind]}
            | record(kind, number)
            for kind, number in fresh
        ]

    def _refuted(self, sides: FloatArray) -> list[tuple[int, int]]:
        """Each claim may be what another one has waited for."""
        claimed, found = self.by_number(), list[tuple[int, int]]()
        while True:
            takes = self._needed(sides, claimed)
            spare = np.where(claimed < 0, sides - takes, -math.inf)
            kind, number = (
                int(i) for i in np.unravel_index(first_best(spare.ravel()), spare.shape)
            )
            if claimed[number] >= 0 or not reached(sides[kind, number], takes[kind, number]):
                return found
            claimed[number] = kind
            found.append((kind, number))

    def _discoveries(self, sides: FloatArray) -> list[tuple[int, int]]:
        """As many claims as have the capital that so many take."""
        kinds = np.argmax(coarse(sides), axis=0)
        top = sides[kinds, np.arange(len(kinds))]
        order = np.argsort(-level(top), kind="stable")
        enough = reached(top[order], self._of_share(np.arange(1, len(order) + 1)))
        count = int(np.flatnonzero(enough)[-1]) + 1 if enough.any() else 0
        return [(int(kinds[i]), int(i)) for i in order[:count]]

    def _of_share(self, made: Any) -> Any:
        """Log capital that each of so many claims takes."""
        statements = len(self.candidates) * (1 if self._one_true else 2)
        return np.log(statements / (made * self._delta))

    def _needed(
        self, sides: FloatArray, claimed: IntArray, weights: FloatArray | None = None
    ) -> FloatArray:
        weights = self.weights if weights is None else weights
        weights = np.ones_like(sides) if weights is None else weights
        return needed(weights, sides, claimed, self._delta, self._one_true)

    def next_goals(self, sides: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Log capital that each claim takes if it is the next one, (kinds, candidates)."""
        if self._share:
            return np.full_like(sides, self._of_share(len(self.made) + 1))
        return self._needed(sides, self.by_number(), weights)

    def goals(self, sides: FloatArray, weights: FloatArray | None = None) -> FloatArray:
        """Log capital that each claim will take once the others are made, (kinds, candidates)."""
        weights = self.weights if weights is None else weights
        if self._share or weights is None:
            return np.full_like(sides, math.log((1.0 if self._one_true else 2.0) / self._delta))
        return expected(weights, sides, self._delta)


def drawn_to_baseline(
    low: FloatArray, high: FloatArray, sides: FloatArray, delta: float
) -> tuple[FloatArray, FloatArray]:
    """Ends of lifts, where capital on "better" or "worse" says on which side they are.

    Each pair ever misses its own with probability δ or less. A lift below 0 is missed in three
    ways: the capital on "better" reached 1/(cδ), which has probability cδ at most, or one of the
    interval's own ends, made for :func:`beside_the_side`, missed it: (1 − c)δ/2 each. The same with
    "worse" for a lift above 0; so an end may be drawn to the baseline once there is this capital,
    which most claims take anyway. Claims of the others have no part in it.
    """
    better, worse = sides >= -math.log(_BY_SIDE * delta)
    low, high = (
        np.where(better, np.maximum(low, 0.0), low),
        np.where(worse, np.minimum(high, 0.0), high),
    )
    return low, high


def beside_the_side(delta: float) -> float:
    """What of δ the ends of a lift have, beside on which side of the baseline it is."""
    return (1.0 - _BY_SIDE) * delta


def weights_of(lift: FloatArray, error: FloatArray, epsilon: float) -> FloatArray:
    """Weights of the statements about each candidate, (2 or 3, M).

    Parameters
    ----------
    lift, error : array, (M,)
        Over the baseline, as far as is known before anything is bet; and standard errors,
        above 0 and finite.
    epsilon : float
        What is close enough.
    """
    near = epsilon - np.abs(lift)
    likely = np.stack([above(seems / error) for seems in (lift, -lift, near)])
    takes = np.sqrt(lift**2 + CAUTION * error**2)
    return weights_by(likely[: 3 if epsilon > 0 else 2], takes)


def weights_by(likely: FloatArray, takes: FloatArray) -> FloatArray:
    """Weights of statements, from how likely claims seem to be right, and 1/√(pulls they take)."""
    likely = np.clip(likely, _LEAST, 1.0 - _LEAST)
    return likely / (1.0 - likely) / takes * takes.min()


def above(z: FloatArray) -> FloatArray:
    """How likely it is to be above zero, z standard errors above it.

    With long tails: errors are estimated from a few pulls.
    """
    tail = 0.5 / (1.0 + z**2)
    return np.where(z > 0, 1.0 - tail, tail)


def needed(
    weights: FloatArray,
    capital: FloatArray,
    claimed: IntArray,
    delta: float,
    one_true: bool = False,
) -> FloatArray:
    """Log capital that each claim takes now, (2 or 3, M).

    Parameters
    ----------
    capital : array, (2 or 3, M)
        Logs, against each statement.
    claimed : array, (M,)
        What was claimed about each candidate; −1 for nothing.
    one_true : bool
        Whether of the statements about a candidate never more than one is true.
    """
    lack = weights * -np.expm1(np.minimum(capital + math.log(delta), 0.0))
    here, all_of_it = np.arange(lack.shape[1]), lack.sum(axis=0)
    beside = np.stack([np.delete(lack, kind, axis=0).max(axis=0) for kind in range(len(lack))])
    open_ = all_of_it - (lack.min(axis=0) if len(lack) > CLOSE else 0.0)  # never all three are true
    if one_true:
        beside, open_ = np.zeros_like(lack), lack.max(axis=0)
    each = np.where(claimed < 0, open_, all_of_it - lack[claimed, here])
    return np.log1p((beside + each.sum() - each) / weights) - math.log(delta)


def expected(weights: FloatArray, capital: FloatArray, delta: float) -> FloatArray:
    """Log capital that each claim will take once the others are made, (2 or 3, M)."""
    seems = np.argmax(np.log(weights) + capital, axis=0)
    rest = weights.sum(axis=0) - weights[seems, np.arange(weights.shape[1])]
    return np.log1p(rest.sum() / weights) - math.log(delta)


def prior_of(lift: FloatArray, variance: FloatArray, unit: FloatArray) -> float:
    """Times which the prior precision of stakes is, by how large lifts seem to be.

    Elsewhere stakes are made for leads that take long to tell; here every lift has to be told, and
    those of most candidates may be large. ``unit`` is what one pull of each would tell.
    """
    square = float(np.median(lift**2 * unit)) / _MEDIAN - float(np.median(variance * unit))
    return 1.0 / min(max(PRECISIONS[0] * square, 1.0), _WIDEST)


def accounts_by(prior: float, ways: int) -> FloatArray:
    """Log of what is to be added to the accounts' capital: the wider the prior, the more of it."""
    share = ACCOUNTS[0] + (ACCOUNTS[1] - ACCOUNTS[0]) * min(-math.log(prior) / _TURNED, 1.0)
    return np.tile(np.log([share / ACCOUNTS[0], (1.0 - share) / ACCOUNTS[1]]), ways)

"""Which candidates are better than the baseline, and which are worse?

The baseline is one of the candidates, or a number. Of each other candidate x there is capital
against two statements: bets on "x beats the baseline" against "x is not better", and bets on the
opposite against "x is not worse". With epsilon there are two more: on "x is not more than epsilon
better" and on "not more than epsilon worse"; the smaller of the two is capital against "x is at
least epsilon away".

How sure claims are: all of them together (``claims="all"``), or a share of them at the end
(``"fdr"``), by :mod:`surepick.proof.claims`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.base import Claims
from surepick.algorithms.pooled.lacking import LEAST, Lacking
from surepick.algorithms.pooled.leads import Interval, Leads
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.pooled.round import Round
from surepick.algorithms.questions import candidate_of, place_of
from surepick.arrays.grid import coarse, level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.claims import (
    BETTER,
    CAUTION,
    CLOSE,
    WORSE,
    ClaimsMade,
    accounts_by,
    beside_the_side,
    drawn_to_baseline,
    prior_of,
    weights_of,
)
from surepick.proof.purses import begun, least, total

CLAIMS = ("better", "worse", "close")  #: than the baseline; within epsilon of it
_PATIENCE = 10.0  # pulls that a lift is taken to lack at most, over those of the clearest


class AgainstBaseline(Question):
    """Capital on both sides of the baseline, and what was claimed."""

    about: int
    decides_each = True
    lasting = False  #: whether nothing more is bet on whom a claim is about

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        M, config = ground.candidates, ground.config
        self.about = M  # a number is behind all candidates
        self._number = 0.0  # in the state's unit
        if config.threshold is not None:
            self._number = ground.problem.seen(config.threshold)
            self.others = np.arange(M)
        else:
            self.about = place_of(ground.problem, config.baseline)
            self.others = np.delete(np.arange(M), self.about)
        distinct = ground.problem.distinct[self.others]
        share, last = config.claims == "fdr", self.lasting
        self.said = ClaimsMade(distinct, CLAIMS, config.delta, share=share, lasting=last)
        self.capital: FloatArray = begun((2, M), ground.ways.accounts)  #: better and worse
        self.close: FloatArray = self.capital.copy()  #: not more than epsilon better, or worse
        self.prior = 1.0  #: times the precision that stakes have elsewhere before the first bets
        self.blocks = 0
        self.lifts = Leads(ground.ways, M, self.about)
        self._lift = np.zeros(M)  # over the baseline, as far as is known
        self.best = self.others[0] if config.threshold is not None and M else self.about
        if self.best == M:
            self.best = 0

    def save(self) -> dict[str, Any]:
        return {
            "capital": self.capital,
            "close": self.close,
            "claim_weights": self.said.weights,
            "prior": self.prior,
            "claims": self.said.made,
            "bets": self.blocks,
            "_best": self.best,
            "leads": self.lifts.save(),
            "lift": self._lift,
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.capital, self.close = memory["capital"], memory["close"]
        self.said.weights, self.prior = memory["claim_weights"], memory["prior"]
        self.said.made, self.blocks = memory["claims"], memory["bets"]
        self.best = memory["_best"]
        self.lifts.load(memory["leads"])
        self._lift = memory["lift"]

    @property
    def finished(self) -> bool:
        """Whether something was claimed about everybody."""
        return self.said.finished

    def first_extra(self) -> tuple[int, float]:
        """The baseline is in every comparison, and worth as many pulls as √M of the others."""
        if self.about == self.ground.candidates or self.ground.problem.transductive:
            return 0, 0.0
        arm = int(self.ground.problem.distinct[self.about])
        n = len(self.others)
        return arm, (math.sqrt(n) - 1.0) / (n + 1.0)

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        self.lifts.take(market, blocks)
        block = Round(market, self.ground.ways, blocks)
        if self.said.weights is None:  # all of this by what was known before the first bets
            self.said.weights = self._weights_by(market)
            lift, variance = self._seems(market)
            pairs = block.between(np.array([self.about]), self.others).pairs
            one_pull = pairs[0].bets.unit[0]
            self.prior = prior_of(lift[self.others], variance[self.others], one_pull)
            self.capital += accounts_by(self.prior, len(pairs))
        self.pay(block, self.others)
        self.claim()
        number = self.about == self.ground.candidates
        return {"rivals": [] if number else [int(self.ground.problem.distinct[self.about])]}

    def pay(self, block: Any, some: IntArray) -> None:
        """Pay out the bets on these and the baseline, in a round of any shape."""
        base, number = np.array([self.about]), self._number
        up, down = block.between(base, some), block.between(some, base)
        self.capital[0, some] += up.paid(-number, self.prior)[0]
        self.capital[1, some] += down.paid(number, self.prior)[:, 0]
        if (
            self.ground.config.epsilon > 0
        ):  # beating the baseline less epsilon is not being far worse
            self.close[1, some] += up.paid(self.epsilon - number)[0]
            self.close[0, some] += down.paid(self.epsilon + number)[:, 0]

    def claim(self) -> None:
        """Make whatever claims may be made after a block."""
        self.blocks += 1
        self.said.settle(self.sides()[:, self.others], self.recorded)

    def recorded(self, kind: int, number: int) -> dict[str, Any]:
        """What a claim says of its evidence."""
        held = float(self.sides()[kind, self.others[number]])
        return {"log_capital": held, "block": self.blocks + 1}  # nothing is bet on the first

    def sides(self) -> FloatArray:
        """Log capital on each side, and with epsilon on being close, (2 or 3, M)."""
        found = total(self.capital)
        if self.ground.config.epsilon == 0:
            return found
        return np.stack([*found, least(*total(self.close))])

    def _by_place(self, goals: FloatArray) -> FloatArray:
        """What is said of each of the others, at the places of candidates."""
        found = np.full(
            (len(goals), self.ground.candidates), math.log(2.0 / self.ground.config.delta)
        )
        found[:, self.others] = goals
        return found

    def _weights_by(self, market: Market) -> FloatArray:
        lift, variance = (column[self.others] for column in self._seems(market))
        return weights_of(lift, np.sqrt(variance), self.epsilon)

    def _seems(self, market: Market) -> tuple[FloatArray, FloatArray]:
        """How far candidates seem to be ahead of the baseline, and variances, (M,)."""
        M = self.ground.candidates
        number = self._number if self.about == M else 0.0
        return -market.gaps[:M] - number, np.clip(market.variances[:M], 1e-300, 1e300)

    # -- where it stands -------------------------------------------------------------------
    def undecided(self) -> BoolArray:
        """Candidates about which nothing was claimed, as a mask (M,)."""
        found = np.zeros(self.ground.candidates, dtype=bool)
        found[self.others] = self.said.by_number() < 0
        return found

    def lacking(self, market: Market, pulls: int) -> Lacking:
        """What claims lack once the others are made; the one that is nearest, of being the next.

        If it waited for the others, one that is tied might keep it waiting for ever.
        """
        M, still = self.ground.candidates, self.undecided()
        sides = self.sides()[:, self.others]
        weights = self._weights_by(market) if self.said.weights is None else self.said.weights
        need, nats = self._need(market, self._by_place(self.said.goals(sides, weights)))
        wanted, lacks = np.zeros(len(market.gaps)), np.full(len(market.gaps), LEAST)
        if still.any():
            now = self._by_place(self.said.next_goals(sides, weights))
            sooner, more = self._need(market, now)
            first = int(np.argmin(np.where(still, coarse(sooner), math.inf)))
            need[first], nats[first] = sooner[first], more[first]
            need = np.minimum(need, _PATIENCE * float(need[still].min()))
        wanted[:M][still], lacks[:M] = need[still], nats
        return Lacking(coarse(wanted), coarse(lacks))

    def _need(self, market: Market, goals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Pulls for a variance of one, and log capital, that the easiest claim of each lacks."""
        ahead, variance = self._seems(market)
        ahead = level(ahead)
        noise = CAUTION * variance
        lack = np.maximum(goals - self.sides(), LEAST)
        nats = np.where(ahead > 0, lack[0], lack[1])
        need = nats / (ahead**2 + noise)
        if self.epsilon > 0:
            inside = np.maximum(self.epsilon - np.abs(ahead), 0.0)
            closer = lack[2] / (inside**2 + noise)
            easier = (coarse(closer) < coarse(need)) & (inside > 0)
            need, nats = np.where(easier, closer, need), np.where(easier, lack[2], nats)
        return need, nats

    def look(self, means: Any) -> None:
        """The highest of those that are better; of all where they are compared with a number."""
        M = self.ground.candidates
        zero = self._number if self.about == M else float(means[self.about])
        self._lift = np.array(means[:M]) - zero
        better = self.others[self.said.by_number() == BETTER]
        if not len(better):
            better = self.others if self.about == M else [self.about]
        alike = level(np.asarray(means))
        self.best = max((int(place) for place in better), key=lambda place: float(alike[place]))

    def open(self) -> IntArray:
        still = np.flatnonzero(self.undecided())
        return still if len(still) else np.array([self.best])

    def left(self) -> int:
        return int(np.count_nonzero(self.undecided()))

    def progress(self) -> FloatArray:
        goals = self._by_place(self.said.goals(self.sides()[:, self.others]))
        share = np.clip((self.sides() / goals).max(axis=0), 0.0, 1.0)
        return np.where(self.undecided(), share, 1.0)

    def p_values(self) -> FloatArray:
        """Of "this one is as good as the baseline": neither better nor worse."""
        top = self.sides()[:2].max(axis=0) - math.log(2.0)
        found = np.exp(-np.maximum(top, 0.0))
        found[np.setdiff1d(np.arange(len(found)), self.others)] = 1.0
        return found

    def leads(self) -> Interval | None:
        """Over the baseline, if that is what would be named; lifts say more."""
        if self.best != self.about:
            return None
        return self.lifts.interval(self.ground.config.delta)

    def seems(self) -> FloatArray:
        """How far candidates seem to be ahead of the baseline, in units of the reward."""
        return self._lift * self.ground.problem.unit

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Between which ends that is."""
        delta, unit = self.ground.config.delta, self.ground.problem.unit
        found, top = self.lifts.interval(beside_the_side(delta)), self.sides()[:2]
        kinds = dict(zip(self.said.candidates.tolist(), self.said.by_number()))
        places = dict(zip(self.said.candidates.tolist(), self.others))
        for claim in self.said.made:  # the capital may have been higher when it was claimed
            kind, place = kinds[claim["candidate"]], places[claim["candidate"]]
            if kind in (BETTER, WORSE):
                top[kind, place] = max(top[kind, place], claim["log_capital"])
        ends = found.low - self._number, found.high - self._number
        low, high = drawn_to_baseline(*ends, top, delta)
        return low * unit, high * unit

    def claims(self) -> Claims:
        """What is claimed, and how far candidates seem to be from the baseline."""
        problem, config = self.ground.problem, self.ground.config
        kinds = np.full(self.ground.candidates, -1)
        kinds[self.others] = self.said.by_number()
        place = np.searchsorted(problem.distinct, problem.same_as)
        named = kinds[place]
        others = place != self.about
        if config.threshold is None:
            b = candidate_of(problem, config.baseline)
            others[np.flatnonzero(~others)] = np.flatnonzero(~others) != b
            words = repr(problem.candidate_labels[b])
        else:
            words = f"{config.threshold:.12g}"
        lift, low, high = (column[place] for column in (self.seems(), *self.ends()))
        return Claims(
            words,
            np.flatnonzero(named == BETTER),
            np.flatnonzero(named == WORSE),
            np.flatnonzero(named == CLOSE),
            np.flatnonzero(others & ~np.isin(named, (BETTER, WORSE))),
            lift,
            low,
            high,
            self.left(),
        )

    def evidence(self) -> dict[str, Any]:
        config, problem = self.ground.config, self.ground.problem
        asked: dict[str, Any] = {"claims": config.claims}
        if config.threshold is not None:
            asked["threshold"] = config.threshold
        else:
            asked["baseline"] = candidate_of(problem, config.baseline)
        return {"question": asked, "claims": self.said.made}

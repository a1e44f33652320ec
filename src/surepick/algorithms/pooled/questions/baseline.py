"""Which candidates are better than the baseline, and which are worse?

The baseline is one of the candidates, or a number. Of each other candidate x there is capital
against two statements: bets on "x beats the baseline" against "x is not better", and bets on the
opposite against "x is not worse". With epsilon there are two more: on "x is not more than epsilon
better" and on "not more than epsilon worse"; the smaller of the two is capital against "x is at
least epsilon away".

How sure claims are (M candidates beside the baseline):

- ``claims="all"``: all of them together are right with probability at least 1 − delta, by
  the steps of :mod:`surepick.algorithms.pooled.questions.steps`.
- ``claims="fdr"``: of all claims at the end, a share of at most delta is wrong on average (e-BH,
  Wang and Ramdas 2022). k claims are made if each of them has a capital of 2M/(k delta) at the end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.base import Claims
from surepick.algorithms.pooled.lacking import CAUTION, LEAST, Lacking
from surepick.algorithms.pooled.leads import Interval, Leads
from surepick.algorithms.pooled.market import Market, Pairs, all_accounts
from surepick.algorithms.pooled.questions import steps
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.algorithms.questions import candidate_of, place_of
from surepick.arrays.backend import HOST
from surepick.arrays.grid import coarse, first_best, level, reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray

SIDES = ("better", "worse")  # than the baseline
CLOSE = "close"  # within epsilon of it
CLAIMS = (*SIDES, CLOSE)
_BY_SIDE = 0.75  # of delta: on which side of the baseline a lift is; the rest is for how far
_PATIENCE = 10.0  # pulls that a lift is taken to lack at most, over those of the clearest


class AgainstBaseline(Question):
    """Capital on both sides of the baseline, and what was claimed."""

    about: int
    decides_each = True

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
        self.finished = not len(self.others)
        start = np.tile(np.log(ground.ways.accounts), (2, M, 1))
        self.capital: FloatArray = start  #: logs: better and worse, (2, M, J)
        self.close: FloatArray = start.copy()  #: not more than epsilon better, or worse
        #: of the statements about others, (2 or 3, others); fixed before the first bets
        self.weights: FloatArray | None = None
        self.prior = 1.0  #: times the precision that stakes have elsewhere before the first bets
        self.made: list[dict[str, Any]] = []  #: claims
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
            "claim_weights": self.weights,
            "prior": self.prior,
            "claims": self.made,
            "bets": self.blocks,
            "finished": self.finished,
            "_best": self.best,
            "leads": self.lifts.save(),
            "lift": self._lift,
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.capital, self.close = memory["capital"], memory["close"]
        self.weights, self.prior = memory["claim_weights"], memory["prior"]
        self.made, self.blocks = memory["claims"], memory["bets"]
        self.finished, self.best = memory["finished"], memory["_best"]
        self.lifts.load(memory["leads"])
        self._lift = memory["lift"]

    def first_extra(self) -> tuple[int, float]:
        """The baseline is in every comparison, and worth as many pulls as √M of the others."""
        if self.about == self.ground.candidates or self.ground.problem.transductive:
            return 0, 0.0
        arm = int(self.ground.problem.distinct[self.about])
        n = len(self.others)
        return arm, (math.sqrt(n) - 1.0) / (n + 1.0)

    # -- bets ------------------------------------------------------------------------------
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        self.blocks += 1
        self.lifts.take(market, blocks)
        reference = np.array([self.about])
        ways = self.ground.ways
        for number, (way, block) in enumerate(zip(ways.ways, blocks)):
            own, payoff = ways.own(number), ways.payoff(way)
            up = market.pairs(reference, self.others, block, payoff).raised(-self._number)
            down = market.pairs(self.others, reference, block, payoff).raised(self._number)
            if self.weights is None:  # all of this by what was known before the first bets
                self.weights = self._weights_by(market)
                lift, variance = self._seems(market)
                one_pull = up.bets.unit[0]
                self.prior = steps.prior_of(lift[self.others], variance[self.others], one_pull)
                self.capital += steps.accounts_by(self.prior, len(ways.ways))
            self._pay(self.capital[:, :, own], up.wider(self.prior), down.wider(self.prior))
            if self.epsilon > 0:  # beating the baseline less epsilon is not being far worse
                closer = up.raised(self.epsilon), down.raised(self.epsilon)
                self._pay(self.close[::-1, :, own], *closer)
        if self.ground.config.claims == "fdr":
            self.made = self._discoveries()
        else:
            self._claim()
        self.finished = len(self.made) == len(self.others)
        number = self.about == self.ground.candidates
        return {"rivals": [] if number else [int(self.ground.problem.distinct[self.about])]}

    def _pay(self, capital: FloatArray, up: Pairs, down: Pairs) -> None:
        capital[0, self.others] += up.paid()[0]
        capital[1, self.others] += down.paid()[:, 0]

    def sides(self) -> FloatArray:
        """Log capital on each side, and with epsilon on being close, (2 or 3, M)."""
        better, worse = (all_accounts(HOST, side) for side in self.capital)
        if self.epsilon == 0:
            return np.stack([better, worse])
        close = np.minimum(*(all_accounts(HOST, side) for side in self.close))
        return np.stack([better, worse, close])

    def _goals(self, weights: FloatArray | None) -> FloatArray:
        """Log capital that claims will take once the others are made, (2 or 3, M)."""
        sides, config = self.sides(), self.ground.config
        goals = np.full_like(sides, math.log(2.0 / config.delta))
        if config.claims == "all" and weights is not None:
            goals[:, self.others] = steps.expected(weights, sides[:, self.others], config.delta)
        return goals

    def _next_goals(self, weights: FloatArray) -> FloatArray:
        """Log capital that a claim takes if it is the next one, (2 or 3, M)."""
        sides, config, n = self.sides(), self.ground.config, len(self.others)
        goals = np.full_like(sides, math.log(2.0 * n / ((len(self.made) + 1) * config.delta)))
        if config.claims == "all":
            own = sides[:, self.others], self._kinds(), config.delta
            goals[:, self.others] = steps.needed(weights, *own)
        return goals

    def _kinds(self) -> IntArray:
        """What was claimed about the others, by number; −1 for nothing."""
        return steps.claimed_by_number(self.claimed(), self.others, CLAIMS)

    def _weights_by(self, market: Market) -> FloatArray:
        lift, variance = (column[self.others] for column in self._seems(market))
        return steps.weights_of(lift, np.sqrt(variance), self.epsilon)

    def _seems(self, market: Market) -> tuple[FloatArray, FloatArray]:
        """How far candidates seem to be ahead of the baseline, and variances, (M,)."""
        M = self.ground.candidates
        number = self._number if self.about == M else 0.0
        return -market.gaps[:M] - number, np.clip(market.variances[:M], 1e-300, 1e300)

    def _claim(self) -> None:
        """Whatever may be claimed; each claim may be what another one has waited for."""
        assert self.weights is not None
        sides, delta = self.sides()[:, self.others], self.ground.config.delta
        claimed = self._kinds()
        while True:
            needed = steps.needed(self.weights, sides, claimed, delta)
            spare = sides - needed
            spare[:, claimed >= 0] = -math.inf
            place = first_best(spare.ravel())
            kind, number = (int(i) for i in np.unravel_index(place, spare.shape))
            if claimed[number] >= 0 or not reached(sides[kind, number], needed[kind, number]):
                break
            claimed[number] = kind
            place = int(self.others[number])
            self.made.append(self._record(kind, place, float(sides[kind, number])))

    def _discoveries(self) -> list[dict[str, Any]]:
        """e-BH: as many claims as have the capital that so many take."""
        sides, config = self.sides()[:, self.others], self.ground.config
        kinds = np.argmax(coarse(sides), axis=0)
        top = sides[kinds, np.arange(len(kinds))]
        order = np.argsort(-level(top), kind="stable")
        k = np.arange(1, len(order) + 1)
        enough = reached(top[order], np.log(2 * len(order) / (k * config.delta)))
        n = int(k[enough].max(initial=0))
        return [self._record(int(kinds[i]), int(self.others[i]), float(top[i])) for i in order[:n]]

    def _record(self, kind: int, place: int, capital: float) -> dict[str, Any]:
        return {
            "candidate": int(self.ground.problem.distinct[place]),
            "claim": CLAIMS[kind],
            "log_capital": float(capital),
            "block": self.blocks + 1,  # nothing is bet on the first
        }

    # -- where it stands -------------------------------------------------------------------
    def claimed(self) -> dict[int, str]:
        """What was claimed about candidates, by their place."""
        distinct = self.ground.problem.distinct
        return {int(np.searchsorted(distinct, c["candidate"])): c["claim"] for c in self.made}

    def undecided(self) -> BoolArray:
        """Candidates about which nothing was claimed, as a mask (M,)."""
        found = np.zeros(self.ground.candidates, dtype=bool)
        found[self.others] = True
        found[list(self.claimed())] = False
        return found

    def lacking(self, market: Market, pulls: int) -> Lacking:
        """What claims lack once the others are made; the one that is nearest, of being the next.

        If it waited for the others, one that is tied might keep it waiting for ever.
        """
        M, still = self.ground.candidates, self.undecided()
        weights = self._weights_by(market) if self.weights is None else self.weights
        need, nats = self._need(market, self._goals(weights))
        wanted, lacks = np.zeros(len(market.gaps)), np.full(len(market.gaps), LEAST)
        if still.any():
            sooner, more = self._need(market, self._next_goals(weights))
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
        better = [place for place, claim in self.claimed().items() if claim == SIDES[0]]
        if not better:
            better = self.others if self.about == M else [self.about]
        alike = level(np.asarray(means))
        self.best = max((int(place) for place in better), key=lambda place: float(alike[place]))

    def conclude(self, market: Any) -> None:
        self.look(market().means)

    def open(self) -> IntArray:
        still = np.flatnonzero(self.undecided())
        return still if len(still) else np.array([self.best])

    def left(self) -> int:
        return int(np.count_nonzero(self.undecided()))

    def progress(self) -> FloatArray:
        share = np.clip((self.sides() / self._goals(self.weights)).max(axis=0), 0.0, 1.0)
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

    def _ends(self) -> tuple[FloatArray, FloatArray]:
        """Between which ends lifts are; each pair ever misses its own with probability δ or less.

        A lift below 0 is missed in three ways: the capital on "better" reached 1/(cδ), which has
        probability cδ at most, or one of the interval's own ends missed it, (1 − c)δ/2 each. The
        same with "worse" for a lift above 0; so an end may be drawn to the baseline once there is
        this capital, which most claims take anyway. Claims of the others have no part in it.
        """
        delta = self.ground.config.delta
        found = self.lifts.interval((1.0 - _BY_SIDE) * delta)
        low, high = found.low - self._number, found.high - self._number
        top = self.sides()[:2]
        for claim in self.made:  # the capital may have been higher when it was claimed
            if claim["claim"] in SIDES:
                place = np.searchsorted(self.ground.problem.distinct, claim["candidate"])
                own = top[SIDES.index(claim["claim"])]
                own[place] = max(own[place], claim["log_capital"])
        better, worse = top >= -math.log(_BY_SIDE * delta)
        low[better], high[worse] = np.maximum(low[better], 0.0), np.minimum(high[worse], 0.0)
        return low, high

    def claims(self) -> Claims:
        """What is claimed, and how far candidates seem to be from the baseline."""
        problem, config = self.ground.problem, self.ground.config
        found = self.claimed()
        kinds = np.array([found.get(place, "") for place in range(self.ground.candidates)])
        place = np.searchsorted(problem.distinct, problem.same_as)
        named = kinds[place]
        others = place != self.about
        if config.threshold is None:
            b = candidate_of(problem, config.baseline)
            others[np.flatnonzero(~others)] = np.flatnonzero(~others) != b
            words = repr(problem.candidate_labels[b])
        else:
            words = f"{config.threshold:.12g}"
        low, high = self._ends()
        lift, low, high = (column[place] * problem.unit for column in (self._lift, low, high))
        decided = np.isin(named, SIDES)
        return Claims(
            words,
            np.flatnonzero(named == SIDES[0]),
            np.flatnonzero(named == SIDES[1]),
            np.flatnonzero(named == CLOSE),
            np.flatnonzero(others & ~decided),
            lift,
            low,
            high,
            int(np.count_nonzero(self.undecided())),
        )

    def evidence(self) -> dict[str, Any]:
        config, problem = self.ground.config, self.ground.problem
        asked: dict[str, Any] = {"claims": config.claims}
        if config.threshold is not None:
            asked["threshold"] = config.threshold
        else:
            asked["baseline"] = candidate_of(problem, config.baseline)
        return {"question": asked, "claims": self.made}

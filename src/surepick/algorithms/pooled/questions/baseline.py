"""Which candidates are better than the baseline, and which are worse?

The baseline is one of the candidates, or a number. Of each other candidate x there is capital
against two statements: bets on "x beats the baseline" against "x is not better", and bets on the
opposite against "x is not worse". With epsilon there are two more: on "x is not more than epsilon
better" and on "not more than epsilon worse"; the smaller of the two is capital against "x is at
least epsilon away".

How sure claims are (M candidates beside the baseline):

- ``control="all"``: all of them together are right with probability at least 1 − delta. For no x
  are more than two of the statements true, so the 2M of them that may be true would each have to
  be refuted wrongly at 2M/delta, which has probability at most delta. Without epsilon Holm's steps
  apply: the R candidates that were claimed rightly are not tied with the baseline, and one true
  statement each is the most that they have, so that (2M − R)/delta will do.
- ``control="fdr"``: of all claims at the end, a share of at most delta is wrong on average (e-BH,
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
from surepick.algorithms.pooled.questions.base import Ground, Question
from surepick.arrays.backend import HOST
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError

SIDES = ("better", "worse")  # than the baseline
CLOSE = "close"  # within epsilon of it
_PATIENCE = 10.0  # pulls that a lift is taken to lack at most, over those of the clearest


class AgainstBaseline(Question):
    """Capital on both sides of the baseline, and what was claimed."""

    about: int

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        M, config = ground.candidates, ground.config
        self.about = M  # a number is behind all candidates
        self._number = 0.0  # in the state's unit
        if config.threshold is not None:
            self._number = config.threshold / ground.problem.unit
            self.others = np.arange(M)
        else:
            self.about = place_of(ground.problem, config.baseline)
            self.others = np.delete(np.arange(M), self.about)
        self.finished = not len(self.others)
        start = np.tile(np.log(ground.ways.accounts), (2, M, 1))
        self.capital: FloatArray = start  #: logs: better and worse, (2, M, J)
        self.close: FloatArray = start.copy()  #: not more than epsilon better, or worse
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
            "claims": self.made,
            "bets": self.blocks,
            "finished": self.finished,
            "_best": self.best,
            "leads": self.lifts.save(),
            "lift": self._lift,
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.capital, self.close = memory["capital"], memory["close"]
        self.made, self.blocks = memory["claims"], memory["bets"]
        self.finished, self.best = memory["finished"], memory["_best"]
        self.lifts.load(memory["leads"])
        self._lift = memory["lift"]

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
            self._pay(self.capital[:, :, own], up, down)
            if self.epsilon > 0:  # beating the baseline less epsilon is not being far worse
                closer = up.raised(self.epsilon), down.raised(self.epsilon)
                self._pay(self.close[::-1, :, own], *closer)
        if self.ground.config.control == "fdr":
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

    def goal(self) -> float:
        """Log capital that the next claim takes."""
        config, H = self.ground.config, 2 * len(self.others)
        if config.control == "fdr":
            return math.log(2.0 / config.delta)  # where everything is claimed in the end
        if self.epsilon == 0:
            H -= len(self.made)
        return math.log(H / config.delta)

    def _claim(self) -> None:
        """Holm's steps: the largest capital first."""
        sides = self.sides()
        sides[:, ~self.undecided()] = -math.inf
        for _ in self.others:
            kind, place = np.unravel_index(int(np.argmax(sides)), sides.shape)
            if sides[kind, place] < self.goal():
                break
            capital = float(sides[kind, place])
            self.made.append(self._record(int(kind), int(place), capital))
            sides[:, place] = -math.inf

    def _discoveries(self) -> list[dict[str, Any]]:
        """e-BH: as many claims as have the capital that so many take."""
        sides, config = self.sides()[:, self.others], self.ground.config
        kinds = np.argmax(sides, axis=0)
        top = sides[kinds, np.arange(len(kinds))]
        order = np.argsort(-top, kind="stable")
        k = np.arange(1, len(order) + 1)
        enough = top[order] >= np.log(2 * len(order) / (k * config.delta))
        n = int(k[enough].max(initial=0))
        return [self._record(int(kinds[i]), int(self.others[i]), float(top[i])) for i in order[:n]]

    def _record(self, kind: int, place: int, capital: float) -> dict[str, Any]:
        return {
            "candidate": int(self.ground.problem.distinct[place]),
            "claim": (*SIDES, CLOSE)[kind],
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
        M, still = self.ground.candidates, self.undecided()
        ahead = -market.gaps[:M] - (self._number if self.about == M else 0.0)
        noise = np.maximum(CAUTION * market.variances[:M], 1e-300)
        sides, goal = self.sides(), self.goal()
        lack = np.maximum(goal - sides, LEAST)
        nats = np.where(ahead > 0, lack[0], lack[1])
        need = nats / (ahead**2 + noise)
        if self.epsilon > 0:
            inside = np.maximum(self.epsilon - np.abs(ahead), 0.0)
            closer = lack[2] / (inside**2 + noise)
            easier = (closer < need) & (inside > 0)
            need, nats = np.where(easier, closer, need), np.where(easier, lack[2], nats)
        if still.any():  # what is nearly tied must not keep the others waiting
            need = np.minimum(need, _PATIENCE * float(need[still].min()))
        wanted, lacks = np.zeros(len(market.gaps)), np.full(len(market.gaps), LEAST)
        wanted[:M][still], lacks[:M] = need[still], nats
        return Lacking(wanted, lacks)

    def look(self, means: Any) -> None:
        """The highest of those that are better; of all where they are compared with a number."""
        M = self.ground.candidates
        level = self._number if self.about == M else float(means[self.about])
        self._lift = np.array(means[:M]) - level
        better = [place for place, claim in self.claimed().items() if claim == SIDES[0]]
        if not better:
            better = self.others if self.about == M else [self.about]
        self.best = max((int(place) for place in better), key=lambda place: float(means[place]))

    def conclude(self, market: Any) -> None:
        self.look(market().means)

    def open(self) -> IntArray:
        still = np.flatnonzero(self.undecided())
        return still if len(still) else np.array([self.best])

    def progress(self) -> FloatArray:
        share = np.clip(self.sides().max(axis=0) / self.goal(), 0.0, 1.0)
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

    def _ends(self, kinds: np.ndarray) -> tuple[FloatArray, FloatArray]:
        """Between which ends lifts are, on the side of the baseline that was claimed.

        A claim that is one of all that are right takes (n+1)/delta or more. With a share of
        2/(n+1) of delta it is enough to rule out 0, once and for all; intervals have the rest.
        """
        n, config = len(self.others), self.ground.config
        share = 2.0 / (n + 1) if config.control == "all" and n > 1 else 0.0
        found = self.lifts.interval(config.delta * (1.0 - share))
        low, high = found.low - self._number, found.high - self._number
        if share:
            low[kinds == SIDES[0]] = np.maximum(low[kinds == SIDES[0]], 0.0)
            high[kinds == SIDES[1]] = np.minimum(high[kinds == SIDES[1]], 0.0)
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
        low, high = self._ends(kinds)
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
        asked: dict[str, Any] = {"control": config.control}
        if config.threshold is not None:
            asked["threshold"] = config.threshold
        else:
            asked["baseline"] = candidate_of(problem, config.baseline)
        return {"question": asked, "claims": self.made}


def candidate_of(problem: Any, baseline: Any) -> int:
    """The number of the candidate that is the baseline: given as that, or by its label."""
    labels = problem.candidate_labels
    if isinstance(baseline, str):
        if baseline not in labels:
            some = ", ".join(repr(label) for label in labels[:8])
            raise InvalidInputError(
                f"baseline: no option is called {baseline!r:.80}; there are {some}"
                f"{', …' if len(labels) > 8 else ''}"
            )
        return list(labels).index(baseline)
    if not 0 <= baseline < len(labels):
        raise InvalidInputError(
            f"baseline: there are options 0 to {len(labels) - 1}, not {baseline}"
        )
    return int(baseline)


def place_of(problem: Any, baseline: Any) -> int:
    """Its place among those that differ."""
    first = problem.same_as[candidate_of(problem, baseline)]
    return int(np.searchsorted(problem.distinct, first))

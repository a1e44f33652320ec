"""Which options are better than the baseline, or a number, and keep all limits?

"Better than the baseline" is one mark more: on the reward, set by the baseline's mean. So of each
option k there is capital G_j on "k keeps mark j" and B_j on "k breaks it", j = 0 for the baseline,
1 … L for the limits. Two statements are made about k, and a claim refutes one of them:

- "k is not better, or breaks a limit". Against it counts the smallest of G_0 … G_L, each limit up
  to its tolerance. Claim: ``better``.
- "k is better and keeps all limits". Against it counts N = 0.8 P + 0.2 average of B_0 … B_L, with a
  purse P = Π Σ_j s_j b_j over the blocks: b_j is what B_j paid in a block, and the shares s_j go by
  what was known before it to what looks surest. Claim: ``ruled out``.

**Each is a bet where its statement is true.** If k breaks mark j by more than its tolerance, G_j is
a supermartingale, and the smallest is not above it. If k keeps all marks, every B_j is one and
every b_j has a mean of 1 at most given the past; so has Σ_j s_j b_j, whatever rewards and further
numbers have to do with each other, as sums of means do not ask. ∎

**Never are both statements about k true**: the first says that a mark is broken (by more than its
tolerance), the second that none is. So the set of true statements has at most one for each option,
and the steps of :mod:`surepick.algorithms.pooled.questions.steps` have that much less to pay: an
option that is not decided lacks the larger of its two shortfalls, and beside a claim there is no
other true statement about the same option. All claims together are right with probability 1 − delta
(``claims="all"``), whatever the dependence between options, which share the baseline's
measurements: weighted sums of capital do not ask either.

With ``claims="fdr"``, k claims are made if each of them has a capital of M/(k delta) at the end, M
options beside the baseline. A false claim has capital against a true statement, of which there are
M at most, so the share of false ones is Σ 1[false, claimed]/k ≤ Σ over true statements of their
capital times delta/M, with a mean of delta at most (e-BH; for one false statement each, 2M is not
needed). ∎

Not split: limits are in the same statement, not in one each. Whether the baseline itself keeps the
limits plays no part.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.findings import Claims
from surepick.algorithms.limits.decision import Decision, Ground
from surepick.algorithms.limits.marks import Mark
from surepick.algorithms.limits.measured import Bets
from surepick.algorithms.limits.plan import Missing, Seems, counts_for_claims, seems, shares_of
from surepick.algorithms.limits.purses import Purses
from surepick.algorithms.limits.question import KeepingAgainst
from surepick.algorithms.pooled.lacking import CAUTION
from surepick.algorithms.pooled.leads import Leads
from surepick.algorithms.pooled.questions import steps
from surepick.algorithms.questions import candidate_of
from surepick.arrays.grid import coarse, first_best, level, reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray

CLAIMS = ("better", "ruled_out")
_MOST = 1e300  # log capital where a claim is certain
_BY_SIDE = 0.75  # of delta: on which side of the baseline a lift is; the rest is for how far


class BetterThatKeep(Decision):
    """Capital on both claims about each option, and what was claimed."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        problem, asked = ground.problem, ground.asked
        assert isinstance(asked, KeepingAgainst)
        K = problem.n_arms
        self.errors, self.threshold = asked.claims, asked.threshold
        self.about, number = K, 0.0  # a number is behind all options
        if asked.threshold is None:
            self.about = self.reference = candidate_of(problem, asked.baseline)
        else:
            number = problem.seen(asked.threshold)
        lead = Mark(True, 0, self.about, number, 0.0, np.zeros(K, dtype=bool))
        self.marks = (lead, *ground.marks)
        self.capital = Purses(K, self.marks, asked.loose)
        self.others: IntArray = (
            np.delete(np.arange(K), self.about) if self.about < K else (np.arange(K))
        )
        self.lifts: Leads = ground.measured[0].leads(self.about)
        #: of the statements about others, (2, others); fixed before the first bets
        self.weights: FloatArray | None = None
        self.most: FloatArray = np.zeros((2, K))  # log capital on both sides of the baseline
        self.made: list[dict[str, Any]] = []
        self.blocks = 0  # up to the last with bets
        self.best = int(self.others[0]) if self.about == K else self.about
        self._lift: FloatArray = np.zeros(K)  # over the baseline, as far as is known
        self._seems: Seems | None = None

    def save(self) -> dict[str, Any]:
        return {
            "best": self.best,
            "capital": self.capital.save(),
            "lifts": self.lifts.save(),
            "weights": self.weights,
            "most": self.most,
            "lift": self._lift,
            "made": self.made,
            "last": self.blocks,
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.best, self.weights, self.most = memory["best"], memory["weights"], memory["most"]
        self.made, self.blocks, self._lift = memory["made"], memory["last"], memory["lift"]
        self.capital.load(memory["capital"])
        self.lifts.load(memory["lifts"])
        self._seems = None

    # -- bets ------------------------------------------------------------------------------
    def outlook(self) -> Seems:
        """How options stand to all marks, by all settled blocks."""
        if self._seems is None:
            self._seems = seems(self.marks, self.ground.measured)
        return self._seems

    def settle(self, measured: Sequence[Bets], number: int) -> dict[str, Any]:
        known = self.outlook()
        if self.weights is None:  # by what was known before the first bets
            self.weights = self._weights_by(known)
        self.blocks = number
        self.capital.settle(measured, shares_of(self.marks, known))
        self.lifts.take(measured[0].market, [measured[0].block])
        self.most = np.maximum(
            self.most, np.stack([self.capital.all_keep()[0], self.capital.all_break()[0]])
        )
        if self.errors == "fdr":
            self.made = self._discoveries()
        else:
            self._claim()
        return {"rivals": [] if self.reference is None else [self.reference], "dropped": []}

    def _weights_by(self, known: Seems) -> FloatArray:
        """By the mark that decides, which is the one that seems least kept."""
        margins, errors = known.margins[:, self.others], known.errors[:, self.others]
        z = margins / np.sqrt(np.clip(errors, 1e-300, 1e300))
        for number, mark in enumerate(self.marks):
            sure = mark.certain[self.others]
            z[number, sure] = math.inf if mark.itself else -math.inf
        least = np.argmin(z, axis=0)[None]
        gap, doubt, z = (np.take_along_axis(one, least, axis=0)[0] for one in (margins, errors, z))
        likely = steps.above(z)
        takes = np.sqrt(gap**2 + CAUTION * doubt)
        return steps.weights_by(np.stack([likely, 1.0 - likely]), takes)

    def sides(self) -> FloatArray:
        """Log capital for each claim about each other option, (2, others)."""
        return np.minimum(self.capital.sides()[:, self.others], _MOST)

    def _kinds(self) -> IntArray:
        """What was claimed about the others, by number; −1 for nothing."""
        claimed = {claim["candidate"]: claim["claim"] for claim in self.made}
        return steps.claimed_by_number(claimed, self.others, CLAIMS)

    def _needed(self, claimed: IntArray) -> FloatArray:
        """Log capital that each claim takes if it is the next one, (2, others)."""
        delta, n = self.ground.config.delta, len(self.others)
        if self.errors == "fdr":
            return np.full((2, n), math.log(n / ((len(self.made) + 1) * delta)))
        assert self.weights is not None
        return steps.needed(self.weights, self.sides(), claimed, delta, one_true=True)

    def _claim(self) -> None:
        """Whatever may be claimed; each claim may be what another one has waited for."""
        sides, claimed = self.sides(), self._kinds()
        while True:
            needed = self._needed(claimed)
            spare = sides - needed
            spare[:, claimed >= 0] = -math.inf
            kind, place = (int(i) for i in np.unravel_index(first_best(spare.ravel()), sides.shape))
            if claimed[place] >= 0 or not reached(sides[kind, place], needed[kind, place]):
                break
            claimed[place] = kind
            self.made.append(self._record(kind, place, float(sides[kind, place])))

    def _discoveries(self) -> list[dict[str, Any]]:
        """e-BH: as many claims as have the capital that so many take."""
        sides, n = self.sides(), len(self.others)
        kinds = np.argmax(coarse(sides), axis=0)
        top = sides[kinds, np.arange(n)]
        order = np.argsort(-level(top), kind="stable")
        k = np.arange(1, n + 1)
        enough = reached(top[order], np.log(n / (k * self.ground.config.delta)))
        count = int(k[enough].max(initial=0))
        return [self._record(int(kinds[i]), int(i), float(top[i])) for i in order[:count]]

    def _record(self, kind: int, place: int, capital: float) -> dict[str, Any]:
        return {
            "candidate": int(self.others[place]),
            "claim": CLAIMS[kind],
            "log_capital": capital,
            "block": self.blocks,
        }

    def look(self) -> None:
        """The one with the highest mean of those that are claimed to be better, or the baseline.

        Where options are compared with a number and none is claimed yet: of all that may be.
        """
        self._seems = None
        better = self._claimed(0)
        if not len(better):
            better = np.flatnonzero(self.open) if self.reference is None else [self.about]
        if not len(better):
            better = self.others
        means = self.ground.measured[0].means
        zero = self.marks[0].mark if self.reference is None else means[self.reference]
        self._lift, alike = means - zero, level(means)
        self.best = max((int(one) for one in better), key=lambda one: float(alike[one]))

    def missing(self, prices: FloatArray) -> FloatArray:
        known, delta = self.outlook(), self.ground.config.delta
        still, n = np.flatnonzero(self.open), len(self.others)
        weights = self._weights_by(known) if self.weights is None else self.weights
        later = np.full((2, n), -math.log(delta))
        if self.errors == "all":
            later = steps.expected(weights, self.sides(), delta)
        K = self.ground.problem.n_arms
        goals, sooner = np.zeros((2, K)), np.zeros((2, K))
        goals[:, self.others] = later
        sooner[:, self.others] = later if self.weights is None else self._needed(self._kinds())
        own = Missing(self.capital, known, self.ground.measured[0], self.about, still, prices)
        return counts_for_claims(own, goals, sooner)

    def on_limits(self) -> FloatArray:
        return np.array([self.capital.all_keep()[1:], self.capital.all_break()[1:]])

    # -- where it stands -------------------------------------------------------------------
    def _claimed(self, kind: int) -> IntArray:
        found = [claim["candidate"] for claim in self.made if claim["claim"] == CLAIMS[kind]]
        return np.array(sorted(found), dtype=np.int64)

    @property
    def open(self) -> BoolArray:
        found = np.zeros(self.ground.problem.n_arms, dtype=bool)
        found[self.others] = True
        found[[claim["candidate"] for claim in self.made]] = False
        return found

    @property
    def active(self) -> IntArray:
        still = np.flatnonzero(self.open)
        return still if len(still) else np.array([self.best])

    @property
    def finished(self) -> bool:
        return len(self.made) == len(self.others)

    def progress(self) -> FloatArray:
        found, sides = np.ones(self.ground.problem.n_arms), self.sides()
        goals = np.full_like(sides, -math.log(self.ground.config.delta))
        if self.weights is not None and self.errors == "all":
            goals = steps.expected(self.weights, sides, self.ground.config.delta)
        with np.errstate(invalid="ignore"):
            share = np.clip((sides / goals).max(axis=0), 0.0, 1.0)
        found[self.others] = np.where(self._kinds() < 0, share, 1.0)
        return found

    def doubts(self) -> FloatArray:
        return self.ground.config.delta ** self.progress()

    def claims(self) -> Claims:
        problem, delta = self.ground.problem, self.ground.config.delta
        if self.reference is None:
            words = f"{self.threshold:.12g}"
        else:
            words = repr(problem.candidate_labels[self.reference])
        lift, low, high = (one * problem.unit for one in (self._lift, *self._ends(delta)))
        better, out = self._claimed(0), self._claimed(1)
        none = np.array([], dtype=np.int64)
        undecided = np.flatnonzero(self.open)
        return Claims(
            *(words, better, none, none, undecided, lift, low, high, len(undecided)), ruled_out=out
        )

    def _ends(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Between which ends lifts are, as the comparison without limits has them.

        See ``_ends`` of :mod:`surepick.algorithms.pooled.questions.baseline`.
        """
        found, shift = self.lifts.interval((1.0 - _BY_SIDE) * delta), 0.0
        if self.reference is None:
            shift = self.marks[0].mark
        low, high = found.low - shift, found.high - shift
        better, worse = self.most >= -math.log(_BY_SIDE * delta)
        low[better], high[worse] = np.maximum(low[better], 0.0), np.minimum(high[worse], 0.0)
        return low, high

    def evidence(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"claims": self.errors}
        if self.reference is None:
            asked["threshold"] = self.threshold
        else:
            asked["baseline"] = self.reference
        return {"question": asked, "claims": self.made}

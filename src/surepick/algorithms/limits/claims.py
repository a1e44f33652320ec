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
and the steps of :mod:`surepick.proof.claims` have that much less to pay: an
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
from surepick.algorithms.pooled.leads import Leads
from surepick.algorithms.questions import candidate_of
from surepick.arrays.grid import level
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.proof.claims import (
    CAUTION,
    ClaimsMade,
    above,
    beside_the_side,
    drawn_to_baseline,
    weights_by,
)

CLAIMS = ("better", "ruled_out")
_MOST = 1e300  # log capital where a claim is certain


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
        share = self.errors == "fdr"
        delta = ground.config.delta
        self.said = ClaimsMade(self.others, CLAIMS, delta, share=share, one_true=True)
        self.most: FloatArray = np.zeros((2, K))  # log capital on both sides of the baseline
        self.blocks = 0  # up to the last with bets
        self.best = int(self.others[0]) if self.about == K else self.about
        self._lift: FloatArray = np.zeros(K)  # over the baseline, as far as is known
        self._seems: Seems | None = None

    def save(self) -> dict[str, Any]:
        return {
            "best": self.best,
            "capital": self.capital.save(),
            "lifts": self.lifts.save(),
            "weights": self.said.weights,
            "most": self.most,
            "lift": self._lift,
            "made": self.said.made,
            "last": self.blocks,
        }

    def load(self, memory: dict[str, Any]) -> None:
        self.best, self.most, self._lift = memory["best"], memory["most"], memory["lift"]
        self.said.weights, self.said.made = memory["weights"], memory["made"]
        self.blocks = memory["last"]
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
        if self.said.weights is None:  # by what was known before the first bets
            self.said.weights = self._weights_by(known)
        self.blocks = number
        self.capital.settle(measured, shares_of(self.marks, known))
        self.lifts.take(measured[0].market, measured[0].blocks)
        self.most = np.maximum(
            self.most, np.stack([self.capital.all_keep()[0], self.capital.all_break()[0]])
        )
        sides = self.sides()
        self.said.settle(
            sides,
            lambda kind, place: {"log_capital": float(sides[kind, place]), "block": self.blocks},
        )
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
        likely = above(z)
        takes = np.sqrt(gap**2 + CAUTION * doubt)
        return weights_by(np.stack([likely, 1.0 - likely]), takes)

    def sides(self) -> FloatArray:
        """Log capital for each claim about each other option, (2, others)."""
        return np.minimum(self.capital.sides()[:, self.others], _MOST)

    def look(self) -> None:
        """The one with the highest mean of those that are claimed to be better, or the baseline.

        Where options are compared with a number and none is claimed yet: of all that may be.
        """
        self._seems = None
        better = self.said.of(0)
        if not len(better):
            better = np.flatnonzero(self.open) if self.reference is None else [self.about]
        if not len(better):
            better = self.others
        means = self.ground.measured[0].means
        zero = self.marks[0].mark if self.reference is None else means[self.reference]
        self._lift, alike = means - zero, level(means)
        self.best = max((int(one) for one in better), key=lambda one: float(alike[one]))

    def missing(self, prices: FloatArray) -> FloatArray:
        known, sides, still = self.outlook(), self.sides(), np.flatnonzero(self.open)
        first = self.said.weights is None
        later = self.said.goals(sides, self._weights_by(known) if first else None)
        K = self.ground.problem.n_arms
        goals, sooner = np.zeros((2, K)), np.zeros((2, K))
        goals[:, self.others] = later
        sooner[:, self.others] = later if first else self.said.next_goals(sides)
        own = Missing(self.capital, known, self.ground.measured[0], self.about, still, prices)
        return counts_for_claims(own, goals, sooner)

    def on_limits(self) -> FloatArray:
        return np.array([self.capital.all_keep()[1:], self.capital.all_break()[1:]])

    # -- where it stands -------------------------------------------------------------------
    @property
    def open(self) -> BoolArray:
        found = np.zeros(self.ground.problem.n_arms, dtype=bool)
        found[self.said.undecided()] = True
        return found

    @property
    def active(self) -> IntArray:
        still = np.flatnonzero(self.open)
        return still if len(still) else np.array([self.best])

    @property
    def finished(self) -> bool:
        return self.said.finished

    def progress(self) -> FloatArray:
        found, sides = np.ones(self.ground.problem.n_arms), self.sides()
        goals = self.said.goals(sides)
        with np.errstate(invalid="ignore"):
            share = np.clip((sides / goals).max(axis=0), 0.0, 1.0)
        found[self.others] = np.where(self.said.by_number() < 0, share, 1.0)
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
        better, out = self.said.of(0), self.said.of(1)
        none = np.array([], dtype=np.int64)
        undecided = np.flatnonzero(self.open)
        return Claims(
            *(words, better, none, none, undecided, lift, low, high, len(undecided)), ruled_out=out
        )

    def _ends(self, delta: float) -> tuple[FloatArray, FloatArray]:
        """Between which ends lifts are."""
        found = self.lifts.interval(beside_the_side(delta))
        shift = self.marks[0].mark if self.reference is None else 0.0
        return drawn_to_baseline(found.low - shift, found.high - shift, self.most, delta)

    def evidence(self) -> dict[str, Any]:
        asked: dict[str, Any] = {"claims": self.errors}
        if self.reference is None:
            asked["threshold"] = self.threshold
        else:
            asked["baseline"] = self.reference
        return {"question": asked, "claims": self.said.made}

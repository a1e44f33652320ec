"""Which is the cheapest of the candidates that are good enough: within ε of the best?

What candidates cost is known. x is the answer if it is good enough and none before it is, where
candidates stand in the order of their costs (and of their numbers, where these are the same): there
is exactly one. C_rs is capital bet on "r is not more than ε below s", F_sx on "s is more than ε
above x"; each is a supermartingale where what is bet on is not so.

    W_x = ¼ average over s of F_sx + ¼ Π of F over blocks, with one s for each, such as who leads
        + ¼ average over r before x of G_r + ¼ Π over r before x of G_r over the blocks r headed
    G_r = least C_rs over all s ≠ r, ruled out or not

**W_x is capital against what is true if x is the answer.** Nobody is then more than ε above x, so
all F_sx are bets against what is true, one by one and multiplied, one s per block, chosen from the
past. And each r before x is not good enough: some s is more than ε above it, so C_rs for that s is
such a bet, and G_r is not above it, over all blocks or over those that r headed. Averages of
supermartingales are supermartingales, and so is money that is all on one of them at a time. ∎ x is
ruled out at 1/δ, so the answer is lost with probability δ at most, and who is left alone is the
answer; no union over candidates is paid. (For the first candidate the halves of F count twice.)

With a tolerance η (``epsilon``) a share h of the capital is for that
(:mod:`surepick.proof.accepting`), and the first that is in is accepted once capital on "it is
not more than ε + η below s" is K/(hδ) for every s. All before it were ruled out, the answer among
them with probability (1 − h)δ at most; and any of K candidates that is farther below the best is
accepted with probability hδ/K.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.proof.accepting import ACCEPTING
from surepick.proof.purses import average, begun, least_of_others, mixture, total

SAVED = ("far", "close", "near", "led_far", "headed")


class Cheapest:
    """The purses of all pairs of M candidates, (x, r) in the order of what is bet against."""

    def __init__(self, candidates: int, shares: FloatArray, order: IntArray) -> None:
        M = candidates
        self.order = order  #: the cheapest first
        self.far: FloatArray = begun((M, M), shares)  # of F: "r is more than ε above x"
        self.close: FloatArray = self.far.copy()  # of C: "r is not more than ε below x"
        self.near: FloatArray = self.far.copy()  # the same up to the tolerance
        self.led_far: FloatArray = np.zeros(M)  # of F with the leader of each block
        self.headed: FloatArray = np.zeros((M, M))  # of C over the blocks r headed

    def save(self) -> dict[str, Any]:
        """Its memory."""
        return {name: getattr(self, name) for name in SAVED}

    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""
        for name in SAVED:
            setattr(self, name, memory[name])

    def pay(
        self, far: FloatArray, close: FloatArray, near: FloatArray | None, leader: Any, head: int
    ) -> None:
        """Pay out a block, before which these two were chosen; logs (M, M, J) each.

        ``leader`` may be another one against each candidate.
        """
        grown = total(self.far), total(self.close)
        self.far = self.far + far
        self.close = self.close + close
        if near is not None:
            self.near = self.near + near
        self.led_far += (total(self.far) - grown[0])[np.arange(len(far)), leader]
        self.headed[:, head] += (total(self.close) - grown[1])[:, head]

    def against(self) -> FloatArray:
        """log W of all candidates."""
        far = total(self.far)
        np.fill_diagonal(far, -math.inf)
        own = mixture(far, axis=1) - math.log(len(far) - 1)
        found = np.logaddexp(own, self.led_far) - math.log(2.0)
        good, headed = least_of_others(total(self.close)), least_of_others(self.headed)
        for number, x in enumerate(self.order):
            before = self.order[:number]
            if number:
                cheaper = np.logaddexp(average(good[before]), float(headed[before].sum()))
                found[x] = np.logaddexp(found[x], cheaper - math.log(2.0)) - math.log(2.0)
        return found

    def accepting(self, head: int) -> FloatArray:
        """Log capital on closeness of this one to everybody, up to the tolerance, (M,)."""
        logs = total(self.near)[:, head] + math.log(ACCEPTING / len(self.near))
        logs[head] = math.inf
        return logs

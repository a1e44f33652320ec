"""Evidence that rewards of an arm are not symmetric around their mean, three of them at a time.

Let a ≤ b ≤ c be three rewards of one arm, of one block and stratum, that were put together before
they were seen: T = a + c − 2b says on which side of the middle one the others reach further. Where
the noise of the three has jointly the law of its negative, around one mean, turning all noise
around turns T into −T: given |T|, and given triples before it, both signs of T are equally likely.
So a stake λ between −1 and 1 and a weight w between 0 and 1 that depend on |T| and on earlier
triples alone pay

    1 + λ · w · sign T,

which has mean 1; products over triples, and averages of such products, are martingales that start
at 1, and by Ville's inequality ever reach 1/level with probability at most level. Under skew, T has
mostly one sign, above all where |T| is large: weights increase with |T|, in units of its mean so
far. (Y₁ + Y₂ − 2Y₃ of three rewards by their numbers is symmetric under the same assumption, but
its mean is 0 under skew, too: with 300 exponential rewards it raises an alarm at level 0.05 one
time in ten, T nine times in ten.)

Half of the evidence is about all arms together, which are often skewed to the same side; half is
about each arm by itself.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray

STAKES = np.array([-0.8, -0.4, -0.15, 0.15, 0.4, 0.8])
_KNEES = np.array([1.0, 9.0])  # where weights are a half: |T|² in units of its squared mean
_MANY = 1000  # arms; of more than these nobody looks at each by itself


class Triples:
    """The evidence, block by block.

    Parameters
    ----------
    n_arms
        Arms that there are at the beginning; those that come later count with all others.
    """

    def __init__(self, n_arms: int) -> None:
        self.n_arms = n_arms
        self.arms: dict[int, FloatArray] = {}  # triples, Σ |T|, and log capital of each bet
        self.log_evidence = 0.0  #: the most there has been so far

    @property
    def count(self) -> int:
        return int(sum(row[0] for row in self.arms.values()))

    def add(self, arms: IntArray, rewards: FloatArray) -> None:
        """Rewards of one block and stratum; those of an arm in an order fixed before they came."""
        order = np.argsort(arms, kind="stable")
        arms, rewards = arms[order], rewards[order]
        starts = np.flatnonzero(np.diff(arms, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(arms)]):
            whole = (end - start) // 3 * 3
            if whole:
                key = int(arms[start]) if self.n_arms <= _MANY else 0
                self._bet(key, rewards[start : start + whole].reshape(-1, 3))
        self.log_evidence = max(self.log_evidence, self._now())

    def _bet(self, arm: int, threes: FloatArray) -> None:
        low, middle, high = np.sort(threes, axis=1).T
        lean = (high - middle) - (middle - low)
        size = np.abs(lean)
        row = self.arms.setdefault(arm, np.zeros(2 + len(STAKES) * len(_KNEES)))
        before = row[0] + np.arange(len(size))
        means = (row[1] + np.cumsum(size) - size) / np.maximum(before, 1.0)
        # The first one has nothing to be compared with, and neither has one after nothing but 0.
        seen = (means > 0) & (size > 0)
        ratio = np.divide(size, means, out=np.zeros_like(size), where=seen)
        squared = np.minimum(ratio, 1e100) ** 2
        weights = squared[:, None] / (_KNEES + squared[:, None]) * np.sign(lean)[:, None]
        row[0] += len(size)
        row[1] += float(size.sum())
        row[2:] += np.log1p(np.multiply.outer(weights, STAKES)).sum(axis=0).ravel()

    def _now(self) -> float:
        logs = np.array([row[2:] for row in self.arms.values()])
        if not len(logs):
            return 0.0
        # Options that came later, and those of which nothing is known, leave their share as it is.
        own = logs[[arm < self.n_arms for arm in self.arms]]
        waiting = self.n_arms - len(own)
        top = max(0.0, float(logs.sum(axis=0).max()), float(own.max(initial=0.0)))
        together = float(np.exp(logs.sum(axis=0) - top).mean())
        alone = float(np.exp(own - top).mean(axis=1).sum()) + waiting * math.exp(-top)
        return top + math.log(0.5 * together + 0.5 * alone / self.n_arms)

    def leaning(self) -> list[int]:
        """The arms that lean to one side, most clearly first."""
        found = {arm: float(row[2:].max()) for arm, row in self.arms.items()}
        return sorted((arm for arm in found if found[arm] > 1.0), key=lambda arm: -found[arm])

    def save(self) -> dict[str, Any]:
        rows = np.array(list(self.arms.values()))
        return {"of": self.n_arms, "arms": list(self.arms), "rows": rows, "most": self.log_evidence}

    @classmethod
    def load(cls, memory: dict[str, Any]) -> Triples:
        found = cls(int(memory["of"]))
        rows = np.array(memory["rows"], dtype=np.float64)
        found.arms = {int(arm): row for arm, row in zip(memory["arms"], rows)}
        found.log_evidence = float(memory["most"])
        return found

"""Complete tables whose best option is known, with cells that give no score."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPTIONS, ITEMS = 4, 60
#: where a model changes: items, so many that it can be noticed, the share of cells asked again, and
#: after how many calls it does, about half of what such a study takes
MANY, CANARIES = 100, 0.25
HALF = OPTIONS * MANY // 3
_NAMED = "if a score is the same whenever it is measured"


@dataclass
class World:
    """A table of right and wrong answers; the best option is one answer ahead of its twin."""

    scores: np.ndarray  #: (options, items)
    bad: set[tuple[int, int]]  #: cells that give no score, which count as 0
    calls: Counter[tuple[int, int]] = field(default_factory=Counter)
    worked: Counter[tuple[int, int]] = field(default_factory=Counter)

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, bad: int = 0, items: int = 0, each: int = ITEMS
    ) -> World:
        """Some cells give no score, and on some items none does."""
        rates = np.array([0.3, 0.4, 0.6, 0.6])
        scores = (rng.random((OPTIONS, each)) < rates[:, None]).astype(float)
        none = rng.permutation(each)[:items].tolist()
        cells = {(arm, item) for item in none for arm in range(OPTIONS)}
        others = rng.permutation(OPTIONS * each)[:bad].tolist()
        world = cls(scores, cells | {divmod(int(one), each) for one in others})
        world._make_it_close(rng)
        return world

    def updated(self, rng: np.random.Generator) -> World:
        """Other scores for the same cells: what was good is poor, and the other way round."""
        return World(self.drawn(rng, each=MANY).scores[::-1].copy(), self.bad)

    def _make_it_close(self, rng: np.random.Generator) -> None:
        """The last two are equal, but for one answer of either of them."""
        first, second = rng.permutation([OPTIONS - 2, OPTIONS - 1]).tolist()
        counted = self.counted()
        good = [i for i in range(counted.shape[1]) if not {(first, i), (second, i)} & self.bad]
        for item in rng.permutation(good).tolist():
            ahead = counted[first].sum() - counted[second].sum()
            if ahead == 1:
                return
            self.scores[first, item] = float(ahead < 1)
            counted[first, item] = self.scores[first, item]
        assert counted[first].sum() - counted[second].sum() == 1

    def counted(self) -> np.ndarray:
        """The table that the answer is about: what gives no score counts as the lowest."""
        found = self.scores.copy()
        for cell in self.bad:
            found[cell] = 0.0
        return found

    def wrong(self, answer: Any, later: World, changed: bool) -> bool | None:
        """Whether a claim is false; None: there is none, or it names that scores may change."""
        if not answer.guarantee or (changed and _NAMED in answer.guarantee):
            return None
        return not set(answer.labels) <= (later if changed else self).best

    @property
    def best(self) -> set[str]:
        """The labels of the best."""
        totals = self.counted().sum(axis=1)
        return {self.labels[k] for k in np.flatnonzero(totals == totals.max())}

    labels = tuple("abcd")

    def call(self, arm: int, item: int, otherwise: Any) -> Any:
        """A score; or, of a bad cell, what ``otherwise`` gives."""
        self.calls[arm, item] += 1
        if (arm, item) in self.bad:
            return otherwise()
        self.worked[arm, item] += 1
        return self.scores[arm, item]

    @property
    def repeated(self) -> int:
        """Calls that were made again although they had worked."""
        return self.worked.total() - len(self.worked)

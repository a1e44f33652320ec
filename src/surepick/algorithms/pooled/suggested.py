"""What the settled blocks suggest: how much rewards vary, who leads, and whom to bet on.

No guarantee rests on it: any stake will do, as long as it is chosen before a block is seen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.make import make_direct_market, make_market
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.questions.base import Question
from surepick.algorithms.pooled.values import Values
from surepick.arrays.types import IntArray
from surepick.problem import Problem


class Suggested:
    """Scales, estimates and the market of the next block, each worked out once when asked for.

    Parameters
    ----------
    problem, points
        The problem, and its candidates that differ.
    reading, question
        How blocks are read, and what is asked.
    totals
        All settled blocks.
    first
        Pulls of each arm in blocks without bets, (K,).
    """

    def __init__(
        self,
        problem: Problem,
        points: Any,
        reading: Reading,
        question: Question,
        totals: Totals,
        first: IntArray,
    ) -> None:
        self.problem, self.points, self.totals, self.first = problem, points, totals, first
        self._reading, self._question = reading, question
        self._scales: Scales | None = None
        self._estimate: Any = None
        self._market: Market | None = None
        self._first_fit: BlockFit | None = None

    @property
    def by_wins(self) -> bool:
        """Whether the best is who usually wins, not who has the largest mean."""
        return not self._reading.about_means

    def forget(self, first_too: bool) -> None:
        """Another block was settled; one without bets changes what first blocks can tell, too."""
        self._estimate = self._market = self._scales = None
        self._first_fit = None if first_too else self._first_fit

    @property
    def scales(self) -> Scales:
        """How much rewards vary, as far as the settled blocks say."""
        if self._scales is None:
            self._scales = self._reading.scales(self.totals)
        return self._scales

    @property
    def estimate(self) -> Any:
        """What the guide makes of the settled blocks."""
        if self._estimate is None:
            self._estimate = self._reading.guide.estimate(self.totals, self.scales)
        return self._estimate

    @property
    def market(self) -> Market:
        """Rivals and stakes for the block under way, from least squares on all earlier ones."""
        if self._market is None:
            past, whom = self.estimate, (self._question.about, self._question.rivals())
            if isinstance(past, Values):
                own = (past, self.scales)
                self._market = make_direct_market(self.problem, self.points, *own, *whom)
            else:
                share = self.problem.rank / int(self.first.sum())
                own = (past, self._first_block(), share)
                self._market = make_market(self.problem, self.points, *own, *whom)
        return self._market

    def _first_block(self) -> BlockFit:
        """What the first block can tell, rewards varying as they do, or leads as is likely."""
        scales = self.scales.for_leads()
        if self._first_fit is None or scales.by_arm is not None:
            first = Rows.from_counts(self.first, np.zeros(self.problem.n_arms))
            self._first_fit = block_fit(self.problem, first, scales._replace(variance=1.0))
        if scales.variance == 1.0:
            return self._first_fit
        return self._first_fit._replace(root=self._first_fit.root * math.sqrt(scales.variance))

"""Yes or no of visitors who are counted segment by segment, in a mix that was stated beforehand.

An option's value is Σ w_s p_s: the rate in each segment, weighted by the share w_s that was stated.
A block estimates it by Σ w_s (yes/visitors)_s, so every visitor of a segment with n of them has the
coefficient w_s/n. Bets need nothing else: given how many came, coefficients are fixed. An option
without visitors in some segment has no estimate in that block, and nothing is bet on its pairs.

Weights that follow who came so far would be no bet: what they compare changes with what was seen.

The guide takes an option's estimate for as many visitors as it is worth.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.guide import Guide
from surepick.algorithms.pooled.kinds.bounded import BoundedPayoff, RatesOfReports, Results
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.values import Seen, alone
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.problem.noise import BySegment
from surepick.proof.payoffs.stakes import OF_REPORTS
from surepick.statistics.mixed import worth

_SUCCESSES = 10.0  # that a segment's overall rate counts for in the rate of one option there


class RatesBySegment(RatesOfReports):
    """Rows are an option's visitors of one segment; their ``parts`` say which."""

    on_items = None
    reports_only = True

    def __init__(self, problem: Problem, guide: Guide) -> None:
        super().__init__(problem, guide)
        kind = problem.noise_kind
        assert isinstance(kind, BySegment)
        self._shares = np.array(kind.shares)
        rule = (self._low, self._high, True)
        self.direct_payoff = BoundedPayoff(OF_REPORTS, *rule)

    def of_reports(self) -> Reading | None:
        return None  # a report is not dealt: segments have too few of the tenth that would guide

    @property
    def cells(self) -> int:
        return len(self._shares)

    def by_arm(self, rows: Rows) -> Rows:
        counts, sums = self._table(rows)
        arms = np.unique(rows.arms)
        found, means = worth(self._shares, counts[arms], sums[arms])
        nothing = np.zeros(len(arms))
        return Rows(arms, np.zeros_like(arms), found, means * found, nothing)

    def midway(self, rows: Rows) -> Rows:
        return self.by_arm(rows)

    def scales(self, totals: Totals) -> Scales:
        """Rates of options in segments are predicted by what came in each; means are (K, S)."""
        found = super().scales(totals)
        assert totals.cells is not None
        counts, yes = totals.cells
        overall = (yes.sum(axis=0) + 0.5) / (counts.sum(axis=0) + 1.0)
        rarer = _SUCCESSES / np.minimum(overall, 1.0 - overall)
        shares = (yes + rarer * overall) / (counts + rarer)
        width = self._high - self._low
        turned = 1.0 - shares if self.problem.minimise else shares
        return found._replace(means=self._low + width * turned)

    def _as_they_came(self, totals: Totals) -> Totals:
        return totals  # it is rates of segments that are predicted as they came

    def direct(self, rows: Rows, scales: Scales) -> Seen:
        means, (n, S) = scales.means, (self.problem.n_arms, len(self._shares))
        assert means is not None
        counts, sums = self._table(rows)
        whole = counts.min(axis=1) > 0
        takes = np.where(whole[:, None], self._shares / np.maximum(counts, 1.0), 0.0)
        varies = (means - self._low) * (self._high - means)
        variances = np.where(whole, (takes**2 * counts * varies).sum(axis=1), np.inf)
        columns = np.zeros((n, n, S))
        columns[np.arange(n), np.arange(n)] = takes
        cells = (counts, sums, np.zeros((n, S)), means)
        facts = Results(*(column.reshape(n * S) for column in cells))
        values = alone((takes * sums).sum(axis=1), variances)
        return Seen(values, np.zeros((n, 0)), columns.reshape(n, n * S), facts)

    def _table(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Visitors and rewards of each option in each segment."""
        counts, sums = np.zeros((2, self.problem.n_arms, len(self._shares)))
        np.add.at(counts, (rows.arms, rows.parts), rows.counts)
        np.add.at(sums, (rows.arms, rows.parts), rows.sums)
        return counts, sums

"""Rewards between two bounds, yes or no among them: bets that adapt to each arm's variance."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.pooled.fit import BlockFit, Scales, block_fit
from surepick.algorithms.pooled.guide import Guide, TrustedFeatures
from surepick.algorithms.pooled.kinds.paired import PairedItems
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.ledger import Rows, Totals
from surepick.algorithms.pooled.payoff import ArrayPayoff, Bets, News, log_mean
from surepick.algorithms.pooled.sums import BoundedSums
from surepick.algorithms.pooled.values import Seen, with_zero
from surepick.arrays.backend import Backend
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.proof.payoffs.bounded import array_log_capped_payoff
from surepick.proof.payoffs.stakes import OF_REPORTS, PRECISIONS

_SUCCESSES = 10.0  # that the overall mean counts for in the predicted mean of one arm
_AS_MANY = 10.0  # pulls that the variance of all arms together counts for in that of one
_LEAST_VARIANCE = 1e-9  # of the squared range: nothing divides by zero


class Results(NamedTuple):
    """What a block says, arm by arm, and what was predicted; rewards in the state's unit."""

    counts: FloatArray
    sums: FloatArray
    squares: FloatArray  #: Σ (reward − predicted)²
    means: FloatArray  #: predicted


class BoundedPayoff(ArrayPayoff):
    """The bets of :mod:`surepick.proof.payoffs.bounded`; columns are coefficients of the arms."""

    def __init__(self, precisions: tuple[float, ...], low: float, high: float, yes_no: bool):
        super().__init__(precisions)
        self._rule = (low, high, yes_no)

    def compiled(self, bets: Bets, news: News, block: Any) -> FloatArray:
        return self.staked(self.stakes(bets), news, block)

    def staked(self, stakes: FloatArray, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import bounded_payoffs

        results = tuple(block.facts)
        return bounded_payoffs(
            news.information, news.shift, news.columns, stakes, results, *self._rule
        )

    def on(self, backend: Backend, bets: Bets, news: News, block: Any) -> list[Any]:
        found = []
        for stakes in self.stakes_on(backend, bets):
            logs = [
                array_log_capped_payoff(
                    backend,
                    stake * news.information,
                    news.columns,
                    tuple(block.facts),
                    self._rule,
                    news.shift,
                )
                for stake in stakes
            ]
            found.append(log_mean(backend, logs))
        return found


class DirectBoundedPayoff(BoundedPayoff):
    """Bets on bounded rewards of pairs of arms: only the rewards of the two arms count."""

    def staked(self, stakes: FloatArray, news: News, block: Any) -> FloatArray:
        from surepick.proof.payoffs.kernels import direct_bounded_payoffs

        results = tuple(block.facts)
        return direct_bounded_payoffs(
            news.information, news.shift, news.pairs, stakes, results, *self._rule
        )


class BoundedRewards(Reading):
    """Every arm has a predicted mean, and a variance that goes with it."""

    demands_spread = True
    on_items = PairedItems
    sums = BoundedSums
    yes_no: ClassVar[bool] = False  #: whether the mean says all about how rewards vary
    many: ClassVar[float] = 12  #: options among which some are near the best

    def __init__(
        self, problem: Problem, guide: Guide, precisions: tuple[float, ...] = PRECISIONS
    ) -> None:
        super().__init__(problem, guide)
        bounds = problem.noise_kind.bounds
        assert bounds is not None
        self._low, self._high = sorted(map(problem.seen, bounds))
        rule = (self._low, self._high, self.yes_no)
        self.payoff = BoundedPayoff(precisions, *rule)
        self.direct_payoff = DirectBoundedPayoff(precisions, *rule)

    @property
    def cells(self) -> int:
        return 1  # all rewards of an arm are one segment

    def scales(self, totals: Totals) -> Scales:
        """Predictions by least squares, first with equal weights, then by their own variances.

        They are by what came: how much rewards vary depends on the level as well. Without levels a
        mean may seem to lie near a bound or beyond it, and with it how much rewards vary; what came
        next would then be taken for another level, and the mean would stay there.
        """
        totals = self._as_they_came(totals)
        overall = None if self.yes_no else self.variance(totals)
        plain = self._predicted(totals, Scales())
        first = self._variances(totals, plain, overall)
        shares = self._predicted(totals, Scales(by_arm=first))
        means = self._low + (self._high - self._low) * shares
        each = self._variances(totals, shares, overall)
        return Scales(by_arm=each, means=means, leads=self._leads(totals, each, means))

    def _leads(self, totals: Totals, variances: FloatArray, means: FloatArray) -> FloatArray | None:
        """Squares of how far means may lie apart: rates of a few in a thousand differ by less.

        A reward that is nearly always 0 varies far more than its mean can differ from others: its
        variance is about its mean, a lead at most that, squared. Of few options the best is often
        far ahead, even so; of many, some are near it. (Where features are trusted, a few arms say
        how all of them compare.)
        """
        few = np.count_nonzero(totals.counts) < self.many
        if few or isinstance(self.guide, TrustedFeatures):
            return None
        return np.minimum(variances, np.minimum(means - self._low, self._high - means) ** 2)

    def _as_they_came(self, totals: Totals) -> Totals:
        """What predictions are made from."""
        return totals.as_they_came(self.problem.seen(1.0))

    def _predicted(self, totals: Totals, scales: Scales) -> FloatArray:
        """Where each arm's mean lies between the bounds, 0 to 1, never at an end.

        What the guide says, and as much of the overall mean as ten successes are worth: where
        one reward in 200 is not 0, a hundred zeros do not say that an arm has nothing else.
        """
        n = int(totals.counts.sum())
        width = self._high - self._low
        overall = ((float(totals.sums.sum()) - n * self._low) / width + 0.5) / (n + 1.0)
        means, variances = self.guide.arms(self.guide.estimate(totals, scales))
        worth = np.clip(scales.of(np.arange(len(means))) / np.maximum(variances, 1e-300), 0, n)
        rarer = _SUCCESSES / min(overall, 1.0 - overall)
        share = np.clip((means - self._low) / width, 0.0, 1.0)
        return (worth * share + rarer * overall) / (worth + rarer)

    def _variances(self, totals: Totals, shares: FloatArray, overall: float | None) -> FloatArray:
        square = (self._high - self._low) ** 2
        largest = square * shares * (1.0 - shares)  # of rewards with these means
        if overall is not None:
            freedom = np.maximum(totals.counts - 1, 0)
            own = (_AS_MANY * overall + totals.spreads) / (_AS_MANY + freedom)
            largest = np.minimum(largest, own)
        return np.maximum(largest, _LEAST_VARIANCE * square)

    def fit(self, rows: Rows, scales: Scales) -> BlockFit:
        block = rows.by_arm()
        fit = block_fit(self.problem, block, scales)
        features, variances = self.problem.feature_rows(block.arms), scales.of(block.arms)
        return fit._replace(
            columns=fit.root @ (fit.root.T @ (features.T / variances)),
            facts=self._results(block, scales),
        )

    def allowed_facts(self, block: Rows, scales: Scales, takes: FloatArray) -> dict[str, Any]:
        return {"columns": takes / block.counts, "facts": self._results(block, scales)}

    def with_number(self, seen: Any) -> Any:
        found = super().with_number(seen)
        if not isinstance(seen, Seen) or seen.columns is not None:
            return found
        return found._replace(facts=Results(*(with_zero(column) for column in seen.facts)))

    def direct_facts(self, rows: Rows, scales: Scales) -> Results:
        found, n = self._results(rows.by_arm(), scales), self.problem.n_arms
        columns = [np.zeros(n) for _ in found]
        for everyone, own in zip(columns, found):
            everyone[rows.by_arm().arms] = own
        return Results(*columns)

    def _results(self, block: Rows, scales: Scales) -> Results:
        assert scales.means is not None
        means, counts = scales.means[block.arms], block.counts.astype(np.float64)
        squares = block.spreads + counts * (block.sums / counts - means) ** 2
        return Results(counts, block.sums, squares, means)


class YesNoRewards(BoundedRewards):
    """Rewards 0 or 1: sums say all about them."""

    demands_spread = False
    yes_no = True

    def of_reports(self) -> Reading | None:
        return RatesOfReports(self.problem, self.guide)


class RatesOfReports(YesNoRewards):
    """Yes or no of many visitors at a time, with stakes for reports."""

    many = math.inf  # stakes of reports expect small leads as it is

    def __init__(self, problem: Problem, guide: Guide) -> None:
        super().__init__(problem, guide, OF_REPORTS)

"""Rewards between two bounds, yes or no among them: bets that adapt to each arm's variance.

With c_s the coefficient of pull s in the estimate of a lead, and m_s a prediction of its mean from
the past, a stake λ pays exp(λ Σ c_s m_s) Π_s (1 + λ c_s (Y_s − m_s)): at most 1 on average where
the lead is at most 0. For rewards between the bounds the logarithm of a factor is replaced by
λc(Y − m) − (−log(1 − u) − u) (Y − m)²/g², u = λ|c|g, where g is the largest possible loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surepick.verifier.blocks import Block, ways_of
from surepick.verifier.estimate import ByArm, ByFeatures, one_more
from surepick.verifier.guide import Guide, Outlook
from surepick.verifier.payoffs.base import News, Pairs, Payoff, cut_normal_stakes, known, log_mean

# Of so many options stakes expect leads as large as means are far from their bound; not where
# features are trusted, nor for reports.
_MANY = 12
_CAP = 0.7  # of the stake that one reward could lose
_SUCCESSES = 10.0  # that the mean of all rewards counts for in the predicted mean of an arm
_OTHERS = 10.0  # pulls that the variance of all arms counts for in that of one
_LEAST = 1e-9  # variance, as a share of the squared range


class Results(NamedTuple):
    """What a block says of each of its arms, and what was predicted."""

    counts: np.ndarray
    sums: np.ndarray
    squares: np.ndarray  #: Σ (reward − predicted)²
    predicted: np.ndarray


class Bounded(Payoff):
    """Least squares is weighted by the variances that the past predicts."""

    yes_no = False  # whether the mean says all about how rewards vary

    def __init__(self, guide: Guide, precisions: list[float]) -> None:
        super().__init__(guide, precisions)
        self._plain: Block | None = None  # all that came, no level taken out

    def remember(self, block: Block) -> None:
        told = block.by_arm()
        self._plain = told if self._plain is None else self._plain.plus(told)

    @property
    def _ends(self) -> tuple[float, float]:
        kind, check = self.check.kind, self.check
        low, high = (-kind.high, -kind.low) if check.smaller else (kind.low, kind.high)
        return low / kind.unit, high / kind.unit

    # -- predictions -----------------------------------------------------------------------
    def look(self, past: Block) -> Outlook:
        """Means by least squares with equal weights, then by those of the variances they imply.

        Means are predicted by what came, levels and all.
        """
        if self._plain is not None:
            past = past._replace(sums=self._plain.sums)
        low, high = self._ends
        spread = None if self.yes_no else self.variance(past)

        def variances(arms: np.ndarray, outlook: Outlook) -> np.ndarray:
            share = self._share(past, arms, outlook)
            found = (high - low) ** 2 * share * (1 - share)
            if spread is not None:
                found = np.minimum(found, _shrunk(past, arms, spread))
            return np.maximum(found, _LEAST * (high - low) ** 2)

        even = known()
        once = Outlook(1.0, _kept(lambda arms: variances(arms, even)))
        each = _kept(lambda arms: variances(arms, once))
        means = _kept(lambda arms: low + (high - low) * self._share(past, arms, once))

        def leads(arms: np.ndarray) -> np.ndarray:
            """Means lie apart by no more than they are from the bound that is nearer."""
            reach = np.minimum(means(arms) - low, high - means(arms))
            return np.minimum(each(arms), reach * reach)

        many = len(np.unique(past.arms[past.counts > 0])) >= _MANY
        many = many and "direct" in ways_of(self.check)
        reports = self.check.dealt or self.check.kind.shares
        return Outlook(1.0, each, means, leads if many and not reports else None)

    def _share(self, past: Block, arms: np.ndarray, outlook: Outlook) -> np.ndarray:
        """Where the means of arms lie between the bounds, never at an end.

        What the guide says counts for as many pulls of the arm as it is worth; beside it the mean
        of all rewards counts for as many as give ten successes, or ten failures.
        """
        low, high = self._ends
        pulls = past.pulls
        means, uncertain = self.guide.expect(past, outlook, arms)
        overall = ((past.sums.sum() - pulls * low) / (high - low) + 0.5) / (pulls + 1.0)
        estimate = np.clip((means - low) / (high - low), 0.0, 1.0)
        worth = outlook.variances(arms) / np.maximum(uncertain, 1e-300)
        worth = np.clip(worth, 0.0, pulls)
        rare = _SUCCESSES / min(overall, 1.0 - overall)
        return (worth * estimate + rare * overall) / (worth + rare)

    # -- payoffs ---------------------------------------------------------------------------
    def _linear(self, block: Block, outlook: Outlook, parts: int) -> News:
        block = block.by_arm()
        fit = self.guide.fit(block, outlook)
        per_pull = self.check.arms[block.arms].T / outlook.variances(block.arms)
        return News(ByFeatures(fit), fit.solve(per_pull), self._results(block, outlook))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        block, n = block.by_arm(), len(self.guide.units)
        everyone = [np.zeros(n) for _ in Results._fields]
        for column, own in zip(everyone, self._results(block, outlook), strict=True):
            column[block.arms] = own
        return super()._direct(block, outlook, parts)._replace(facts=Results(*everyone))

    def _allowed(self, block: Block, outlook: Outlook, parts: int) -> News:
        block = block.by_arm()
        view = self.leaning(block, outlook)
        return News(view, view.takes / block.counts, self._results(block, outlook))

    def _results(self, block: Block, outlook: Outlook) -> Results:
        assert outlook.means is not None
        predicted = outlook.means(block.arms)
        squares = block.spreads + block.counts * (block.means - predicted) ** 2
        return Results(block.counts, block.sums, squares, predicted)

    def with_number(self, news: News) -> News:
        found = super().with_number(news)
        if news.columns is not None:
            return found
        return found._replace(facts=Results(*(one_more(column) for column in news.facts)))

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        field, facts = pairs.field, news.facts
        if news.columns is not None:
            coefficients = news.across(field)
        else:  # a pair is compared by its own rewards: r in the first column, x in the second
            mine, others = field.places[:, None], field.rival_places[None, :]
            with np.errstate(divide="ignore"):
                each = np.where(facts.counts > 0, 1 / facts.counts, 0.0)  # 0 of a number
            both = np.stack(np.broadcast_arrays(each[others], -each[mine]), axis=-1)
            coefficients = np.where((pairs.told > 0)[..., None], both, 0.0)
            facts = Results(
                *(
                    np.stack(np.broadcast_arrays(column[others], column[mine]))[..., None]
                    for column in facts
                )
            )
        largest = self._largest_stake(coefficients, facts)[..., None]
        found = []
        for multiple in self.precisions:
            stakes = cut_normal_stakes(*pairs.stakes(multiple)) * pairs.told[..., None]
            stakes = np.minimum(stakes, _CAP * largest)
            shift = pairs.shift[..., None]
            found.append(log_mean(self._log_bets(stakes, coefficients, facts, shift)))
        return found

    def _largest_stake(self, coefficients: np.ndarray, facts: Results) -> np.ndarray:
        """The stake at which one possible reward would lose everything; inf if there is none."""
        low, high = self._ends
        worst = np.minimum(coefficients * low, coefficients * high)  # what a reward is worth
        predicted = facts.predicted
        if predicted.ndim > 1:  # of each pair's own arms
            predicted = predicted[..., 0].transpose(1, 2, 0)
        loss = coefficients * predicted - worst
        with np.errstate(divide="ignore"):
            return 1.0 / np.maximum(loss.max(axis=-1), 0.0)

    def _log_bets(
        self, stakes: np.ndarray, coefficients: np.ndarray, facts: Results, shift: np.ndarray
    ) -> np.ndarray:
        """Log of what each stake (n, R, S) pays."""
        low, high = self._ends
        paid = stakes * shift
        for k, (n, total, squares, predicted) in enumerate(zip(*facts, strict=True)):
            bets = stakes * coefficients[..., k, None]
            if self.yes_no:
                yes = np.round((total - n * low) / (high - low))  # the better of the two
                paid = paid + bets * (n * predicted)
                paid += yes * np.log1p(bets * (high - predicted))
                paid += (n - yes) * np.log1p(bets * (low - predicted))
            else:
                loss = np.where(bets > 0, predicted - low, high - predicted)
                paid = paid + bets * total
                paid -= squares * bets**2 * _curve(np.abs(bets) * loss)
        return paid


class YesNo(Bounded):
    """Rewards 0 or 1: sums say all about them."""

    yes_no = True

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        found = super().log_paid(pairs, news)
        if not self.half_kept:
            return found
        return [np.logaddexp(paid, 0.0) - np.log(2.0) for paid in found]


class BySegment(YesNo):
    """Of visitors counted by segment: bets on rates of segments in shares stated beforehand.

    The estimate of an option is Σ w_s (yes/visitors)_s, w_s being the share stated of segment s; of
    an option that nobody of some segment saw there is none, and nothing is bet on its pairs. Given
    how many came, each visitor has a fixed coefficient, w_s over the visitors of the segment, so
    the bets are those of yes or no. What came is kept: the next block is predicted by it.
    """

    def __init__(self, guide: Guide, precisions: list[float]) -> None:
        super().__init__(guide, precisions)
        self._stated = np.array(self.check.kind.shares)
        size = len(guide.units), len(self._stated)
        self._came, self._yes = np.zeros(size), np.zeros(size)

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        """Rows are segments: that means something of visitors in reports only."""
        demand = self.check.demand
        demand(self.check.record.traffic is not None, "segments are those of visitors in reports")
        demand(own, f"{where}: options are not compared by their own visitors")
        demand(
            bool((block.parts < len(self._stated)).all()), f"{where}: a segment is not among those"
        )
        return 1

    def remember(self, block: Block) -> None:
        low, high = self._ends
        counted = np.round((block.sums - low * block.counts) / (high - low))
        np.add.at(self._came, (block.arms, block.parts), block.counts)
        np.add.at(self._yes, (block.arms, block.parts), counted)

    def by_arm(self, block: Block) -> Block:
        """Each option's rate of the mix, for as many visitors of one rate as would tell as much.

        Where a segment is empty the others stand for it: nothing is proved by that.
        """
        came, sums = self._tables(block)
        arms = np.unique(block.arms)
        counts, totals = np.zeros(len(arms)), np.zeros(len(arms))
        for row, arm in enumerate(arms):
            seen = came[arm] > 0
            weights = self._stated[seen] / self._stated[seen].sum()
            value = math.fsum(weights * sums[arm][seen] / came[arm][seen])
            counts[row] = math.floor(1.0 / math.fsum(weights**2 / came[arm][seen]) + 1e-6)
            totals[row] = counts[row] * value
        return Block(arms, np.zeros_like(arms), counts, totals, np.zeros(len(arms)))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        low, high = self._ends
        came, sums = self._tables(block)
        predicted = self._predicted()
        options, segments = came.shape
        everywhere = came.min(axis=1) > 0
        each = np.zeros_like(came)
        each[everywhere] = self._stated / came[everywhere]
        spread = (each**2 * came * (predicted - low) * (high - predicted)).sum(axis=1)
        own = np.where(everywhere, spread, math.inf)
        view = ByArm((each * sums).sum(axis=1), np.zeros((options, 0)), own)
        columns = np.zeros((options, options * segments))
        for option in range(options):
            columns[option, option * segments : (option + 1) * segments] = each[option]
        flat = [table.ravel() for table in (came, sums, np.zeros_like(came), predicted)]
        return News(view, columns, Results(*flat))

    def _predicted(self) -> np.ndarray:
        """Mean rewards of options in segments, by what came before."""
        low, high = self._ends
        overall = (self._yes.sum(axis=0) + 0.5) / (self._came.sum(axis=0) + 1.0)
        rare = _SUCCESSES / np.minimum(overall, 1.0 - overall)
        return low + (high - low) * (self._yes + rare * overall) / (self._came + rare)

    def _tables(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        came, sums = np.zeros_like(self._came), np.zeros_like(self._came)
        np.add.at(came, (block.arms, block.parts), block.counts)
        np.add.at(sums, (block.arms, block.parts), block.sums)
        return came, sums


def _kept(work_out: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """A function of arms that computes each result once and keeps it."""
    found: dict[bytes, np.ndarray] = {}

    def of(arms: np.ndarray) -> np.ndarray:
        key = arms.tobytes()
        if key not in found:
            found[key] = work_out(arms)
        return found[key]

    return of


def _shrunk(past: Block, arms: np.ndarray, overall: float) -> np.ndarray:
    """Variance of each arm from its own rewards, and what all of them say for ten more."""
    freedom, spreads = np.zeros(len(arms)), np.zeros(len(arms))
    at = np.minimum(np.searchsorted(past.arms, arms), len(past.arms) - 1)
    seen = past.arms[at] == arms
    freedom[seen] = past.counts[at[seen]] - 1
    spreads[seen] = past.spreads[at[seen]]
    return (_OTHERS * overall + spreads) / (_OTHERS + freedom)


def _curve(u: np.ndarray) -> np.ndarray:
    """(−log(1 − u) − u) / u², by its series where u is small."""
    small = u < 0.01
    series = sum(u**k / (k + 2) for k in range(8))
    safe = np.where(small, 0.5, u)
    return np.where(small, series, (-np.log1p(-safe) - safe) / safe**2)

"""Options measured on the same items: bets on differences, item by item."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.verifier.blocks import MOST_PARTS, Block, check_one_by_one
from surepick.verifier.check import Check
from surepick.verifier.estimate import ByArm
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import News, Pairs, Payoff, cut_normal_stakes, known, log_mean
from surepick.verifier.payoffs.symmetric import log_kept, log_tanh_bet

_CAP = 0.7  # share of the largest stake that is used


class _OnItems(NamedTuple):
    """Rewards by arm and item, in units of the problem."""

    met: np.ndarray  #: how many of the block's items each arm has met, (K,)
    rewards: np.ndarray  #: (K, U); nan where it has not
    variance: float  #: of a difference on one item


class Paired(Payoff):
    """A stake pays a product over items, or over groups of them, that both options have met."""

    def look(self, past: Block) -> Outlook:
        return known(math.sqrt(self.variance(past)))

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        check_items(self.check, block, where)
        return 1

    def by_arm(self, block: Block) -> Block:
        """One row for each arm, net of what items have in common.

        Least squares on arms and items; spreads are those of residuals, as if they had the degrees
        of freedom of rewards within arms.
        """
        if np.ptp(block.sums) == 0.0:
            return block.by_arm()
        arms, place = np.unique(block.arms, return_inverse=True)
        items = int(block.parts.max()) + 1
        columns = np.hstack(
            [place[:, None] == np.arange(len(arms)), block.parts[:, None] == np.arange(items)]
        ).astype(float)
        fit = np.linalg.lstsq(columns, block.sums, rcond=1e-10)[0]
        rest = block.sums - columns @ fit
        effects, counts = fit[: len(arms)], columns[:, : len(arms)].sum(axis=0)
        effects = effects - (counts @ effects) / block.pulls + block.sums.sum() / block.pulls
        free = max(block.pulls - len(arms) - items + 1, 1.0)
        spreads = np.bincount(place, weights=rest**2) * max(block.pulls - len(arms), 1.0) / free
        spreads[spreads < 1e-24 * float((block.sums**2).sum())] = 0.0  # rounding
        apart = block.sums - block.sums.mean()
        least = 1e-4 * float((apart**2).sum()) / max(block.pulls - 1, 1.0)
        spreads = np.maximum(spreads, least * (counts - 1))
        return Block(arms, np.zeros_like(arms), counts, effects * counts, spreads)

    def read(self, way: str, block: Block, outlook: Outlook, parts: int) -> News:
        n, units = len(self.guide.units), self.guide.units[block.arms]
        met = np.bincount(block.arms, minlength=n)
        rewards = np.full((n, int(block.parts.max()) + 1), np.nan)
        rewards[block.arms, block.parts] = block.sums * units
        variance = float(outlook.variances(block.arms)[0] * units[0] ** 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(met > 0, np.nansum(rewards, axis=1) / met, 0.0)
            own = np.where(met > 0, variance / met, math.inf)
        news = News(ByArm(means, np.zeros((n, 0)), own), facts=_OnItems(met, rewards, 2 * variance))
        return news._replace(rounding=self.rounding(block, news.view))

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        found = [np.zeros(pairs.told.shape) for _ in self.precisions]
        on, field = news.facts, pairs.field
        stakes = [cut_normal_stakes(*pairs.stakes(multiple)) for multiple in self.precisions]
        for i, x in enumerate(field.places):
            for a, r in enumerate(field.rival_places):
                common = int(min(on.met[x], on.met[r]))
                if not common or x == r:
                    continue
                apart = on.rewards[r, :common] - on.rewards[x, :common]
                for j, each in enumerate(stakes):
                    shift = float(pairs.shift[i, a])
                    found[j][i, a] = self._pay(apart, each[i, a], on.variance, shift)
        return found

    def _pay(self, apart: np.ndarray, stakes: np.ndarray, variance: float, shift: float) -> float:
        stakes = stakes * (len(apart) / variance)
        if not self.check.kind.bounded:
            groups = 1 << (min(len(apart), MOST_PARTS).bit_length() - 1)
            means = np.array([apart[g::groups].mean() for g in range(groups)]) + shift
            logs = log_tanh_bet(np.multiply.outer(stakes / groups, means)).sum(axis=-1)
            return float(log_kept(log_mean(logs)))
        width = (self.check.kind.high - self.check.kind.low) / self.check.kind.unit
        each = np.minimum(stakes / len(apart), _CAP / width)
        logs = np.log1p(np.multiply.outer(each, apart)).sum(axis=-1)
        return float(log_mean(logs + each * len(apart) * shift))


def check_items(check: Check, block: Block, where: str) -> None:
    """Every option must have met the first items of the block, one pull each."""
    several, gaps = "an item has more than one pull", "has not met the first items of the block"
    check_one_by_one(check, block, where, several, gaps)

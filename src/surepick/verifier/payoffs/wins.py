"""Numbers of any kind: bets on who wins direct comparisons of single rewards."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Block, check_one_by_one
from surepick.verifier.check import Check
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import (
    News,
    Pairs,
    Payoff,
    cut_normal_stakes,
    known,
    log_mean,
    normal_quantile,
)
from surepick.verifier.payoffs.paired import Paired

_GROUP = 64  # comparisons in a group, at most
_CAP = 0.95  # share of the largest stake that is used
_WEIGHT = 6.0 / math.sqrt(math.pi)  # stake for a lead of one, among very many of the other option


class Wins(Payoff):
    """A stake pays an average over all ways to compare the rewards of two options."""

    counts_wins = True

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        check_singles(self.check, block, where)
        return 1

    def look(self, past: Block) -> Outlook:
        return known()

    def by_arm(self, block: Block) -> Block:
        """One row for each arm: normal scores of ranks, in units of how they vary within arms."""
        scores = _scores(block.means)
        merged = block._replace(sums=scores * block.counts, spreads=0.0 * scores).by_arm()
        altogether = float((block.counts * scores**2).sum()) / block.pulls
        freedom = block.pulls - len(merged.arms) + 1.0
        variance = (float(merged.spreads.sum()) + altogether) / freedom
        scale = math.sqrt(variance) if variance > 0.0 else 1.0
        return merged._replace(sums=merged.sums / scale, spreads=merged.spreads / scale**2)

    def of_strata(self, strata: list[Block]) -> Block:
        found = [self.by_arm(block) for block in strata]
        total = found[0]
        for more in found[1:]:
            total = total.plus(more)
        return total

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        found = super()._direct(self.by_arm(block), outlook, parts)
        return found._replace(facts={int(arm): block.of(arm).sums for arm in np.unique(block.arms)})

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        found = [np.zeros(pairs.told.shape) for _ in self.precisions]
        field = pairs.field
        stakes = [cut_normal_stakes(*pairs.stakes(multiple)) for multiple in self.precisions]
        for i, x in enumerate(field.places.tolist()):
            for a, r in enumerate(field.rival_places.tolist()):
                if x == r or x not in news.facts or r not in news.facts:
                    continue
                both = np.stack([each[i, a] for each in stakes])
                paid = _log_paid(news.facts[r], news.facts[x], both, 0.5 - pairs.shift[i, a])
                for j, value in enumerate(log_mean(paid)):
                    found[j][i, a] = value
        return found


class PairedWins(Paired):
    """Stakes on who wins on an item, item by item."""

    counts_wins = True

    def by_arm(self, block: Block) -> Block:
        return super().by_arm(self._scored(block))

    def read(self, way: str, block: Block, outlook: Outlook, parts: int) -> News:
        plain = super().read(way, block, outlook, parts)
        news = super().read(way, self._scored(block), outlook, parts)
        return news._replace(facts=news.facts._replace(rewards=plain.facts.rewards))

    def _scored(self, block: Block) -> Block:
        sums = np.empty(len(block.sums))
        for item in np.unique(block.parts):
            here = block.parts == item
            sums[here] = _scores(block.sums[here])
        return block._replace(sums=sums)

    def _pay(self, apart: np.ndarray, stakes: np.ndarray, variance: float, shift: float) -> float:
        mean = 0.5 - shift
        each = np.minimum(stakes * 4.0 / math.sqrt(2 * math.pi * variance), _CAP / mean)
        y = np.where(apart > 0, 1.0, np.where(apart == 0, 0.5, 0.0))
        return float(log_mean(np.log1p(np.multiply.outer(each, y - mean)).sum(axis=-1)))


def _scores(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of ranks, those that are alike sharing theirs."""
    _, place, met = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(met) - 0.5 * met
    return _quantiles(middle / len(values))[place]


def _log_paid(r: np.ndarray, x: np.ndarray, stakes: np.ndarray, mean: float) -> np.ndarray:
    """Log of what stakes on "r beats x" pay."""
    few, many = sorted((len(r), len(x)))
    each = np.minimum(stakes * _WEIGHT / (1.0 + few / many), _CAP / mean)
    groups = 1
    while few > _GROUP * groups:
        groups *= 2
    total = np.zeros(stakes.shape)
    for g in range(groups):
        mine, others = r[g::groups], x[g::groups]
        # Seen from the fewer: of how many of the others each wins, and how many tie with it.
        if len(r) <= len(x):
            wins = [(int((others < y).sum()), int((others == y).sum())) for y in mine]
        else:
            wins = [(int((mine > y).sum()), int((mine == y).sum())) for y in others]
        total += _log_average(wins, max(len(mine), len(others)), each, mean)
    return total


def _log_average(
    wins: list[tuple[int, int]], k: int, stakes: np.ndarray, mean: float
) -> np.ndarray:
    """Log of the average payoff over all matchings of a group, each with another one of k.

    A factor is a loss, plus half a stake where it does not lose, plus half a stake where it wins.
    The share of matchings in which so many of these hold is a product over those concerned, the one
    with the fewest possibilities first.
    """
    n = len(wins)
    sums = np.zeros(n + 1)
    sums[0] = 1.0
    for won, tied in sorted(set(wins)):
        alike = wins.count((won, tied))
        new = np.zeros(n + 1)
        for j in np.flatnonzero(sums).tolist():
            for a in range(alike + 1):
                first = _falling(won - j, a) / _falling(k - j, a) if a <= won - j else 0.0
                if a and not first:
                    break
                for b in range(alike - a + 1):
                    left = won + tied - j - a
                    if b > left:
                        break
                    then = _falling(left, b) / _falling(k - j - a, b)
                    ways = math.comb(alike, a) * math.comb(alike - a, b) * 0.5 ** (a + b)
                    new[j + a + b] += sums[j] * ways * first * then
        sums = new
    chosen = np.arange(n + 1)
    lost = 1.0 - stakes[..., None] * mean
    with np.errstate(divide="ignore"):
        logs = np.log(sums) + (n - chosen) * np.log(lost)
        logs = logs + np.where(chosen > 0, chosen * np.log(stakes[..., None]), 0.0)
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]).sum(axis=-1))


def _falling(n: int, steps: int) -> float:
    """n (n − 1) … over so many steps."""
    return math.prod(float(n - i) for i in range(steps))


def _quantiles(shares: np.ndarray) -> np.ndarray:
    """Normal quantiles of shares between 0 and 1."""
    low = np.minimum(shares, 1.0 - shares)
    found = normal_quantile(np.log(low))
    return np.where(low == 0.5, 0.0, np.where(shares < 0.5, found, -found))


def check_singles(check: Check, block: Block, where: str) -> None:
    """Every reward must be listed by itself, under the number that it was dealt."""
    several, gaps = "rewards are not listed one by one", "does not have its numbers in turn"
    check_one_by_one(check, block, where, several, gaps)

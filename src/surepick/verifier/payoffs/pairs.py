"""Comparisons of two options: what they were, what was seen before them, and what stakes pay.

Arms are ordered pairs, numbered by the later option: with m the larger of a and b, and l the
smaller, arm m (m − 1) + 2 l + [a > b] shows a first and b second. The rows of a block are single
comparisons, numbered as they were planned. Of each, the seed of the order says by a fair coin who
was shown first and, where it is asked who wins most, who the opponent was. Stakes come from blocks
before, by a Bradley–Terry fit and the pair's own record; purses are mixtures over five of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum
from surepick.verifier.options import pair_of
from surepick.verifier.order import order_of, random_words
from surepick.verifier.record import Batch

SHARES = np.log([1 / 2, 1 / 8, 1 / 8, 1 / 8, 1 / 8])  # of the five stakes
ACCOUNTS = len(SHARES)
_FIXED = np.array([0.1, 0.3, 0.7, 1.2])
_FIXED_LEADS = np.array([0.05, 0.15, 0.35, 0.6])
_SLOPE, _FROM, _OWN, _RIDGE = 3.6, 0.47, 10.0, 0.5
_SHARE, _MOST, _FROM_LEAD = 0.9, 0.9, -0.0131
_CAP = 0.9  # of the stake that may lose everything
_ORDER, _OPPONENT = 6, 7  # streams of random numbers


class Comparison(NamedTuple):
    """One comparison."""

    first: int
    second: int
    y: float  #: 1 where the first is preferred
    served: int  #: for whose sake it was made


# -- what was measured ---------------------------------------------------------------------
def check_pairs(check: Check) -> None:
    """Arms must be all ordered pairs of the candidates, which are told apart by their rows."""
    K = len(check.candidates)
    check.demand(check.kind.of_pairs, "its measurements are no comparisons of two")
    check.demand(K >= 2 and len(check.arms) == K * (K - 1), "its arms are not all pairs of options")
    check.demand(len(check.distinct()) == K, "two of its options are the same")
    check.demand(not check.past, "past comparisons count for nothing")
    options = np.asarray(check.raw_candidates[np.arange(K)], dtype=float)
    rows = np.asarray(check.raw_arms[np.arange(K * (K - 1))], dtype=float)
    first, second = zip(*(pair_of(arm) for arm in range(K * (K - 1))))
    due = options[list(first)] - options[list(second)]
    size = 1e-9 * (1.0 + np.abs(options).max())
    check.demand(np.abs(rows - due).max() <= size, "its arms are not the pairs of its options")


def features_of(check: Check, n: int) -> np.ndarray:
    """Features of the first options behind the two columns that tell them apart."""
    table = np.asarray(check.raw_candidates[np.arange(n)], dtype=float)[:, 2:]
    table = table - table.mean(axis=0)
    largest = np.abs(table).max(axis=0, initial=0.0)
    return table[:, largest > 0] / largest[largest > 0]


def numbered(check: Check) -> list[tuple[int, Batch]]:
    """All blocks with their numbers, which say by which random numbers they were put in order."""
    numbers = exact.whole_numbers(check.evidence["blocks"], "the numbers of its blocks").tolist()
    changed = bool(check.record.corrections)
    check.demand(len(numbers) == len(check.batches), "blocks and batches do not correspond")
    fine = all(a < b for a, b in zip([-1, *numbers], numbers))
    check.demand(fine, "its blocks are not numbered in their order")
    check.demand(
        changed or numbers == list(range(len(numbers))), "blocks are left out of its record"
    )
    return list(zip(numbers, check.batches))


def read_comparisons(
    check: Check, number: int, batch: Batch, there: np.ndarray | None
) -> list[Comparison]:
    """Comparisons of a block as they were planned, put in order by the seed.

    ``there`` are those that opponents are drawn from, where they are.
    """
    seed, changed = order_of(check).seed, bool(check.record.corrections)
    where = f"block {number}"
    check.demand((batch.counts == 1).all(), f"{where} sums up comparisons")
    rows = sorted((k, arm, y) for (arm, k), y in zip(batch.rows, batch.sums.tolist()))
    places = [place for place, _, _ in rows]
    whole = places == list(range(len(rows)))
    check.demand(whole or (changed and len(set(places)) == len(places)), f"{where} has gaps")
    coins = [word >> 63 for word in random_words(seed, number, _ORDER, places)]
    drawn = [] if there is None else random_words(seed, number, _OPPONENT, places)
    block = []
    for row, (_, arm, y) in enumerate(rows):
        a, b = pair_of(arm)
        if there is not None:
            who, other = (b, a) if coins[row] else (a, b)
            others = [int(r) for r in there if r != who]
            due = others[drawn[row] % len(others)]
            check.demand(other == due, f"{where}: opponents are not those that were drawn")
        else:
            who = a
            check.demand((a > b) == bool(coins[row]), f"{where}: the order is not that of the coin")
        block.append(Comparison(a, b, float(y), who))
    return block


# -- what was seen before ------------------------------------------------------------------
class Seen:
    """What was seen before a block, and what it leads to expect."""

    def __init__(self, K: int) -> None:
        self.K = K
        self.n, self.s = np.zeros((K, K)), np.zeros((K, K))  # by first and second
        self.prior = np.eye(K)

    def take(self, features: np.ndarray) -> None:
        """Go by the features of the options that there are; of others nothing was seen."""
        n = len(features)
        self.prior = np.eye(self.K)
        self.prior[:n, :n] = np.linalg.inv(np.eye(n) + features @ features.T)

    def add(self, block: list[Comparison]) -> None:
        for one in block:
            self.n[one.first, one.second] += 1
            self.s[one.first, one.second] += one.y

    def shares(self) -> np.ndarray:
        """How often the row was preferred to the column, drawn a little towards a half."""
        return (self.s + (self.n - self.s).T + 1.0) / (self.n + self.n.T + 2.0)

    def expected(self) -> np.ndarray:
        """How likely the row is preferred to the column."""
        theta, bias = self.fit()
        lead = theta[:, None] - theta
        model = 0.5 / (1 + np.exp(-(lead + bias))) + 0.5 / (1 + np.exp(-(lead - bias)))
        met = self.n + self.n.T
        won = self.s + (self.n - self.s).T
        return (won + _OWN * model) / (met + _OWN)

    def fit(self) -> tuple[np.ndarray, float]:
        """The most likely strengths and bias under a ridge: the one root of a monotone slope."""
        K = self.K
        pairs = np.argwhere(self.n > 0)
        design = np.zeros((len(pairs), K + 1))
        design[np.arange(len(pairs)), pairs[:, 0]] = 1.0
        design[np.arange(len(pairs)), pairs[:, 1]] -= 1.0
        design[:, K] = 1.0
        n, s = self.n[tuple(pairs.T)], self.s[tuple(pairs.T)]
        ridge = np.zeros((K + 1, K + 1))
        ridge[:K, :K], ridge[K, K] = _RIDGE * self.prior, _RIDGE

        def loss(at: np.ndarray) -> float:
            z = design @ at
            return float((n * np.logaddexp(0.0, z) - s * z).sum() + 0.5 * at @ ridge @ at)

        found = np.zeros(K + 1)
        for _ in range(200):
            p = 1 / (1 + np.exp(-design @ found))
            slope = design.T @ (s - n * p) - ridge @ found
            curve = (design * (n * p * (1 - p))[:, None]).T @ design + ridge
            step = np.linalg.solve(curve, slope)
            if np.abs(step).max() < 1e-12:
                break
            length = 1.0
            while loss(found + length * step) > loss(found) + 1e-9 and length > 1e-6:
                length /= 2
            found = found + length * step
        return found[:K], float(found[K])


# -- what stakes pay -----------------------------------------------------------------------
class Round:
    """A block, with what was expected before it."""

    def __init__(self, block: list[Comparison], expected: np.ndarray) -> None:
        self._block, self._expected = block, expected

    def beats(self, by: float = 0.0) -> np.ndarray:
        """What bets on "r is preferred to x in more than ½ − by" paid, (x, r, stakes)."""
        found = np.zeros((*self._expected.shape, ACCOUNTS))
        for a, b, y, _ in self._block:
            for x, r, won in ((a, b, 1.0 - y), (b, a, y)):
                found[x, r] += _paid(self._expected[r, x] + by, won - 0.5 + by, 0.5 - by)
        return found


def _paid(p: float, gain: float, worst: float) -> np.ndarray:
    """On who seems to be preferred this often, and gains this; it might lose the worst."""
    follows = min(max(_SLOPE * (p - 0.5), 0.0), _SLOPE / 2)
    stakes = np.append(follows, _FIXED * (p > _FROM))
    return np.log1p(np.minimum(stakes, _CAP / max(worst, 0.5)) * gain)


def paid_for_leads(edge: float, spread: float, gains: np.ndarray) -> np.ndarray:
    """On somebody who wins more often by this, as it seems, over all comparisons of a block."""
    follows = min(max(_SHARE * edge / (spread + edge * edge), 0.0), _MOST)
    stakes = np.append(follows, _FIXED_LEADS * (edge > _FROM_LEAD))
    return np.log1p(np.multiply.outer(gains, stakes)).sum(axis=0)


def mixed(logs: np.ndarray) -> np.ndarray:
    """The mixture over the five stakes, which come last."""
    return log_sum(logs + SHARES)


def costs_of_options(costs: np.ndarray, K: int) -> np.ndarray:
    """What each option costs, from what pairs of at least three do, to nine digits."""
    with_first = [costs[k * (k - 1)] for k in range(1, K)]
    first = (with_first[0] + with_first[1] - costs[4]) / 2  # arm 4 is (1, 2)
    found = np.array([first, *(both - first for both in with_first)])
    return np.round(found / found.max(), 9)

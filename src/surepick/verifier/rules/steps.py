"""How much capital a claim against a baseline takes if all claims are to be right together.

Statements about one candidate: "not better", "not worse" and, with epsilon, "at least epsilon
away". One of the first two is true at least, and never all three. Capital against each is weighted
by what the block without bets said. The weighted sum over all true statements is a supermartingale
and reaches 1/delta times their weight with probability at most delta. A claim refutes a statement:
it is safe if the sum over every set with that statement, which may be the true set if all earlier
claims are right, has come so far.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np

_LEAST = 1e-4  # what is taken to be the least likely


class Steps:
    """Weights, and the capital that follows from them.

    Parameters
    ----------
    lifts, variances, units : array, (n,)
        What candidates seemed to be ahead of the baseline before anything was bet; and what a pull
        of each would tell about it.
    near : float
        What is close enough; 0: nothing is.
    """

    def __init__(
        self, lifts: np.ndarray, variances: np.ndarray, units: np.ndarray, near: float
    ) -> None:
        own = [_odds(*seems, near) for seems in zip(lifts, variances, strict=True)]
        takes = [math.sqrt(x * x + 1.5 * v) for x, v in zip(lifts, variances)]
        self.weights = [[w * min(takes) / take for w in row] for row, take in zip(own, takes)]
        square = statistics.median(lifts**2 * units) / 0.455 - statistics.median(variances * units)
        self.prior = 1.0 / min(max(10.0 * square, 1.0), 20.0)

    @classmethod
    def even(cls, n: int, kinds: int) -> Steps:
        """Where nothing was seen before the first bets: all weights are the same."""
        found = cls.__new__(cls)
        found.weights, found.prior = [[1.0] * kinds for _ in range(n)], 1.0
        return found

    def accounts(self, start: np.ndarray) -> np.ndarray:
        """What is added to the log capital of the two accounts of each way, at the start."""
        turned = min(-math.log(self.prior) / math.log(4.0), 1.0)
        shares = np.array([1 + turned, 2 - turned]) / 3
        return np.log(shares / (start[:2] / start[:2].sum()))

    def needed(self, reached: np.ndarray, made: list[int | None], kind: int, place: int) -> float:
        """Log capital over 1/delta that a claim takes.

        Parameters
        ----------
        reached : array, (2 or 3, n)
            Log capital over 1/delta, against each statement.
        made : list
            What was claimed about each candidate.
        kind, place
            What is claimed, and about which candidate.
        """
        lack = [
            [weight * max(1.0 - math.exp(min(log, 0.0)), 0.0) for weight, log in zip(row, logs)]
            for row, logs in zip(self.weights, reached.T, strict=True)
        ]
        total = 0.0
        for x, row in enumerate(lack):
            if x == place:
                sets = [rest for rest in _sets(len(row)) if kind in rest]
                total += max(sum(row[j] for j in rest if j != kind) for rest in sets)
            else:
                sets = [rest for rest in _sets(len(row)) if made[x] not in rest]
                total += max(sum(row[j] for j in rest) for rest in sets)
        return math.log1p(total / self.weights[place][kind])


def _sets(kinds: int) -> list[tuple[int, ...]]:
    """Which statements about one candidate may be true together."""
    found = [rest for n in (1, 2) for rest in itertools.combinations(range(kinds), n)]
    return [rest for rest in found if 0 in rest or 1 in rest]


def _odds(lift: float, variance: float, near: float) -> list[float]:
    """Of better, worse and close, with long tails as variances are estimates."""
    error = math.sqrt(variance)
    short = [-lift, lift] if near == 0 else [-lift, lift, abs(lift) - near]
    likely = [min(max(_tail(by / error), _LEAST), 1.0 - _LEAST) for by in short]
    return [p / (1.0 - p) for p in likely]


def _tail(z: float) -> float:
    """How likely more than z standard errors are."""
    tail = 0.5 / (1.0 + z * z)
    return tail if z > 0 else 1.0 - tail

"""Truths that features describe more or less well: made up, for measuring what that costs.

All are tables of factors, with an intercept and a column for every further level (or one for a
dose), and the mean reward of every option.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surepick.arrays.types import FloatArray

LEVELS = (2, 3, 4)  # of the tables with misfit: 24 options
LEAD = 0.3  # of the best, at least, where the spread of means is one
_DRAWS = 1000  # until a truth has such a lead
_CURVE = 3.0  # how soon a dose saturates


class Truth(NamedTuple):
    """Options, by their features and what they are worth."""

    features: FloatArray  #: (K, d)
    means: FloatArray  #: (K,)

    @property
    def best(self) -> int:
        return int(np.argmax(self.means))

    @property
    def lead(self) -> float:
        """Of the best over the second best."""
        second, first = np.sort(self.means)[-2:]
        return float(first - second)

    @property
    def misfit(self) -> float:
        """The smallest misfit that holds: that of the line whose largest deviation is smallest."""
        from scipy.optimize import linprog

        k, d = self.features.shape
        ones = np.ones((k, 1))
        found = linprog(
            np.append(np.zeros(d), 1.0),
            A_ub=np.block([[self.features, -ones], [-self.features, -ones]]),
            b_ub=np.append(self.means, -self.means),
            bounds=[(None, None)] * d + [(0.0, None)],
        )
        return float(found.x[-1])

    def as_rates(self) -> Truth:
        """The same from 10 % to 50 %, for yes and no."""
        low, high = self.means.min(), self.means.max()
        return self._replace(means=0.1 + 0.4 * (self.means - low) / (high - low))


# -- features that explain a share of the means -----------------------------------------------
def factorial(levels: tuple[int, ...]) -> FloatArray:
    """Features of all combinations of levels: an intercept, and each level but the first."""
    cells = np.array(list(itertools.product(*(range(n) for n in levels))))
    columns = [(cells[:, [i]] == np.arange(1, n)) for i, n in enumerate(levels)]
    return np.concatenate([np.ones((len(cells), 1)), *columns], axis=1).astype(float)


def explained(levels: tuple[int, ...], share: float, rng: np.random.Generator) -> Truth:
    """Means of spread one, this share of whose variance is due to the features."""
    features = factorial(levels)
    linear = _of_spread_one(features[:, 1:] @ rng.normal(size=features.shape[1] - 1))
    rest = _of_spread_one(_unexplained(features, rng.normal(size=len(features))))
    return Truth(features, np.sqrt(share) * linear + np.sqrt(1.0 - share) * rest)


def lifted(truth: Truth, by: float) -> Truth:
    """The best is this much better."""
    means = truth.means.copy()
    means[truth.best] += by
    return truth._replace(means=means)


# -- features that mislead ---------------------------------------------------------------------
def interactions(rng: np.random.Generator) -> Truth:
    """Three tenths of the variance are due to pairs of levels that features do not know."""
    features = factorial(LEVELS)
    pairs = [features[:, i] * features[:, j] for i, j in itertools.combinations(range(1, 7), 2)]
    effects = _unexplained(features, np.column_stack(pairs) @ rng.normal(size=len(pairs)))
    linear = _of_spread_one(features[:, 1:] @ rng.normal(size=features.shape[1] - 1))
    return Truth(features, np.sqrt(0.7) * linear + np.sqrt(0.3) * _of_spread_one(effects))


def dose(rng: np.random.Generator, price: float) -> Truth:
    """Four doses, each with less effect than the one before, beside a factor of six levels.

    Features know the dose as a number. With a price on doses, one in the middle is the best.
    """
    levels = factorial((4, 6))
    doses = levels[:, 1:4] @ np.arange(1, 4) / 3.0
    curve = (1.0 - np.exp(-_CURVE * doses)) / (1.0 - np.exp(-_CURVE)) - price * doses
    features = np.column_stack([levels[:, :1], doses, levels[:, 4:]])
    return Truth(features, _of_spread_one(4.0 * curve + levels[:, 4:] @ rng.normal(size=5)))


def outlier(rng: np.random.Generator) -> Truth:
    """The best is an option of which features say that it is among the worse half."""
    truth = explained(LEVELS, 1.0, rng)
    means = truth.means.copy()
    worse = np.argsort(means)[: len(means) // 2]
    means[rng.choice(worse)] = means.max() + LEAD
    return truth._replace(means=means)


def deviations(rng: np.random.Generator, gaps: float) -> Truth:
    """Every option deviates by as much as so many gaps, each amount below being as likely.

    The gap is that between the two best by features.
    """
    truth = explained(LEVELS, 1.0, rng)
    if truth.lead < LEAD:
        return truth._replace(means=np.zeros(len(truth.means)))  # to be drawn again
    most = gaps * truth.lead
    return truth._replace(means=truth.means + rng.uniform(-most, most, size=len(truth.means)))


MISFITS: dict[str, Callable[[np.random.Generator], Truth]] = {
    "interactions left out": interactions,
    "a saturating dose": lambda rng: dose(rng, 0.0),
    "a saturating dose that has a price": lambda rng: dose(rng, 0.9),
    "one outlying option": outlier,
    "deviations of 0.1 gaps": lambda rng: deviations(rng, 0.1),
    "deviations of 0.5 gaps": lambda rng: deviations(rng, 0.5),
    "deviations of 1 gap": lambda rng: deviations(rng, 1.0),
    "deviations of 3 gaps": lambda rng: deviations(rng, 3.0),
}


def misfitting(name: str, rng: np.random.Generator) -> Truth:
    """One of ``MISFITS``, drawn until the best can be told from the second best."""
    for _ in range(_DRAWS):
        truth = MISFITS[name](rng)
        if truth.lead >= 0.5 * LEAD:
            return truth
    raise RuntimeError(f"{name}: none of {_DRAWS} truths has a lead of {0.5 * LEAD:g}")


# -- in common ---------------------------------------------------------------------------------
def _of_spread_one(values: FloatArray) -> FloatArray:
    return (values - values.mean()) / values.std()


def _unexplained(features: FloatArray, values: FloatArray) -> FloatArray:
    """What least squares leaves."""
    return values - features @ np.linalg.lstsq(features, values, rcond=None)[0]

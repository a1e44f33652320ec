"""What bets pay: what every kind of noise shares.

Everything is about pairs of a candidate x and a rival r, in arrays with a row per candidate and a
column per rival.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.check import Check
from surepick.verifier.estimate import Fit, log_twice_normal

_DIGITS = 1e-12  # of rewards: smaller differences are taken for rounding


class Outlook(NamedTuple):
    """How much single rewards vary, as far as the blocks before say."""

    scale: float  #: a typical standard deviation
    variances: Callable[[np.ndarray], np.ndarray]  #: of the rewards of some arms
    means: Callable[[np.ndarray], np.ndarray] | None = None  #: predicted, where bets need them


class News(NamedTuple):
    """What a block says."""

    fit: Fit
    columns: np.ndarray | None = None  #: (d, q): bets need these of every difference r − x
    facts: Any = None  #: what else they need


class Pairs(NamedTuple):
    """What was staked on "r beats x", and what the block says about it."""

    x: np.ndarray  #: candidates, (n, d)
    rivals: np.ndarray  #: (R, d)
    lead: np.ndarray  #: of r over x, before the block (and the shift)
    information: np.ndarray  #: about it, before the block
    unit: np.ndarray  #: what the first block would tell with one pull per dimension
    new_lead: np.ndarray  #: as the block has it (and the shift)
    told: np.ndarray  #: information of the block; 0 where it says nothing
    shift: float = 0.0

    def on_leader(self, some: np.ndarray, shift: float) -> Pairs:
        """Some of the candidates with the first rival only, whose leads are raised."""
        lead, information, unit, new_lead, told = (table[some, :1] for table in self[2:7])
        raised = lead + shift, information, unit, new_lead + shift, told
        return Pairs(self.x[some], self.rivals[:1], *raised, shift)

    def across(self, columns: np.ndarray) -> np.ndarray:
        """(r − x)ᵀ of each column, (n, R, q)."""
        return (self.rivals @ columns)[None, :, :] - (self.x @ columns)[:, None, :]

    def stakes(self, multiple: float) -> tuple[np.ndarray, np.ndarray]:
        """Score and precision of the stakes of the account with this prior precision."""
        return self.information * self.lead, self.information + multiple * self.unit


class Payoff(ABC):
    """Bets under one kind of noise."""

    in_parts = False  #: whether the pulls of a block are dealt into parts beforehand

    def __init__(self, check: Check, precisions: list[float]) -> None:
        self.check, self.precisions = check, precisions

    @abstractmethod
    def look(self, past: Block) -> Outlook:
        """What the past says about how rewards vary; one row for each arm."""

    def read(self, block: Block, outlook: Outlook, parts: int) -> News:
        """What a block says that was dealt into so many parts."""
        return News(self.fit(block.by_arm(), outlook))

    @abstractmethod
    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        """Log of what each bet pays, for each prior precision."""

    def fit(self, block: Block, outlook: Outlook) -> Fit:
        """Least squares by weights that the past suggests; one row for each arm."""
        deviations = np.sqrt(outlook.variances(block.arms))
        rows = self.check.arms[block.arms] / deviations[:, None]
        sums = block.sums / deviations
        return Fit(rows, block.counts, sums, self.check.whiten, self.check.basis)

    def residuals(self, block: Block, fit: Fit) -> tuple[float, float, float]:
        """Residual sum of squares, its degrees of freedom, and the least that is no rounding."""
        means = block.means
        apart = means - self.check.arms[block.arms] @ fit.theta
        squares = block.spreads.sum() + (block.counts * apart**2).sum()
        least = _DIGITS**2 * float((block.counts * means**2).sum())
        return float(squares), block.pulls - fit.rank, least

    def pooled_variance(self, past: Block) -> float:
        """Variance of a single reward from all residuals, the same for all arms; above 0."""
        squares, freedom, least = self.residuals(past, self.fit(past, known()))
        # One residual more, as large as rewards differ altogether: the others may be few, and
        # small by chance.
        centre = past.sums.sum() / past.pulls
        apart = past.spreads.sum() + (past.counts * (past.means - centre) ** 2).sum()
        more = float(apart) / max(past.pulls - 1.0, 1.0)
        variance = max((squares + more) / (freedom + 1.0), least / past.pulls)
        return variance or 1.0


def known(scale: float = 1.0) -> Outlook:
    """The same standard deviation for all arms."""
    return Outlook(scale, lambda arms: np.full(len(arms), scale * scale))


def log_psi(z: np.ndarray) -> np.ndarray:
    """log of e^{z²/2} Φ(z)."""
    # the tail's asymptotic series: exact to float64 out there
    tail = np.minimum(z, -20.0)
    t = 1 / (tail * tail)
    series = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))))
    far = np.log(series / (-tail * math.sqrt(2 * math.pi)))
    near = np.maximum(z, -20.0)
    return np.where(z > -20, 0.5 * near * near + log_twice_normal(near) - math.log(2), far)

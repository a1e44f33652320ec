"""What bets pay: what every kind of noise shares.

Everything is about pairs of a candidate x and a rival r, in arrays with a row per candidate and a
column per rival.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.verifier.blocks import Block, levelled
from surepick.verifier.estimate import (
    ByArm,
    ByFeatures,
    Field,
    Fit,
    Leaning,
    View,
    log_twice_normal,
    one_more,
)
from surepick.verifier.guide import Guide, Outlook, solve
from surepick.verifier.tables import EPS

_DIGITS = 1e-12  # of rewards: smaller differences are taken for rounding
_LEAST_VARIANCE = 1e-130  # of rewards: less is taken for nothing
_MOST_ADDED = 100.0  # mean squares of the residuals that one more counts at most


class News(NamedTuple):
    """What a block says, in one way of reading it."""

    view: View
    #: bets need the difference of these between r and x: of features (d, q), or of each arm (M, q)
    columns: np.ndarray | None = None
    facts: Any = None  #: what else they need
    rounding: float = 0.0  #: that a lead may be too large by

    def with_number(self) -> News:
        """With one more candidate behind all others, which is worth exactly 0."""
        columns = self.columns
        if columns is not None and not isinstance(self.view, ByFeatures):
            columns = one_more(columns)
        return self._replace(view=self.view.with_number(), columns=columns)

    def across(self, field: Field) -> np.ndarray:
        assert self.columns is not None
        if isinstance(self.view, ByFeatures):
            mine, others = field.x @ self.columns, field.rivals @ self.columns
        else:
            mine, others = self.columns[field.places], self.columns[field.rival_places]
        return others[None, :, :] - mine[:, None, :]


class Pairs(NamedTuple):
    """What was staked on "r beats x", and what the block says about it; arrays (n, R)."""

    field: Field
    lead: np.ndarray  #: of r over x, before the block (and the shift)
    information: np.ndarray  #: about it, before the block
    unit: np.ndarray  #: what the first block would tell with one pull per dimension
    new_lead: np.ndarray  #: as the block has it (and the shift)
    told: np.ndarray  #: information of the block; 0 where it says nothing
    shift: np.ndarray

    def raised(self, by: float | np.ndarray) -> Pairs:
        lead, new_lead, shift = self.lead + by, self.new_lead + by, self.shift + by
        return self._replace(lead=lead, new_lead=new_lead, shift=shift)

    def on_leader(self, some: np.ndarray) -> Pairs:
        """Some of the candidates with the first rival only."""
        return Pairs(self.field.some(some, 1), *(table[some, :1] for table in self[1:]))

    def stakes(self, multiple: float) -> tuple[np.ndarray, np.ndarray]:
        """Score and precision of the stakes of the account with this prior precision."""
        return self.information * self.lead, self.information + multiple * self.unit


class Payoff(ABC):
    """Bets under one kind of noise."""

    counts_wins: ClassVar[bool] = False  #: the best is who wins, not who has the largest mean
    half_kept = False  #: whether half of each bet on the block at hand is not staked

    def __init__(self, guide: Guide, precisions: list[float]) -> None:
        self.check, self.guide, self.precisions = guide.check, guide, precisions

    @abstractmethod
    def look(self, past: Block) -> Outlook:
        """What the past says about how rewards vary; one row for each arm."""

    def read(self, way: str, block: Block, outlook: Outlook, parts: int) -> News:
        """What a block says in one way; ``parts`` is how many it was dealt into."""
        read = {"linear": self._linear, "direct": self._direct, "allowed": self._allowed}[way]
        news = read(block, outlook, parts)
        return news._replace(rounding=self.rounding(block, news.view))

    def check_dealt(self, block: Block, where: str, own: bool) -> int:
        """Into how many parts a block was dealt, which must follow from its counts alone."""
        return 1

    def remember(self, block: Block) -> None:  # noqa: B027
        """Take in what a block said, beside what the guide keeps of it."""

    def by_arm(self, block: Block) -> Block:
        """A block with one row for each arm, as the guide takes it."""
        return block.by_arm()

    def of_strata(self, strata: list[Block]) -> Block:
        """Strata of a block on which nothing is bet, one row for each arm."""
        return levelled(self.check, strata)

    def rounding(self, block: Block, view: View) -> float:
        """What rounding may add to a lead.

        Sums over pulls, arms and features lose a unit in the last place with every term.
        """
        terms = 16 + self.check.whiten.shape[1] + len(np.unique(block.arms)) + block.counts.max()
        return 2.0 * float(terms) * EPS * view.largest(self.reach)

    @cached_property
    def reach(self) -> float:
        """How far the farthest candidate is, in whitened coordinates."""
        whole = self.check.candidates
        squares = (((x @ self.check.whiten) ** 2).sum(axis=1).max() for _, x in whole.blocks())
        return math.sqrt(float(max(squares)))

    def _linear(self, block: Block, outlook: Outlook, parts: int) -> News:
        """By features alone."""
        return News(ByFeatures(self.guide.fit(block.by_arm(), outlook)))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        """By each arm's own rewards alone."""
        whole, n = block.by_arm(), len(self.guide.units)
        means, noise = self.of_means(whole, outlook)
        values, own = np.zeros(n), np.full(n, math.inf)
        values[whole.arms], own[whole.arms] = means, noise
        return News(ByArm(values, np.zeros((n, 0)), own))

    def _allowed(self, block: Block, outlook: Outlook, parts: int) -> News:
        """By features as far as they are trusted, and by the arms' own rewards."""
        return News(self.leaning(block.by_arm(), outlook))

    def of_means(self, block: Block, outlook: Outlook) -> tuple[np.ndarray, np.ndarray]:
        """Mean rewards in units of the problem, and their variances; one row for each arm."""
        units = self.guide.units[block.arms]
        return block.means * units, outlook.variances(block.arms) * units**2 / block.counts

    def leaning(self, block: Block, outlook: Outlook) -> Leaning:
        """Estimates that lean on features and own rewards; one row for each arm."""
        check, separate = self.check, self.check.separate
        means, noise = self.of_means(block, outlook)
        spread = (check.misfit / check.noise) ** 2 / 3  # of anything between −ζ and ζ
        x = (check.arms[block.arms] * self.guide.units[block.arms][:, None]) @ check.whiten
        points = check.candidates @ check.whiten
        _, root = solve(x, means, spread + noise)
        by_features = root @ (root.T @ (x / (spread + noise)[:, None]).T)  # (r, s)
        takes = points @ by_features
        if not separate:
            own = spread / (spread + noise)
            takes[block.arms] *= (1 - own)[:, None]
            takes[block.arms, np.arange(len(own))] += own
        measured = np.linalg.svd(root, full_matrices=False)[0]
        outside = points - (points @ measured) @ measured.T
        arms = np.full(len(block.arms), -1) if separate else block.arms
        return Leaning(takes, means, noise, arms, outside)

    def with_number(self, news: News) -> News:
        """What a block says, with a number that candidates are compared with behind them."""
        return news.with_number()

    @abstractmethod
    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        """Log of what each bet pays, for each prior precision."""

    def residuals(self, block: Block, fit: Fit) -> tuple[float, float, float]:
        """Residual sum of squares, its degrees of freedom, and the least that is no rounding."""
        apart = block.means - self.check.arms[block.arms] @ fit.theta
        squares = block.spreads.sum() + (block.counts * apart**2).sum()
        least = least_squares_rounding(block, float(squares))
        return float(squares), block.pulls - fit.rank, least

    def variance(self, past: Block) -> float:
        """Variance of a single reward from all residuals, the same for all arms; above 0."""
        squares, freedom, least = self.residuals(past, self.guide.fit(past, known()))
        # One residual more, as large as rewards differ altogether: the others may be few, and
        # small by chance; but not by any factor.
        centre = past.sums.sum() / past.pulls
        apart = past.spreads.sum() + (past.counts * (past.means - centre) ** 2).sum()
        more = float(apart) / max(past.pulls - 1.0, 1.0)
        if not self.guide.deviations and freedom > 1 and squares > least:
            more = min(more, _MOST_ADDED * squares / (freedom - 1.0))
        variance = max((squares + more) / (freedom + 1.0), least / past.pulls)
        variance = variance if variance > _LEAST_VARIANCE else 1.0
        if not self.guide.deviations:
            return variance
        # Residuals are noise and deviations: all of them count as one of those within arms.
        within = float(past.spreads.sum())
        return (within + variance) / (past.pulls - len(past.arms) + 1.0)


def least_squares_rounding(block: Block, squares: float) -> float:
    """The least sum of squares that is no rounding, where they seem to add up to this."""
    least = _DIGITS**2 * float((block.counts * block.means**2).sum())
    return max(least, _LEAST_VARIANCE) if squares + least > 0.0 else 0.0


def known(scale: float = 1.0) -> Outlook:
    """An outlook with one known standard deviation for all arms."""
    return Outlook(scale, lambda arms: np.full(len(arms), scale * scale))


def log_psi(z: np.ndarray) -> np.ndarray:
    """log of e^{z²/2} Φ(z)."""
    near = np.maximum(z, -20.0)
    found = 0.5 * near * near + log_twice_normal(near) - math.log(2)
    if (z > -20).all():
        return found
    # the tail's asymptotic series: exact to float64 out there
    tail = np.minimum(z, -20.0)
    t = 1 / (tail * tail)
    series = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))))
    return np.where(z > -20, found, np.log(series / (-tail * math.sqrt(2 * math.pi))))


# -- stakes that stand for a normal distribution cut at 0 ---------------------------------
STAKES = 9
_LEAST = -5.0  # means below this many standard deviations count as this


def cut_normal_stakes(score: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Middles of equal shares of N(score/precision, 1/precision) above 0, along a new axis."""
    deviation = 1.0 / np.sqrt(precision)
    z = np.maximum(score * deviation, _LEAST)[..., None]
    upper = (2 * np.arange(STAKES) + 1) / (2 * STAKES)  # share of what lies above 0
    # P(stake > s) is a share of P(stake > 0) = Φ(z) where s = (z − Φ⁻¹(share · Φ(z))) · deviation
    below = normal_quantile(np.log(upper) + _log_normal(z))
    return np.maximum(z - below, 0.0) * deviation[..., None]


def normal_quantile(log_share: np.ndarray) -> np.ndarray:
    """The t with log Φ(t) = log_share, for shares between 1e-12 and 0.99.

    log Φ is concave: Newton's steps from below never overshoot.
    """
    t = -np.sqrt(-2.0 * log_share)  # Φ(t) <= exp(−t²/2)
    for _ in range(12):
        value = _log_normal(t)
        slope = np.exp(-0.5 * t * t - value) / math.sqrt(2 * math.pi)
        t = t + (log_share - value) / slope
    return t


def _log_normal(t: np.ndarray) -> np.ndarray:
    """log Φ(t) for t that are not far below zero."""
    from scipy.special import erfc

    return np.log(0.5 * erfc(-t / math.sqrt(2)))


def log_mean(logs: np.ndarray) -> np.ndarray:
    """log of the mean of exp, over the last axis."""
    top = logs.max(axis=-1)
    return top + np.log(np.exp(logs - top[..., None]).mean(axis=-1))

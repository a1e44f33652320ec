"""What the blocks before suggest: estimates that prove nothing, but by which bets are made."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.check import Check
from surepick.verifier.estimate import ByArm, ByFeatures, Fit, View

_NO_LEVEL = 4.0  # squared standard errors up to which a level is taken for chance
_GUESS = 2.0  # arms that the first guess of deviations counts for


class Outlook(NamedTuple):
    """How much single rewards vary, as far as the blocks before say."""

    scale: float  #: a typical standard deviation
    variances: Callable[[np.ndarray], np.ndarray]  #: of the rewards of some arms
    means: Callable[[np.ndarray], np.ndarray] | None = None  #: predicted, where bets need them
    #: squares of how far means may lie apart, where stakes expect leads by these
    leads: Callable[[np.ndarray], np.ndarray] | None = None


class Guide:
    """Least squares on the features, or features and a deviation of its own for each arm."""

    def __init__(self, check: Check, deviations: bool) -> None:
        self.check, self.deviations = check, deviations
        everyone = np.arange(len(check.arms))
        units = np.broadcast_to(check.kind.units(everyone), len(everyone))
        self.units = units / check.noise  # of each arm's rewards, in those of the problem
        self.most = math.inf
        if deviations:
            self.points = check.candidates @ check.whiten
            if check.misfit > 0:
                self.most = (check.misfit / check.noise) ** 2
        self._past: Block | None = None  # that these are about
        self._views: list[tuple[Outlook, View]] = []

    def fit(self, block: Block, outlook: Outlook) -> Fit:
        """Least squares by weights that the past suggests; one row for each arm."""
        deviations = np.sqrt(outlook.variances(block.arms))
        rows = self.check.arms[block.arms] / deviations[:, None]
        sums = block.sums / deviations
        return Fit(rows, block.counts, sums, self.check.whiten, self.check.basis)

    def view(self, past: Block, outlook: Outlook) -> View:
        """Estimates of all leads; asked for again and again while the past is the same."""
        if past is not self._past:
            self._past, self._views = past, []
        for known, found in self._views:
            if known is outlook:
                return found
        by_features = not self.deviations
        found = ByFeatures(self.fit(past, outlook)) if by_features else self._by_arm(past, outlook)
        self._views.append((outlook, found))
        return found

    def expect(
        self, past: Block, outlook: Outlook, arms: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means of these arms, in their own units, and how uncertain they are."""
        found = self.view(past, outlook)
        if isinstance(found, ByFeatures):
            rows = self.check.arms[arms]
            return rows @ found.fit.theta, found.fit.variance(rows)
        assert isinstance(found, ByArm)
        uncertain = (found.common**2).sum(axis=1) + found.own
        return (found.means / self.units)[arms], (uncertain / self.units**2)[arms]

    def without_level(
        self, past: Block, block: Block, outlook: Outlook, known: np.ndarray | None = None
    ) -> Block:
        """A block, one row for each arm, less what all of it seems to lie above the past.

        Where the past knows of some rows only, it is what they lie above it.
        """
        if known is not None and not known.any():
            return block
        means, uncertain = self.expect(past, outlook, block.arms)
        units = self.units[block.arms]
        doubt = (outlook.variances(block.arms) / block.counts + uncertain) * units**2
        weights = (1.0 if known is None else known) / doubt
        level = float((weights * units * (block.means - means)).sum() / weights.sum())
        surprise = level**2 * weights.sum()
        if surprise <= _NO_LEVEL:
            return block
        level *= 1.0 - _NO_LEVEL / surprise
        return block._replace(sums=block.sums - block.counts * level / units)

    def _by_arm(self, past: Block, outlook: Outlook) -> ByArm:
        """The mean of an arm is what features say, and a normal deviation of unknown variance."""
        units, points = self.units[past.arms], self.points
        means = past.means * units
        noise = outlook.variances(past.arms) * units**2 / past.counts
        common = min(_deviations(points[past.arms], means, noise), self.most)
        theta, root = solve(points[past.arms], means, common + noise)
        # Who lies farther off than noise explains deviates by so much itself.
        off = means - points[past.arms] @ theta
        spread = np.minimum(np.maximum(common, off**2 - noise), self.most)
        trust = np.zeros(len(points))  # in what the arm itself has shown
        trust[past.arms] = spread / (spread + noise)
        shown, own = np.zeros(len(points)), np.full(len(points), common)
        shown[past.arms] = means
        own[past.arms] = spread * noise / (spread + noise)
        values = trust * shown + (1 - trust) * (points @ theta)
        return ByArm(values, (1 - trust)[:, None] * (points @ root), own)


def solve(x: np.ndarray, y: np.ndarray, variances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted least squares: the estimate, and a root of its covariance."""
    deviations = np.sqrt(variances)
    u, s, vt = np.linalg.svd(x / deviations[:, None], full_matrices=False)
    keep = s > s[0] * math.sqrt(1e-13 * x.shape[1])
    root = vt[keep].T / s[keep]
    return root @ (u[:, keep].T @ (y / deviations)), root


def _deviations(x: np.ndarray, means: np.ndarray, noise: np.ndarray) -> float:
    """Variance of deviations, by moments; a guess by the means themselves counts for two arms."""
    theta, root = solve(x, means, noise)
    guess = float(((means - means.mean()) ** 2).mean()) + 1e-12 * float(noise.min())
    freedom = len(means) - root.shape[1]
    if freedom <= 0:
        return guess
    excess = float(((means - x @ theta) ** 2 / noise).sum()) - freedom
    leverage = ((x @ root) ** 2).sum(axis=1) / noise
    per_unit = float(((1.0 - leverage) / noise).sum())
    return (freedom * max(excess, 0.0) / per_unit + _GUESS * guess) / (freedom + _GUESS)

"""Normal noise: of known scale, or of one that nobody knows, by the bets of Student's t.

With z the estimate of a lead in standard errors for noise of scale 1, RSS the block's residual
sum of squares and ν its degrees of freedom, q = z/√(RSS + z²) does not depend on the scale. The bet
pays what a bet with known scale would pay on w·q in place of z, averaged over w, which has the χ
distribution with ν + 1 degrees of freedom.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from surepick.verifier.blocks import Block
from surepick.verifier.estimate import ByFeatures, log_twice_normal
from surepick.verifier.guide import Outlook
from surepick.verifier.payoffs.base import (
    News,
    Pairs,
    Payoff,
    known,
    least_squares_rounding,
    log_psi,
)

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FALL = 40.0  # the integrand is left out where it is below exp(−this) of its peak
_BEND = 6.0  # psi bends where its argument is between plus and minus this


class Gaussian(Payoff):
    """Rewards are in units of the noise: normal stakes, cut at 0, in closed form."""

    def look(self, past: Block) -> Outlook:
        return known()

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        found = []
        for multiple in self.precisions:
            score, precision = pairs.stakes(multiple)
            after = precision + pairs.told
            found.append(
                log_psi((score + pairs.told * pairs.new_lead) / np.sqrt(after))
                - log_psi(score / np.sqrt(precision))
                - 0.5 * np.log(after / precision)
            )
        return found


class Student(Payoff):
    """Residuals stand for the scale; stakes are in units of the scale that the past suggests."""

    def look(self, past: Block) -> Outlook:
        return known(math.sqrt(self.variance(past)))

    def _linear(self, block: Block, outlook: Outlook, parts: int) -> News:
        block = block.by_arm()
        fit = self.guide.fit(block, outlook)
        squares, freedom, least = self.residuals(block, fit)
        # Residuals that are nothing but rounding say nothing of the noise: it is taken as larger.
        return News(ByFeatures(fit), facts=(max(squares, least) / outlook.scale**2, freedom))

    def _direct(self, block: Block, outlook: Outlook, parts: int) -> News:
        return self._within(super()._direct(block, outlook, parts), block, outlook)

    def _allowed(self, block: Block, outlook: Outlook, parts: int) -> News:
        return self._within(super()._allowed(block, outlook, parts), block, outlook)

    def _within(self, news: News, block: Block, outlook: Outlook) -> News:
        """Only what an arm's own rewards differ by is noise and nothing else."""
        block = block.by_arm()
        within = float(block.spreads.sum())
        squares = max(within, least_squares_rounding(block, within))
        freedom = block.pulls - len(block.arms)
        return news._replace(facts=(squares / outlook.scale**2, freedom))

    def log_paid(self, pairs: Pairs, news: News) -> list[np.ndarray]:
        squares, freedom = news.facts
        paid = []
        for multiple in self.precisions:
            score, precision = pairs.stakes(multiple)
            if freedom > 0 and squares > 0:
                found = log_student_bet(
                    score, precision, pairs.new_lead, pairs.told, squares, freedom
                )
                paid.append(np.where(pairs.told > 0, found, 0.0))
            else:  # the block says nothing about the scale
                paid.append(np.zeros_like(score))
        return paid


def log_student_bet(
    score: np.ndarray,
    precision: np.ndarray,
    estimate: np.ndarray,
    information: np.ndarray,
    squares: float,
    freedom: float,
) -> np.ndarray:
    """Log payoff of stakes N(score/precision, 1/precision), cut at 0."""
    z = np.sqrt(information) * (estimate / math.sqrt(squares))
    after = precision + information
    old, new, doubt = precision / after, information / after, 1.0 / (1.0 + z * z)
    slope, start = z * np.sqrt(doubt * new), score / np.sqrt(after)
    integrand = _Integrand(slope, start, old + new * doubt, freedom)
    before = score / np.sqrt(precision)
    # Where the integrand is centred, e^{start²/2} and psi(before) are put together by hand: both
    # are huge where leads are clear, and their ratio is not.
    left = 0.5 * start**2 * new * doubt / (integrand.curvature * old)
    stakes = np.where(integrand.centred, _log_normal(before) + left, log_psi(before))
    return log_average(integrand) - stakes - 0.5 * np.log(after / precision)


class _Integrand:
    """w^ν exp(−w²/2) psi(start + slope·w), which has one peak: log psi bends by 1 at most.

    Where slope and start are positive, it is centred: psi(x) is e^{x²/2} Φ(x), and with a =
    1 − slope² the exponent is −a (w − c)²/2, c = slope·start/a, but for what does not depend on w.
    All is said in v = w − c then; elsewhere v is w.
    """

    def __init__(
        self, slope: np.ndarray, start: np.ndarray, rest: np.ndarray, freedom: float
    ) -> None:
        self.slope, self.start, self.rest, self.freedom = slope, start, rest, freedom
        self.centred = (slope > 0) & (start > 0)
        self.centre = np.where(self.centred, slope * start / rest, 0.0)
        self.curvature = np.where(self.centred, rest, 1.0)

    def log(self, v: np.ndarray) -> np.ndarray:
        w = self.centre + v
        x = self.start + self.slope * w
        rest = np.where(self.centred, _log_normal(np.maximum(x, 0.0)), log_psi(x))
        powers = self.freedom * np.log(np.maximum(w, 1e-300))
        return powers - 0.5 * self.curvature * v * v + rest

    def rises(self, v: np.ndarray) -> np.ndarray:
        """Whether it rises at v, as it does before the peak."""
        w = self.centre + v
        x = self.start + self.slope * w
        bent = np.exp(-0.5 * math.log(2 * math.pi) - log_psi(x)) + np.where(self.centred, 0.0, x)
        return self.freedom / w - self.curvature * v + self.slope * bent > 0

    def peak(self) -> np.ndarray:
        """Where it is largest, nearly.

        The derivative of log psi lies between max(x, 0) and max(x, 0) + 0.8, that of log Φ at
        positive x between 0 and 0.8: that brackets it.
        """
        most = np.where(self.centred, 0.0, np.maximum(self.start, 0.0)) + 0.8
        least = self._root(self.curvature, np.minimum(self.slope, 0.0) * most)
        falling = np.where(self.slope > 0, self.rest, 1.0)
        highest = self._root(falling, np.maximum(self.slope, 0.0) * most)
        low, high = least, highest
        for _ in range(30):
            middle = 0.5 * (low + high)
            upwards = self.rises(middle)
            low, high = np.where(upwards, middle, low), np.where(upwards, high, middle)
        return 0.5 * (low + high)

    def _root(self, a: np.ndarray, k: np.ndarray) -> np.ndarray:
        """The v with ν/w − a·v + k = 0."""
        b, c = a * self.centre - k, self.freedom + k * self.centre
        root = np.sqrt(b * b + 4.0 * a * c)
        return np.where(b > 0, 2.0 * c / (b + root), (root - b) / (2.0 * a))

    def ends(self, peak: np.ndarray, top: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points before and behind the peak where it is negligible, or w is 0."""
        bends = self.freedom / (self.centre + peak) ** 2
        # Before the peak its logarithm bends at least like this, behind it at most.
        low = np.maximum(peak - math.sqrt(2 * _FALL) / np.sqrt(bends + self.rest), -self.centre)
        step = math.sqrt(2 * _FALL) / np.sqrt(bends + self.curvature)
        far = peak
        for _ in range(12):
            middle = 0.5 * (low + far)
            there = self.log(middle) < top - _FALL
            low, far = np.where(there, middle, low), np.where(there, far, middle)
        for _ in range(60):
            near = self.log(peak + step) > top - _FALL
            if not near.any():
                break
            step = np.where(near, 1.5 * step, step)
        return low, peak + step


def log_average(integrand: _Integrand) -> np.ndarray:
    """Log of the integral over w, by the density of χ with ν + 1 degrees of freedom.

    Between the points on either side where the integrand has become negligible it is integrated
    piece by piece: up to its peak and from there on, and by themselves the pieces in which psi
    bends.
    """
    peak = integrand.peak()
    top = integrand.log(peak)
    low, high = integrand.ends(peak, top)
    slope, start = integrand.slope, integrand.start
    steep = np.where(np.abs(slope) > 1e-12, slope, 1e-12)
    bends = [(bend - start) / steep - integrand.centre for bend in (-_BEND, 0.0, _BEND)]
    bends = [np.clip(bend, low, high) for bend in bends]
    halves = [0.5 * (low + peak), peak, peak + 0.25 * (high - peak), 0.5 * (peak + high)]
    cuts = np.sort(np.stack([low, *bends, *halves, high]), axis=0)
    total = np.zeros_like(peak)
    nodes = _NODES.reshape(-1, *[1] * peak.ndim)
    for a, b in itertools.pairwise(cuts):
        half = 0.5 * (b - a)
        values = np.exp(integrand.log(a + half * (1.0 + nodes)) - top)
        total += half * np.tensordot(_WEIGHTS, values, axes=1)
    # the density of w is w^ν exp(−w²/2) / (2^{(ν−1)/2} Γ((ν+1)/2))
    freedom = integrand.freedom
    constant = 0.5 * (freedom - 1) * math.log(2) + math.lgamma(0.5 * (freedom + 1))
    return top + np.log(total) - constant


def _log_normal(x: np.ndarray) -> np.ndarray:
    return log_twice_normal(x) - math.log(2)

"""MisLid, for ``benchmarks.rivals_misfit``: the m best where features are off by a known amount.

C. Réda, A. Tirinzoni and R. Degenne, "Dealing with misspecification in fixed-confidence linear
top-m identification", NeurIPS 2021. Means are a_kᵀθ + η_k with |η_k| ≤ ζ, which the rule is told.
Every round: the means of that kind that are nearest to the averages, weighted by pulls; a learner
over arms against the nearest means of that kind under which another set is the best, weighted by
what the learner plays; and a pull drawn from that. It stops once these means, weighted by pulls,
are further away than a threshold. Rewards are N(mean, 1).

Distances are exact, and cheaper than a quadratic program for every pair. Without the features the
nearest means under which j is as good as i are a formula. They are never further, so that pairs are
looked at in that order, and most never; and where these means are within ζ of the present fit, they
are the ones. What is left is a problem of least distance, solved by non-negative least squares
(Lawson and Hanson, "Solving least squares problems", chapter 23).

Constants are those of the paper's experiments: AdaHedge; gains with log t for the width that comes
from the features, none above log t; first a pull of each of d arms that span (found by pivots, in
the paper a barycentric spanner). The threshold log((1 + log t)/δ) of its plots has no theorem.
``"proven"`` is the paper's for arbitrary means: at all times averages are that close to the truth,
and among means of a convex set that has the truth, the nearest ones are no further from it. Its
other threshold, for features, has a term 2ζ²t: for ζ ≥ 0.5 it is the larger one after 400 pulls.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import qr
from scipy.optimize import nnls
from scipy.special import lambertw

from surepick.research.game import AdaHedge

_LEAST = 1e-9  # share of all weight that keeps a problem well posed where a weight vanishes


def nearest(
    arms: np.ndarray,
    misfit: float,
    means: np.ndarray,
    weights: np.ndarray,
    theta: np.ndarray,
    swap: tuple[int, int] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest means that the features allow, and their θ, which starts from ``theta``.

    ``swap=(i, j)``: among those under which j is at least as good as i.
    """
    K, d = arms.shape
    whole = weights.sum()
    # z = (√w (λ − means), √ρ (θ − theta)): shortest with `rows` z ≥ `least`
    scale = 1.0 / np.sqrt(np.maximum(weights, _LEAST * whole))
    loose = 1.0 / math.sqrt(_LEAST * whole)
    off = means - arms @ theta
    inside = np.hstack([np.diag(scale), -loose * arms])  # × z = change of λ − arms θ
    rows, least = [inside, -inside], [-misfit - off, -misfit + off]
    if swap is not None:
        i, j = swap
        one = np.zeros(K + d)
        one[j], one[i] = scale[j], -scale[i]
        rows.append(one[None])
        least.append(np.array([means[i] - means[j]]))
    G, h = np.vstack(rows), np.concatenate(least)
    right = np.zeros(K + d + 1)
    right[-1] = 1.0
    left = np.vstack([G.T, h])
    found, _ = nnls(left, right, maxiter=50 * len(h))
    residual = left @ found - right
    z = -residual[:-1] / residual[-1]
    return means + scale * z[:K], theta + loose * z[K:]


def alternative(
    arms: np.ndarray,
    misfit: float,
    means: np.ndarray,
    theta: np.ndarray,
    weights: np.ndarray,
    top: int,
) -> tuple[np.ndarray, float]:
    """The nearest means under which another set of ``top`` is the best; half its distance²."""
    order = np.argsort(-means, kind="stable")
    inside, outside = order[:top, None], order[None, top:]
    w = np.maximum(weights, _LEAST * weights.sum())
    apart = means[inside] - means[outside]
    free = 0.5 * w[inside] * w[outside] / (w[inside] + w[outside]) * apart**2
    fit, best, least = arms @ theta, means, math.inf
    for place in np.argsort(free, axis=None):
        a, b = divmod(int(place), free.shape[1])
        if free[a, b] >= least:
            break
        i, j = int(inside[a, 0]), int(outside[0, b])
        level = (w[i] * means[i] + w[j] * means[j]) / (w[i] + w[j])
        if abs(level - fit[i]) <= misfit and abs(level - fit[j]) <= misfit:
            best, least = means.copy(), float(free[a, b])
            best[[i, j]] = level
            continue
        other, _ = nearest(arms, misfit, means, w, theta, (i, j))
        distance = 0.5 * float(w @ (other - means) ** 2)
        if distance < least:
            best, least = other, distance
    return best, least


def _grown(x: float) -> float:
    """The y ≥ 1 with y − log y = x."""
    return float(-lambertw(-math.exp(-x), k=-1).real)


def arbitrary(K: int, log_term: float, t: int) -> float:
    """What ½ Σ pulls·(average − mean)² stays below at all times, with e^(1 − log_term)."""
    return 2 * K * _grown(log_term / (2 * K) + 0.5 * math.log(8 * math.e * K * math.log(t)))


def thresholds(K: int, delta: float) -> dict[str, Callable[[int], float]]:
    return {
        "log log t": lambda t: math.log((1 + math.log(t)) / delta),
        "proven": lambda t: arbitrary(K, math.log(2 * math.e / delta), t),
    }


def mislid(
    arms: np.ndarray,
    truth: np.ndarray,
    misfit: float,
    top: int,
    delta: float,
    rng: np.random.Generator,
    threshold: str = "log log t",
    largest: float = 2.0,
    most: int = 500_000,
) -> tuple[int, np.ndarray, bool]:
    """Pulls, the set that is named, and whether it stopped by itself; |means| ≤ ``largest``."""
    K, d = arms.shape
    *_, order = qr(arms.T, pivoting=True, mode="r")
    first = order[:d]
    pulls, sums = np.zeros(K), np.zeros(K)
    learner, enough = AdaHedge().start(K), thresholds(K, delta)[threshold]
    pulls[first], sums[first] = 1.0, truth[first] + rng.normal(size=d)
    inverse = np.linalg.inv(arms[first].T @ arms[first])
    means, theta, t = np.zeros(K), np.linalg.solve(arms[first], sums[first]), d
    while True:
        # the estimate
        fit = arms @ theta
        averages = np.where(pulls > 0, sums / np.maximum(pulls, 1.0), fit)
        if np.abs(averages - fit).max() <= misfit:
            means = averages
        else:
            means, theta = nearest(arms, misfit, averages, pulls, theta)
        if t > d and alternative(arms, misfit, means, theta, pulls, top)[1] > enough(t):
            return t, np.argsort(-means, kind="stable")[:top], True
        if t >= most:
            return t, np.argsort(-means, kind="stable")[:top], False
        # one round of the game
        weights, log_t = learner.weights(), math.log(t)
        other, _ = alternative(arms, misfit, means, theta, weights, top)
        of_features = 8 * misfit**2 + 2 * log_t * np.einsum("kd,de,ke->k", arms, inverse, arms)
        of_pulls = 2 * arbitrary(K, math.log(5 * math.e * t**3), t) / np.maximum(pulls, 1e-9)
        width = np.minimum(np.minimum(of_pulls, 4 * largest**2), of_features)
        learner.update(np.minimum(0.5 * (np.abs(means - other) + np.sqrt(width)) ** 2, log_t))
        arm = int(rng.choice(K, p=weights / weights.sum()))
        # one pull
        sums[arm] += truth[arm] + rng.normal()
        pulls[arm] += 1
        u = inverse @ arms[arm]
        inverse -= np.outer(u, u) / (1.0 + arms[arm] @ u)
        t += 1

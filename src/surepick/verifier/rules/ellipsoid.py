"""One confidence ellipsoid around regularised least squares (LinGapE, GLUCB)."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check


def verify(check: Check) -> list[int]:
    """Candidates that are worse than the answer for every parameter in the ellipsoid.

    The ellipsoid ‖theta − estimate‖_A <= sqrt(2 log(det(A/lambda)^½ / level)) + sqrt(lambda) S
    contains the truth in all rounds except with probability ``level``, provided that the truth
    is no longer than S. That provision cannot be checked; the statement names it.
    """
    everyone = check.distinct()
    if check.claim["guarantee"] == "none" or len(everyone) == 1:
        return everyone
    evidence = check.evidence
    level, lam, norm = (
        exact.number(evidence[name], name) for name in ("level", "regularisation", "norm_bound")
    )
    published.demand_level(check, level, *published.ellipsoid_levels(check, len(everyone)))
    published.demand_bounds(check)
    check.risk += level
    # Lengths matter to lambda and S: features as given, not brought to a common scale.
    K, d = check.raw_arms.shape
    counts, sums = np.zeros(K), np.zeros(K)
    for batch in check.batches:
        counts[batch.arms] += batch.counts
        sums[batch.arms] += check.per_noise(batch.arms, batch.sums)
    pulled = np.flatnonzero(counts)
    rows = check.raw_arms[pulled]
    A = lam * np.eye(d) + (rows.T * counts[pulled]) @ rows
    theta = np.linalg.solve(A, rows.T @ sums[pulled])
    log_det = float(np.linalg.slogdet(A)[1]) - d * math.log(lam)
    radius = math.sqrt(log_det + 2 * math.log(1 / level)) + math.sqrt(lam) * norm / check.noise
    chosen = check.claim["candidate"]
    gaps, widths = _compare(check, chosen, theta, A)
    widths *= radius
    named, by, recorded, width = check.columns(
        evidence["dropped"], "candidate", "by", "gap", "width"
    )
    rivals = check.mask(everyone)
    rivals[chosen] = False
    check.demand_all(
        check.among(named, rivals), lambda i: f"candidate {named[i]} cannot be ruled out"
    )
    check.demand_all(
        by == chosen, lambda i: f"candidate {named[i]} is not compared with the answer"
    )
    check.agree_all(recorded, gaps[named], lambda i: f"the gap of {named[i]} to the answer")
    check.agree_all(width, widths[named], lambda i: f"the width for {named[i]} and the answer")
    check.demand_all(
        gaps[named] >= widths[named] * (1 - 1e-9),
        lambda i: f"{named[i]} may be better than the answer in the ellipsoid",
    )
    check.checked += len(named)
    left = np.setdiff1d(everyone, named)
    if check.claim["guarantee"] == "eps-pac":
        bound = (widths - gaps)[left]
        check.demand_all(
            bound <= check.epsilon * (1 + 1e-9),
            lambda i: f"candidate {left[i]} may still be {bound[i]:.6g} better, more than epsilon",
        )
        check.checked += len(left)
    return left.tolist()


def _compare(
    check: Check, chosen: int, theta: np.ndarray, A: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lead of the answer over each candidate, and the length of its direction under A⁻¹."""
    gaps, lengths = np.empty(len(check.candidates)), np.empty(len(check.candidates))
    answer = check.raw_candidates[chosen]
    for part, rows in check.raw_candidates.blocks():
        y = answer - rows
        gaps[part] = y @ theta * check.noise
        lengths[part] = np.sqrt((y * np.linalg.solve(A, y.T).T).sum(axis=1)) * check.noise
    return gaps, lengths

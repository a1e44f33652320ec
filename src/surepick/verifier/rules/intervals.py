"""One confidence interval per arm (LUCB)."""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check

ZETA_3 = 1.2020569031595942  # sum over t of 1/t³


def verify(check: Check) -> list[int]:
    """Intervals of half-width sqrt(2 log(5 M t⁴ / 4 delta) / u) around each arm's mean.

    M candidates, u pulls of the arm, t rounds of two pulls after M initial ones. One side of
    each interval, u up to t, all t: the risk is the sum of M·t·4 delta / (5 M t⁴).
    """
    check.demand(check.kind.scales is None, "intervals need one noise scale for all arms")
    everyone = check.distinct()
    if check.claim["guarantee"] == "none" or len(everyone) == 1:
        return everyone
    evidence = check.evidence
    t, M = exact.whole(evidence["round"], "the round"), len(everyone)
    check.demand(t >= 1, f"round {t} is no round")
    check.demand(
        check.claim["samples"] == M + 2 * (t - 1), f"{t} rounds do not take this many pulls"
    )
    check.risk += 0.8 * ZETA_3 * check.delta
    counts, sums = np.zeros(len(check.arms)), np.zeros(len(check.arms))
    for batch in check.batches:
        counts[batch.arms] += batch.counts
        sums[batch.arms] += batch.sums
    log_term = math.log(5 * M * float(t) ** 4 / (4 * check.delta))
    arms = _arms_of(check, everyone)
    check.demand_all(
        (counts[arms] >= 1) & (counts[arms] <= t),
        lambda i: f"candidate {everyone[i]}: {counts[arms[i]]:g} pulls in {t} rounds",
    )
    mean, half = np.full(len(check.candidates), np.nan), np.full(len(check.candidates), np.nan)
    mean[everyone] = check.sign * sums[arms] / counts[arms]
    half[everyone] = check.noise * np.sqrt(2 * log_term / counts[arms])
    chosen = check.claim["candidate"]
    rivals = check.mask(everyone)
    check.demand(rivals[chosen], f"the answer {chosen} is a copy of another candidate")
    rivals[chosen] = False
    named, by, gap, width = check.columns(evidence["dropped"], "candidate", "by", "gap", "width")
    check.demand_all(
        check.among(named, rivals), lambda i: f"candidate {named[i]} cannot be ruled out"
    )
    check.demand_all(
        by == chosen, lambda i: f"candidate {named[i]} is not compared with the answer"
    )
    apart, needed = mean[chosen] - mean[named], half[chosen] + half[named]
    check.agree_all(gap, apart, lambda i: f"the gap of {named[i]} to the answer")
    check.agree_all(width, needed, lambda i: f"the width for {named[i]} and the answer")
    check.demand_all(
        apart > needed * (1 - 1e-9),
        lambda i: f"the interval of {named[i]} is not below the answer's",
    )
    check.checked += len(named)
    left = np.setdiff1d(everyone, named)
    others = left[left != chosen]
    if check.claim["guarantee"] == "eps-pac":
        bound = mean[others] + half[others] - (mean[chosen] - half[chosen])
        check.demand_all(
            bound <= check.epsilon * (1 + 1e-9),
            lambda i: (
                f"candidate {others[i]} may still be {bound[i]:.6g} better, more than epsilon"
            ),
        )
        check.checked += len(others)
    return left.tolist()


def _arms_of(check: Check, candidates: list[int]) -> np.ndarray:
    """For each candidate the arm that it is."""
    if check.candidates is check.arms:
        return np.array(candidates)
    found = []
    for i in candidates:
        apart = np.abs(check.arms[:] - check.candidates[i]).max(axis=1)
        found.append(int(np.argmin(apart)))
        check.demand(apart[found[-1]] <= 1e-12, f"candidate {i} is not among the arms")
    return np.array(found)

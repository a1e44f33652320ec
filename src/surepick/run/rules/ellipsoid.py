"""One confidence ellipsoid around regularised least squares (LinGapE, GLUCB)."""

from __future__ import annotations

import math

import numpy as np

from surepick.run.check import Check


def verify(check: Check) -> list[int]:
    """Candidates that are worse than the answer for every parameter in the ellipsoid.

    The ellipsoid ‖theta − estimate‖_A <= sqrt(2 log(det(A/lambda)^½ / level)) + sqrt(lambda) S
    contains the truth in all rounds except with probability ``level``, provided that the truth
    is no longer than S. That provision cannot be checked; the statement names it.
    """
    everyone = check.distinct()
    if check.claim["guarantee"] == "none" or len(everyone) == 1:
        return everyone
    evidence = check.body["evidence"]
    level, lam, norm = (float(evidence[k]) for k in ("level", "regularisation", "norm_bound"))
    check.demand(0 < level < 1, f"level {level} is no probability")
    check.demand(lam > 0 and norm > 0, "regularisation and norm_bound must be above 0")
    check.risk += level
    # Lengths matter to lambda and S: features as given, not brought to a common scale.
    problem = check.body["problem"]
    arms = np.array(problem["arms"], dtype=float)
    candidates = arms if problem["candidates"] is None else np.array(problem["candidates"])
    d = arms.shape[1]
    counts, sums = np.zeros(len(arms)), np.zeros(len(arms))
    for batch in check.body["batches"]:
        counts[batch["arms"]] += batch["counts"]
        sums[batch["arms"]] += np.array(batch["sums"]) / check.noise
    A = lam * np.eye(d) + (arms.T * counts) @ arms
    theta = np.linalg.solve(A, arms.T @ sums)
    log_det = float(np.linalg.slogdet(A)[1]) - d * math.log(lam)
    radius = math.sqrt(log_det + 2 * math.log(1 / level)) + math.sqrt(lam) * norm / check.noise
    chosen = check.claim["candidate"]
    Y = candidates[chosen] - candidates  # (M, d)
    gaps = Y @ theta * check.noise
    widths = radius * np.sqrt((Y * np.linalg.solve(A, Y.T).T).sum(axis=1)) * check.noise
    dropped = set()
    for entry in evidence["dropped"]:
        i = entry["candidate"]
        check.demand(i in everyone and i != chosen, f"candidate {i} cannot be ruled out")
        check.demand(entry["by"] == chosen, f"candidate {i} is not compared with the answer")
        check.agree(entry["gap"], float(gaps[i]), f"the gap of {i} to the answer")
        check.agree(entry["width"], float(widths[i]), f"the width for {i} and the answer")
        check.demand(
            gaps[i] >= widths[i] * (1 - 1e-9), f"{i} may be better than the answer in the ellipsoid"
        )
        dropped.add(i)
        check.checked += 1
    left = [i for i in everyone if i not in dropped]
    if check.claim["guarantee"] == "eps-pac":
        for i in left:
            bound = float(widths[i] - gaps[i])
            check.demand(
                bound <= check.epsilon * (1 + 1e-9),
                f"candidate {i} may still be {bound:.6g} better, more than epsilon",
            )
            check.checked += 1
    return left

"""One confidence interval per arm (LUCB)."""

from __future__ import annotations

import math

import numpy as np

from surepick.run.check import Check

ZETA_3 = 1.2020569031595942  # sum over t of 1/t³


def verify(check: Check) -> list[int]:
    """Intervals of half-width sqrt(2 log(5 M t⁴ / 4 delta) / u) around each arm's mean.

    M candidates, u pulls of the arm, t rounds of two pulls after M initial ones. One side of
    each interval, u up to t, all t: the risk is the sum of M·t·4 delta / (5 M t⁴).
    """
    everyone = check.distinct()
    if check.claim["guarantee"] == "none" or len(everyone) == 1:
        return everyone
    evidence = check.body["evidence"]
    t, M = evidence["round"], len(everyone)
    check.demand(t == int(t) and t >= 1, f"round {t} is no round")
    check.demand(
        check.claim["samples"] == M + 2 * (t - 1), f"{t} rounds do not take this many pulls"
    )
    check.risk += 0.8 * ZETA_3 * check.delta
    counts, sums = np.zeros(len(check.arms)), np.zeros(len(check.arms))
    for batch in check.body["batches"]:
        counts[batch["arms"]] += batch["counts"]
        sums[batch["arms"]] += batch["sums"]
    log_term = math.log(5 * M * float(t) ** 4 / (4 * check.delta))
    mean, half = {}, {}
    for i in everyone:
        apart = np.abs(check.arms - check.candidates[i]).max(axis=1)
        arm = int(np.argmin(apart))
        check.demand(apart[arm] <= 1e-12, f"candidate {i} is not among the arms")
        check.demand(1 <= counts[arm] <= t, f"candidate {i}: {counts[arm]:g} pulls in {t} rounds")
        mean[i] = sums[arm] / counts[arm]
        half[i] = check.noise * math.sqrt(2 * log_term / counts[arm])
    chosen = check.claim["candidate"]
    check.demand(chosen in mean, f"the answer {chosen} is a copy of another candidate")
    dropped = set()
    for entry in evidence["dropped"]:
        i = entry["candidate"]
        check.demand(i in mean and i != chosen, f"candidate {i} cannot be ruled out")
        check.demand(entry["by"] == chosen, f"candidate {i} is not compared with the answer")
        gap, width = mean[chosen] - mean[i], half[chosen] + half[i]
        check.agree(entry["gap"], gap, f"the gap of {i} to the answer")
        check.agree(entry["width"], width, f"the width for {i} and the answer")
        check.demand(gap > width * (1 - 1e-9), f"the interval of {i} is not below the answer's")
        dropped.add(i)
        check.checked += 1
    left = [i for i in everyone if i not in dropped]
    for i in left:
        if i != chosen and check.claim["guarantee"] == "eps-pac":
            bound = mean[i] + half[i] - (mean[chosen] - half[chosen])
            check.demand(
                bound <= check.epsilon * (1 + 1e-9),
                f"candidate {i} may still be {bound:.6g} better, more than epsilon",
            )
            check.checked += 1
    return left

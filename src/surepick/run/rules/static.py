"""A fixed allocation, looked at repeatedly (XY-static, XY-oracle)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from surepick.run.check import Check

_SCALES = (1.0, 30.0, 900.0, 27_000.0)  # precisions of the mixture, in cycles


def verify(check: Check) -> list[int]:
    """Candidates left when each dropped one lost to a rival by a test that holds at all looks.

    The pulls are a cycle repeated, so the estimate of a direction is an average over cycles and
    the mixture test (one-sided, level ``level``) holds at all looks at once. The other test is a
    union over all numbers of pulls n, at level 6 delta/(pi² n² M^power) for each comparison.
    """
    evidence, batches = check.body["evidence"], check.body["batches"]
    left = check.distinct()
    if len(left) == 1:
        return left
    M = len(left)
    mixture = evidence["test"] == "mixture"
    passes = _Mixture(check, M) if mixture else _Union(check, M)
    counts, sums = np.zeros(len(check.arms)), np.zeros(len(check.arms))
    looks = {look["batch"]: look["dropped"] for look in evidence["looks"]}
    check.demand(
        len(looks) == len(evidence["looks"]) and all(0 <= b < len(batches) for b in looks),
        "looks and batches do not correspond",
    )
    for number, batch in enumerate(batches):
        counts[batch["arms"]] += batch["counts"]
        sums[batch["arms"]] += batch["sums"]
        final = number == len(batches) - 1 and check.claim["guarantee"] == "eps-pac"
        if number not in looks and not final:
            continue
        pulled = np.flatnonzero(counts)
        total = {"arms": pulled, "counts": counts[pulled], "sums": sums[pulled]}
        theta, variance = check.least_squares(total)
        test = passes(counts, theta, variance)
        for entry in looks.get(number, []):
            loser, by = entry["candidate"], entry["by"]
            check.demand(
                loser in left and by in left and loser != by,
                f"batch {number} compares absent candidates",
            )
            y = check.candidates[by] - check.candidates[loser]
            check.agree(entry["gap"], float(theta @ y) * check.noise, f"the gap of {loser} to {by}")
            check.demand(test(y, 0.0), f"batch {number}: {by} does not beat {loser}")
            left.remove(loser)
            check.checked += 1
        if final:
            chosen = check.claim["candidate"]
            for i in left:
                if i != chosen:
                    y = check.candidates[chosen] - check.candidates[i]
                    check.demand(
                        test(y, check.epsilon / check.noise),
                        f"candidate {i} may still be better by more than epsilon",
                    )
                    check.checked += 1
    return left


class _Mixture:
    """log E >= log(1/level), E a mixture of half-normal drifts."""

    def __init__(self, check: Check, M: int) -> None:
        self.check = check
        self.level = float(check.body["evidence"]["level"])
        check.demand(0 < self.level < 1, f"level {self.level} is no probability")
        check.risk += self.level * (M - 1)
        arms, counts = check.body["evidence"]["cycle"]
        self.cycle = np.zeros(len(check.arms))
        self.cycle[arms] = counts
        check.demand(self.cycle.sum() > 0 and (self.cycle >= 0).all(), "the cycle is empty")

    def __call__(self, counts: np.ndarray, theta: np.ndarray, variance: Callable) -> Callable:
        cycles = round(counts.sum() / self.cycle.sum())
        self.check.demand(
            cycles >= 1 and (counts == cycles * self.cycle).all(),
            "the pulls are not whole repetitions of the cycle",
        )

        def test(y: np.ndarray, shift: float) -> bool:
            z = (float(theta @ y) + shift) / math.sqrt(variance(y))
            if not z > 0:
                return False
            logs = []
            for scale in _SCALES:
                share = cycles / (cycles + scale)
                phi = 0.5 * (1 + math.erf(z * math.sqrt(share / 2)))
                logs.append(math.log(2 * phi) + 0.5 * math.log(1 - share) + z * z * share / 2)
            top = max(logs)
            evidence = top + math.log(sum(math.exp(v - top) for v in logs) / len(logs))
            return evidence >= math.log(1 / self.level) - 1e-6

        return test


class _Union:
    """θ̂ᵀy >= 2√2 sqrt(a_y log(6 n² M^power/(pi² delta)))."""

    def __init__(self, check: Check, M: int) -> None:
        power = check.body["evidence"]["power"]
        check.demand(power in (1, 2), f"a union over M^{power} comparisons is unknown")
        self.delta, self.size = check.delta, M**power
        # sum over n of 6/(pi² n²) is one
        check.risk += check.delta * (M - 1) / self.size

    def __call__(self, counts: np.ndarray, theta: np.ndarray, variance: Callable) -> Callable:
        n = float(counts.sum())
        log = math.log(6 * n * n * self.size / (math.pi**2 * self.delta))

        def test(y: np.ndarray, shift: float) -> bool:
            width = math.sqrt(8 * variance(y) * log)
            return float(theta @ y) + shift >= width * (1 - 1e-9)

        return test

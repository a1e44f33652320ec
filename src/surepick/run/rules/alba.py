"""Random draws from a known design, estimated with its expected Gram matrix (ALBA)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.run.check import Check

_SCALES = (1.0, 30.0, 900.0, 27_000.0)  # precisions of the mixture, in first samples


def verify(check: Check) -> list[int]:
    """Candidates left when each dropped one lost by more than noise and bias can explain.

    Given the draws the noise in the estimate is a sum with known weights; the bias is at most
    ``norm_bound`` times a known length. That the truth is no longer than that cannot be checked.
    """
    evidence, batches = check.body["evidence"], check.body["batches"]
    norm = float(evidence["norm_bound"])
    check.demand(norm > 0, "norm_bound must be above 0")
    left = check.distinct()
    stages = evidence["stages"]
    ends = [s["batch"] for s in stages[1:]] + [len(batches)]
    check.demand(not stages or stages[0]["batch"] == 0, "the first stage starts late")
    sample = None
    for number, (stage, end) in enumerate(zip(stages, ends, strict=False), start=1):
        where = f"stage {number}"
        check.demand(stage["batch"] <= end <= len(batches), f"{where} has no batches of its own")
        check.demand(list(stage["members"]) == left, f"{where} starts from other candidates")
        level = float(stage["level"])
        check.demand(0 < level < 1, f"{where} has level {level}")
        check.risk += level * (len(left) - 1)
        sample = _Sample(check, stage, norm)
        dropped = list(stage["dropped"])
        for b in range(stage["batch"], end):
            sample.add(batches[b])
            for entry in [e for e in dropped if e["batch"] == b]:
                dropped.remove(entry)
                loser, by = entry["candidate"], entry["by"]
                check.demand(
                    loser in left and by in left and loser != by,
                    f"{where} compares absent candidates",
                )
                gap, bias, settled = sample.compare(by, loser, 0.0)
                check.agree(entry["gap"], gap * check.noise, f"{where}: the gap of {loser} to {by}")
                check.demand(
                    abs(entry["bias"] - bias * check.noise) <= 1e-6 * max(gap * check.noise, 1e-9),
                    f"{where}: the bias for {loser} and {by} is recorded wrongly",
                )
                check.demand(settled, f"{where}: {by} does not beat {loser}")
                left.remove(loser)
                check.checked += 1
        check.demand(not dropped, f"{where} drops candidates outside its batches")
    if check.claim["guarantee"] == "eps-pac":
        check.demand(sample is not None, "nothing was measured")
        assert sample is not None
        chosen = check.claim["candidate"]
        for i in left:
            if i != chosen:
                check.demand(
                    sample.compare(chosen, i, check.epsilon / check.noise)[2],
                    f"candidate {i} may still be better by more than epsilon",
                )
                check.checked += 1
    return left


class _Sample:
    """The draws of one stage."""

    def __init__(self, check: Check, stage: dict[str, Any], norm: float) -> None:
        self.check, self.stage = check, stage
        self.norm = norm / check.noise
        self.counts, self.sums = np.zeros(len(check.arms)), np.zeros(len(check.arms))
        self.weights = np.zeros(len(check.arms))
        self.weights[stage["arms"]] = stage["weights"]
        check.demand(
            (self.weights >= 0).all() and abs(self.weights.sum() - 1) <= 1e-9,
            "design weights must be positive and sum to one",
        )
        _, s, vt = np.linalg.svd(check.arms * np.sqrt(self.weights)[:, None], full_matrices=False)
        keep = s > s[0] * 1e-9
        self.inverse = (vt[keep].T / s[keep] ** 2) @ vt[keep]
        # Lengths are those of the features as given.
        problem = check.body["problem"]
        self.raw = np.array(problem["arms"], dtype=float)
        given = problem["candidates"]
        self.raw_candidates = self.raw if given is None else np.array(given, dtype=float)

    def add(self, batch: dict[str, Any]) -> None:
        self.counts[batch["arms"]] += batch["counts"]
        self.sums[batch["arms"]] += np.array(batch["sums"]) / self.check.noise
        self.check.demand(
            (self.weights[self.counts > 0] > 0).all(), "arms outside the design were pulled"
        )

    def compare(self, by: int, loser: int, shift: float) -> tuple[float, float, bool]:
        """Estimated gap, its bias bound, and whether the comparison is settled."""
        n = self.counts.sum()
        y = self.check.candidates[by] - self.check.candidates[loser]
        u = self.check.arms @ (self.inverse @ y)
        expected = self.check.arms.T @ (self.weights * u)  # must give y back
        self.check.demand(
            np.abs(expected - y).max() <= 1e-6 * np.abs(y).max(),
            f"the design does not measure the difference of {by} and {loser}",
        )
        gap = float(u @ self.sums) / n
        line = self.raw_candidates[by] - self.raw_candidates[loser]
        W = self.raw.T @ (u * self.counts) / n
        c = max(0.0, float(W @ line) / float(line @ line))
        bias = self.norm * float(np.linalg.norm(W - c * line))
        V = float(u**2 @ self.counts)
        surplus = n * (gap - bias + c * shift)
        level, threshold = float(self.stage["level"]), self.stage["threshold"]
        if threshold is not None:
            enough = surplus >= math.sqrt(2 * V * math.log(1 / level)) * (1 - 1e-9)
            return gap, bias, enough and gap + shift >= threshold * (1 - 1e-9)
        if not surplus > 0:
            return gap, bias, False
        unit = float(u**2 @ self.weights) * float(self.stage["first"])
        logs = []
        for scale in _SCALES:
            rho = scale * unit
            phi = 0.5 * (1 + math.erf(surplus / math.sqrt(2 * (V + rho))))
            logs.append(
                math.log(2 * phi) + 0.5 * math.log(rho / (V + rho)) + surplus**2 / (2 * (V + rho))
            )
        top = max(logs)
        evidence = top + math.log(sum(math.exp(v - top) for v in logs) / len(logs))
        return gap, bias, evidence >= math.log(1 / level) - 1e-6

"""Random draws from a known design, estimated with its expected Gram matrix (ALBA)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum, log_twice_normal
from surepick.verifier.record import Batch
from surepick.verifier.tables import slices

_SCALES = (1.0, 30.0, 900.0, 27_000.0)  # precisions of the mixture, in first samples


def verify(check: Check) -> list[int]:
    """Candidates left when each dropped one lost by more than noise and bias can explain.

    Given the draws the noise in the estimate is a sum with known weights; the bias is at most
    ``norm_bound`` times a known length. That the truth is no longer than that cannot be checked;
    nor, without a replay, that the weights of a design were fixed before its draws.
    """
    batches = check.batches
    norm = exact.number(check.evidence["norm_bound"], "norm_bound")
    check.demand(norm > 0, "norm_bound must be above 0")
    everyone = check.distinct()
    left = check.mask(everyone)
    stages = exact.mappings(check.evidence["stages"], "stages")
    ends = [exact.whole(s["batch"], "the first batch of a stage") for s in stages][1:]
    ends.append(len(batches))
    check.demand(not stages or stages[0]["batch"] == 0, "the first stage starts late")
    sample, terms = None, published.StageTerms(check, len(everyone))
    published.demand_bounds(check)
    for number, (stage, end) in enumerate(zip(stages, ends, strict=False), start=1):
        where = f"stage {number}"
        check.demand(stage["batch"] <= end <= len(batches), f"{where} has no batches of its own")
        check.demand(
            np.array_equal(
                exact.whole_numbers(stage["members"], f"the members of {where}"),
                np.flatnonzero(left),
            ),
            f"{where} starts from other candidates",
        )
        check.demand(left.sum() > 1, f"{where} has nobody left to drop")
        terms.demand(stage, int(left.sum()), where)
        check.demand(
            not terms.paper or end <= stage["batch"] + 1, f"{where} has more than one sample"
        )
        check.risk += stage["level"] * (int(left.sum()) - 1)
        sample = _Sample(check, stage, norm)
        record = check.columns(stage["dropped"], "batch", "candidate", "by", "gap", "bias")
        check.demand(
            ((record[0] >= stage["batch"]) & (record[0] < end)).all(),
            f"{where} drops candidates outside its batches",
        )
        for b in range(stage["batch"], end):
            sample.add(batches[b])
            now = record[0] == b
            if now.any():
                _drop(check, left, sample, [column[now] for column in record[1:]], where)
    survivors = np.flatnonzero(left)
    if check.claim["guarantee"] == "eps-pac":
        check.demand(sample is not None, "nothing was measured")
        assert sample is not None
        others = survivors[survivors != check.claim["candidate"]]
        chosen = np.full(len(others), check.claim["candidate"])
        settled = sample.compare(chosen, others, check.epsilon / check.noise)[2]
        check.demand_all(
            settled, lambda i: f"candidate {others[i]} may still be better by more than epsilon"
        )
        check.checked += len(others)
    return survivors.tolist()


def _drop(
    check: Check, left: np.ndarray, sample: _Sample, record: list[np.ndarray], where: str
) -> None:
    """Candidates that are ruled out after one batch."""
    losers, by, gaps, biases = record
    fine = check.among(losers, left) & check.among(by, left)
    fine &= ~np.isin(by, losers)  # who is ruled out here may not rule out others
    check.demand(
        fine.all() and len(np.unique(losers)) == len(losers), f"{where} compares absent candidates"
    )
    gap, bias, settled = sample.compare(by, losers, 0.0)
    check.agree_all(
        gaps, gap * check.noise, lambda i: f"{where}: the gap of {losers[i]} to {by[i]}"
    )
    check.demand_all(
        np.abs(biases - bias * check.noise) <= 1e-6 * np.maximum(gap * check.noise, 1e-9),
        lambda i: f"{where}: the bias for {losers[i]} and {by[i]} is recorded wrongly",
    )
    check.demand_all(settled, lambda i: f"{where}: {by[i]} does not beat {losers[i]}")
    left[losers] = False
    check.checked += len(losers)


class _Sample:
    """The draws of one stage, from the arms of its design."""

    def __init__(self, check: Check, stage: dict[str, Any], norm: float) -> None:
        self.check = check
        self.norm = norm / check.noise
        arms = exact.whole_numbers(stage["arms"], "the arms of a design").tolist()
        self.place = {arm: n for n, arm in enumerate(arms)}
        self.weights = exact.numbers(stage["weights"], "the weights of a design")
        self.level = exact.number(stage["level"], "the level of a stage")
        self.first = exact.number(stage["first"], "the first sample of a stage")
        self.threshold: float | None = None
        if stage["threshold"] is not None:
            self.threshold = exact.number(stage["threshold"], "the threshold of a stage")
        check.demand(
            len(self.place) == len(self.weights) == len(arms)
            and all(0 <= arm < len(check.arms) for arm in self.place)
            and (self.weights > 0).all()
            and abs(self.weights.sum() - 1) <= 1e-9,
            "design weights must be positive and sum to one",
        )
        self.counts, self.sums = np.zeros(len(arms)), np.zeros(len(arms))
        self.rows = check.arms[arms]
        self.raw = check.raw_arms[arms]  # lengths are those of the features as given
        scaled = self.rows * np.sqrt(self.weights)[:, None]
        _, s, vt = np.linalg.svd(scaled, full_matrices=False)
        keep = s > s[0] * 1e-9
        self.inverse = (vt[keep].T / s[keep] ** 2) @ vt[keep]

    def add(self, batch: Batch) -> None:
        self.check.demand(
            self.place.keys() >= set(batch.arms.tolist()), "arms outside the design were pulled"
        )
        at = [self.place[arm] for arm in batch.arms.tolist()]
        self.counts[at] += batch.counts
        self.sums[at] += self.check.per_noise(batch.arms, batch.sums)

    def compare(
        self, by: np.ndarray, losers: np.ndarray, shift: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Estimated gaps, bounds on their bias, and whether each comparison is settled."""
        gap, bias = np.empty(len(losers)), np.empty(len(losers))
        settled = np.empty(len(losers), dtype=bool)
        for part in slices(len(losers), len(self.weights)):
            gap[part], bias[part], settled[part] = self._compare(by[part], losers[part], shift)
        return gap, bias, settled

    def _compare(
        self, by: np.ndarray, losers: np.ndarray, shift: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check, n = self.check, self.counts.sum()
        y = check.candidates[by] - check.candidates[losers]
        u = (y @ self.inverse) @ self.rows.T  # (entries, arms of the design)
        expected = (u * self.weights) @ self.rows  # must give y back
        check.demand_all(
            np.abs(expected - y).max(axis=1) <= 1e-6 * np.abs(y).max(axis=1),
            lambda i: f"the design does not measure the difference of {by[i]} and {losers[i]}",
        )
        gap = (u @ self.sums) / n
        line = check.raw_candidates[by] - check.raw_candidates[losers]
        W = (u * self.counts) @ self.raw / n
        c = np.maximum(0.0, (W * line).sum(axis=1) / (line**2).sum(axis=1))
        bias = self.norm * np.linalg.norm(W - c[:, None] * line, axis=1)
        V = u**2 @ self.counts
        surplus = n * (gap - bias + c * shift)
        level, threshold = self.level, self.threshold
        if threshold is not None:
            enough = surplus >= np.sqrt(2 * V * math.log(1 / level)) * (1 - 1e-9)
            return gap, bias, enough & (gap + shift >= threshold * (1 - 1e-9))
        unit = (u**2 @ self.weights) * self.first
        logs = []
        for scale in _SCALES:
            rho = scale * unit
            z = surplus / np.sqrt(V + rho)
            logs.append(log_twice_normal(z) + 0.5 * np.log(rho / (V + rho)) + z**2 / 2)
        found = log_sum(np.stack(logs, axis=-1)) - math.log(len(logs))
        return gap, bias, (surplus > 0) & (found >= math.log(1 / level) - 1e-6)

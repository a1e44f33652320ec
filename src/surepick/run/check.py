"""The record of a certificate and the plain arithmetic its rules need.

Shares nothing with the algorithms; used by :mod:`surepick.run.verify` and the rules beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.errors import CertificateError

_CLOSE = 1e-6  # recorded and recomputed numbers must agree to this relative precision


class Check:
    """One pass over one certificate."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        problem = body["problem"]
        arms = np.array(problem["arms"], dtype=float)
        candidates = problem["candidates"]
        scale = np.abs(arms).max(axis=0)
        scale[scale == 0] = 1.0
        self.arms = arms / scale
        self.candidates = (
            self.arms if candidates is None else np.array(candidates, dtype=float) / scale
        )
        labels = problem["labels"] if candidates is None else problem["candidate_labels"]
        self.labels = [str(v) for v in labels]
        self.noise = float(problem["noise"])
        self.delta, self.epsilon = float(body["delta"]), float(body["epsilon"])
        self.claim = body["claim"]
        self.risk = 0.0
        self.checked = 0

    def demand(self, holds: Any, complaint: str) -> None:
        if not holds:
            raise CertificateError(f"certificate refused: {complaint}")

    def check_record(self) -> None:
        self.demand(
            np.isfinite(self.arms).all() and np.isfinite(self.candidates).all(),
            "features are not finite",
        )
        self.demand(self.noise > 0 and math.isfinite(self.noise), "noise must be above 0")
        self.demand(0 < self.delta < 1, "delta must lie between 0 and 1")
        total = 0
        for b, batch in enumerate(self.body["batches"]):
            arms, counts, sums = batch["arms"], batch["counts"], batch["sums"]
            self.demand(
                len(arms) == len(counts) == len(sums) and len(set(arms)) == len(arms),
                f"batch {b} is inconsistent",
            )
            for arm, count, value in zip(arms, counts, sums, strict=True):
                self.demand(0 <= arm < len(self.arms), f"batch {b} pulls unknown arm {arm}")
                self.demand(
                    count >= 1 and count == int(count), f"batch {b}: {count} pulls of arm {arm}"
                )
                self.demand(math.isfinite(value), f"batch {b}: sum of arm {arm} is {value}")
                total += count
        self.demand(total == self.claim["samples"], "the number of pulls does not add up")

    def check_conclusion(self, survivors: list[int]) -> None:
        """The claim must follow from who is left: ``survivors``, one of each kind."""
        chosen = self.claim["candidate"]
        self.demand(self.labels[chosen] == self.claim["label"], "the label is another candidate's")
        left = {i for i in range(len(self.candidates)) for s in survivors if self.same(i, s)}
        self.demand(left == set(self.claim["survivors"]), "the survivors are not those claimed")
        self.demand(chosen in left, "the answer is not among the survivors")
        kind = self.claim["guarantee"]
        self.demand(kind in ("pac", "eps-pac", "heuristic", "none"), f"unknown claim {kind!r}")
        if kind in ("pac", "eps-pac"):
            self.demand(
                self.risk <= self.delta * (1 + 1e-9),
                f"the levels add up to {self.risk:g}, more than delta = {self.delta:g}",
            )
        if kind == "pac":
            self.demand(
                all(self.same(i, chosen) for i in left), "other candidates are still in the race"
            )

    def same(self, i: int, j: int) -> bool:
        return bool(np.abs(self.candidates[i] - self.candidates[j]).max() <= 1e-12)

    def distinct(self) -> list[int]:
        """The first candidate of each kind."""
        kept: list[int] = []
        rows: dict[bytes, int] = {}
        for i, row in enumerate(self.candidates):
            key = np.round(row, 12).tobytes()
            if key not in rows and not any(self.same(i, k) for k in kept if len(kept) <= 200):
                kept.append(i)
            rows.setdefault(key, i)
        return kept

    # -- plain least squares ---------------------------------------------------------------
    def least_squares(self, batch: dict[str, Any]) -> tuple[np.ndarray, Callable]:
        """Estimate from one batch in units of sigma, and the map y -> yᵀV⁻¹y."""
        counts = np.array(batch["counts"], dtype=float)
        rows = self.arms[batch["arms"]] * np.sqrt(counts)[:, None]
        means = np.array(batch["sums"], dtype=float) / np.sqrt(counts) / self.noise
        u, s, vt = np.linalg.svd(rows, full_matrices=False)
        keep = s > s[0] * 1e-12
        u, s, vt = u[:, keep], s[keep], vt[keep]
        theta = vt.T @ ((u.T @ means) / s)

        def variance(y: np.ndarray) -> float:
            inside = vt @ y
            outside = np.linalg.norm(y - vt.T @ inside)
            if outside > 1e-7 * max(np.linalg.norm(y), 1e-300):
                return math.inf  # this batch says nothing about y
            return float(((inside / s) ** 2).sum())

        return theta, variance

    def agree(self, recorded: float, computed: float, what: str) -> None:
        """Recorded and recomputed numbers must be the same."""
        gap = abs(recorded - computed)
        self.demand(
            gap <= _CLOSE * max(abs(computed), abs(recorded), 1e-9),
            f"{what} is recorded as {recorded:.9g} but the data give {computed:.9g}",
        )

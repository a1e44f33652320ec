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
_SAME = 1e-12  # rows this close (relative to each column's largest entry) are the same point
_EPS = float(np.finfo(float).eps)
_FLAT = 1e-12  # directions in which the arms extend less than this are not measured


class Check:
    """One pass over one certificate."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        problem = body["problem"]
        given = problem["candidates"]
        arms = self._matrix(problem["arms"])
        candidates = arms if given is None else self._matrix(given)
        self.demand(
            arms.shape[1] == candidates.shape[1], "candidates have other features than arms"
        )
        scale = np.abs(arms).max(axis=0)
        scale[scale == 0] = 1.0
        self.arms = arms / scale
        self.candidates = self.arms if given is None else candidates / scale
        self._kinds = _first_equal(candidates)
        self._find_span()
        self.arm_labels = [str(v) for v in problem["labels"]]
        self.labels = (
            self.arm_labels if given is None else [str(v) for v in problem["candidate_labels"]]
        )
        self.noise = self._number(problem["noise"], "noise")
        self.delta = self._number(body["delta"], "delta")
        self.epsilon = self._number(body["epsilon"], "epsilon")
        self.claim = body["claim"]
        past = body.get("past")
        self.past: list[dict[str, Any]] = [] if past is None else past["batches"]
        self.past_counts = past is not None and past["chosen"] == "in advance"
        self.demand(
            past is None or past["chosen"] in ("in advance", "by results"),
            "it does not say how past measurements were chosen",
        )
        self._rounding = 0.0
        self.risk = 0.0
        self.checked = 0

    def demand(self, holds: Any, complaint: str) -> None:
        if not holds:
            raise CertificateError(f"certificate refused: {complaint}")

    def _number(self, value: Any, what: str) -> float:
        fine = isinstance(value, int | float) and not isinstance(value, bool)
        self.demand(fine and math.isfinite(value), f"{what} is {value!r}, not a finite number")
        return float(value)

    def _matrix(self, rows: Any) -> np.ndarray:
        matrix = np.array(rows)
        fine = matrix.ndim == 2 and matrix.dtype.kind in "if" and np.isfinite(matrix).all()
        self.demand(fine, "features must be a matrix of finite numbers")
        return matrix.astype(float)

    def check_record(self) -> None:
        """Whether the record is complete and consistent, whatever follows from it."""
        for what, labels, rows in (
            ("arms", self.arm_labels, self.arms),
            ("candidates", self.labels, self.candidates),
        ):
            self.demand(
                len(labels) == len(rows) == len(set(labels)), f"{what} must have one label each"
            )
        self.demand(self.noise > 0, "noise must be above 0")
        self.demand(0 < self.delta < 1, "delta must lie between 0 and 1")
        self.demand(self.epsilon >= 0, "epsilon must be at least 0")
        settings = self.body["algorithm"]["settings"]
        self.demand(
            settings["delta"] == self.delta and settings["epsilon"] == self.epsilon,
            "delta or epsilon is not what the algorithm was set to",
        )
        for b, batch in enumerate(self.past):
            self._pulls_of(batch, f"past batch {b}")
        total = sum(self._pulls_of(x, f"batch {b}") for b, x in enumerate(self.body["batches"]))
        self.demand(total == self.claim["samples"], "the number of pulls does not add up")

    def _pulls_of(self, batch: dict[str, Any], where: str) -> int:
        """How many pulls a batch has, after checking that it makes sense."""
        arms, counts, sums = batch["arms"], batch["counts"], batch["sums"]
        self.demand(
            len(arms) == len(counts) == len(sums) and len(set(arms)) == len(arms),
            f"{where} is inconsistent",
        )
        for arm, count, value in zip(arms, counts, sums, strict=True):
            self.demand(0 <= arm < len(self.arms), f"{where} pulls unknown arm {arm}")
            self.demand(count >= 1 and count == int(count), f"{where}: {count} pulls of arm {arm}")
            mean = self._number(value, f"{where}: sum of arm {arm}") / count
            # Small differences of large means cannot be had more exactly than this.
            self._rounding = max(self._rounding, 100 * _EPS * abs(mean))
        return sum(counts)

    def check_conclusion(self, survivors: list[int]) -> None:
        """The claim must follow from who is left: ``survivors``, one of each kind."""
        chosen = self.claim["candidate"]
        left = np.flatnonzero(np.isin(self._kinds, survivors)).tolist()
        self.demand(left == list(self.claim["survivors"]), "the survivors are not those claimed")
        self.demand(chosen in left, "the answer is not among the survivors")
        self.demand(self.labels[chosen] == self.claim["label"], "the label is another candidate's")
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
        self._check_statement(kind)

    def _check_statement(self, kind: str) -> None:
        """The sentence must promise what was checked, and on the condition that it rests on."""
        statement = self.claim["statement"]
        sure = f"{1 - self.delta:.12g}" if self.delta >= 1e-9 else f"1 - {self.delta:g}"
        promise = {
            "pac": f"the best with probability at least {sure}",
            "eps-pac": f"within {self.epsilon:.12g} of the best with probability at least {sure}",
        }.get(kind, "no guarantee")
        rest = statement.removeprefix(promise)
        norm = self.body["evidence"].get("norm_bound")
        if norm is not None and kind in ("pac", "eps-pac"):
            self.demand(
                f"‖theta*‖ <= {norm:g}" in rest, "the statement hides a condition that it rests on"
            )
        if self.past_counts and kind in ("pac", "eps-pac"):
            self.demand(
                "provided that what was measured in the past did not depend on rewards" in rest,
                "the statement hides that it rests on how past measurements were chosen",
            )
        self.demand(
            rest != statement and rest[:1] in ("", " ", ",", ":"),
            f"the statement should begin with {promise!r}; it is {statement!r}",
        )

    def same(self, i: int, j: int) -> bool:
        return bool(self._kinds[i] == self._kinds[j])

    def distinct(self) -> list[int]:
        """The first candidate of each kind."""
        return np.flatnonzero(self._kinds == np.arange(len(self._kinds))).tolist()

    # -- plain least squares ---------------------------------------------------------------
    def least_squares(self, batch: dict[str, Any]) -> tuple[np.ndarray, Callable]:
        """Estimate from one batch in units of sigma, and the map y -> yᵀV⁻¹y."""
        counts = np.array(batch["counts"], dtype=float)
        rows = (self.arms[batch["arms"]] @ self._whiten) * np.sqrt(counts)[:, None]
        means = np.array(batch["sums"], dtype=float) / np.sqrt(counts) / self.noise
        u, s, vt = np.linalg.svd(rows, full_matrices=False)
        keep = s > s[0] * 1e-8
        u, s, vt = u[:, keep], s[keep], vt[keep]
        theta = self._whiten @ (vt.T @ ((u.T @ means) / s))

        def variance(y: np.ndarray) -> float:
            z = y @ self._whiten
            inside = vt @ z
            unseen = np.linalg.norm(z - vt.T @ inside) > 1e-7 * np.linalg.norm(z)
            across = np.linalg.norm(y - self._basis @ (self._basis.T @ y))
            if unseen or across > 1e-7 * np.linalg.norm(y):
                return math.inf  # this batch says nothing about y
            return float(((inside / s) ** 2).sum())

        return theta, variance

    def _find_span(self) -> None:
        """Coordinates in which the arms extend equally far in all directions they span."""
        _, s, vt = np.linalg.svd(self.arms, full_matrices=False)
        keep = s > s[0] * max(_FLAT, max(self.arms.shape) * _EPS)
        self.demand(keep.any(), "arms are all zero")
        self._basis = vt[keep].T
        self._whiten = self._basis * (math.sqrt(len(self.arms)) / s[keep])
        # Features nearly on a plane are known less precisely across it than float64 suggests.
        self._close = max(_CLOSE, 100 * _EPS * float(s[0] / s[keep][-1]))

    def agree(self, recorded: float, computed: float, what: str) -> None:
        """Recorded and recomputed numbers must be the same."""
        gap = abs(recorded - computed)
        self.demand(
            math.isfinite(gap)
            and gap <= self._close * max(abs(computed), abs(recorded)) + self._rounding,
            f"{what} is recorded as {recorded:.9g} but the data give {computed:.9g}",
        )


def _first_equal(rows: np.ndarray) -> np.ndarray:
    """For each row the first row equal to it; candidates of one kind cannot be told apart."""
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    rows = rows / scale
    d = rows.shape[1]
    key = rows @ np.sqrt(np.arange(2.0, d + 2.0))  # equal rows have equal keys, others rarely
    order = np.argsort(key, kind="stable")
    reach = 2 * d * math.sqrt(d + 2.0) * _SAME
    low = np.searchsorted(key[order], key - reach)
    high = np.searchsorted(key[order], key + reach, side="right")
    first = np.arange(len(rows))
    for i in range(len(rows)):
        if first[i] == i and high[i] - low[i] > 1:
            near = order[low[i] : high[i]]
            near = near[(near > i) & (first[near] == near)]
            first[near[np.abs(rows[near] - rows[i]).max(axis=1, initial=0.0) <= _SAME]] = i
    return first

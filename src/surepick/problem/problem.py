"""What is known before measuring: arms, candidates, noise scale, labels."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sized
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.errors import FormatError, InvalidInputError
from surepick.problem.validate import (
    FloatArray,
    as_labels,
    as_matrix,
    is_dataframe,
    positive,
    whole,
)

IntArray = NDArray[np.int64]
_log = logging.getLogger(__name__)

# Rows that agree to this fraction of each column's largest entry count as the same point:
# telling them apart would take more than 1e24 measurements.
_SAME = 1e-12
# Directions in which the arms extend less than this, relative to their widest, count as not
# spanned: rounding alone would decide how far they extend.
_FLAT = 1e-12
# How far (relative to its length) a candidate may stick out of the span of the arms.
_SPAN_TOLERANCE = 1e-8


class Problem:
    """Arms that can be measured, candidates that can be the answer, and the noise scale.

    Parameters
    ----------
    arms
        One row of features per arm, ``(K, d)``; a DataFrame's index becomes the labels.
    candidates
        One row per possible answer, in the same features; by default the arms themselves.
        Each must lie in the span of the arms.
    noise
        Scale sigma of the noise: rewards are sigma-sub-Gaussian around their mean.
    labels
        One label per arm; by default the row numbers.
    candidate_labels
        One label per candidate, when candidates are given.

    Examples
    --------
    >>> problem = Problem([[1, 0], [0, 1], [1, 1]], labels=["a", "b", "both"])
    >>> problem.n_arms, problem.rank
    (3, 2)
    """

    def __init__(
        self,
        arms: Any,
        candidates: Any = None,
        noise: float = 1.0,
        labels: Any = None,
        *,
        candidate_labels: Any = None,
    ) -> None:
        self.arms: FloatArray = as_matrix(arms, "arms")
        self.noise: float = positive(noise, "noise")
        self.labels: tuple[str, ...] = _labels(arms, labels, len(self.arms), "labels")
        self.transductive: bool = candidates is not None
        if candidates is None:
            if candidate_labels is not None:
                raise InvalidInputError("candidate_labels needs candidates; use labels for arms")
            self.candidates: FloatArray = self.arms
            self.candidate_labels: tuple[str, ...] = self.labels
        else:
            self.candidates = as_matrix(candidates, "candidates")
            if self.candidates.shape[1] != self.arms.shape[1]:
                raise InvalidInputError(
                    f"candidates have {self.candidates.shape[1]} features but arms have "
                    f"{self.arms.shape[1]}; they must describe the same features"
                )
            _check_columns(arms, candidates)
            self.candidate_labels = _labels(
                candidates, candidate_labels, len(self.candidates), "candidate_labels"
            )
        self.arms.setflags(write=False)
        self.candidates.setflags(write=False)
        self._find_span()

    @classmethod
    def unstructured(cls, labels: Any, noise: float = 1.0) -> Problem:
        """Options without features: measuring one says nothing about the others.

        Every option is a feature of its own, so no linear model is assumed; the price is that
        each option that is still in the race has to be measured itself.

        Parameters
        ----------
        labels
            One label per option, or how many options there are.
        noise
            Scale sigma of the noise.

        Examples
        --------
        >>> Problem.unstructured(["red", "green", "blue"]).rank
        3
        """
        if isinstance(labels, int | np.integer):
            return cls(np.eye(whole(labels, "labels", least=1)), noise=noise)
        count = len(labels) if isinstance(labels, Sized) else 0
        named = as_labels(labels, count, "labels")
        return cls(np.eye(count), noise=noise, labels=named)

    # -- sizes -----------------------------------------------------------------------------
    @property
    def n_arms(self) -> int:
        """Number of arms, K."""
        return len(self.arms)

    @property
    def n_candidates(self) -> int:
        """Number of candidates (K unless they were given separately)."""
        return len(self.candidates)

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return self.arms.shape[1]

    @property
    def rank(self) -> int:
        """Dimension of the span of the arms."""
        return self.features.shape[1]

    # -- working coordinates ---------------------------------------------------------------
    def _find_span(self) -> None:
        """Choose coordinates in the span of the arms, and check the candidates against it.

        Columns are first brought to a common scale, so that a feature in millionths and one
        in millions keep all their digits; singular values then tell the rank.
        """
        scale = np.abs(self.arms).max(axis=0)
        scale[scale == 0] = 1.0
        scaled = self.arms / scale
        _, s, vt = np.linalg.svd(scaled, full_matrices=False)
        if s[0] == 0:
            raise InvalidInputError("arms are all zero: no measurement can tell candidates apart")
        rounding = s[0] * max(scaled.shape) * np.finfo(float).eps
        rank = int((s > max(s[0] * _FLAT, rounding)).sum())
        if rank < int((s > rounding).sum()):
            _log.warning(
                "arms are nearly collinear: they span %d directions, and extend so little (%.1g) "
                "in another one that it is left out; centre or rescale features if it matters",
                rank,
                s[rank] / s[0],
            )
        basis = vt[:rank].T
        whiten = basis * (np.sqrt(len(self.arms)) / s[:rank])
        self._scale, self._basis = scale, basis
        #: arms in coordinates where their second-moment matrix is the identity, ``(K, rank)``
        self.features: FloatArray = np.ascontiguousarray(scaled @ whiten)
        if self.transductive:
            self._check_span(self.candidates / scale, basis)
            #: candidates in the same coordinates as ``features``, ``(M, rank)``
            self.targets: FloatArray = np.ascontiguousarray((self.candidates / scale) @ whiten)
        else:
            self.targets = self.features
        self.features.setflags(write=False)
        self.targets.setflags(write=False)

    def _check_span(self, scaled: FloatArray, basis: FloatArray) -> None:
        outside = np.linalg.norm(scaled - (scaled @ basis) @ basis.T, axis=1)
        length = np.linalg.norm(scaled, axis=1)
        bad = np.flatnonzero(outside > _SPAN_TOLERANCE * np.maximum(length, 1e-300))
        if len(bad):
            i = int(bad[0])
            share = outside[i] / length[i]
            more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
            raise InvalidInputError(
                f"candidates: row {i} ({self.candidate_labels[i]!r}) lies outside the span of the "
                f"arms: {share:.3g} of its length cannot be reached by any measurement{more}; "
                f"add arms that cover it or drop the candidate"
            )

    @cached_property
    def isometric(self) -> tuple[FloatArray, FloatArray]:
        """Arms and candidates in orthonormal coordinates of the span.

        Lengths and angles are those of the features as given (they are the features as
        given when the arms span the whole space). For algorithms whose constants depend
        on lengths; all others use ``features`` and ``targets``.
        """
        if self.rank == self.n_features:
            return self.arms, self.candidates
        q, _ = np.linalg.qr(self._basis * self._scale[:, None])
        return np.ascontiguousarray(self.arms @ q), np.ascontiguousarray(self.candidates @ q)

    @cached_property
    def spanning_arms(self) -> IntArray:
        """``rank`` arms that span everything the arms span, chosen far apart."""
        from scipy.linalg import qr

        _, _, order = qr(self.features.T, mode="economic", pivoting=True)  # pyright: ignore
        return np.sort(np.asarray(order[: self.rank], dtype=np.int64))

    # -- duplicates ------------------------------------------------------------------------
    @cached_property
    def same_as(self) -> IntArray:
        """For each candidate the first candidate equal to it, ``(M,)``."""
        return _first_equal(self.candidates)

    @cached_property
    def distinct(self) -> IntArray:
        """The candidates that differ from all earlier ones: what algorithms choose among."""
        return np.flatnonzero(self.same_as == np.arange(self.n_candidates))

    @cached_property
    def duplicate_candidates(self) -> tuple[tuple[int, ...], ...]:
        """Groups of candidates with the same features: no measurement tells them apart."""
        return _groups(self.same_as)

    @cached_property
    def duplicate_arms(self) -> tuple[tuple[int, ...], ...]:
        """Groups of arms with the same features."""
        return _groups(_first_equal(self.arms)) if self.transductive else self.duplicate_candidates

    # -- identity --------------------------------------------------------------------------
    @cached_property
    def digest(self) -> str:
        """A fingerprint of arms, candidates and noise."""
        h = hashlib.sha256()
        for part in (self.arms, self.candidates):
            h.update(repr(part.shape).encode())
            h.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
        h.update(repr(self.noise).encode())
        return h.hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Problem):
            return NotImplemented
        return (
            self.digest == other.digest
            and self.transductive == other.transductive
            and self.labels == other.labels
            and self.candidate_labels == other.candidate_labels
        )

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        same = sum(len(g) - 1 for g in self.duplicate_candidates)
        parts = [f"{self.n_arms} arms", f"{self.n_features} features (rank {self.rank})"]
        if self.transductive:
            parts.append(f"{self.n_candidates} candidates")
        if same:
            parts.append(f"{same} duplicate candidate{'s' if same > 1 else ''}")
        return f"Problem({', '.join(parts)}, noise {self.noise:g})"

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to build this problem again, as arrays and plain values."""
        return {
            "arms": self.arms,
            "candidates": self.candidates if self.transductive else None,
            "noise": self.noise,
            "labels": list(self.labels),
            "candidate_labels": list(self.candidate_labels) if self.transductive else None,
        }

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Problem:
        """The problem that :meth:`to_dict` described."""
        try:
            return cls(
                saved["arms"],
                saved["candidates"],
                saved["noise"],
                saved["labels"],
                candidate_labels=saved["candidate_labels"],
            )
        except KeyError as missing:
            raise FormatError(f"saved problem lacks {missing}") from None


def _labels(source: Any, labels: Any, count: int, name: str) -> tuple[str, ...]:
    if labels is not None:
        return as_labels(labels, count, name)
    if is_dataframe(source):
        return as_labels(source.index, count, f"{name} (the DataFrame's index)")
    return tuple(str(i) for i in range(count))


def _check_columns(arms: Any, candidates: Any) -> None:
    """Two DataFrames must name the same columns, in the same order."""
    if not (is_dataframe(arms) and is_dataframe(candidates)):
        return
    for j, (a, c) in enumerate(zip(arms.columns, candidates.columns, strict=True)):
        if a != c:
            raise InvalidInputError(
                f"candidates: column {j} is {str(c)!r}, but that column of arms is {str(a)!r}; "
                f"both must have the same columns in the same order"
            )


def _first_equal(rows: FloatArray) -> IntArray:
    """For each row the index of the first row equal to it (to ``_SAME`` of the column scale).

    Rows are projected on one fixed generic vector and sorted: equal rows become neighbours,
    so the cost is that of a sort, not of all pairs.
    """
    scale = np.abs(rows).max(axis=0)
    scale[scale == 0] = 1.0
    scaled = rows / scale
    generic = np.cos(np.arange(1.0, rows.shape[1] + 1.0) * 1.234567)
    key = scaled @ generic
    order = np.argsort(key, kind="stable")
    apart = np.flatnonzero(np.diff(key[order]) > 4 * rows.shape[1] * _SAME) + 1
    bounds = np.concatenate([[0], apart, [len(rows)]])
    first = np.arange(len(rows), dtype=np.int64)
    for group in np.flatnonzero(np.diff(bounds) > 1):
        left = np.sort(order[bounds[group] : bounds[group + 1]])
        while len(left) > 1:  # the first of those left, and all that equal it
            equal = np.abs(scaled[left] - scaled[left[0]]).max(axis=1) <= _SAME
            first[left[equal]] = left[0]
            left = left[~equal]
    return first


def _groups(first: IntArray) -> tuple[tuple[int, ...], ...]:
    if len(np.unique(first)) == len(first):
        return ()
    members: dict[int, list[int]] = {}
    for i, f in enumerate(first):
        members.setdefault(int(f), []).append(i)
    return tuple(tuple(m) for m in members.values() if len(m) > 1)

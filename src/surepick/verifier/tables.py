"""Arms, candidates and labels of a certificate: held in it, or handed in and compared with it.

They are read a block of rows at a time: a table may be a list of rows, a NumPy array, a
memory-mapped file, or an array of PyTorch or CuPy; what is read of it is copied to this machine as
float64.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.noise import read_noise

BLOCK_ENTRIES = 1 << 18  # entries of a block: it stays in a processor's cache
_CLOSE = 1e-6  # recorded and recomputed numbers must agree to this relative precision
_SAME = 1e-12  # rows this close (relative to each column's largest entry) are the same point
EPS = float(np.finfo(float).eps)
_FLAT = 1e-12  # directions in which the arms extend less than this are not measured


class Given(NamedTuple):
    """What a certificate refers to, handed in by whoever checks it."""

    arms: Any = None
    candidates: Any = None
    labels: Sequence[str] | None = None
    candidate_labels: Sequence[str] | None = None


class Tables:
    """The tables of one certificate.

    Attributes
    ----------
    raw_arms, raw_candidates : Rows
        As they were given, for where lengths matter; but arms per unit of their noise, where each
        has a scale of its own.
    arms, candidates : Rows
        The same, with all columns brought to the scale of the arms.
    whiten, basis : array, (d, rank)
        To coordinates in which the arms extend equally far in all directions that they span, and
        an orthonormal basis of these.
    """

    def __init__(self, problem: dict[str, Any], given: Given) -> None:
        self.separate = separate = problem["candidates"] is not None
        self._arms_given = self._table(problem["arms"], given.arms, "arms")
        self.raw_arms = self.raw_candidates = self._arms_given
        if separate:
            self.raw_candidates = self._table(problem["candidates"], given.candidates, "candidates")
        self.demand(
            self.raw_arms.shape[1] == self.raw_candidates.shape[1],
            "candidates have other features than arms",
        )
        scales = read_noise(problem["noise"], len(self.raw_arms)).scales
        if scales is not None:
            self.raw_arms = self.raw_arms.per(scales)
        scale = self.raw_arms.column_scale()
        self.arms = self.raw_arms.scaled(scale)
        same = self.raw_candidates is self.raw_arms
        self.candidates = self.arms if same else self.raw_candidates.scaled(scale)
        self.misfit = self._read_misfit(problem.get("misfit", 0.0), separate)
        # Candidates with the same features are one, unless features may be wrong.
        alone = np.arange(len(self.raw_candidates))
        self._kinds = alone if self.misfit > 0 else _first_equal(self.raw_candidates)
        self._find_span()
        self.refers = refers = isinstance(problem["arms"], dict)
        self._arm_labels = self._labels(problem["labels"], given.labels, refers, "arms")
        self._candidate_labels = self._arm_labels
        if separate:
            held = problem["candidate_labels"]
            labels = self._labels(held, given.candidate_labels, refers, "candidates")
            self._candidate_labels = labels
        if refers:
            self._check_measured(problem["measured"])

    demand = staticmethod(exact.demand)

    def _read_misfit(self, written: Any, separate: bool) -> float:
        """How far means may lie from what features say; "any" is infinite."""
        if written == "any":
            self.demand(not separate, "candidates that are not measured need a finite misfit")
            return math.inf
        fine = type(written) in (int, float) and math.isfinite(written) and written >= 0
        self.demand(fine, f"misfit is {written!r:.80}, not a number of at least 0")
        return float(written)

    # -- held, or referred to --------------------------------------------------------------
    def _table(self, held: Any, given: Any, what: str) -> Rows:
        if not isinstance(held, dict):
            rows = Rows(exact.matrix(held, "features"))
            self.demand(
                given is None or Rows(given).digest() == rows.digest(),
                f"it is about other {what} than those given",
            )
            return rows
        self.demand(given is not None, f"it refers to {what} that were not given")
        shape = tuple(exact.whole_numbers(held["shape"], f"the shape of the {what}").tolist())
        rows = Rows(given)
        self.demand(
            rows.shape == shape,
            f"it is about other {what} than those given: {shape[0]:,} rows and {shape[1]:,} "
            f"columns, not {rows.shape[0]:,} and {rows.shape[1]:,}",
        )
        self.demand(rows.is_finite(), "features must be a matrix of finite numbers")
        self.demand(
            rows.digest() == held["sha256"],
            f"it is about other {what} than those given (their SHA-256 differs); pass exactly "
            f"the numbers of the run: float64, not rounded, rows and columns in the same order",
        )
        return rows

    def _labels(
        self, held: Any, given: Sequence[str] | None, refers: bool, what: str
    ) -> list[str] | None:
        """Labels of all rows; None where they are the row numbers."""
        if held is None:
            self.demand(refers, f"{what} must have one label each")
            return None
        labels = [] if given is None else [str(v) for v in given]
        if not isinstance(held, dict):
            named = labels != [str(row) for row in range(len(labels))]
            self.demand(
                not named or labels == held, f"it has other labels of the {what} than those given"
            )
            return exact.texts(held, f"the labels of the {what}")
        text = json.dumps(labels, separators=(",", ":"))
        self.demand(
            hashlib.sha256(text.encode()).hexdigest() == held["sha256"],
            f"it refers to labels of the {what} that were not given; pass a Problem with exactly "
            f"these labels: verify(certificate, problem=Problem(arms, labels=labels))",
        )
        return labels

    def _check_measured(self, measured: dict[str, Any]) -> None:
        """Features of what was measured are listed for readers: they must be those of the arms."""
        arms = exact.whole_numbers(measured["arms"], "the arms listed as measured")
        self.measured: list[int] = arms.tolist()
        self.demand(
            all(0 <= arm < len(self.arms) for arm in self.measured),
            "it lists unknown arms as measured",
        )
        listed = measured["features"]
        features = exact.matrix(listed, "listed features") if listed else np.empty((0, 0))
        self.demand(
            np.array_equal(
                features, self._arms_given[self.measured] if arms.size else features[:0]
            ),
            "the features listed for the measured arms are not theirs",
        )

    # -- labels, kinds, span ---------------------------------------------------------------
    def check_labels(self) -> None:
        """Every arm and every candidate must have a label of its own."""
        for what, labels, rows in (
            ("arms", self._arm_labels, self.arms),
            ("candidates", self._candidate_labels, self.candidates),
        ):
            self.demand(
                labels is None or len(labels) == len(rows) == len(set(labels)),
                f"{what} must have one label each",
            )

    def label(self, candidate: int) -> str:
        labels = self._candidate_labels
        return str(candidate) if labels is None else labels[candidate]

    def same(self, i: int, j: int) -> bool:
        return bool(self._kinds[i] == self._kinds[j])

    def first_like(self, candidate: int) -> int:
        return int(self._kinds[candidate])

    def alike(self, kinds: Any) -> np.ndarray:
        """All candidates with the features of some of :meth:`distinct`."""
        return np.flatnonzero(np.isin(self._kinds, kinds))

    def distinct(self) -> list[int]:
        """The first candidate of each kind."""
        return np.flatnonzero(self._kinds == np.arange(len(self._kinds))).tolist()

    def _find_span(self) -> None:
        """Coordinates in which the arms extend equally far in all directions they span."""
        _, s, vt = np.linalg.svd(self.arms.factor(), full_matrices=False)
        keep = s > s[0] * max(_FLAT, max(self.arms.shape) * EPS)
        self.demand(keep.any(), "arms are all zero")
        self.basis = vt[keep].T
        self.whiten = self.basis * (math.sqrt(len(self.arms)) / s[keep])
        # Features nearly on a plane are known less precisely across it than float64 suggests.
        self._close = max(_CLOSE, 100 * EPS * float(s[0] / s[keep][-1]))


def _first_equal(table: Rows) -> np.ndarray:
    """For each row the first row equal to it; candidates of one kind cannot be told apart."""
    rows, d = table.scaled(table.column_scale()), table.shape[1]
    key = rows @ np.sqrt(np.arange(2.0, d + 2.0))  # equal rows have equal keys, others rarely
    order = np.argsort(key, kind="stable")
    reach = 2 * d * math.sqrt(d + 2.0) * _SAME
    low = np.searchsorted(key[order], key - reach)
    high = np.searchsorted(key[order], key + reach, side="right")
    first = np.arange(len(rows))
    for i in np.flatnonzero(high - low > 1):
        if first[i] == i:
            near = order[low[i] : high[i]]
            near = near[(near > i) & (first[near] == near)]
            if len(near):
                there, here = rows[near], rows[i]
                slack = _SAME * np.maximum(np.abs(there), np.abs(here)) + 4 * EPS
                first[near[(np.abs(there - here) <= slack).all(axis=1)]] = i
    return first


# -- rows, a block at a time -------------------------------------------------------------------
class Rows:
    """The rows of a table, each column divided by a scale, and perhaps each row too.

    Parameters
    ----------
    table
        A matrix of numbers.
    scale
        One number per column; by default all one.
    units
        One number per row; by default all one.
    """

    def __init__(
        self, table: Any, scale: np.ndarray | None = None, units: np.ndarray | None = None
    ) -> None:
        self._table, self._scale, self._units = table, scale, units
        self.shape: tuple[int, int] = (int(table.shape[0]), int(table.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, which: Any) -> np.ndarray:
        rows = on_host(self._table[which])
        if self._units is not None:
            rows = rows / self._units[which][..., None]
        return rows if self._scale is None else rows / self._scale

    def __matmul__(self, matrix: np.ndarray) -> np.ndarray:
        out = np.empty((len(self), *matrix.shape[1:]))
        for part, rows in self.blocks():
            out[part] = rows @ matrix
        return out

    def blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """All rows, some at a time, and where they are."""
        for part in slices(len(self), self.shape[1]):
            yield part, self[part]

    def scaled(self, scale: np.ndarray) -> Rows:
        return Rows(self._table, scale, self._units)

    def per(self, units: np.ndarray) -> Rows:
        """This table with each row divided by its own unit."""
        return Rows(self._table, self._scale, units)

    def column_scale(self) -> np.ndarray:
        """Largest absolute entry of each column; 1 where all are zero."""
        scale = np.zeros(self.shape[1])
        for _, rows in self.blocks():
            scale = np.maximum(scale, np.abs(rows).max(axis=0))
        scale[scale == 0] = 1.0
        return scale

    def factor(self) -> np.ndarray:
        """R of a QR factorisation: RᵀR is the sum of xxᵀ over all rows x."""
        found = np.empty((0, self.shape[1]))
        for _, rows in self.blocks():
            found = np.asarray(np.linalg.qr(np.vstack([found, rows]), mode="r"))
        return found

    def is_finite(self) -> bool:
        return all(bool(np.isfinite(rows).all()) for _, rows in self.blocks())

    def digest(self) -> str:
        """SHA-256 of the entries: float64, little-endian, row by row, with 0.0 for -0.0."""
        found = hashlib.sha256()
        for _, rows in self.blocks():
            found.update(np.ascontiguousarray(rows + 0.0, dtype="<f8").tobytes())
        return found.hexdigest()


def slices(count: int, width: int) -> Iterator[slice]:
    """Slices of rows that make up a block each."""
    step = max(1, BLOCK_ENTRIES // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))


def on_host(array: Any) -> np.ndarray:
    """An array of any library as one of NumPy, float64."""
    if hasattr(array, "detach"):  # PyTorch
        array = array.detach().cpu().numpy()
    elif not isinstance(array, np.ndarray) and hasattr(array, "get"):  # CuPy
        array = array.get()
    return np.asarray(array, dtype=np.float64)

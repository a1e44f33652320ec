"""A first-order method for minimax designs on any number of arms and directions.

Two multiplicative steps share one factorisation of A(w): weights move towards the optimum for
the current mix of directions, and the mix moves towards the directions that are worst off.
Everything about a mix of directions that matters to the arms is one d × d matrix,

    M = Σ_y p_y λ_y λ_yᵀ,   λ_y = A⁻¹y / a_y,   B ≥ 1 / max_x xᵀ M x,

so a look at all arms costs K d², like one at all directions. Between two looks the steps are
made on a working set of some thousand arms and directions. Each look certifies the bracket for
the whole problem and says which arms and directions to take to work next.

The lower bound rests on averages over all steps. With λ̄_y the average of a direction's λ_y,
weighted by the p_y they came with, (λ̄_yᵀx)² is at most the average of the (λ_yᵀx)². Single steps
oscillate; averages settle.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import Backend
from surepick.arrays.grid import coarse
from surepick.arrays.screening import longest
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.design._bounds import Lower, Upper
from surepick.design._result import Round
from surepick.design.directions import Directions
from surepick.design.large.recorded import recorded_steps
from surepick.design.large.steps import factor, inverse_root, multiplicative_steps
from surepick.design.rounding import prune
from surepick.errors import SolverError

Sparse = tuple[IntArray, FloatArray]  # indices, and a weight for each

_LOOKS_SAVED = 4  # by a good start
_NEGLIGIBLE_SHARE = 1e-7  # directions with a smaller share of the proof are left out of it


class FirstOrder:
    """The working set, the steps on it, and the bounds so far.

    Parameters
    ----------
    backend
        Where the arms are.
    arms : array of that library, (K, r)
        In coordinates in which they extend about equally far in all directions.
    whiten : array, (d, r)
        Takes directions, as rows, to these coordinates.
    directions : Directions
    start : (indices, weights), optional
        A design to begin near to.
    seed : (indices, shares), optional
        Directions that mattered to it.
    """

    def __init__(
        self,
        backend: Backend,
        arms: Any,
        whiten: FloatArray,
        directions: Directions,
        start: Sparse | None = None,
        seed: Sparse | None = None,
    ) -> None:
        self.backend, self.table, self.whiten, self._family = backend, arms, whiten, directions
        count, dim = arms.shape
        self.dim: int = dim
        self._size = max(1024, 32 * dim)
        self.looks = 0
        self._looks_saved = 0 if seed is None else _LOOKS_SAVED
        self._proof = Proof(dim)
        self._mean: Sparse | None = None
        self._counted = 0.0
        sample = self._sample(2 * count // self._size)
        even = sample, np.full(len(sample), 1.0 / len(sample))
        self._take_arms(even if start is None else _mix(even, _heaviest(start, self._size), 0.9))
        worst, found, values = directions.scan(whiten @ self._root(self._w), self._size)
        found, _ = _distinct(found, values)
        even = found, np.full(len(found), 1.0 / len(found))
        self._take_directions(even if seed is None or not len(seed[0]) else _mix(even, seed, 0.9))
        self.seen = float(values.max())  # worst variance found; the upper bound may be larger
        self.upper = Upper(worst, self.arms, _host(backend, self._w))
        self.lower = Lower(0.0, found[:0], np.empty(0), np.empty((0, dim)))

    @property
    def gap(self) -> float:
        """Relative width of the bracket."""
        return self.upper.value / self.lower.value - 1.0 if self.lower.value > 0 else np.inf

    def advance(self, tol: float) -> bool:
        """Some steps and a look; whether the bracket got narrower."""
        before = self.gap
        weights, upper, lower = self._steps(tol)
        self.looks += 1
        average = self._average(_host(self.backend, weights))
        root = self.whiten @ self._root_of(average)
        worst, dirs, lengths = self._family.scan(root, self._size)
        if worst < self.upper.value:
            self.seen = float(lengths.max())
            self.upper = Upper(worst, *average)
        scores, arms, heights = self._score()
        if 1.0 / scores > self.lower.value:
            self.lower = self._proof.bound(1.0 / scores)
        self._regroup((arms, heights > 1.0 / upper), (dirs, lengths > lower), heights, lengths)
        return self.gap < before

    def status(self) -> Round:
        """Where the solve stands."""
        return Round(self.looks, self.upper.value, self.lower.value, len(self.arms), len(self.dirs))

    def _average(self, weights: FloatArray) -> Sparse:
        """Weights of the arms, averaged over all looks, later ones counting more."""
        share = (self.looks + 1) ** 2
        self._counted += share
        new = self.arms, weights
        mixed = new if self._mean is None else _mix(self._mean, new, share / self._counted)
        self._mean = _heaviest(mixed, 2 * self._size)
        return self._mean[0], self._mean[1] / self._mean[1].sum()

    # -- steps on the working set ------------------------------------------------------------
    def _steps(self, tol: float) -> tuple[Any, float, float]:
        """Multiplicative steps; the best weights seen, their value and a lower bound on it."""
        b, xp = self.backend, self.backend.xp
        # The mix of directions moves more slowly after each look, so that it settles.
        speed = 2.0 / (1.0 + 0.5 * (self.looks + self._looks_saved))
        make = recorded_steps if b.name == "torch" and b.on_gpu else multiplicative_steps
        done = make(b, (self._x, self._y), (self._w, self._q), speed, tol)
        self._w, self._q = done.w, done.q
        weight = float((self.looks + 1) ** 2)  # later steps are better ones
        self._proof.add(self.dirs, weight * b.host(done.told), weight * b.host(done.normals))
        chosen, upper = done.chosen, done.upper
        image = xp.matmul(self._y, b.put(self._root(done.average)))
        worst = float(xp.max(b.squares(image)))
        if worst < upper:
            chosen, upper = done.average, worst
        return chosen / xp.sum(chosen), upper, done.lower

    def _root(self, weights: Any) -> FloatArray:
        """R with A(w)⁻¹ = R Rᵀ for weights of the arms at work."""
        return inverse_root(self.backend.gram(self._x, weights))

    def _root_of(self, design: Sparse) -> FloatArray:
        """R with A(w)⁻¹ = R Rᵀ for the weights of any design."""
        b, (arms, weights) = self.backend, design
        return inverse_root(b.gram(b.take(self.table, arms), b.put(weights)))

    # -- looks at everything -----------------------------------------------------------------
    def _score(self) -> tuple[float, IntArray, FloatArray]:
        """max xᵀMx over all arms, for the proof so far, and the arms that score highest."""
        own = (self.table, factor(self._proof.moments()), self._size)
        found, values = longest(self.backend, *own)
        return float(values.max()), found, values

    def _regroup(self, arms: Any, dirs: Any, heights: FloatArray, lengths: FloatArray) -> None:
        """Take to work what stands out, and let go of what has next to no weight."""
        for take, (found, good), values, at_work, weights in (
            (self._take_arms, arms, heights, self.arms, _host(self.backend, self._w)),
            (self._take_directions, dirs, lengths, self.dirs, _host(self.backend, self._q)),
        ):
            kept = _heaviest((at_work, weights), 3 * self._size // 4)
            new, _ = _distinct(found[good], values[good])
            new = new[~_among(new, kept[0])][: self._size // 4]
            fresh = new, np.full(len(new), 0.5 / self._size)
            take((np.append(kept[0], fresh[0]), np.append(kept[1], fresh[1])))

    def _sample(self, step: int) -> IntArray:
        """Arms at even distances, and others where these do not span."""
        sample = np.arange(0, self.table.shape[0], max(1, step))
        b = self.backend
        extents = np.linalg.eigvalsh(b.gram(b.take(self.table, sample)))  # squared
        if extents[0] > 1e-6 * extents[-1]:
            return sample
        left, found = self.backend.squares(self.table), []
        for _ in range(self.dim):  # each as far as can be from the span of those before it
            found.append(int(self.backend.xp.argmax(left)))
            rows = self.backend.rows(self.table, np.array(found))
            unit = np.linalg.qr(rows.T)[0][:, -1]
            left = left - self.backend.product(self.table, unit) ** 2
        return np.union1d(sample, found)

    def _take_arms(self, chosen: Sparse) -> None:
        self.arms = chosen[0]
        self._x = self.backend.take(self.table, chosen[0])
        self._w = self.backend.put(chosen[1] / chosen[1].sum())

    def _take_directions(self, chosen: Sparse) -> None:
        self.dirs = chosen[0]
        self._y = self.backend.put(self._family.vectors(chosen[0]) @ self.whiten)
        self._q = self.backend.put(chosen[1] / chosen[1].sum())

    def trim(self, allowance: float) -> Upper:
        """The weights without the lightest, as far as the value stays in ``allowance``."""
        upper = self._pruned(self.upper)
        for cut in (0.3, 0.03, 0.003):
            keep = coarse(upper.weights) > coarse(cut / len(upper.weights))
            if keep.all():
                continue
            weights = upper.weights[keep] / upper.weights[keep].sum()
            try:
                root = self._root_of((upper.arms[keep], weights))
            except SolverError:
                continue  # what is left does not span
            value = self._family.scan(self.whiten @ root, 1)[0]
            if value <= allowance:
                return Upper(value, upper.arms[keep], weights)
        return upper

    def _pruned(self, upper: Upper) -> Upper:
        """A design with the same A(w) on as few arms as needed."""
        most = self.dim * (self.dim + 1) // 2 + 1
        if len(upper.arms) <= most or most > cutoffs.PRUNED_ARMS:
            return upper
        weights = prune(self.backend.rows(self.table, upper.arms), upper.weights)
        keep = weights > 0
        return Upper(upper.value, upper.arms[keep], weights[keep] / weights.sum())


class Proof:
    """Directions, how much of all steps they made up, and their averaged normals."""

    def __init__(self, dim: int) -> None:
        self._dirs: IntArray = np.empty(0, dtype=np.int64)
        self._told: FloatArray = np.empty(0)
        self._normals: FloatArray = np.empty((0, dim))  # times told

    def add(self, dirs: IntArray, told: FloatArray, normals: FloatArray) -> None:
        """More steps: what each direction told in them, and that times its normals."""
        everyone, place = np.unique(np.append(self._dirs, dirs), return_inverse=True)
        old, new = place[: len(self._dirs)], place[len(self._dirs) :]  # each without repetition
        total = np.zeros(len(everyone))
        total[old] = self._told
        total[new] += told
        summed = np.zeros((len(everyone), normals.shape[1]))
        summed[old] = self._normals
        summed[new] += normals
        keep = total > _NEGLIGIBLE_SHARE * total.sum()
        self._dirs, self._told, self._normals = everyone[keep], total[keep], summed[keep]

    def moments(self) -> FloatArray:
        """M = Σ p λ̄ λ̄ᵀ."""
        scaled = self._normals / np.sqrt(self._told * self._told.sum())[:, None]
        return scaled.T @ scaled

    def bound(self, value: float) -> Lower:
        """The proof as it stands, of this lower bound."""
        weights = self._told / self._told.sum()
        return Lower(value, self._dirs, weights, self._normals / self._told[:, None])


def _among(some: IntArray, others: IntArray) -> BoolArray:
    """Which of some indices are among others; quicker than ``isin`` for a few thousand."""
    ordered = np.sort(others)
    return ordered[np.searchsorted(ordered, some).clip(max=len(ordered) - 1)] == some


def _heaviest(sparse: Sparse, limit: int) -> Sparse:
    """The ``limit`` largest weights, by index."""
    indices, weights = sparse
    if len(indices) > limit:
        top = np.sort(np.argsort(-coarse(weights), kind="stable")[:limit])
        indices, weights = indices[top], weights[top]
    return indices, weights


def _mix(some: Sparse, other: Sparse, share: float) -> Sparse:
    """``share`` of ``other`` and the rest of ``some``."""
    indices, place = np.unique(np.append(some[0], other[0]), return_inverse=True)
    parts = [(1.0 - share) * some[1] / some[1].sum(), share * other[1] / other[1].sum()]
    return indices, np.bincount(place, weights=np.concatenate(parts)).astype(np.float64)


def _distinct(indices: IntArray, values: FloatArray) -> Sparse:
    """One of each value: the same point many times over would crowd out all others."""
    _, first = np.unique(-coarse(values), return_index=True)
    return indices[first], values[first]


def _host(backend: Backend, array: Any) -> FloatArray:
    """A copy on the host."""
    return np.array(backend.host(array))

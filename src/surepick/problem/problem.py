"""What is known before measuring: arms, candidates, noise, labels."""

from __future__ import annotations

from collections.abc import Sized
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from surepick.arrays.backend import Backend
from surepick.arrays.grid import orthonormal, product, spread_rows
from surepick.arrays.memory import demand_memory
from surepick.arrays.tables import mark_checked, read_only, read_parquet
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_labels, whole
from surepick.errors import InvalidInputError
from surepick.problem.contents import Contents
from surepick.problem.duplicates import first_equal, groups
from surepick.problem.labels import Labels
from surepick.problem.noise import capped
from surepick.problem.pairs import Pairing, paired
from surepick.problem.span import (
    find_large_span,
    find_span,
    outside,
    sample_that_spans,
)


class Problem(Contents):
    """Arms that can be measured, candidates that can be the answer, and what is known of noise.

    Parameters
    ----------
    arms
        One row of features per arm, ``(K, d)``; a DataFrame's index becomes the labels.
    candidates
        One row per possible answer, in the same features; by default the arms themselves.
        Each must lie in the span of the arms.
    noise
        What a measurement is. By default ``"symmetric"``, as trusted features speak of means, and
        ``"any"`` where features only guide (``misfit=inf``):

        - ``"any"``: a number of any kind. Nothing is assumed; the best is the option that usually
          wins a comparison of two measurements.
        - ``"symmetric"``: the scale of its noise is not known, may differ from arm to arm and from
          pull to pull, and tails may be heavy; each reward is as likely to be above its mean as
          below it by the same amount.
        - ``"equal"``: normal, with the same scale for all arms, which is not known.
        - a number: its scale sigma, or more (rewards are sigma-sub-Gaussian); a list: one per arm.
        - ``"yes-no"``: rewards are 0 or 1.
        - ``(lowest, highest)``: rewards lie between these bounds, and may be anything there.
    labels
        One label per arm; by default the row numbers.
    misfit
        How far the mean reward of an arm may lie from what its features say, in units of the
        reward: 0 where rewards are exactly linear in the features; ``inf`` where features are only
        a guide to what is worth measuring, and every proof is to rest on measurements alone.
    costs
        What a measurement of each arm costs, in any unit; by default all cost the same. PooledPeleg
        then measures so that the total is small, not the number of measurements.
    candidate_labels
        One label per candidate, when candidates are given.
    backend
        Where the arms are worked on: ``"numpy"``, ``"torch"``, ``"torch:cuda"`` or ``"cupy"``;
        by default where they are, if they are many, else NumPy, which is faster with few.
        Arms that are a large array of float64 numbers, a memory-mapped file among them, are
        not copied: do not change them afterwards.
    large
        Have all work on the arms go block by block, without tables beside theirs, even though
        they are few; large tables, and those of other libraries, always are worked on so.
    minimise
        Whether smaller is better: times, costs, errors. What is told and what is shown are always
        the numbers as they are measured.
    cap
        Rewards above this number count as this number, so that means are those of what is left.
        Without noise they must be at least 0; with ``noise=(lowest, highest)`` between these.
    numbers
        Further numbers that a measurement gives beside its reward, by their names, and what is
        known of each, as for ``noise``: ``{"latency": (0, 100), "failed": "yes-no"}``. Options can
        then be asked to keep limits on them (``keep`` of :func:`surepick.identify`).

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
        noise: Any = None,
        labels: Any = None,
        misfit: float = 0.0,
        costs: Any = None,
        *,
        candidate_labels: Any = None,
        backend: str | Backend | None = None,
        large: bool = False,
        minimise: bool = False,
        cap: float | None = None,
        numbers: Any = None,
    ) -> None:
        super().__init__(
            arms,
            candidates,
            capped(noise, cap),
            labels,
            misfit,
            costs,
            candidate_labels=candidate_labels,
            backend=backend,
            large=large,
            minimise=minimise,
            numbers=numbers,
        )
        self._find_span()

    @classmethod
    def unstructured(
        cls,
        labels: Any,
        noise: Any = "any",
        *,
        minimise: bool = False,
        cap: float | None = None,
        numbers: Any = None,
        costs: Any = None,
    ) -> Problem:
        """Options without features: measuring one says nothing about the others.

        Every option is a feature of its own, so no linear model is assumed; the price is that
        each option that is still in the race has to be measured itself.

        Parameters
        ----------
        labels
            One label per option, or how many options there are.
        noise
            What is known about the noise, as for :class:`Problem`. By default nothing: measurements
            are numbers of any kind, and the best is the option that usually wins a comparison of
            two. For the best *mean*, say what measurements are: ``"symmetric"``, ``"yes-no"``, a
            pair of bounds, ….
        minimise
            Whether smaller is better.
        cap, numbers, costs
            As for :class:`Problem`.

        Examples
        --------
        >>> Problem.unstructured(["red", "green", "blue"]).rank
        3
        """
        noise = capped(noise, cap)
        if isinstance(labels, int | np.integer):
            options = np.eye(whole(labels, "labels", least=1))
            return cls(options, noise=noise, minimise=minimise, numbers=numbers, costs=costs)
        count = len(labels) if isinstance(labels, Sized) else 0
        named = as_labels(labels, count, "labels")
        own = {"noise": noise, "labels": named, "minimise": minimise, "numbers": numbers}
        return cls(np.eye(count), **own, costs=costs)

    @classmethod
    def pairs(cls, labels: Any, features: Any = None, costs: Any = None) -> Problem:
        """Options that are compared two at a time: which of the two is better?

        A measurement takes two options, in an order, and says 1 (the first is better), 0 (the
        second is) or 0.5 (a tie). The arms of this problem are the ordered pairs, its candidates
        the options.

        Parameters
        ----------
        labels
            One label per option, or how many options there are.
        features
            One row of features per option. They guide whom to compare, and prove nothing.
        costs
            What each option costs to be shown; a comparison costs the sum of two.

        Examples
        --------
        >>> problem = Problem.pairs(["tea", "milk", "water"])
        >>> problem.n_arms, problem.labels[0], problem.candidate_labels
        (6, 'tea vs milk', ('tea', 'milk', 'water'))
        """
        return cls(**paired(labels, features, costs))

    @property
    def option_labels(self) -> Labels:
        """What options are called that can be added and retired: arms, or who is compared."""
        return self.labels if self.pairing is None else self.candidate_labels

    @cached_property
    def pairing(self) -> Pairing | None:
        """Which arm is which pair of options; None where a measurement is of one option."""
        if not self.noise_kind.of_pairs:
            return None
        found = Pairing(self.n_candidates)
        if not self.transductive or found.options < 2 or found.ordered != self.n_arms:
            raise InvalidInputError(
                "noise: with 'pairs', arms are all ordered pairs of the options; make such a "
                "problem with surepick.Problem.pairs(labels)"
            )
        return found

    @classmethod
    def from_parquet(
        cls, path: str | Path, features: list[str] | None = None, **settings: Any
    ) -> Problem:
        """A problem whose arms are the rows of a Parquet file, which is read once.

        Parameters
        ----------
        path
            The file.
        features
            Names of the columns with features; by default all numeric columns.
        **settings
            As for :class:`Problem` itself.
        """
        return cls(read_parquet(path, features), **settings)

    # -- working coordinates ---------------------------------------------------------------
    @property
    def rank(self) -> int:
        """Dimension of the span of the arms."""
        return self.features.shape[1]

    def _find_span(self) -> None:
        """Choose coordinates in the span of the arms, and check the candidates against it."""
        measured = self.standardised_arms
        span = find_large_span(measured, self.backend) if self.large else find_span(measured)
        self._scale, self._basis = span.scale, span.basis
        #: arms, each per unit of its noise, in coordinates where their second-moment matrix is
        #: the identity, ``(K, rank)``
        self.features: FloatArray = self._whitened(measured, span.whiten, "features of arms")
        if self.transductive or measured is not self.arms:
            self._check_span()
            #: candidates in the same coordinates as ``features``, ``(M, rank)``
            self.targets: FloatArray = self._whitened(
                self.candidates, span.whiten, "features of candidates"
            )
        else:
            self.targets = self.features
        if self.backend.plain:
            for table in (self.arms, self.candidates, self.features, self.targets):
                table.setflags(write=False)
        if self.large:  # nobody else can change these: designs need not check them again
            mark_checked(self.features)
            mark_checked(self.targets)

    @property
    def standardised_arms(self) -> FloatArray:
        """The arms as algorithms measure them: where scales differ, each divided by its own.

        Rewards are divided in the same way, so that all of them have noise of scale one.
        """
        if self.noise_kind.scales is None:
            return self.arms
        scales = self.noise_kind.scales[:, None]
        return self.arms / (scales if self.backend.plain else self.backend.put(scales))

    def with_noise(self, noise: Any) -> Self:
        """This problem with other noise; arms and what follows from them are shared."""
        other = super().with_noise(noise)
        if any(problem.noise_kind.scales is not None for problem in (self, other)):
            for name in ("isometric", "spanning_arms"):
                other.__dict__.pop(name, None)
            other._find_span()
        return other

    def _whitened(self, table: FloatArray, whiten: FloatArray, what: str) -> FloatArray:
        if not self.large:
            return product(table / self._scale, whiten)
        demand_memory(8.0 * whiten.shape[1], len(table), self.backend.free_memory(), what)
        return self.backend.image(table, whiten / self._scale[:, None])

    def feature_rows(self, arms: Any) -> FloatArray:
        """Features of some arms, as a NumPy array."""
        return self.backend.rows(self.features, np.asarray(arms))

    def spanned_by(self, arms: Any) -> bool:
        """Whether measuring these arms says something about every coefficient."""
        rows = self.feature_rows(np.unique(arms))
        return int(np.linalg.matrix_rank(rows, tol=1e-9)) == self.rank

    def target_rows(self, candidates: Any) -> FloatArray:
        """Features of some candidates, as a NumPy array."""
        return self.backend.rows(self.targets, np.asarray(candidates))

    def _check_span(self) -> None:
        bad, worst, share = outside(self.candidates, self._scale, self._basis, self.backend)
        if bad:
            more = f" (and {bad - 1} more)" if bad > 1 else ""
            raise InvalidInputError(
                f"candidates: row {worst} ({self.candidate_labels[worst]!r}) lies outside the "
                f"span of the arms: {share:.3g} of its length cannot be reached by any "
                f"measurement{more}; add arms that cover it, or drop the candidate"
            )

    @cached_property
    def isometric(self) -> tuple[FloatArray, FloatArray]:
        """Arms and candidates in orthonormal coordinates of the span.

        Lengths and angles are those of the features as given (they are the features as
        given when the arms span the whole space), of arms per unit of their noise where scales
        differ. For algorithms whose constants depend on lengths; all others use ``features`` and
        ``targets``.
        """
        arms, candidates = self.standardised_arms, self.candidates
        if self.rank == self.n_features:
            return (read_only(arms) if self.backend.plain else arms), candidates
        if self.large:
            q, _ = np.linalg.qr(self._basis * self._scale[:, None])
            return self.backend.image(arms, q), self.backend.image(candidates, q)
        q = orthonormal(np.asarray(arms)[self.spanning_arms].T)
        return read_only(product(arms, q)), read_only(product(candidates, q))

    @cached_property
    def spanning_arms(self) -> IntArray:
        """``rank`` arms that span everything the arms span, chosen far apart."""
        if self.large:
            rows = sample_that_spans(self.features, self.backend)
            return np.sort(rows[spread_rows(self.feature_rows(rows), self.rank)])
        return np.sort(spread_rows(self.features, self.rank))

    @cached_property
    def has_level(self) -> bool:
        """Whether features can say "as much more for every option": an intercept, or groups.

        Then a level that all rewards share cancels from every comparison of candidates.
        """
        units = np.broadcast_to(self.noise_kind.units(np.arange(self.n_arms)), self.n_arms)
        ones = self.unit / units
        # Features have the identity as their second-moment matrix: these are least squares.
        mean = self.backend.host(self.features.T @ self.backend.put(ones)) / self.n_arms
        of_arms, of_candidates = (
            self.backend.host(self.backend.product(table, mean))
            for table in (self.features, self.targets)
        )
        return bool(np.abs(of_arms - ones).max() < 1e-9 and np.abs(of_candidates - 1).max() < 1e-9)

    @cached_property
    def reach(self) -> float:
        """The largest length of a candidate's features."""
        b = self.backend
        parts = (b.xp.max(b.squares(self.targets[part])) for part in b.blocks(self.targets))
        return max(float(b.host(top)) for top in parts) ** 0.5

    # -- duplicates ------------------------------------------------------------------------
    @cached_property
    def same_as(self) -> IntArray:
        """For each candidate the first candidate equal to it, ``(M,)``.

        With a misfit, candidates of the same features may differ all the same.
        """
        if self.misfit:
            return np.arange(self.n_candidates)
        return first_equal(self.candidates, self.backend)

    @cached_property
    def distinct(self) -> IntArray:
        """The candidates that differ from all earlier ones: what algorithms choose among."""
        return np.flatnonzero(self.same_as == np.arange(self.n_candidates))

    @cached_property
    def duplicate_candidates(self) -> tuple[tuple[int, ...], ...]:
        """Groups of candidates with the same features: no measurement tells them apart."""
        return groups(self.same_as)

    @cached_property
    def duplicate_arms(self) -> tuple[tuple[int, ...], ...]:
        """Groups of arms with the same features."""
        if not self.transductive:
            return self.duplicate_candidates
        return groups(first_equal(self.arms, self.backend))

    def _repr_html_(self) -> str:
        from surepick import notebook

        rows = slice(notebook.MOST_ROWS + 1)
        few = self.backend.host(self.arms[rows, :10])
        columns = {f"feature {i + 1}": values for i, values in enumerate(few.T.tolist())}
        labels = {"option": self.labels[rows]}
        return notebook.panel(repr(self), notebook.table(labels | columns, total=self.n_arms))

    def __repr__(self) -> str:
        same = sum(len(g) - 1 for g in self.duplicate_candidates)
        parts = [f"{self.n_arms} arms", f"{self.n_features} features (rank {self.rank})"]
        if self.transductive:
            parts.append(f"{self.n_candidates} candidates")
        if same:
            parts.append(f"{same} duplicate candidate{'s' if same > 1 else ''}")
        smaller = ", smaller is better" if self.minimise else ""
        return f"Problem({', '.join(parts)}, {self.noise_kind}{smaller})"

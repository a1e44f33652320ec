"""What is known before measuring: arms, candidates, noise, labels."""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from collections.abc import Sized
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST, Backend, backend_named, backend_of
from surepick.arrays.grid import orthonormal, product, spread_rows
from surepick.arrays.memory import demand_memory
from surepick.arrays.tables import (
    as_table,
    is_large,
    mark_checked,
    read_only,
    read_parquet,
    table_digest,
)
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_labels, in_reach, is_dataframe, real, whole
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem.duplicates import first_equal, groups
from surepick.problem.labels import Labels, describe_labels, make_labels
from surepick.problem.noise import (
    NoiseKind,
    as_further,
    capped,
    noise_kind,
    read_kind,
    read_numbers,
    usual,
    written,
)
from surepick.problem.pairs import Pairing, paired
from surepick.problem.span import find_large_span, find_span, outside, sample_that_spans

_numbers = itertools.count()  # names of large problems, whose content is not hashed for a name


class Problem:
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
        noise = capped(noise, cap)
        if not isinstance(large, bool):
            raise InvalidTypeError(f"large must be True or False; got {large!r:.80}")
        #: where arms, candidates, features and targets live
        self.backend: Backend = (
            _home(arms, candidates) if backend is None else backend_named(backend)
        )
        self.arms: FloatArray = as_table(arms, "arms", self.backend)
        #: how far an arm's mean may lie from what its features say, in units of the reward
        self.misfit: float = as_misfit(misfit, candidates)
        taken = usual(math.isfinite(self.misfit)) if noise is None else noise
        #: what is known about the noise
        self.noise_kind: NoiseKind = noise_kind(taken, len(self.arms))
        #: what is known about further numbers of a measurement, by their names
        self.numbers: dict[str, NoiseKind] = as_further(numbers, len(self.arms))
        #: whether the smallest rewards are the best
        self.minimise: bool = as_direction(minimise, self.noise_kind)
        #: what a measurement of each arm costs; None: all the same
        self.costs: FloatArray | None = as_costs(costs, len(self.arms))
        self.labels: Labels = make_labels(arms, labels, len(self.arms), "labels")
        self.transductive: bool = candidates is not None
        if candidates is None:
            if candidate_labels is not None:
                raise InvalidInputError("candidate_labels needs candidates; use labels for arms")
            self.candidates: FloatArray = self.arms
            self.candidate_labels: Labels = self.labels
        else:
            self.candidates = as_table(candidates, "candidates", self.backend)
            if self.candidates.shape[1] != self.arms.shape[1]:
                raise InvalidInputError(
                    f"candidates have {self.candidates.shape[1]} features but arms have "
                    f"{self.arms.shape[1]}; they must describe the same features"
                )
            _check_columns(arms, candidates)
            self.candidate_labels = make_labels(
                candidates, candidate_labels, len(self.candidates), "candidate_labels"
            )
        #: whether all work on arms goes block by block, without tables beside theirs
        self.large: bool = (
            large or not self.backend.plain or is_large(self.arms) or is_large(self.candidates)
        )
        if self.large and self.costs is not None:
            raise InvalidInputError(
                f"costs: with {len(self.arms):,} arms of {self.arms.shape[1]:,} features all arms "
                "must cost the same; leave out costs, or some of the arms"
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

    # -- noise -----------------------------------------------------------------------------
    @property
    def noise(self) -> Any:
        """What is known about the noise, as it was given."""
        return self.noise_kind.given

    @property
    def unit(self) -> float:
        """What estimates and epsilon are divided by for algorithms: the scale, where known."""
        return self.noise_kind.unit

    @property
    def words(self) -> str:
        """What measurements give, for people; and which way is better, where it is not up."""
        words = self.noise_kind.words
        return f"{words}; smaller is better" if self.minimise else words

    @property
    def sign(self) -> float:
        """What rewards are multiplied by, so that the largest are the best."""
        return -1.0 if self.minimise else 1.0

    def standardised(self, arms: Any, sums: FloatArray) -> FloatArray:
        """Sums of rewards of these arms as algorithms see them.

        In units of the noise, and where smaller is better with the other sign: inside of every
        algorithm larger is better. Rewards take this way in, and no other.
        """
        return self.sign * sums / self.noise_kind.units(arms)

    def seen(self, reward: float) -> float:
        """A reward that people name, a bound or a threshold, as algorithms see it."""
        return self.sign * reward / self.unit

    # -- identity --------------------------------------------------------------------------
    @cached_property
    def digests(self) -> tuple[str, str]:
        """SHA-256 of the arms and of the candidates, the same on every backend."""
        arms = table_digest(self.arms, self.backend)
        return arms, table_digest(self.candidates, self.backend) if self.transductive else arms

    @cached_property
    def digest(self) -> str:
        """A fingerprint of arms, candidates and noise."""
        shapes = tuple(self.arms.shape), tuple(self.candidates.shape)
        content = (shapes, self.digests, self.noise_kind.written)
        if self.misfit:
            content = (*content, self.misfit)
        if self.costs is not None:
            content = (*content, "costs", self.costs.tolist())
        if self.minimise:
            content = (*content, "minimise")
        if self.numbers:
            content = (*content, written(self.numbers))
        return hashlib.sha256(repr(content).encode()).hexdigest()

    @cached_property
    def key(self) -> str:
        """A name under which to keep what was worked out for this problem.

        Equal small problems share theirs; a large one has its own, as hashing it takes long.
        """
        return f"large problem {next(_numbers)}" if self.large else self.digest

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

    def with_noise(self, noise: Any) -> Self:
        """This problem with other noise; arms and what follows from them are shared."""
        other = self._copy()
        other.noise_kind = noise_kind(noise, self.n_arms)
        if any(problem.noise_kind.scales is not None for problem in (self, other)):
            for name in ("isometric", "spanning_arms"):
                other.__dict__.pop(name, None)
            other._find_span()
        return other

    def with_direction(self, minimise: bool) -> Self:
        """This problem where the smallest rewards are the best, or the largest."""
        if as_direction(minimise, self.noise_kind) == self.minimise:
            return self
        other = self._copy()
        other.minimise = minimise
        return other

    def guided(self) -> Self:
        """This problem where features only guide: what is shown holds even if they are wrong."""
        other = self._copy()
        for name in ("same_as", "distinct", "duplicate_candidates", "duplicate_arms"):
            other.__dict__.pop(name, None)
        other.misfit = as_misfit(math.inf, None)
        return other

    def with_further(self, numbers: Any) -> Self:
        """This problem where measurements have these further numbers."""
        other = self._copy()
        other.numbers = as_further(numbers, self.n_arms)
        return other

    def _copy(self) -> Self:
        """A copy that gets a name of its own; arms and what follows from them are shared."""
        other = copy.copy(self)
        for name in ("digest", "key"):
            other.__dict__.pop(name, None)
        return other

    # -- in files --------------------------------------------------------------------------
    @property
    def by_reference(self) -> bool:
        """Whether certificates and saved runs refer to the arms instead of containing them."""
        entries = max(self.n_arms, self.n_candidates) * self.n_features
        return not self.backend.plain or entries > cutoffs.EMBEDDED_TABLE

    def reference(self) -> dict[str, Any]:
        """Shapes, digests and labels: what a file says that does not contain this problem."""
        separate = self.transductive
        tables = [
            {"shape": [int(n) for n in table.shape], "sha256": digest}
            for table, digest in zip((self.arms, self.candidates), self.digests, strict=True)
        ]
        return {
            "arms": tables[0],
            "candidates": tables[1] if separate else None,
            "noise": self.noise_kind.written,
            "labels": describe_labels(self.labels),
            "candidate_labels": describe_labels(self.candidate_labels) if separate else None,
        } | self.written_more()

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to build this problem again, as NumPy arrays and plain values."""
        separate, host = self.transductive, self.backend.host
        content = {
            "arms": host(self.arms),
            "candidates": host(self.candidates) if separate else None,
            "noise": self.noise_kind.written,
            "labels": list(self.labels),
            "candidate_labels": list(self.candidate_labels) if separate else None,
        }
        content |= self.written_more()
        if self.large and not self.by_reference:  # chosen by the caller; the size does not show it
            content["large"] = True
        return content

    def written_misfit(self) -> dict[str, Any]:
        """Nothing where there is none; JSON has no infinity."""
        if not self.misfit:
            return {}
        return {"misfit": "any" if math.isinf(self.misfit) else self.misfit}

    def written_more(self) -> dict[str, Any]:
        """What files say only where it is not as usual: misfit, costs, smaller is better."""
        costs = {} if self.costs is None else {"costs": self.costs.tolist()}
        smaller = {"minimise": True} if self.minimise else {}
        return self.written_misfit() | costs | smaller | written(self.numbers)

    def cost_of(self, pulls: Any) -> float:
        """What so many pulls of each arm cost; their number, where all cost the same."""
        return float(pulls.sum() if self.costs is None else pulls @ self.costs)

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """The problem that :meth:`to_dict` described."""
        try:
            return cls(
                saved["arms"],
                saved["candidates"],
                read_kind(saved["noise"], len(saved["arms"])).given,
                saved["labels"],
                read_misfit(saved),
                saved.get("costs"),
                candidate_labels=saved["candidate_labels"],
                large=saved.get("large", False),
                minimise=saved.get("minimise", False),
                numbers=read_numbers(saved, len(saved["arms"])),
            )
        except KeyError as missing:
            raise FormatError(f"saved problem lacks {missing}") from None

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


def as_direction(minimise: Any, kind: NoiseKind) -> bool:
    """Checked: whether smaller is better."""
    if not isinstance(minimise, bool):
        raise InvalidTypeError(
            f"minimise must be True (smaller is better) or False; got {minimise!r:.80}"
        )
    if minimise and kind.of_pairs:
        raise InvalidInputError(
            "minimise: a comparison of two options says itself which is better; leave it out"
        )
    return minimise


def read_misfit(saved: dict[str, Any]) -> float:
    """The misfit that a file names."""
    value = saved.get("misfit") or 0.0
    return math.inf if value == "any" else value


def as_misfit(value: Any, candidates: Any = None) -> float:
    """Checked: 0 to infinity, and finite where candidates are not measured themselves."""
    allowed = in_reach(real(value, "misfit", finite=False), "misfit")
    if not allowed >= 0:
        raise InvalidInputError(
            f"misfit must be at least 0 (0: rewards are exactly linear in the features; inf: "
            f"features prove nothing); got {value!r}"
        )
    if math.isinf(allowed) and candidates is not None:
        raise InvalidInputError(
            "misfit: if features are not trusted, only measured arms can be the answer, but "
            "separate candidates are given. Say how far features may be wrong (misfit=0.1, in "
            "units of the reward), or leave candidates out"
        )
    return allowed


def _home(arms: Any, candidates: Any) -> Backend:
    """Where to work on these: on their device if there are many of them."""
    source = backend_of(arms)
    return source if is_large(arms) or is_large(candidates) else HOST


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


def as_costs(given: Any, n_arms: int) -> FloatArray | None:
    """One positive number per arm, checked; None where all cost the same."""
    if given is None:
        return None
    try:
        costs = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"costs must be one number per arm; got {given!r:.80}") from None
    if costs.shape != (n_arms,):
        raise InvalidInputError(
            f"costs must be one number for each of the {n_arms} arms; got an array of shape "
            f"{costs.shape}"
        )
    wrong = np.flatnonzero(~(np.isfinite(costs) & (costs > 0)))
    if len(wrong):
        raise InvalidInputError(
            f"costs must be above 0 and finite; that of arm {wrong[0]} is {costs[wrong[0]]:g}"
        )
    costs.setflags(write=False)
    return costs

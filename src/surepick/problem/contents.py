"""What a problem consists of: tables of features, noise, labels; what names it, and files."""

from __future__ import annotations

import copy
import hashlib
import itertools
import math
from functools import cached_property
from typing import Any, Self

import numpy as np

from surepick.arrays import cutoffs
from surepick.arrays.backend import HOST, Backend, backend_named, backend_of
from surepick.arrays.tables import as_table, is_large, table_digest
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import in_reach, is_dataframe, real
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem.labels import Labels, describe_labels, make_labels
from surepick.problem.noise import (
    NoiseKind,
    as_further,
    noise_kind,
    read_kind,
    read_numbers,
    usual,
    written,
)

_numbers = itertools.count()  # names of large problems, whose content is not hashed for a name


class Contents:
    """The tables as they were given, checked; :class:`surepick.Problem` says what they are."""

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
        numbers: Any = None,
    ) -> None:
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
        if not isinstance(other, Contents):
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

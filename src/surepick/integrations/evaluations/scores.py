"""Scores of options on items, as far as they are known."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.pooled.kinds import READINGS
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import as_labels
from surepick.errors import InvalidInputError
from surepick.problem.noise import NoiseKind, kinds, noise_kind


class Begun(NamedTuple):
    """The order of items by which a table was filled, and all that this order was drawn for."""

    seed: int
    given: int | None  #: the seed that somebody chose; None: it was drawn afresh
    first: tuple[int, ...]  #: items on which every option was known, which came first
    seen: tuple[int, ...]  #: others on which something was known
    known: str  #: a digest of options, items and scores, as the table was left
    measure: str | None  #: what measured

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Begun:
        """That of a file."""
        both = {name: tuple(kept[name]) for name in ("first", "seen")}
        return cls(**{**kept, **both})


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """What each option scored on each item; NaN where nobody has looked yet.

    Parameters
    ----------
    options, items
        What they are called, each name once.
    scores
        One row per option, one column per item; by default nothing is known.
    rewards
        ``"yes-no"`` for pass or fail (1 or 0), or the bounds of a score, ``(lowest, highest)``.
        None where there are no bounds: proofs then rest on differences that vary symmetrically.
    begun
        Set by :func:`decide`, which goes on in the same order with this very table.

    Examples
    --------
    >>> table = ScoreTable(["short", "long"], ["q1", "q2"], [[1, 0], [1, float("nan")]])
    >>> table.known, table.of("short", "q2")
    (3, 0.0)
    """

    options: tuple[str, ...]
    items: tuple[str, ...]
    scores: FloatArray
    rewards: Any
    #: where :func:`decide` filled it: in which order
    begun: Begun | None

    def __init__(
        self,
        options: Sequence[str],
        items: Sequence[str],
        scores: Any = None,
        rewards: Any = "yes-no",
        *,
        begun: Begun | None = None,
    ) -> None:
        options, items = tuple(options), tuple(items)
        for name, given in (("options", options), ("items", items)):
            as_labels(given, len(given), name)
        shape = (len(options), len(items))
        if min(shape) < 1:
            raise InvalidInputError(f"options, items: give at least one of each; got {shape}")
        filled = np.full(shape, np.nan) if scores is None else np.array(scores, dtype=np.float64)
        if filled.shape != shape:
            raise InvalidInputError(
                f"scores must have a row for each option and a column for each item, {shape}; got "
                f"{filled.shape}"
            )
        on_items = [kind.word for kind in kinds() if READINGS.of(kind).on_items is not None]
        if not (rewards is None or isinstance(rewards, tuple) or rewards in on_items):
            raise InvalidInputError(
                f"rewards must be 'yes-no', the bounds of a score, such as (0, 1), or None; got "
                f"{rewards!r:.80}"
            )
        for name, value in (
            *(("options", options), ("items", items)),
            *(("scores", filled), ("rewards", rewards), ("begun", begun)),
        ):
            object.__setattr__(self, name, value)
        row, column = np.nonzero(~np.isnan(filled))
        self.check(filled[row, column], list(zip(row.tolist(), column.tolist())))

    @property
    def kind(self) -> NoiseKind:
        """The kind of noise that such scores have."""
        return noise_kind(self.rewards, len(self.options))

    @property
    def known(self) -> int:
        """How many evaluations are there."""
        return int((~np.isnan(self.scores)).sum())

    def of(self, option: str, item: str) -> float:
        """The score of an option on an item."""
        return float(self.scores[self.options.index(option), self.items.index(item)])

    def with_scores(self, scores: FloatArray, begun: Begun | None = None) -> ScoreTable:
        """A table of these options and items with other scores."""
        return ScoreTable(self.options, self.items, scores, self.rewards, begun=begun)

    def without(self, cells: Sequence[tuple[str, str]]) -> ScoreTable:
        """A table in which these cells are not known: they may work another time."""
        scores = self.scores.copy()
        for option, item in cells:
            scores[self.options.index(option), self.items.index(item)] = np.nan
        known = self.with_scores(scores).digest
        return self.with_scores(scores, self.begun and self.begun._replace(known=known))

    @property
    def digest(self) -> str:
        """Of options, items and every score that is known."""
        unknown = np.isnan(self.scores)
        found = hashlib.sha256(
            repr((self.options, self.items, self.rewards)).encode("utf-8", "backslashreplace")
        )
        found.update(np.where(unknown, 0.0, self.scores).tobytes() + unknown.tobytes())
        return found.hexdigest()

    def check(self, values: FloatArray, cells: Sequence[tuple[int, int]]) -> None:
        """An error for a score that cannot be, with its place."""
        kind = self.kind
        wrong = [*np.flatnonzero(~np.isfinite(values)).tolist(), *kind.impossible(values).tolist()]
        if wrong:
            option, item = cells[wrong[0]]
            raise InvalidInputError(
                f"scores: {self.options[option]!r} has {values[wrong[0]]:g} on "
                f"{self.items[item]!r}, but {kind.rule or 'scores are numbers'}; set rewards to "
                "the kind of scores"
            )

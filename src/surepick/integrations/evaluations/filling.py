"""A table of scores that a run fills in: its order of items, and the cells that are known.

Of a table that is known in part, items on which every option is known come first: they are counted,
and nothing is bet on them. Any other score that is known is used when its item comes, and not asked
for. An option that was made by looking at some items is at its best on these, and they are as
likely as any others to come early in an order that is drawn after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from surepick.algorithms.complete.state import CompleteState
from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.arrays.types import IntArray
from surepick.calls.kept import AUTO, Kept, place
from surepick.integrations.evaluations.decision import EvaluationDecision, decided
from surepick.integrations.evaluations.scores import Begun, ScoreTable
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.details import Unmeasured
from surepick.run.order import seed_after


class Filling:
    """A run on the cells of a table, with what is known of them.

    ``door`` says which one it is, ``name`` what its file is called where nobody named one; what
    follows is as for :class:`Kept`.
    """

    def __init__(
        self,
        table: ScoreTable,
        delta: float,
        epsilon: float,
        minimise: bool,
        seed: int | None,
        *,
        door: str,
        name: str,
        functions: Mapping[str, Callable[..., Any]],
        cache: Any,
        measure: str | None,
        asked: list[Any],
        contents: Mapping[str, str] | None = None,
    ) -> None:
        self.table, self._measure = table, measure
        n, kind = len(table.items), table.rewards
        problem = Problem.unstructured(list(table.options), noise=kind, minimise=minimise)
        self._bounded = problem.noise_kind.bounds is not None
        once, drawn = (n, None) if self._bounded else (None, n)
        algorithm = PooledPeleg(delta, epsilon=epsilon, complete=once, items=drawn)
        self.kept = Kept(
            place(cache, name),
            door,
            functions=functions,
            columns=("option", "item"),
            labels=[*table.options, *table.items],
            contents=contents,
            asked=[table.digest, *asked],
            measure=measure,
            fixed=True,
            auto=cache == AUTO,
        )
        self.scores = table.scores.copy()
        self.take_in()
        self._begun = begun = self._order(seed)
        self.kept.begin(begun._asdict())
        self.run = algorithm.start(problem, begun.seed)
        if isinstance(self.run.state, CompleteState):
            self.run.state.begin_with(begun.first, begun.seen)
        self.earlier = int((~np.isnan(self.scores)).sum()) - table.known

    def take_in(self) -> None:
        """Fill in what is kept."""
        table = self.table
        rows, columns = (
            {name: i for i, name in enumerate(x)} for x in (table.options, table.items)
        )
        for (option, item), score in self.kept.known.items():
            cell = rows[option], columns[item]
            if np.isnan(self.scores[cell]) and not len(table.kind.impossible(np.array([score]))):
                self.scores[cell] = score

    def _order(self, seed: int | None) -> Begun:
        """The order of items: that of before, if this table goes on, or one that is drawn now."""
        table, kept, before = self.table, self.kept, self.table.begun
        name = self._measure or kept.code
        if (
            before is not None
            and before.known == table.digest
            and seed in (None, before.given)
            and name in (before.measure, *([] if kept.functions else [name]))
        ):
            return before
        if kept.begun is not None:
            return Begun.of(kept.begun)
        known = ~np.isnan(self.scores)
        first, seen = (np.flatnonzero(which).tolist() for which in (known.all(0), known.any(0)))
        if len(first) == len(table.items):
            first, seen = [], []  # nothing is left to find out: it shows what that would have taken
        now = table.with_scores(self.scores).digest
        drawn = seed_after(seed, now, self._measure or kept.said)
        rest = tuple(item for item in seen if item not in set(first))
        return Begun(drawn, seed, tuple(first), rest, now, name)

    @property
    def order(self) -> IntArray:
        assert isinstance(self.run.state, CompleteState)
        return self.run.state.order

    def all_known(self) -> bool:
        """Whether all cells of those that are still in are known, so that their means decide."""
        counts = self.run.samples or self._bounded  # what is fully known needs no bets
        return bool(counts) and not np.isnan(self.scores[list(self.run.active)]).any()

    def missing(self, arms: IntArray, items: IntArray) -> list[tuple[int, int]]:
        """Cells of a batch that nobody has looked at, each once, in the order of the batch."""
        cells = dict.fromkeys(zip(arms.tolist(), items.tolist()))
        return [cell for cell in cells if np.isnan(self.scores[cell])]

    def put(self, cells: Sequence[tuple[int, int]], values: Sequence[float]) -> None:
        self.table.check(np.asarray(values, dtype=np.float64), cells)
        for cell, value in zip(cells, values):
            self.scores[cell] = value

    def decision(
        self, answer: Answer, filled: int, lacking: Sequence[Unmeasured]
    ) -> EvaluationDecision:
        self.take_in()  # what came of a batch that was cut off
        begun = self._begun._replace(measure=self._measure or self.kept.code)
        known = self.table.with_scores(self.scores, begun)
        return decided(self.run, answer, known, filled, lacking, self.earlier)

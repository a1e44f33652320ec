"""Find the best option with as few evaluations as it takes.

What is proven is about one table: that of all options on all items, each evaluated once. Its cells
are filled one by one where they decide, in one random order of items that depends on nothing but a
seed, so that the row with the best mean is found with probability at least 1 - delta, whatever
the scores have to do with each other (:mod:`surepick.algorithms.complete`). A score that is known
already is used when its item comes, and not asked for. Where all cells of those still in the race
are known, the means themselves decide.

Scores that have no bounds are compared on items that are drawn with replacement, where a cell keeps
its score when it is drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.arrays.types import IntArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError
from surepick.integrations.evaluations.scores import ScoreTable
from surepick.problem import Problem
from surepick.run import Answer, Run
from surepick.run.words import rules_out_the_best

Cell = tuple[str, str]


@dataclass(frozen=True, eq=False)
class EvaluationDecision:
    """The option to use, how sure that is, and what was looked at; true unless undecided.

    Examples
    --------
    >>> found = decide(ScoreTable(["a", "b"], ["x", "y"], [[1, 1], [1, 0]]))
    >>> found.option, found.how, bool(found)
    ('a', 'complete', True)
    >>> print(found)
    a, after 0 of 4 evaluations. It has the best mean of 2 that are fully known. Nothing is left \
to chance: everything was evaluated.
    """

    option: str
    #: ``"proven"``, ``"complete"`` (certain, as far as those are concerned that were not ruled out
    #: by chance: their cells are known) or ``"undecided"``
    how: str
    left: tuple[str, ...]  #: options that were not ruled out; several that tie at the end, perhaps
    evaluations: int  #: cells that were filled for this
    table: ScoreTable  #: with all cells that are known now
    answer: Answer  #: of the run, with its certificate

    def __bool__(self) -> bool:
        return self.how != "undecided"

    def __str__(self) -> str:
        """The decision in a few sentences."""
        made = (
            f"{self.option}, after {self.evaluations:,} of {self.table.scores.size:,} evaluations."
        )
        if self.how == "complete" and not self.answer.guarantee:
            ruled_out = len(self.table.options) - len(self.left)
            risk = (
                f"{ruled_out:,} others were ruled out: {rules_out_the_best(self.answer.delta)}."
                if ruled_out
                else "Nothing is left to chance: everything was evaluated."
            )
            return f"{made} It has the best mean of {len(self.left)} that are fully known. {risk}"
        return f"{made} {self.answer.plain}"


def decide(
    table: ScoreTable,
    evaluate: Callable[[str, str], float] | None = None,
    *,
    evaluate_batch: Callable[[list[Cell]], Sequence[float]] | None = None,
    delta: float = 0.05,
    epsilon: float = 0.0,
    max_evaluations: int | None = None,
    seed: int = 0,
    minimise: bool = False,
) -> EvaluationDecision:
    """Find the option with the best mean over all items.

    Parameters
    ----------
    table
        Options and items, with the scores that are known.
    evaluate
        ``evaluate(option, item) -> score``, by their names, for a cell that is not known. Left out,
        the table must have every score that is looked at: a table that is complete shows what a
        decision would have cost.
    evaluate_batch
        Instead: takes a list of (option, item) and returns one score each, so that many calls are
        made at a time.
    delta, epsilon
        The answer is the best, or within epsilon of it, with probability at least 1 - delta.
    max_evaluations
        The most cells to fill. A decision that was not reached by then says so, and is false.
    seed
        For drawing items. It must not be chosen by results.
    minimise
        Whether smaller scores are better: errors, costs, times.

    Examples
    --------
    >>> table = ScoreTable(["short", "long"], [f"question {i}" for i in range(200)])
    >>> found = decide(table, lambda option, item: float(option == "long" or item.endswith("1")))
    >>> found.option, found.how, found.evaluations < 100
    ('long', 'proven', True)
    """
    fill = _filler(evaluate, evaluate_batch)
    most = None if max_evaluations is None else whole(max_evaluations, "max_evaluations", least=1)
    options = list(table.options)
    problem = Problem.unstructured(options, noise=table.rewards, minimise=minimise)
    bounded, n = problem.noise_kind.bounds is not None, len(table.items)
    complete, drawn = (n, None) if bounded else (None, n)
    algorithm = PooledPeleg(delta, epsilon=epsilon, complete=complete, items=drawn)
    run, scores, filled = algorithm.start(problem, seed), table.scores.copy(), 0
    while not run.stopped:
        begun = run.samples or bounded  # what is fully known needs no bets
        if begun and not np.isnan(scores[list(run.active)]).any():
            run.end()
            break
        batch = run.ask()
        assert batch.items is not None
        missing = _missing(scores, batch.arms, batch.items)
        if most is not None and filled + len(missing) > most:
            if not run.samples:
                raise InvalidInputError(
                    f"max_evaluations: the first comparison takes {len(missing)}; got {most}"
                )
            run.end()
            break
        _fill(table, scores, missing, fill)
        filled += len(missing)
        run.tell(batch, scores[batch.arms, batch.items])
    known = ScoreTable(table.options, table.items, scores, table.rewards)
    return _decided(run, known, filled)


def _decided(run: Run, known: ScoreTable, filled: int) -> EvaluationDecision:
    left = list(run.active)
    option, how = run.answer.arm, "undecided"
    if run.answer.guarantee:
        how = "complete" if "for certain" in run.answer.guarantee else "proven"
    elif not np.isnan(known.scores[left]).any():
        means = run.problem.sign * known.scores[left].mean(axis=1)
        option, how = left[int(means.argmax())], "complete"
    names = tuple(known.options[i] for i in left)
    return EvaluationDecision(known.options[option], how, names, filled, known, run.answer)


def _missing(scores: Any, arms: IntArray, items: IntArray) -> list[tuple[int, int]]:
    """Cells of a batch that nobody has looked at, each once, in the order of the batch."""
    cells = dict.fromkeys(zip(arms.tolist(), items.tolist()))
    return [cell for cell in cells if np.isnan(scores[cell])]


def _fill(
    table: ScoreTable,
    scores: Any,
    missing: list[tuple[int, int]],
    fill: Callable[[list[Cell]], Sequence[float]],
) -> None:
    if not missing:
        return
    named = [(table.options[option], table.items[item]) for option, item in missing]
    values = np.asarray(fill(named), dtype=np.float64)
    if values.shape != (len(missing),):
        raise InvalidInputError(
            f"evaluate_batch must return one score for each of {len(missing)} pairs; got an array "
            f"of shape {values.shape}"
        )
    table.check(values, missing)
    for cell, value in zip(missing, values):
        scores[cell] = value


def _filler(
    evaluate: Callable[[str, str], float] | None,
    evaluate_batch: Callable[[list[Cell]], Sequence[float]] | None,
) -> Callable[[list[Cell]], Sequence[float]]:
    if evaluate is not None and evaluate_batch is not None:
        raise InvalidInputError("give either evaluate (one cell) or evaluate_batch (a list)")
    if evaluate_batch is not None:
        return evaluate_batch
    if evaluate is not None:
        return lambda cells: [evaluate(option, item) for option, item in cells]

    def nobody(cells: list[Cell]) -> Sequence[float]:
        option, item = cells[0]
        raise InvalidInputError(
            f"table: the score of {option!r} on {item!r} is not known; give evaluate, so that it "
            "can be found"
        )

    return nobody

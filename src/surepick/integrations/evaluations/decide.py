"""Find the best option with as few evaluations as it takes.

What is proven is about one table: that of all options on all items, each evaluated once. Its cells
are filled one by one where they decide, in one random order of items that is drawn once options and
known scores are there, so that the row with the best mean is found with probability at least 1 -
delta, whatever the scores have to do with each other (:mod:`surepick.algorithms.complete`), and
however options were made. Where all cells of those still in the race are known, the means
themselves decide.

Of a table that is known in part, items on which every option is known come first: they are counted,
and nothing is bet on them. Any other score that is known is used when its item comes, and not asked
for. An option that was made by looking at some items is at its best on these, and they are as
likely as any others to come early in an order that is drawn after it.

Scores are kept in a file as they come (:mod:`surepick.calls.kept`). A decision that was cut off, or
is asked for again, goes on in its order and with its bets, and so does the very table that came
from one. With other options, other scores or another way to measure it is another table, with an
order of its own.

Scores that have no bounds are compared on items that are drawn with replacement, where a cell keeps
its score when it is drawn again: then what is said is about the scores that are kept.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.complete.state import CompleteState
from surepick.algorithms.pooled.peleg import PooledPeleg
from surepick.arrays.types import IntArray
from surepick.arrays.validate import whole
from surepick.calls.kept import AUTO, Kept, called, place, stopped
from surepick.calls.many import Calls
from surepick.calls.pace import Pace
from surepick.errors import InvalidInputError
from surepick.integrations.evaluations.scores import Begun, ScoreTable
from surepick.integrations.seeds import seed_after
from surepick.problem import Problem
from surepick.run import Answer, Run
from surepick.run.unmeasured import Unmeasured, in_words
from surepick.text import plural

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
    #: cells that could not be evaluated, and why: they counted as the worst score, and are still
    #: unknown in the table
    failed: tuple[tuple[str, str, str], ...] = ()
    earlier: int = (
        0  #: scores that earlier calls have left in the file, and that were not asked for
    )

    def __bool__(self) -> bool:
        return self.how != "undecided"

    def __str__(self) -> str:
        """The decision in a few sentences."""
        made = (
            f"{self.option}, after {self.evaluations:,} of {self.table.scores.size:,} evaluations."
        )
        if self.earlier:
            made = f"{made[:-1]} and {self.earlier:,} that were kept from before."
        if self.how == "complete" and not self.answer.guarantee:
            ruled_out = len(self.table.options) - len(self.left)
            sure = self.answer.guarantee.promise.how_sure("rule the best out")
            risk = (
                f"{plural(ruled_out, 'other was', 'others were')} ruled out. {sure}"
                if ruled_out
                else "Nothing is left to chance: everything was evaluated."
            )
            said = f"It has the best mean of {len(self.left)} that are fully known. {risk}"
            return f"{made} {said} {in_words(self.answer.unmeasured)}".rstrip()
        return f"{made} {self.answer.plain}"


def decide(
    table: ScoreTable,
    evaluate: Callable[[str, str], float] | None = None,
    *,
    evaluate_batch: Callable[[list[Cell]], Iterable[Any]] | None = None,
    delta: float = 0.05,
    epsilon: float = 0.0,
    max_evaluations: int | None = None,
    seed: int | None = None,
    measure: str | None = None,
    minimise: bool = False,
    splits: bool = False,
    workers: int | None = None,
    per_minute: float | None = None,
    timeout: float | None = None,
    retries: int = 2,
    cache: str | os.PathLike[str] | None = AUTO,
) -> EvaluationDecision:
    """Find the option with the best mean over all items.

    Parameters
    ----------
    table
        Options and items, with the scores that are known.
    evaluate
        ``evaluate(option, item) -> score``, by their names, for a cell that is not known. Left out,
        the table must have every score that is looked at: a table that is complete shows what a
        decision would have cost. May be a coroutine function.
    evaluate_batch
        Instead: takes a list of (option, item) and returns one score each, so that many calls are
        made at a time; best one by one (a generator), so that each is kept as it comes. In the
        place of a score may be the error that it ended in.
    delta, epsilon
        The answer is the best, or within epsilon of it, with probability at least 1 - delta.
    max_evaluations
        The most cells to fill. A decision that was not reached by then says so, and is false.
    seed
        For drawing items; by default a fresh one. It must not be chosen by results. With other
        options, or other scores that are known, the same seed comes to another order.
    measure
        A name for what evaluates, such as the version of a judge or a prompt's file; by default the
        code of the function, and what it reads. Scores count, and a table goes on in its order,
        only under the same one. An option that was changed is another option: give it another name.
    minimise
        Whether smaller scores are better: errors, costs, times.
    splits
        Whether items are splits of one data set: nothing is said of new ones then.
    workers, per_minute
        Calls of ``evaluate`` at a time (by default one, or 64 coroutines), and the most that begin
        in a minute. Where a service says that there were too many (an error with status 429) all
        wait, as long as it asks for.
    timeout
        Seconds after which a coroutine is cancelled, and has failed.
    retries
        How often a call is tried again that failed in a way that may pass. A cell that fails for
        good counts as the worst score and is listed in ``failed``; where nothing works, or scores
        have no bounds, its error is raised. ``error.partial`` is the decision so far then.
    cache
        The file in which scores are kept as they come. The next call finds them there, with the
        same options or others, and an interrupted one goes on where it was. By default a file in
        the folder ``.surepick`` beside the script (in a notebook: in the current folder); None:
        nothing is kept. Scores that were made before what evaluates was changed are not used.

    Examples
    --------
    >>> table = ScoreTable(["short", "long"], [f"question {i}" for i in range(200)])
    >>> found = decide(table, lambda option, item: float(option == "long" or item.endswith("1")))
    >>> found.option, found.how, found.evaluations < 100
    ('long', 'proven', True)
    """
    _check_given(evaluate, evaluate_batch)
    most = None if max_evaluations is None else whole(max_evaluations, "max_evaluations", least=1)
    options = list(table.options)
    problem = Problem.unstructured(options, noise=table.rewards, minimise=minimise)
    bounded, n = problem.noise_kind.bounds is not None, len(table.items)
    complete, drawn = (n, None) if bounded else (None, n)
    algorithm = PooledPeleg(delta, epsilon=epsilon, complete=complete, items=drawn)
    function = evaluate_batch or evaluate
    kept = _kept(table, function, cache, measure, [minimise, seed])
    scores = _with_kept(table, kept)
    begun = begun_with(table, scores, seed, kept, measure)
    kept.begin(begun._asdict())
    run, ended = algorithm.start(problem, begun.seed), "stopped"
    if isinstance(run.state, CompleteState):
        run.state.begin_with(begun.first, begun.seen)
    if splits:
        run.rest_on("splits")
    if kept.edited:
        run.rest_on("edited")
    how: dict[str, Any] = {"workers": workers, "timeout": timeout, "retries": retries}
    if evaluate is not None:
        how["read"] = table.kind.score
    failed: dict[tuple[int, int], str] = {}

    def found() -> EvaluationDecision:
        lacking = [Unmeasured(options[i], j, why) for (i, j), why in failed.items()]
        if made_again := calls.again + kept.again + kept.lost:
            run.rest_on("lost", pulls=made_again)
        answer = run.without(run.answer, lacking)
        left = begun._replace(measure=measure or kept.code)
        known = ScoreTable(table.options, table.items, scores, table.rewards, begun=left)
        return decided(run, answer, known, calls.made, failed, earlier)

    earlier = int((~np.isnan(scores)).sum()) - table.known
    with (
        kept,
        Calls(
            function or _unknown, kept=kept if function else None, pace=Pace(per_minute), **how
        ) as calls,
    ):

        def fill(cells: list[Cell]) -> Sequence[float]:
            if evaluate_batch is not None:
                read = table.kind.score
                made = calls.together(cells, read)
                found, lacking = calls.counted(made, worst, _others(table, cells), read)
            else:
                found, lacking = calls.counted(calls.all(cells), worst, _others(table, cells))
            failed.update((missing[place], str(one)) for place, one in lacking)
            return found

        worst = algorithm.worst_score(problem)
        try:
            while not run.stopped:
                counts = run.samples or bounded  # what is fully known needs no bets
                if counts and not np.isnan(scores[list(run.active)]).any():
                    run.end()
                    break
                batch = run.ask()
                assert batch.items is not None
                missing = _missing(scores, batch.arms, batch.items)
                if most is not None and calls.made + len(missing) > most:
                    if not run.samples:
                        raise InvalidInputError(
                            f"max_evaluations: the first comparison takes {len(missing)}; got "
                            f"{most}"
                        )
                    run.end()
                    break
                _fill(table, scores, missing, fill)
                run.tell(batch, scores[batch.arms, batch.items])
            ended = "done"
        except BaseException as error:
            take_in(table, scores, kept)
            run.end()
            stopped(error, found(), kept)
            raise
        finally:
            kept.end(ended, unanswered=calls.unanswered)
    return found()


def decided(
    run: Run,
    answer: Answer,
    known: ScoreTable,
    filled: int,
    failed: Mapping[tuple[int, int], str],
    earlier: int = 0,
) -> EvaluationDecision:
    """What a run that has ended says about a table, where these cells could not be evaluated."""
    left = list(run.active)
    option, how = answer.arm, "undecided"
    if answer.guarantee:
        how = "complete" if "for certain" in answer.guarantee else "proven"
    elif not np.isnan(known.scores[left]).any():
        means = run.problem.sign * known.scores[left].mean(axis=1)
        option, how = left[int(means.argmax())], "complete"
    names = tuple(known.options[i] for i in left)
    scores = known.scores.copy()
    for cell in failed:  # it may work another time
        scores[cell] = np.nan
    lacking = tuple((known.options[i], known.items[j], why) for (i, j), why in failed.items())
    kept = (known.options, known.items, scores, known.rewards)
    begun = known.begun and known.begun._replace(known=ScoreTable(*kept).digest)
    left_over = ScoreTable(*kept, begun=begun)
    found = known.options[option], how, names, filled, left_over, answer, lacking, earlier
    return EvaluationDecision(*found)


def _kept(
    table: ScoreTable, function: Any, cache: Any, measure: str | None, asked: list[Any]
) -> Kept:
    """What earlier calls have left of this table."""
    path = None if function is None else place(cache, f"decide-{called(function)}")
    return Kept(
        path,
        "decide",
        functions={} if function is None else {"": function},
        columns=("option", "item"),
        labels=[*table.options, *table.items],
        asked=[table.digest, *asked],
        fixed=True,
        measure=measure,
        auto=cache == AUTO,
    )


def _with_kept(table: ScoreTable, kept: Kept) -> Any:
    """The scores of a table, and those that are kept."""
    scores = table.scores.copy()
    take_in(table, scores, kept)
    return scores


def take_in(table: ScoreTable, scores: Any, kept: Kept) -> None:
    """Fill in what is kept."""
    rows, columns = ({name: i for i, name in enumerate(x)} for x in (table.options, table.items))
    for (option, item), score in kept.known.items():
        cell = rows[option], columns[item]
        if np.isnan(scores[cell]) and not len(table.kind.impossible(np.array([score]))):
            scores[cell] = score


def begun_with(
    table: ScoreTable, scores: Any, seed: int | None, kept: Kept, measure: str | None
) -> Begun:
    """The order of items: that of before, if this table goes on, or one that is drawn now."""
    name = measure or kept.code
    before = table.begun
    if (
        before is not None
        and before.known == table.digest
        and seed in (None, before.given)
        and name in (before.measure, *([] if kept.functions else [name]))
    ):
        return before
    if kept.begun is not None:
        return Begun.of(kept.begun)
    known = ~np.isnan(scores)
    first, seen = (np.flatnonzero(which).tolist() for which in (known.all(0), known.any(0)))
    if len(first) == len(table.items):
        first, seen = [], []  # nothing is left to find out: it shows what that would have taken
    now = ScoreTable(table.options, table.items, scores, table.rewards).digest
    drawn = seed_after(seed, now, measure or kept.said)
    rest = tuple(item for item in seen if item not in set(first))
    return Begun(drawn, seed, tuple(first), rest, now, name)


def _others(table: ScoreTable, cells: list[Cell]) -> list[Cell]:
    """A cell of each of a few items that these are not about: does anything work at all?"""
    here = {item for _, item in cells}
    items = (item for item in table.items if item not in here)
    return [(cells[0][0], item) for item in itertools.islice(items, 3)]


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
    table.check(values, missing)
    for cell, value in zip(missing, values):
        scores[cell] = value


def _check_given(evaluate: Any, evaluate_batch: Any) -> None:
    if evaluate is not None and evaluate_batch is not None:
        raise InvalidInputError("give either evaluate (one cell) or evaluate_batch (a list)")


def _unknown(option: str, item: str) -> float:
    raise InvalidInputError(
        f"table: the score of {option!r} on {item!r} is not known; give evaluate, so that it can "
        "be found"
    )

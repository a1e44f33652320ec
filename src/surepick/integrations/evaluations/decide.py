"""Find the best option with as few evaluations as it takes.

What is proven is about one table: that of all options on all items, each evaluated once. Its cells
are filled one by one where they decide, in one random order of items that is drawn once options and
known scores are there, so that the row with the best mean is found with probability at least 1 -
delta, whatever the scores have to do with each other (:mod:`surepick.algorithms.complete`), and
however options were made. Where all cells of those still in the race are known, the means
themselves decide.

Scores are kept in a file as they come (:mod:`surepick.calls.kept`). A decision that was cut off, or
is asked for again, goes on in its order and with its bets, and so does the very table that came
from one. With other options, other scores or another way to measure it is another table, with an
order of its own.

Scores that have no bounds are compared on items that are drawn with replacement, where a cell keeps
its score when it is drawn again: then what is said is about the scores that are kept.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from surepick.arrays.validate import whole
from surepick.calls.kept import AUTO, called
from surepick.calls.many import Calls
from surepick.calls.pace import Pace
from surepick.errors import InvalidInputError
from surepick.integrations.evaluations.decision import EvaluationDecision
from surepick.integrations.evaluations.filling import Filling
from surepick.integrations.evaluations.scores import ScoreTable
from surepick.run import Answer
from surepick.run.measuring import Enough, Measuring

Cell = tuple[str, str]


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
    if evaluate is not None and evaluate_batch is not None:
        raise InvalidInputError("give either evaluate (one cell) or evaluate_batch (a list)")
    most = None if max_evaluations is None else whole(max_evaluations, "max_evaluations", least=1)
    function = evaluate_batch or evaluate
    filling = Filling(
        table,
        *(delta, epsilon, minimise, seed),
        door="decide",
        name="decide" if function is None else f"decide-{called(function)}",
        functions={} if function is None else {"": function},
        cache=None if function is None else cache,
        measure=measure,
        asked=[minimise, seed],
    )
    run, kept = filling.run, filling.kept
    calls = Calls(
        function or _unknown,
        kept=kept if function else None,
        workers=workers,
        pace=Pace(per_minute),
        timeout=timeout,
        retries=retries,
        read=table.kind.score,
        listed=evaluate_batch is not None,
    )
    if splits:
        run.rest_on("splits")

    def fill(arms: Any, items: Any) -> Any:
        cells = filling.missing(arms, items)
        if most is not None and calls.made + len(cells) > most:
            if run.samples:
                raise Enough
            raise InvalidInputError(
                f"max_evaluations: the first comparison takes {len(cells)}; got {most}"
            )
        if cells:
            named = [(table.options[option], table.items[item]) for option, item in cells]
            options, places = zip(*cells)
            filling.put(cells, measuring.scores(named, options, places, table.items))
        return filling.scores[arms, items]

    def found(answer: Answer) -> EvaluationDecision:
        return filling.decision(answer, calls.made, measuring.lacking)

    measuring = Measuring(run, found, calls, kept)
    with kept, calls, measuring:
        measuring.go(fill, until=filling.all_known)
        return measuring.end()


def _unknown(option: str, item: str) -> float:
    raise InvalidInputError(
        f"table: the score of {option!r} on {item!r} is not known; give evaluate, so that it can "
        "be found"
    )

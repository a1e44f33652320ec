"""Running a plan: trials spread over processes, results independent of how they were spread."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from surepick.ahead.feed import TooSlowError
from surepick.ahead.kinds import noise_family
from surepick.algorithms.base import Algorithm
from surepick.bench.compare.plan import Cell, Plan, instance_seeds
from surepick.bench.named import Named
from surepick.engines import Engine, local
from surepick.errors import InvalidInputError, SurepickError
from surepick.simulate.instance import Instance
from surepick.simulate.table import Table
from surepick.simulate.trials import trial as run_trial

TOO_SLOW = "too slow"  #: how the reason begins, where a trial ran out of time
_KNOWN = 64  # instances kept by each process
_instances: dict[tuple[str, int, int], Instance] = {}
_warm: set[str] = set()


def run_plan(
    plan: Plan, jobs: int = 1, progress: Callable[[dict[str, Any]], None] | None = None
) -> Table:
    """Run a whole plan; one row per trial, in the order of the plan.

    Parameters
    ----------
    plan
        What to run.
    jobs
        Processes; the results do not depend on it (the seconds do).
    progress
        Called with each row as it comes in.

    Returns
    -------
    Table
        Columns algorithm, instance, delta, trial; samples, correct, arm, batches, survivors,
        guarantee and seconds as in ``simulate.trials``; lower_bound (on the mean of samples, for
        algorithms that are right with probability 1 − delta); failed (empty, or why there is no
        answer).

    Examples
    --------
    >>> rows = run_plan(Plan(["peleg"], ["standard:gap=0.5"], trials=2))
    >>> rows["trial"].tolist(), rows["correct"].tolist()
    ([0, 1], [True, True])
    """
    rows = []
    for row in stream(plan, jobs):
        rows.append(row)
        if progress is not None:
            progress(row)
    return in_order(plan, rows)


def in_order(plan: Plan, rows: list[dict[str, Any]]) -> Table:
    """Rows, however they came in, as a table in the order of the plan."""
    ordered = sorted(rows, key=lambda row: (row["cell"], row["trial"]))
    return Table.from_rows({k: v for k, v in row.items() if k != "cell"} for row in ordered)


def stream(
    plan: Plan,
    jobs: int = 1,
    *,
    workers: Engine | None = None,
    done: Container[tuple[int, int]] = (),
) -> Iterator[dict[str, Any]]:
    """The rows of a plan as they are finished, in any order, with the number of their ``cell``.

    Parameters
    ----------
    plan
        What to run.
    jobs
        Processes.
    workers
        Where to run it instead.
    done
        Cells and trials that need not be run again.

    Examples
    --------
    >>> rows = stream(Plan(["peleg"], ["standard:gap=0.5"], trials=2))
    >>> sorted(row["trial"] for row in rows)
    [0, 1]
    """
    if not isinstance(jobs, int) or isinstance(jobs, bool) or jobs == 0 or jobs < -1:
        raise InvalidInputError(f"jobs must be a number of processes, or -1 for all; got {jobs!r}")
    workers = local(jobs) if workers is None else workers
    bounds: dict[tuple[str, int], dict[float, float]] = {}
    if plan.epsilon == 0:  # the bound is for exact identification
        work = ((_bounds, (named, plan.seed, i, plan.deltas)) for named, i in plan.bound_tasks())
        bounds = dict(found for _, found in workers.run(_do, work))

    def bound(number: int, i: int) -> float:
        cell = plan.cells[number]
        of = (cell.instance.key, i if cell.instance.each_trial else 0)
        return bounds.get(of, {}).get(cell.delta, math.nan)

    def work_left() -> Iterator[tuple[Callable[..., Any], tuple[Any, ...]]]:
        for number, i in plan.tasks():  # taken one by one, while results come in
            if (number, i) in done:
                continue
            cell, limit = plan.cells[number], plan.sample_limit(bound(number, i))
            if number in skip:
                yield _skipped, (number, cell, i, skip[number])
            else:
                settings = (plan.seed, plan.epsilon, limit, plan.noise, plan.time_limit)
                yield _trial, (number, cell, i, *settings)

    reasons = ((cell.contender.text, cell.instance.text) for cell in plan.cells)
    skip = {i: plan.skip[pair] for i, pair in enumerate(reasons) if pair in plan.skip}
    for _, row in workers.run(_do, work_left()):
        if row["failed"].startswith(TOO_SLOW):  # no need to try another trial of this cell
            skip.setdefault(row["cell"], row["failed"])
        yield {**row, "lower_bound": bound(row["cell"], row["trial"])}


def _do(task: tuple[Callable[..., Any], tuple[Any, ...]]) -> Any:
    function, arguments = task
    return function(*arguments)


def instance_of(named: Named, seed: int, trial: int) -> Instance:
    """The instance of a trial; each process keeps those it used last."""
    key = (named.key, seed, trial if named.each_trial else -1)
    if key not in _instances:
        while len(_instances) >= _KNOWN:
            del _instances[next(iter(_instances))]
        _instances[key] = named.build(instance_seeds(named, seed, trial))
    return _instances[key]


def _bounds(
    named: Named, seed: int, trial: int, deltas: tuple[float, ...]
) -> tuple[tuple[str, int], dict[float, float]]:
    """Pulls that no algorithm can average fewer than, at each delta."""
    from surepick.design import complexity

    instance = instance_of(named, seed, trial)
    try:
        found = complexity(instance.problem, instance.theta)
    except InvalidInputError:  # the best candidate is not unique
        return (named.key, trial), dict.fromkeys(map(float, deltas), math.inf)
    return (named.key, trial), {float(delta): found.lower_bound(delta) for delta in deltas}


def run_cell(plan: Plan, number: int, trial: int) -> dict[str, Any]:
    """One trial of one cell of a plan, as a row."""
    settings = (plan.seed, plan.epsilon, plan.max_samples, plan.noise)
    return _trial(number, plan.cells[number], trial, *settings)


def _trial(
    number: int,
    cell: Cell,
    trial: int,
    seed: int,
    epsilon: float,
    max_samples: int | None,
    noise: str | None = None,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """One trial, as a row; an algorithm that refuses or gives up with an error has one too."""
    row = _heading(number, cell, trial)
    instance = instance_of(cell.instance, seed, trial)
    try:
        algorithm = cell.contender.configure(
            instance, cell.delta, epsilon=epsilon, max_samples=max_samples
        )
        warm_up(cell.contender.text, algorithm, instance)
        family = None if noise is None else noise_family(noise, instance.problem.noise_kind)
        result = run_trial(algorithm, instance, cell.seeds(seed, trial), family, time_limit)
    except TooSlowError as error:
        return row | _NO_RESULT | {"failed": f"{TOO_SLOW}: {error} ({time_limit:g} s)"}
    except SurepickError as error:
        return row | _NO_RESULT | {"failed": f"{type(error).__name__}: {error}"}
    return row | result | {"failed": ""}


def _skipped(number: int, cell: Cell, trial: int, why: str) -> dict[str, Any]:
    return _heading(number, cell, trial) | _NO_RESULT | {"failed": why}


def _heading(number: int, cell: Cell, trial: int) -> dict[str, Any]:
    return {
        "cell": number,
        "algorithm": cell.contender.text,
        "instance": cell.instance.text,
        "delta": cell.delta,
        "trial": trial,
    }


_NO_RESULT: dict[str, Any] = {
    "samples": 0,
    "correct": False,
    "arm": -1,
    "batches": 0,
    "survivors": 0,
    "guarantee": "none",
    "seconds": math.nan,
}


def warm_up(text: str, algorithm: Algorithm, instance: Instance) -> None:
    """Compile what the algorithm of this name needs, once per process, outside measured time."""
    problem = instance.problem
    key = f"{text} {problem.noise_kind.kind}"
    if key not in _warm:
        enough = max(problem.n_arms, 6 * problem.rank) + 2  # to come to decisions
        short = dataclasses.replace(algorithm, max_samples=enough)
        with suppress(InvalidInputError):  # so few pulls are too few for some
            run_trial(short, instance, np.random.SeedSequence(0))
        _warm.add(key)

"""``surepick plan``: how many measurements will it take?"""

from __future__ import annotations

import json
import math
import time
from pathlib import Path
from typing import Any

import click

from surepick.algorithms.registry import DEFAULT
from surepick.cli.numbers import Number, Rate, Rewards, in_rates
from surepick.cli.options import (
    DELTA,
    FEATURES,
    FORMULA,
    JSON,
    LABEL,
    UNSTRUCTURED,
    argument,
    folder_option,
    from_signature,
    option,
)
from surepick.cli.screen import console_of, say_notes, table_of
from surepick.cli.trust import Misfit, described, trusted
from surepick.errors import InvalidInputError

_BETWEEN_LINES = 5.0  # seconds between two lines of progress


@click.command("plan", short_help="Forecast the measurements that a study needs.")
@from_signature
def command(
    options: Path = argument(),
    features: str | None = FEATURES,
    formula: str | None = FORMULA,
    label: str | None = LABEL,
    unstructured: bool = UNSTRUCTURED,
    rewards: str | None = option(
        None,
        "What one measurement gives, as for surepick new.  [default: any; symmetric where "
        "features are trusted]",
        Rewards(),
    ),
    gap: float | None = option(
        None, "Lead of the best option over the second best that you want to detect.", Rate()
    ),
    base_rate: float | None = option(
        None, "Yes/no: how often the second best option says yes (0.02).", Rate()
    ),
    lift: float | None = option(
        None, "Yes/no: how much more often the best one does (0.2: 1.2 times as often).", Rate()
    ),
    minimise: bool = option(
        False, "Smaller is better; with --lift 0.2 the best one says yes 0.8 times as often."
    ),
    noise: float | None = option(
        None,
        "How much repeated measurements of one option differ (standard deviation); a guess "
        "will do.  [default: 1, or a quarter of LO..HI]",
        Number(),
    ),
    noise_is: str = option(
        "guessed",
        "What the study will know about the noise: nothing, that it is normal and equal for all, "
        "or its size.",
        click.Choice(["guessed", "equal", "known"]),
    ),
    misfit: float | None = option(
        None,
        "How far features may be wrong, as for surepick new: a number, or any.  [default: any]",
        Misfit(),
    ),
    trust_features: bool = option(False, "The same as --misfit 0."),
    delta: float = DELTA,
    trials: int = option(30, "Simulated runs of each kind."),
    algorithms: str = option(
        "",
        f"Registry names, separated by commas.  [default: {DEFAULT}; also peleg,rage where "
        f"rewards are bounded, and uniform where their noise is known]",
    ),
    max_samples: int | None = option(
        None, "Measurements at which a run gives up.  [default: 20 times an A/B/n test]"
    ),
    seconds: float = option(10.0, "Computing time for each algorithm."),
    seed: int = option(0, "Seed of the simulation."),
    jobs: int = option(1, "Processes."),
    out: Path = folder_option("results/plan", "Folder for the picture and the tables."),
    as_json: bool = JSON,
) -> None:
    """Forecast the measurements needed to find the best of the OPTIONS in a table.

    Every algorithm is simulated on truths drawn at random, scaled so that the best option leads by
    the gap; beside them stand a plain A/B/n test of the same options and, for numbers without
    bounds, the lower bound. For yes/no rewards say --rewards yes-no --base-rate 0.02 --lift 0.2.
    As in a new study, features only guide what is measured; what trusting them would save:
    --misfit, --trust-features.
    """
    from surepick.bench.compare.plan import Contender
    from surepick.bench.forecast import LeadToFind, study_noise
    from surepick.files import without_nan
    from surepick.problem.noise import read_rewards
    from surepick.problem.tables import from_table
    from surepick.report.planning import write_report
    from surepick.text import split_list

    told, guess = study_noise(rewards, noise, noise_is)
    kind = None if rewards is None else read_rewards(rewards)
    gap = in_rates(gap, "gap", kind)
    misfit = trusted(in_rates(misfit, "misfit", kind), trust_features)
    if misfit and unstructured:
        raise InvalidInputError("misfit: there are no features that could be wrong; leave it out")
    named = split_list(algorithms)
    if misfit is None:  # as studies take it
        misfit = 0.0 if any(Contender.named(text).trusts_features for text in named) else math.inf
    made = from_table(options, features, formula, label, told, misfit, unstructured=unstructured)
    question = LeadToFind(
        made.problem.with_direction(minimise),
        gap,
        delta,
        tuple(named) or None,
        noise=guess,
        base_rate=base_rate,
        lift=lift,
        trials=trials,
        seed=seed,
        max_samples=max_samples,
        seconds=seconds,
    )
    found = _simulate(question, jobs)
    files, missing = write_report(found, out)
    notes = [*made.notes, *found.notes, *missing]
    if as_json:
        content = {"forecast": list(found.summary.rows()), "notes": notes, "files": files}
        click.echo(json.dumps(without_nan(content)))
    else:
        _show(found, made.problem, notes, files)
    if any(row["failed"] for row in found.summary.rows()):
        raise SystemExit(1)


def _simulate(question: Any, jobs: int) -> Any:
    """The forecast, with a bar on a terminal and else a line now and then, on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from surepick.bench.forecast import forecast

    console = Console(stderr=True)
    if not console.is_terminal:
        return forecast(question, jobs, _Lines(question.size))
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("simulated runs"))
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task("", total=question.size)
        return forecast(question, jobs, lambda done: bar.update(task, completed=done))


class _Lines:
    """Progress as lines of text, some seconds apart."""

    def __init__(self, size: int) -> None:
        self.size, self.last = size, time.monotonic()

    def __call__(self, done: int) -> None:
        if time.monotonic() - self.last >= _BETWEEN_LINES:
            self.last = time.monotonic()
            click.echo(f"{done} of {self.size} simulated runs", err=True)


def _show(found: Any, problem: Any, notes: list[str], files: list[str]) -> None:
    from surepick.report.planning import explained, table

    question = found.question
    console = console_of(120)
    console.print(
        f"\n[bold]{described(problem)}[/bold]"
        f"{_trust(problem)}; {question.words}; delta {question.delta:g}"
    )
    console.print(table_of(*table(found)))
    console.print(explained(found), soft_wrap=True)
    say_notes(console, notes, files)


def _trust(problem: Any) -> str:
    """How far features are trusted: what is forecast depends on that more than on all else."""
    if problem.rank == len(problem.distinct):
        return ""
    if not problem.misfit:
        return ", features trusted"
    if math.isinf(problem.misfit):
        return ", features only guide"
    return f", features right to within {problem.misfit:g}"

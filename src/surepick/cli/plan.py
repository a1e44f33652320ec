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
from surepick.cli.trust import Misfit, described, trusted
from surepick.errors import InvalidInputError

_BETWEEN_LINES = 5.0  # seconds between two lines of progress


@click.command("plan", short_help="Forecast the measurements that a study needs.")
@click.argument("options", type=click.Path(path_type=Path))
@click.option("--features", default=None, help="Columns that describe an option: price,colour.")
@click.option("--formula", default=None, help="Instead: 'price + C(colour)*C(layout)'.")
@click.option("--label", default=None, help="Column with the names of the options.")
@click.option("--unstructured", is_flag=True, help="Use no features at all.")
@click.option(
    "--rewards",
    default=None,
    type=Rewards(),
    help="What one measurement gives, as for surepick new.  [default: any; symmetric where "
    "features are trusted]",
)
@click.option(
    "--gap",
    default=None,
    type=Rate(),
    help="Lead of the best option over the second best that you want to detect.",
)
@click.option(
    "--base-rate",
    default=None,
    type=Rate(),
    help="Yes/no: how often the second best option says yes (0.02).",
)
@click.option(
    "--lift",
    default=None,
    type=Rate(),
    help="Yes/no: how much more often the best one does (0.2: 1.2 times as often).",
)
@click.option(
    "--minimise",
    is_flag=True,
    help="Smaller is better; with --lift 0.2 the best one says yes 0.8 times as often.",
)
@click.option(
    "--noise",
    default=None,
    type=Number(),
    help="How much repeated measurements of one option differ (standard deviation); a guess "
    "will do.  [default: 1, or a quarter of LO..HI]",
)
@click.option(
    "--noise-is",
    type=click.Choice(["guessed", "equal", "known"]),
    default="guessed",
    show_default=True,
    help="What the study will know about the noise: nothing, that it is normal and equal for all, "
    "or its size.",
)
@click.option(
    "--misfit",
    type=Misfit(),
    default=None,
    help="How far features may be wrong, as for surepick new: a number, or any.  [default: any]",
)
@click.option("--trust-features", is_flag=True, help="The same as --misfit 0.")
@click.option("--delta", type=Rate(), default=0.05, show_default=True, help="Error probability.")
@click.option("--trials", default=30, show_default=True, help="Simulated runs of each kind.")
@click.option(
    "--algorithms",
    default="",
    help=f"Registry names, separated by commas.  [default: {DEFAULT}; also peleg,rage where "
    f"rewards are bounded, and uniform where their noise is known]",
)
@click.option(
    "--max-samples",
    default=None,
    type=int,
    help="Pulls at which a run gives up.  [default: 20 times an A/B/n test]",
)
@click.option(
    "--seconds", default=10.0, show_default=True, help="Computing time for each algorithm."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the simulation.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option(
    "--out",
    default="results/plan",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for the picture and the tables.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the forecast as JSON.")
def command(
    options: Path,
    features: str | None,
    formula: str | None,
    label: str | None,
    unstructured: bool,
    rewards: str | None,
    gap: float | None,
    base_rate: float | None,
    lift: float | None,
    minimise: bool,
    noise: float | None,
    noise_is: str,
    misfit: float | None,
    trust_features: bool,
    delta: float,
    trials: int,
    algorithms: str,
    max_samples: int | None,
    seconds: float,
    seed: int,
    jobs: int,
    out: Path,
    as_json: bool,
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
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from surepick.report.planning import explained, table

    question = found.question
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    console.print(
        f"\n[bold]{described(problem)}[/bold]"
        f"{_trust(problem)}; {question.words}; delta {question.delta:g}"
    )
    head, rows = table(found)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        shown.add_column(name, justify="right" if i else "left", no_wrap=i > 0)
    for row in rows:
        shown.add_row(*(escape(cell) for cell in row))
    console.print(shown)
    console.print(explained(found), soft_wrap=True)
    for note in notes:
        console.print(f"Note: {escape(note)}", soft_wrap=True)
    console.print(f"Written: {', '.join(escape(f) for f in files)}", soft_wrap=True)


def _trust(problem: Any) -> str:
    """How far features are trusted: what is forecast depends on that more than on all else."""
    if problem.rank == len(problem.distinct):
        return ""
    if not problem.misfit:
        return ", features trusted"
    if math.isinf(problem.misfit):
        return ", features only guide"
    return f", features right to within {problem.misfit:g}"

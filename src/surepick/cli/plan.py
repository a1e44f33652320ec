"""``surepick plan``: how many measurements will it take?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from surepick.algorithms.registry import DEFAULT


@click.command("plan", short_help="Forecast the measurements that a study needs.")
@click.argument("options", type=click.Path(path_type=Path))
@click.option("--features", default=None, help="Columns that describe an option: price,colour.")
@click.option("--formula", default=None, help="Instead: 'price + C(colour)*C(layout)'.")
@click.option("--label", default=None, help="Column with the names of the options.")
@click.option("--unstructured", is_flag=True, help="Use no features at all.")
@click.option(
    "--gap",
    required=True,
    type=float,
    help="Lead of the best option over the second best that should be found out.",
)
@click.option("--noise", default=1.0, show_default=True, help="Scale of one measurement's noise.")
@click.option("--delta", default=0.05, show_default=True, help="Error probability.")
@click.option("--trials", default=30, show_default=True, help="Simulated runs of each kind.")
@click.option(
    "--algorithms",
    default="",
    help=f"Registry names, separated by commas.  [default: {DEFAULT},peleg,rage,uniform]",
)
@click.option("--max-samples", default=None, type=int, help="Pulls at which a run gives up.")
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
    gap: float,
    noise: float,
    delta: float,
    trials: int,
    algorithms: str,
    max_samples: int | None,
    seed: int,
    jobs: int,
    out: Path,
    as_json: bool,
) -> None:
    """Forecast the measurements needed to find the best of the OPTIONS in a table.

    Every algorithm is simulated on truths drawn at random, scaled so that the best option leads by
    the gap; beside them stand a plain A/B/n test of the same options and the lower bound.
    """
    from surepick.bench.forecast import ALGORITHMS, Question
    from surepick.files import without_nan
    from surepick.problem.tables import from_table
    from surepick.report.planning import write_report
    from surepick.text import split_list

    made = from_table(options, features, formula, label, noise, unstructured=unstructured)
    question = Question(
        made.problem,
        gap,
        delta,
        tuple(split_list(algorithms)) or ALGORITHMS,
        trials=trials,
        seed=seed,
        max_samples=max_samples,
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
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    from surepick.bench.forecast import forecast

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("simulated runs"))
    with Bar(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=question.size)
        return forecast(question, jobs, lambda done: bar.update(task, completed=done))


def _show(found: Any, problem: Any, notes: list[str], files: list[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from surepick.bench.forecast import AB_TEST, LARGEST
    from surepick.report.planning import table

    question = found.question
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 120
    console.print(
        f"\n[bold]{len(problem.distinct)} different options, {problem.rank} coefficients[/bold]; "
        f"the best leads by {question.gap:g}, noise {question.problem.noise:g}, "
        f"delta {question.delta:g}"
    )
    head, rows = table(found)
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        shown.add_column(name, justify="right" if i else "left", no_wrap=i > 0)
    for row in rows:
        shown.add_row(*(escape(cell) for cell in row))
    console.print(shown)
    console.print(
        f"Algorithms: mean of {question.trials} simulated runs, on truths drawn at random and "
        f"scaled to the gap; differences within the intervals are chance (more --trials narrow "
        f"them).\n{AB_TEST}: each option 2·noise²·(2z)²/gap² times, z the normal "
        f"quantile of 1 − delta/(options − 1).\n{LARGEST}: a quarter of that; right only if the "
        f"gap is known beforehand. Lower bound: no method that is right with probability 1 − delta "
        f"can average less.",
        soft_wrap=True,
    )
    for note in notes:
        console.print(f"Note: {escape(note)}", soft_wrap=True)
    console.print(f"Written: {', '.join(escape(f) for f in files)}", soft_wrap=True)

"""``surepick reproduce``: the paper's experiments, one command, any number of machines."""

from __future__ import annotations

import errno
import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from surepick.cli.options import ENGINE, JSON, SCHEDULER, folder_option, from_signature, option

_QUICK = 3  # trials


@click.command("reproduce", short_help="Make the paper's figures and Table 1.")
@from_signature
def command(
    figures: tuple[str, ...] = option((), "a, b, c or d; may be repeated.", flag="--figure"),
    algorithms: str = option("", "Registry names, separated by commas."),
    constants: tuple[str, ...] = option(
        (),
        "printed: as in each paper; program: of the public programs; tight: the best we can "
        "prove. May be repeated.  [default: printed]",
    ),
    trials: int | None = option(
        None, "Trials at each point.  [default: 50; 10 of those that take 15 s and more each]"
    ),
    delta: float = option(0.1, "Error probability."),
    seed: int = option(0, "Seed of everything."),
    out: Path | None = folder_option(None, "Folder.  [default: results/reproduce]"),
    jobs: int = option(2, "Processes."),
    engine_name: str = ENGINE,
    scheduler: str | None = SCHEDULER,
    quick: bool = option(False, "A few trials at each point: every curve, in minutes."),
    check_delta: bool = option(False, "Measure error rates on hard instances instead."),
    fresh: bool = option(False, "Discard what the folder holds."),
    as_json: bool = JSON,
) -> None:
    """Make the paper's figures (a) to (d), with its Table 1 as numbers.

    Killed at any moment, the same command continues where it was.
    """
    import surepick
    from surepick.bench.store import ResultsFolder
    from surepick.engines import engine
    from surepick.text import split_list

    names = tuple(split_list(algorithms))
    levels = tuple(dict.fromkeys(k for text in constants for k in split_list(text)))
    letters = tuple(dict.fromkeys(k for text in figures for k in split_list(text)))
    if check_delta:
        from surepick.bench.reproduce.errors_check import ErrorCheck

        plan: Any = ErrorCheck(algorithms=names, delta=delta, seed=seed, trials=trials)
    else:
        from surepick.bench.reproduce.figures import FIGURES
        from surepick.bench.reproduce.reproduction import Reproduction

        plan = Reproduction(
            figures=letters or tuple(FIGURES),
            algorithms=names,
            trials=_QUICK if quick and trials is None else trials,
            delta=delta,
            seed=seed,
            quick=quick,
            constants=levels or ("printed",),
        )
    folder = out or Path("results") / ("check-delta" if check_delta else "reproduce")
    workers = engine(engine_name, jobs=jobs, scheduler=scheduler)
    results = ResultsFolder(folder, plan.describe(surepick.__version__), fresh=fresh)
    started = time.monotonic()
    try:
        _run(plan, results, workers)
    except KeyboardInterrupt:
        click.echo(f"\nstopped; finished work is in {folder}. To continue: {_again()}", err=True)
        raise SystemExit(130) from None
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo(
            f"error: the disk is full; finished work is kept in {folder}. Make room, then "
            f"continue with: {_again()}",
            err=True,
        )
        raise SystemExit(3) from None
    notes = _write(plan, results, folder, check_delta)
    minutes = (time.monotonic() - started) / 60
    if as_json:
        files = sorted(str(f) for f in folder.iterdir() if f.is_file())
        click.echo(json.dumps({"files": files, "notes": notes, "minutes": round(minutes, 2)}))
        return
    for note in notes:
        click.echo(f"Note: {note}")
    click.echo(f"Done in {minutes:.1f} minutes; tables, figures and report.html are in {folder}/")


def _run(plan: Any, results: Any, workers: Any) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from surepick.bench.progress import Progress
    from surepick.bench.reproduce.reproduction import run_tasks

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("trials · {task.fields[left]}"))
    with Bar(*columns, console=Console(stderr=True)) as bar:
        shown = bar.add_task("", total=None, left="starting")

        def update(progress: Progress) -> None:
            left = str(progress.time_left())
            bar.update(shown, total=progress.total, completed=progress.done, left=left)

        run_tasks(plan.tasks(), results, workers, update)


def _write(plan: Any, results: Any, folder: Path, check_delta: bool) -> list[str]:
    if check_delta:
        from surepick.bench.reproduce.errors_check import collect as collect_errors
        from surepick.report.errors_check import write_report as write_errors

        return write_errors(plan, collect_errors(plan, results), folder, _command())
    from surepick.bench.reproduce.reproduction import collect
    from surepick.report.reproduction import write_report

    return write_report(plan, collect(plan, results), folder, _command())


def _command() -> str:
    """The command that makes these results: without what does not change them."""
    words, skip = ["surepick"], False
    for word in sys.argv[1:]:
        name = word.split("=")[0]
        if skip:
            skip = False
        elif name in ("--jobs", "--engine", "--scheduler", "--out"):
            skip = "=" not in word
        elif name not in ("--fresh", "--json"):
            words.append(word)
    return " ".join(words)


def _again() -> str:
    return " ".join(["surepick", *(w for w in sys.argv[1:] if w != "--fresh")])

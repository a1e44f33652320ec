"""``surepick bench``: algorithms side by side on simulated instances."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from surepick.cli.options import ENGINE, JSON, SCHEDULER, folder_option, from_signature, option
from surepick.cli.screen import console_of, say_notes, table_of

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from surepick.bench import Plan
    from surepick.bench.store import TrialLog
    from surepick.simulate import Table

_PULLS = ("mean", "sd", "10 %", "median", "90 %", "× bound")
_TRUST = ("wrong", "95 % interval", "s/trial", "guarantee")
_GUESSED = ("wrong", "share", "95 % interval", "mean", "s/trial")
_SHARES = ("error_rate", "error_low", "error_high")
_GUESSES = ("od-linbai", "gse", "uniform", "pooled-peleg:guess=true")
_WIDE = 200  # characters in a line where there is no terminal


@click.command("bench", short_help="Compare algorithms on simulated instances.")
@from_signature
def command(
    suite: str | None = option(
        None,
        "A named comparison: leaderboard (all algorithms, instances of every kind, three deltas, "
        "ranked), or published (the same on instances from other people's papers). --algorithms, "
        "--instances and --delta narrow it.",
    ),
    algorithms: tuple[str, ...] = option(
        (),
        "Registry names, separated by commas, with settings if any: rage,lingape:norm_bound=2. "
        "May be repeated.",
    ),
    instances: tuple[str, ...] = option(
        (),
        "Instances, separated by semicolons: 'standard:gap=0.3;confounding:d=6,omega=0.1'; "
        "rng=trial draws new arms for every trial. May be repeated.",
    ),
    delta: str | None = option(None, "One or more: 0.1,0.01.  [default: 0.1]"),
    trials: int | None = option(
        None, "Trials of each combination.  [default: 50; a suite has its own]"
    ),
    seed: int = option(0, "Seed of all trials."),
    epsilon: float = option(0.0, "Accept any candidate this close to the best."),
    budget: int | None = option(
        None,
        "So many pulls for everybody, and compare how often the best guess is wrong; without "
        "--algorithms: od-linbai, gse, uniform and pooled-peleg:guess=true.",
    ),
    max_samples: int | None = option(None, "Pulls at which a trial gives up."),
    noise: str | None = option(
        None,
        "Family of the rewards: gaussian, student-t:freedom=4, exponential, bernoulli, bounded, "
        "beta, two-point, correlated:share=0.5, misfit:zeta=0.1.  [default: what goes "
        "with each problem]",
    ),
    jobs: int = option(1, "Processes; -1 for all cores."),
    engine_name: str = ENGINE,
    scheduler: str | None = SCHEDULER,
    fresh: bool = option(False, "Discard trials of a run that was interrupted."),
    out: Path | None = folder_option(
        None,
        "Folder for trials and summary, as CSV and Parquet, and a figure.  [default: "
        "results/bench, or results/ and the name of the suite]",
    ),
    as_json: bool = JSON,
) -> None:
    """Run algorithms on simulated instances and compare pulls, errors and time.

    Killed at any moment, the same command continues where it was.

    Exit code 1: some algorithm refused an instance or failed on it (in a suite: failed; what does
    not apply or is too slow is part of the results).
    """
    from surepick.bench import Plan
    from surepick.bench.compare.suites import suite as find_suite
    from surepick.text import split_list

    if trials is not None and trials < 1:
        raise click.BadParameter(f"must be at least 1; got {trials}", param_hint="--trials")
    compared = [name for text in algorithms for name in split_list(text)]
    on = [name for text in instances for name in split_list(text)]
    deltas = _numbers(delta) if delta is not None else []
    where = Where(jobs, engine_name, scheduler, fresh)
    if budget is not None:
        if suite is not None or max_samples is not None:
            raise click.UsageError("--budget cannot be used with --suite or --max-samples.")
        compared, max_samples = compared or list(_GUESSES), budget
    if suite is None:
        for option, given in (("--algorithms", compared), ("--instances", on)):
            if not given:
                raise click.UsageError(f"Missing option '{option}' (or use --suite leaderboard).")
        plan = Plan(
            compared,
            on,
            deltas or [0.1],
            trials=trials or 50,
            seed=seed,
            epsilon=epsilon,
            max_samples=max_samples,
            noise=noise,
        )
        _compare(plan, where, out or Path("results/bench"), as_json, budget)
        return
    from surepick.cli.leaderboard import show

    if epsilon:
        raise click.UsageError(
            "--epsilon cannot be used with --suite: suites compare with the bound for epsilon 0."
        )
    chosen = find_suite(suite)
    plan = chosen.plan(
        algorithms=compared,
        instances=on,
        deltas=deltas,
        trials=trials,
        seed=seed,
        max_samples=max_samples,
    )
    if noise is not None:
        raise click.UsageError("--noise cannot be used with --suite: its instances have theirs.")
    narrowed = {"--algorithms": compared, "--instances": on, "--delta": deltas}
    out = out or Path("results") / chosen.name
    table, _, files, notes = measure(plan, where, out)
    show(chosen, plan, table, narrowed, out, files, notes, as_json)


class Where(NamedTuple):
    """Where trials run, and whether those of an interrupted run are discarded."""

    jobs: int
    engine: str
    scheduler: str | None
    fresh: bool


def _compare(plan: Plan, where: Where, out: Path, as_json: bool, budget: int | None) -> None:
    from surepick.errors import MissingExtraError

    table, summary, files, notes = measure(plan, where, out)
    try:
        _draw(summary, out, budget)
        files.append(str(out / "figure.png"))
    except MissingExtraError as missing:
        notes.append(f"no figure: {missing}")
    if as_json:
        from surepick.files import without_nan

        content = {"summary": list(summary.rows()), "files": files, "notes": notes}
        click.echo(json.dumps(without_nan(content)))
    else:
        _show(plan, summary, files, notes, budget)
    if (table["failed"] != "").any():
        raise SystemExit(1)


def measure(plan: Plan, where: Where, out: Path) -> tuple[Table, Table, list[str], list[str]]:
    """Run a plan and write its files: trials, summary, names of the files, notes."""
    from rich.console import Console

    import surepick
    from surepick.bench import summarise
    from surepick.bench.compare.run import in_order
    from surepick.bench.store import TrialLog

    out.mkdir(parents=True, exist_ok=True)
    log = Console(stderr=True)
    kept = TrialLog(out, plan.describe(surepick.__version__), fresh=where.fresh)
    cells = {(c.contender.text, c.instance.text, c.delta): n for n, c in enumerate(plan.cells)}
    rows: list[dict[str, Any]] = []
    for row in kept.rows:
        number = cells.get((row["algorithm"], row["instance"], row["delta"]))
        if number is not None and row["trial"] < plan.trials_of(plan.cells[number]):
            rows.append({**row, "cell": number})
    if rows:
        log.print(f"going on: {len(rows)} of {plan.size} trials are there (--fresh begins anew)")
    finished = False
    try:
        _run(plan, where, rows, kept, log)
        finished = True
    except KeyboardInterrupt:
        log.print("stopped", highlight=False)
    finally:  # whatever happened, what was measured is kept
        kept.close(finished)
        table = in_order(plan, rows)
        summary = summarise(table)
        files, notes = _write(table, summary, out) if rows else ([], [])
        if rows and not finished:
            log.print(f"{len(rows)} of {plan.size} trials had finished; they are in {out}/")
    if not finished:
        raise SystemExit(130)
    return table, summary, files, plan.warnings() + notes


def _draw(summary: Table, out: Path, budget: int | None) -> None:
    """The figure beside the tables: pulls, or with a budget how often the guess was wrong."""
    from surepick.files import write_whole
    from surepick.report.plots import Row, draw_rows

    value, low, high = ("mean", "q10", "q90") if budget is None else _SHARES
    groups: dict[str, list[Row]] = {}
    for cell in summary.rows():
        title = f"{cell['instance']}, δ = {cell['delta']:g}" if budget is None else cell["instance"]
        if cell["trials"]:
            row = Row(cell["algorithm"], cell[value], cell[low], cell[high])
            groups.setdefault(title, []).append(row)
    axis = "pulls: mean, and from 10 % to 90 % of the trials"
    if budget is not None:
        axis = f"share of wrong guesses after {budget:,} pulls, 95 % interval"
    if groups:
        write_whole(out / "figure.png", draw_rows(groups, axis, log=budget is None))


def _numbers(text: str) -> list[float]:
    try:
        return [float(piece) for piece in text.replace(";", ",").split(",") if piece.strip()]
    except ValueError:
        raise click.BadParameter(
            f"{text!r} should be one or more numbers: 0.1,0.01", param_hint="--delta"
        ) from None


def _run(plan: Plan, where: Where, rows: list[dict[str, Any]], kept: TrialLog, log: Any) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    from surepick.bench import Progress, stream
    from surepick.engines import engine

    done = {(row["cell"], row["trial"]) for row in rows}
    workers = None
    if where.engine != "processes":
        workers = engine(where.engine, jobs=where.jobs, scheduler=where.scheduler)
    progress = Progress(plan.trials_by_cell, where.jobs)
    for row in rows:
        progress.update(row["cell"], [row["seconds"]], earlier=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("trials · {task.fields[left]}"))
    with Bar(*columns, console=log, transient=True) as bar:
        task = bar.add_task("", total=plan.size, left=str(progress.time_left()))
        for row in stream(plan, where.jobs, workers=workers, done=done):
            rows.append(row)
            kept.add(row)
            progress.update(row["cell"], [row["seconds"]])
            bar.update(task, completed=progress.done, left=str(progress.time_left()))


def _write(trials: Table, summary: Table, out: Path) -> tuple[list[str], list[str]]:
    """The names of the files written, and what to tell about those that were not."""
    from surepick.bench.files import write_csv, write_parquet
    from surepick.errors import MissingExtraError

    files, notes = [], []
    for name, table in (("trials", trials), ("summary", summary)):
        path = out / f"{name}.csv"
        write_csv(table, path)
        files.append(str(path))
        try:
            write_parquet(table, path.with_suffix(".parquet"))
            files.append(str(path.with_suffix(".parquet")))
        except MissingExtraError as missing:
            path.with_suffix(".parquet").unlink(missing_ok=True)  # of an earlier run
            notes.append(f"no Parquet files: {missing}")
    return files, list(dict.fromkeys(notes))


def _show(
    plan: Plan, summary: Table, files: list[str], notes: list[str], budget: int | None
) -> None:
    from rich.markup import escape

    console = console_of(_WIDE)
    groups: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in summary.rows():
        groups.setdefault((row["instance"], row["delta"]), []).append(row)
    for (instance, delta), cells in groups.items():
        title, bound = f"{instance} · delta {delta:g}", cells[0]["lower_bound"]
        if plan.epsilon:
            title += f" · epsilon {plan.epsilon:g}"
        if budget is not None:
            title, bound = f"{instance} · {budget:,} pulls", math.nan
            cells = sorted(cells, key=lambda cell: cell["error_rate"])
        console.print(f"\n[bold]{escape(title)}[/bold] · {plan.trials} trials each")
        if math.isfinite(bound):
            console.print(f"No delta-PAC algorithm can average fewer than {bound:,.0f} pulls.")
        whole = _table(cells, (*_PULLS, *_TRUST) if budget is None else _GUESSED)
        unlimited = console.options.update(max_width=10_000)
        fits = console.measure(whole, options=unlimited).maximum <= console.width
        fits |= budget is not None
        for table in (whole,) if fits else (_table(cells, c) for c in (_PULLS, _TRUST)):
            console.print(table)
    say_notes(console, notes, files)


def _table(cells: list[dict[str, Any]], columns: tuple[str, ...]) -> RichTable:
    rows = [[cell["algorithm"], *(_shown(cell)[name] for name in columns)] for cell in cells]
    return table_of(["algorithm", *columns], rows, left=["guarantee"])


def _shown(cell: dict[str, Any]) -> dict[str, str]:
    """The cells of the table, by their headings."""
    # Trials that gave up would have taken more pulls: the mean is too low.
    more = "≥ " if cell["stopped_early"] else ""
    interval = f"{100 * cell['error_low']:.1f}–{100 * cell['error_high']:.1f} %"
    return {
        "mean": _count(cell["mean"]),
        "sd": _count(cell["sd"]),
        "10 %": _count(cell["q10"]),
        "median": _count(cell["q50"]),
        "90 %": _count(cell["q90"]),
        "× bound": f"{more}{cell['ratio']:.2f}" if math.isfinite(cell["ratio"]) else "–",
        "wrong": str(cell["errors"]),
        "share": f"{100 * cell['error_rate']:.1f} %" if cell["trials"] else "–",
        "95 % interval": interval if cell["trials"] else "–",
        "s/trial": f"{cell['seconds']:.2g}" if math.isfinite(cell["seconds"]) else "–",
        "guarantee": _promise(cell),
    }


def _promise(cell: dict[str, Any]) -> str:
    parts = []
    if cell["stopped_early"] < cell["trials"]:
        parts.append("no (heuristic)" if cell["guarantee"] == "heuristic" else cell["guarantee"])
    if cell["stopped_early"]:
        parts.append(f"none: {cell['stopped_early']} gave up")
    if cell["failed"]:
        parts.append(f"{cell['failed']} failed")
    return ", ".join(parts)


def _count(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else "–"

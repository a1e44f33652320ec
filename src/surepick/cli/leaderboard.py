"""The results of ``surepick bench --suite``: rankings, a page, and a record that can be checked."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import JSON, from_signature, option
from surepick.cli.screen import console_of, say_notes, table_of

if TYPE_CHECKING:
    from surepick.bench import Plan
    from surepick.bench.compare.standings import Standings
    from surepick.bench.compare.suites import Suite
    from surepick.simulate import Table

_RECORD = "leaderboard.json"
_WIDE = 200  # characters in a line where there is no terminal


@click.command("leaderboard", short_help="Measure a sample of a recorded comparison again.")
@from_signature
def command(
    sample: int = option(20, "How many trials to measure again.", flag="--check"),
    record: Path = option(
        Path("results/leaderboard"),
        "Folder that surepick bench --suite leaderboard wrote.",
        click.Path(path_type=Path, file_okay=False, exists=True),
    ),
    seed: int = option(0, "Which trials: other seeds, others."),
    as_json: bool = JSON,
) -> None:
    """Measure some of the recorded trials again: every one has to come out as it stands there.

    Trials are seeded one by one, so each can be repeated alone, on any machine. Exit code 1: one of
    them came out otherwise.
    """
    from surepick.bench.compare.again import measured_again
    from surepick.errors import FormatError

    try:
        about = json.loads((record / _RECORD).read_text(encoding="utf-8"))
        settings = {name: about[name] for name in ("seed", "max_samples", "max_ratio")}
    except (OSError, ValueError, KeyError):
        raise FormatError(
            f"{record / _RECORD} is not there, or no record of surepick bench --suite leaderboard"
        ) from None
    rows = list(measured_again(record / "trials.csv", settings, sample, seed))
    if as_json:
        click.echo(json.dumps({"record": about["command"], "trials": rows}))
    else:
        for row in rows:
            if row["samples"] != row["recorded"]:
                click.echo(
                    f"{row['algorithm']} on {row['instance']} at delta {row['delta']:g}, trial "
                    f"{row['trial']}: {row['samples']:,} pulls, recorded {row['recorded']:,}"
                )
        same = sum(row["samples"] == row["recorded"] for row in rows)
        click.echo(
            f"{same} of {len(rows)} trials came out as recorded ({about['command']}, version "
            f"{about['version']}, {about['date']}, {about['processor']})"
        )
    if any(row["samples"] != row["recorded"] for row in rows):
        raise SystemExit(1)


def _circumstances(command: str, plan: Plan) -> dict[str, Any]:
    """What somebody needs to measure it again, or to judge its seconds."""
    import platform
    from datetime import UTC, datetime

    import surepick

    return {
        "command": command,
        "version": surepick.__version__,
        "date": datetime.now(UTC).date().isoformat(),
        "processor": f"{platform.machine()}, Python {platform.python_version()}",
        "seed": plan.seed,
        "trials": plan.trials,
        "max_samples": plan.max_samples,
        "max_ratio": plan.max_ratio,
    }


def show(
    suite: Suite,
    plan: Plan,
    trials: Table,
    narrowed: Mapping[str, Sequence[Any]],
    out: Path,
    files: list[str],
    notes: list[str],
    as_json: bool,
) -> None:
    """Rank what was measured, write it down and print it; exit code 1 where something failed."""
    from surepick.bench.compare.standings import Standings
    from surepick.files import without_nan, write_whole
    from surepick.report.leaderboard import markdown

    standings = Standings(trials)
    page = out / f"{suite.name}.md"
    command = _command(suite, plan, narrowed)
    write_whole(page, markdown(standings, suite, command, plan.trials, notes))
    record = {**_circumstances(command, plan), **_content(standings, files, notes)}
    write_whole(page.with_suffix(".json"), json.dumps(without_nan(record), indent=1) + "\n")
    files = [*files, str(page), str(page.with_suffix(".json"))]
    if as_json:
        click.echo(json.dumps(without_nan(_content(standings, files, notes))))
    else:
        _print(standings, files, notes)
    if any(_failure(why) for _, _, why in standings.missing()):
        raise SystemExit(1)


def _failure(why: str) -> bool:
    """Whether something went wrong, other than being too slow or not made for an instance."""
    from surepick.bench.compare.run import TOO_SLOW

    return not why.startswith((TOO_SLOW, "InvalidInputError"))


def _command(suite: Suite, plan: Plan, narrowed: Mapping[str, Sequence[Any]]) -> str:
    words = ["surepick", "bench", "--suite", suite.name]
    for flag, values in narrowed.items():
        if values:
            texts = [f"{v:g}" if isinstance(v, float) else v for v in values]
            words += [flag, (";" if flag == "--instances" else ",").join(texts)]
    words += ["--trials", str(plan.trials), "--seed", str(plan.seed)]
    if plan.max_samples is not None:
        words += ["--max-samples", str(plan.max_samples)]
    return shlex.join(words)


def _content(standings: Standings, files: list[str], notes: list[str]) -> dict[str, Any]:
    from surepick.report.leaderboard import HEADINGS, verdict

    return {
        "ranking": {
            which: [
                asdict(p) | {"by_delta": {f"{d:g}": r for d, r in p.by_delta.items()}}
                for p in standings.ranking(which)
            ]
            for which in HEADINGS
        },
        "cells": [asdict(s) | {"ratio": s.ratio} for s in standings.scores],
        "verdict": verdict(standings),
        "files": files,
        "notes": notes,
    }


def _print(standings: Standings, files: list[str], notes: list[str]) -> None:
    from rich.text import Text

    from surepick.report.leaderboard import HEADINGS, cells, columns, verdict

    console = console_of(_WIDE)
    for which, heading in HEADINGS.items():
        places = standings.ranking(which)
        if not places:
            continue
        console.print(f"\n[bold]{heading}[/bold] · mean pulls over the lower bound")
        rows = [cells(place, rank, standings) for rank, place in enumerate(places, 1)]
        console.print(table_of(columns(standings), rows))
    for line in verdict(standings):
        console.print(Text(line), soft_wrap=True)
    for algorithm, instance, why in standings.missing():
        console.print(Text(f"No score: {algorithm} on {instance}: {why}"), soft_wrap=True)
    say_notes(console, notes, files)

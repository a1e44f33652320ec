"""``surepick record``: what came of a period of traffic."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.studies import open_study, say, shown, study_options


@click.command("record", short_help="Of traffic: record what came of a period.")
@study_options
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--period", required=True, help="The name of the period, such as monday.")
def command(name: str, storage: str, as_json: bool, report: Path, period: str) -> None:
    """Record the REPORT of a period: a table (CSV or Parquet) with a row for each option.

    Its columns are label, visits and successes; with rewards between bounds label, visits, sum
    and squares (the sum of squared rewards); with numbers of unknown scale label, bucket, visits
    and sum, where visitors are dealt into buckets 0 to 15 by a hash of who they are.

    Everybody belongs to the period in which the option was assigned, whenever the response
    came. Periods are recorded in their order. The same report again changes nothing; other
    numbers for the same period are refused, with exit code 2, like a report with a mistake in it.
    """
    study = open_study(name, storage)
    done = study.record(report, period)
    at = study.status()["traffic"]
    lines = [
        f"Period {shown(done.period)}: {done.visits:,} visits are recorded."
        if done.status == "accepted"
        else f"Period {shown(done.period)} had been recorded with these numbers; it counts once.",
        shown(at["headline"]),
    ]
    if at["ratio"]["alarm"]:
        lines.append(f"Warning: {shown(at['ratio']['message'])}")
    lines.append(f"Next: {shown(at['next'])}")
    content = done.to_dict() | {key: at[key] for key in ("headline", "next", "risk", "ratio")}
    say(as_json, content, "\n".join(lines))

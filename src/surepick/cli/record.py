"""``surepick record``: what came of a period of traffic."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.errors import InvalidInputError
from surepick.text import plural


@click.command("record", short_help="Website tests: hand in the counts of a period.")
@study_options
@click.argument("report", type=click.Path(path_type=Path))
@click.option("--period", required=True, help="The name of the period, such as monday.")
@click.option("--check", is_flag=True, help="Check the report without recording it.")
@click.option("--correct", is_flag=True, help="Replace an earlier report that was wrong.")
@click.option("--reason", default="", help="Reason for the correction; shown in the certificate.")
@click.option("--by", default=None, help="Who corrects it.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    report: Path,
    period: str,
    check: bool,
    correct: bool,
    reason: str,
    by: str | None,
) -> None:
    """Record the REPORT of a period: a table (CSV or Parquet) with a row for each option.

    Its columns are label, visits and successes; with rewards between bounds label, visits, sum
    and squares (the sum of squared rewards); with numbers of unknown scale label, bucket, visits
    and sum, where visitors are dealt into buckets 0 to 15 by a hash of who they are.

    Everybody belongs to the period in which the option was assigned, whenever the response
    came. Periods are recorded in their order. The same report again changes nothing; other
    numbers for the same period are refused, with exit code 2, like a report with a mistake in it.

    If what was recorded turns out to be wrong, --correct with a --reason lets these numbers count
    instead. Everything is worked out again; old and new numbers, who, when and why are kept.
    """
    from surepick.study.acts.reports import CAUTION
    from surepick.study.traffic.words import step

    study = open_study(name, storage)
    if correct:
        if check:
            raise InvalidInputError("check: a correction is always checked; leave --check out")
        made = study.correct_report(period, report, reason=reason, by=by)
        at = study.status()["traffic"]
        lines = [shown(made.said), CAUTION, shown(at["headline"]), shown(step(at))]
        say(as_json, made.to_dict() | {"headline": at["headline"]}, "\n".join(lines))
        return
    if reason or by:
        raise InvalidInputError("reason: only a correction needs one; did you mean --correct?")
    done = study.record(report, period, check=check)
    if done.status == "checked":
        text = f"{plural(done.visits, 'visit')}; no mistakes found. Nothing was recorded."
        say(as_json, done.to_dict(), text)
        return
    at = study.status()["traffic"]
    lines = [
        f"Period {shown(done.period)}: {plural(done.visits, 'visit')} recorded."
        if done.status == "accepted"
        else f"Period {shown(done.period)} was already recorded with these numbers; "
        "it counts once.",
        shown(at["headline"]),
    ]
    if at["ratio"]["alarm"]:
        lines.append(f"Warning: {shown(at['ratio']['message'])}")
    lines.append(shown(step(at)))
    keys = ("headline", "next", "command", "risk", "ratio")
    content = done.to_dict() | {key: at[key] for key in keys}
    say(as_json, content, "\n".join(lines))

"""``surepick record``: what came of a period of traffic."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import argument, from_signature, option
from surepick.cli.studies import open_studies, say, shown, study_options
from surepick.errors import InvalidInputError
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.study import Recorded, SegmentStudies, Sheet, Study


@click.command("record", short_help="Website tests: hand in the counts of a period.")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    report: Path | None = argument(required=False),
    sql: str | None = option(
        None,
        "Instead of REPORT: a SELECT that counts it. It may use :since, :until, :window, "
        ":period and :number of the period.",
    ),
    database: str | None = option(
        None,
        "Where to run --sql (only reading): sqlite:///shop.db, "
        "postgresql+psycopg://user@host/shop, …",
    ),
    period: str = option(None, "The name of the period, such as monday.", required=True),
    check: bool = option(False, "Check the report without recording it."),
    correct: bool = option(False, "Replace an earlier report that was wrong."),
    reason: str = option("", "Reason for the correction; shown in the certificate."),
    by: str | None = option(None, "Who corrects it."),
) -> None:
    """Record the REPORT of a period: a table (CSV or Parquet) with a row for each option.

    Its columns are label, visits and successes; with rewards between bounds label, visits, sum
    and squares (the sum of squared rewards); with numbers of unknown scale label, bucket, visits
    and sum, where visitors are dealt into buckets 0 to 15 by a hash of who they are. In a study
    with segments there is also a column segment, and a column for each count that has a limit.
    Where each segment has an answer, a report has the rows of all; one that is decided needs none.

    With --sql and --database the report is counted by a database, which is asked from here, also
    with --server: :since and :until are when the shares of the period were stored and when those of
    the next one were (UTC). Options without a row had no visitors.

    Everybody belongs to the period in which the option was assigned, whenever the response
    came. Periods are recorded in their order. The same report again changes nothing; other
    numbers for the same period are refused, with exit code 2, like a report with a mistake in it.

    If what was recorded turns out to be wrong, --correct with a --reason lets these numbers count
    instead. Everything is worked out again; old and new numbers, who, when and why are kept.
    """
    from surepick.study import SegmentStudies
    from surepick.study.acts.reports import CORRECT_REPORT
    from surepick.study.traffic.words import step

    study = open_studies(name, storage)
    if isinstance(study, SegmentStudies):
        if correct or reason or by:
            raise InvalidInputError(
                f"correct: each segment of {name} has a study of its own: say which "
                f"({', '.join(one.name for one in study.studies.values())}); the report may have "
                "the rows of all"
            )
        left = {one: own for one, own in study.studies.items() if not own.progress().finished}
        given = {one: _report(own, report, sql, database, period) for one, own in left.items()}
        done = (
            study.record_each(given, period, check=check)
            if sql is not None
            else study.record(report, period, check=check)
        )
        _by_segment(study, done, period, check, as_json)
        return
    content = _report(study, report, sql, database, period)
    if correct:
        if check:
            raise InvalidInputError("check: a correction is always checked; leave --check out")
        made = study.correct_report(period, content, reason=reason, by=by)
        at = study.status()["traffic"]
        lines = [shown(made.said), CORRECT_REPORT.caution, shown(at["headline"]), shown(step(at))]
        say(as_json, made.to_dict() | {"headline": at["headline"]}, "\n".join(lines))
        return
    if reason or by:
        raise InvalidInputError("reason: only a correction needs one; did you mean --correct?")
    done = study.record(content, period, check=check)
    if done.status == "checked":
        found = "some numbers to look at" if done.asked else "no mistakes found"
        lines = [f"{plural(done.visits, 'visit')}; {found}. Nothing was recorded."]
        say(as_json, done.to_dict(), "\n".join([*lines, *map(shown, done.asked)]))
        return
    at = study.status()["traffic"]
    lines = [
        f"Period {shown(done.period)}: {_SAID[done.status]}".format(
            visits=plural(done.visits, "visit")
        ),
        shown(at["headline"]),
        *(f"Warning: {shown(text)}" for text in done.asked),
    ]
    for found in (at["ratio"], at["own_past"]):
        if found is not None and found["alarm"]:
            lines.append(f"Warning: {shown(found['message'])}")
    lines.append(shown(step(at)))
    keys = ("headline", "next", "command", "risk", "ratio", "own_past")
    found = done.to_dict() | {key: at[key] for key in keys}
    say(as_json, found, "\n".join(lines))


def _report(
    study: Study, report: Path | None, sql: str | None, database: str | None, period: str
) -> Path | Sheet:
    """The report: a file, or what a database counts."""
    if (report is None) == (sql is None):
        raise InvalidInputError("give either a REPORT or --sql with --database")
    if report is not None:
        if database is not None:
            raise InvalidInputError("database: only for --sql")
        return report
    if database is None:
        raise InvalidInputError("database: say where to run --sql, such as sqlite:///shop.db")
    from surepick.study.traffic.query import query_report

    return query_report(study, str(sql), database, period)


_SAID = {
    "accepted": "{visits} recorded.",
    "checked": "{visits}; no mistakes found.",
    "duplicate": "already recorded with these numbers; it counts once.",
    "decided": "decided before; nothing more is recorded.",
    "nobody": "nobody came; its period goes on.",
}


def _by_segment(
    test: SegmentStudies, done: dict[str, Recorded], period: str, check: bool, as_json: bool
) -> None:
    """What became of the report of a test with an answer for each segment."""
    from surepick.study.traffic.words import moved, step

    found: dict[str, Any] = {name: one.to_dict() for name, one in done.items()}
    lines = [] if check else [f"Period {shown(period)}:"]
    for name, one in done.items():
        said = _SAID[one.status].format(visits=plural(one.visits, "visit"))
        lines.append(f"{shown(name)}: {said}")
        lines += [f"  Warning: {shown(text)}" for text in one.asked]
        if check:
            continue
        at = test.studies[name].status()["traffic"]
        keys = ("headline", "next", "command", "risk", "ratio", "own_past")
        found[name] |= {key: at[key] for key in keys}
        lines.append(f"  {shown(at['headline'])}")
        for finding in (at["ratio"], at["own_past"]):
            if finding is not None and finding["alarm"]:
                lines.append(f"  Warning: {shown(finding['message'])}")
        if at["ratio"]["alarm"] or moved(at):
            lines.append(f"  {shown(step(at))}")
    lines.append("Nothing was recorded." if check else test.next)
    say(as_json, {"period": period, "segments": found}, "\n".join(lines))

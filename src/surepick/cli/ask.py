"""``surepick ask``: what to measure next."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.options import from_signature, option
from surepick.cli.studies import (
    FINISHED,
    NOT_YET,
    STRATUM_HELP,
    at_server,
    open_study,
    say,
    shown,
    study_options,
)
from surepick.text import typed

if TYPE_CHECKING:
    from surepick.study.pulls import Pull


_PAIR = ["pull", "first", "second"]  # where two options are compared


@click.command("ask", short_help="Get measurements to make.")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    count: int = option(1, "How many measurements, at most.", flag="-n"),
    worker: str | None = option(
        None, "Your name. If you ask again, you first get the measurements you still hold."
    ),
    lease: float = option(3600.0, "Seconds until the measurements may be given to others."),
    stratum: str | None = option(None, STRATUM_HELP),
    same: bool = option(
        False,
        "Those of one option only, to make together: as many of -n as the open batches have.",
    ),
) -> None:
    """Get measurements to make: a line each, with the number to tell the reward for and the option.

    The columns are named in the first line, and separated by tabs. Where options have no names but
    the numbers of their rows, the cells of the table are there as well. Where two options are
    compared, both are named, in the order in which to show them.

    The exit code is 4 when there is nothing to do until other workers have told theirs,
    and 6 when the study is finished.
    """
    study = open_study(name, storage)
    pulls = study.ask(count, worker, lease, stratum=stratum, same=same)
    finished = not pulls and study.finished
    cells = study.features_by_arm(pull.arm for pull in pulls)
    rows = [dataclasses.asdict(pull) | {"features": cells[pull.arm]} for pull in pulls]
    content = {"finished": finished, "pulls": rows}
    if pulls:
        say(as_json, content, "\n".join(_lines(pulls, rows)))
        return
    if as_json:
        say(True, content, "")
    elif finished:
        click.echo(f"Study {name!r} is finished: {typed('answer', name)}", err=True)
    elif study.progress().paused:
        click.echo(f"Study {name!r} is paused: {typed('resume', name)}", err=True)
    else:
        waits = "the open batch is with others" if at_server() else study.desk.waits_for()
        click.echo(f"Nothing to measure now: {shown(waits)}.", err=True)
    raise SystemExit(FINISHED if finished else NOT_YET)


def _lines(pulls: list[Pull], rows: list[dict[str, Any]]) -> list[str]:
    if pulls[0].first is not None:
        named = [[pull.id, pull.first, pull.second] for pull in pulls]
        return ["\t".join(shown(str(one)) for one in row) for row in [_PAIR, *named]]
    items = pulls[0].item is not None
    numbered = all(pull.label == str(pull.arm) for pull in pulls)
    columns = list(rows[0]["features"] or {}) if numbered else []
    lines = [["pull", "option", *(["item"] if items else []), *columns]]
    for pull, row in zip(pulls, rows):
        cells = [row["features"][name] for name in columns]
        lines.append([pull.id, pull.label, *([pull.item] if items else []), *cells])
    return ["\t".join(shown(str(cell)) for cell in line) for line in lines]

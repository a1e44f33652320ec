"""``surepick split``: by which shares to send the visitors of a period."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.text import typed

if TYPE_CHECKING:
    from surepick.study import Split, Study


@click.command("split", short_help="Website tests: which share of visitors each option gets.")
@study_options
@click.option(
    "--visits",
    default=None,
    type=int,
    help="Also show how many of this many visits each option gets.",
)
@click.option(
    "--period",
    default=None,
    help="Begin a period of this name, even if earlier ones are not recorded yet.",
)
@click.option(
    "--csv",
    "target",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the shares to this file, as a table with the columns label and share; - prints it.",
)
@click.option(
    "--flags",
    default=None,
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="Write the shares to this file as a flag of OpenFeature's flagd; - prints it.",
)
def command(
    name: str,
    storage: str,
    as_json: bool,
    visits: int | None,
    period: str | None,
    target: Path | None,
    flags: Path | None,
) -> None:
    """Print which share of the visitors each option gets, in this period or the next one.

    Shares are stored before they are printed, and stay the same until a period is recorded. Send
    every visitor at random, by these shares alone (surepick.assign does it, in Python and in
    JavaScript). End the period by the clock or by a number of
    visitors, never because it looks good. Count each visitor once.
    """
    study = open_study(name, storage)
    split = study.split(visits, period)
    written = []
    if target is not None:
        written.append((target, split.to_csv()))
    if flags is not None:
        written.append((flags, json.dumps(split.to_flags(name), indent=2) + "\n"))
    for path, text in written:
        if str(path) == "-":
            click.echo(text, nl=False)
            continue
        from surepick.files import write_whole

        write_whole(path, text)
        say(as_json, split.to_dict(), f"{len(split.shares):,} shares written to {path}")
    if written:
        return
    say(as_json, split.to_dict(), "\n".join(_lines(study, split)))


def _lines(study: Study, split: Split) -> list[str]:
    called = "" if split.period is None else f" ({shown(split.period)})"
    lines = [f"Period {split.number + 1}{called}: assign visitors at random by these shares."]
    sent = [(label, share) for label, share in split.shares.items() if share]
    width = max(len(shown(label)) for label, _ in sent)
    for label, share in sorted(sent, key=lambda pair: -pair[1]):
        counts = "" if split.visits is None else f"{split.visits[label]:>12,}"
        lines.append(f"  {shown(label):<{width}}  {100 * share:8.3f} %{counts}")
    nobody = len(split.shares) - len(sent)
    if nobody:
        others = "one gets" if nobody == 1 else f"{nobody:,} get"
        lines.append(f"  The other {others} no more visitors: that is decided.")
    lines += _first(study) if split.number == 0 else []
    period = "NAME" if split.period is None else shown(split.period)
    over = typed("record", study.name, "REPORT.csv", "--period", period)
    lines.append(f"When it is over: {over}")
    return lines


def _first(study: Study) -> list[str]:
    """How long the first period should be."""
    kind, limited = study.problem.noise_kind, study.algorithm.asked.limited
    dealt = kind.successes and not kind.reports_only and not limited
    rest = "a tenth of them guides, and the rest counts" if dealt else "they only guide"
    return [f"A few hundred visitors per option are enough for the first period: {rest}."]

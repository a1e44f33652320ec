"""``surepick split``: by which shares to send the visitors of a period."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from surepick.cli.options import file_option, from_signature, option
from surepick.cli.studies import open_studies, say, shown, study_options
from surepick.text import typed

if TYPE_CHECKING:
    from surepick.study import SegmentSplits, SegmentStudies, Split, Study


@click.command("split", short_help="Website tests: which share of visitors each option gets.")
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    visits: int | None = option(
        None,
        "Also show how many of this many visits each option gets (of each segment, where there "
        "are several).",
    ),
    period: str | None = option(
        None, "Begin a period of this name, even if earlier ones are not recorded yet."
    ),
    target: Path | None = file_option(
        None,
        "Write the shares to this file, as a table with the columns label and share; - prints it.",
        allow_dash=True,
        flag="--csv",
    ),
    flags: Path | None = file_option(
        None,
        "Write the shares to this file as a flag of OpenFeature's flagd; - prints it.",
        allow_dash=True,
    ),
) -> None:
    """Print which share of the visitors each option gets, in this period or the next one.

    Shares are stored before they are printed, and stay the same until a period is recorded. Send
    every visitor at random, by these shares alone (surepick.assign does it, in Python and in
    JavaScript). End the period by the clock or by a number of
    visitors, never because it looks good. Count each visitor once. Where each segment has an
    answer of its own, there are shares for each.
    """
    from surepick.study import SegmentStudies, Split

    study = open_studies(name, storage)
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
        rows = split.to_csv().count("\n") - 1
        say(as_json, split.to_dict(), f"{rows:,} shares written to {path}")
    if written:
        return
    if isinstance(study, SegmentStudies):
        assert not isinstance(split, Split)
        say(as_json, split.to_dict(), "\n".join(_by_segment(study, split, period)))
        return
    assert isinstance(split, Split)
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
    kind, limited = study.problem.noise_kind, study.algorithm.asked.limited
    dealt = kind.successes and not kind.reports_only and not limited
    rest = "a tenth of them guides, and the rest counts" if dealt else "they only guide"
    return [f"A few hundred visitors per option are enough for the first period: {rest}."]


def _by_segment(test: SegmentStudies, split: SegmentSplits, period: str | None) -> list[str]:
    called = "" if period is None else f" ({shown(period)})"
    lines = [f"Assign visitors{called} at random by the shares of their segment."]
    labels = list(dict.fromkeys(label for one in split.segments.values() for label in one.shares))
    wide = max(len(shown(name)) for name in split.segments)
    cells = {
        name: [_cell(one.shares.get(label, 0.0), one.visits, label) for label in labels]
        for name, one in split.segments.items()
    }
    widths = [
        max(len(shown(label)), *(len(row[i]) for row in cells.values()))
        for i, label in enumerate(labels)
    ]
    head = "  ".join(f"{shown(label):>{w}}" for label, w in zip(labels, widths))
    lines.append(f"  {'':<{wide}}  {head}")
    for name, row in cells.items():
        said = "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths))
        one = split.segments[name]
        nobody = "  no option keeps the limits" if not one.shares else ""
        decided = f"  decided{nobody}" if one.decided else ""
        lines.append(f"  {shown(name):<{wide}}  {said}{decided}")
    if all(one.number == 0 for one in split.segments.values()):
        lines += _first(next(iter(test.studies.values())))
    called = "NAME" if period is None else shown(period)
    over = typed("record", test.name, "REPORT.csv", "--period", called)
    lines.append(f"When the period is over: {over}")
    return lines


def _cell(share: float, visits: dict[str, int] | None, label: str) -> str:
    count = "" if visits is None else f" ({visits.get(label, 0):,})"
    return f"{100 * share:.2f} %{count}" if share else "-"

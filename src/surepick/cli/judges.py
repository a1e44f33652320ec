"""``surepick judges``: who judged what, where options are compared two at a time."""

from __future__ import annotations

from typing import Any

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.study.judgements import OF_STRENGTHS


@click.command("judges", short_help="Show shares of wins, judges, and how far they agree.")
@study_options
def command(name: str, storage: str, as_json: bool) -> None:
    """Show how often options won, who judged how often, and how far judges agree.

    For studies of pairs (new --pairs). The ends of the shares of wins hold for all options
    together, at any time. A judge who seems to prefer a side, whatever is shown there, is pointed
    out: that does not void the promise, as the order is drawn by a fair coin.
    """
    found = open_study(name, storage).judgements()
    say(as_json, found, "\n".join(_lines(found)))


def _lines(found: dict[str, Any]) -> list[str]:
    lines = ["option\tshare of wins\tbetween\tcomparisons\tso far\tstrength\tabout"]
    for row in found["standings"]:
        share = "" if row["share"] is None else _percent(row["share"])
        ends = f"{_percent(row['low'])} to {_percent(row['high'])}" if row["met"] else ""
        said = (shown(row["option"]), share, ends, f"{row['met']:,}", row["state"])
        lines.append("\t".join([*said, *_strength(row)]))
    lines += ["", "judge\tcomparisons\tfirst\tsecond\tties\tagrees with others"]
    for one in found["judges"]:
        agreed = "" if one["agreement"] is None else _percent(one["agreement"])
        counts = "\t".join(f"{one[key]:,}" for key in ("comparisons", "first", "second", "ties"))
        lines.append(f"{shown(one['name'] or '(no name)')}\t{counts}\t{agreed}")
    lines += [f"Note: {shown(one['said'])}" for one in found["judges"] if one["said"]]
    return [*lines, OF_STRENGTHS]


def _strength(row: dict[str, Any]) -> tuple[str, str]:
    if row["strength"] is None:
        return "", ""
    low, high = (f"{row[f'strength_{end}']:.2f}" for end in ("low", "high"))
    return f"{row['strength']:.2f}", f"{low} to {high}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"

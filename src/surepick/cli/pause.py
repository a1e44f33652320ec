"""``surepick pause``: hand out nothing until the study is resumed."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, study_options
from surepick.text import typed


@click.command("pause", short_help="Hand out nothing until the study is resumed.")
@study_options
@click.option("--reason", default="", help="Why; kept with the study.")
@click.option("--by", default=None, help="Who says so.")
def command(name: str, storage: str, as_json: bool, reason: str, by: str | None) -> None:
    """Hand out nothing from now on; pulls that are out can still be told."""
    changed = open_study(name, storage).pause(reason, by)
    text = f"Study {name!r} is paused: {typed('resume', name)}"
    if not changed:
        text = f"Study {name!r} was already paused, or is finished."
    say(as_json, {"study": name, "changed": changed}, text)

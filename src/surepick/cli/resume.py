"""``surepick resume``: go on with a study that is paused."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, study_options


@click.command("resume", short_help="Continue a study that is paused.")
@study_options
@click.option("--reason", default="", help="Reason; stored with the study.")
@click.option("--by", default=None, help="Who says so.")
def command(name: str, storage: str, as_json: bool, reason: str, by: str | None) -> None:
    """Hand out pulls again."""
    changed = open_study(name, storage).resume(reason, by)
    text = f"Study {name!r} continues."
    if not changed:
        text = f"Study {name!r} was not paused."
    say(as_json, {"study": name, "changed": changed}, text)

"""``surepick delete``: a study and everything that was measured for it."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.text import plural


@click.command("delete", short_help="Delete a study with everything measured for it.")
@study_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(name: str, storage: str, as_json: bool, yes: bool) -> None:
    """Delete a study with everything that was measured for it. This cannot be undone."""
    from surepick.study import delete_study

    with open_study(name, storage) as study:
        at = study.progress()
    if not yes:
        told = at.measured
        click.confirm(
            f"Delete {shown(name)} with its {plural(told, 'measurement')}? This cannot be undone.",
            abort=True,
            err=True,
        )
    delete_study(name, storage)
    say(as_json, {"deleted": name}, f"{shown(name)} is deleted.")

"""``surepick delete``: a study and everything that was measured for it."""

from __future__ import annotations

import click

from surepick.cli.studies import at_server, open_study, say, shown, study_options
from surepick.text import plural


@click.command("delete", short_help="Delete a study with everything measured for it.")
@study_options
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(name: str, storage: str, as_json: bool, yes: bool) -> None:
    """Delete a study with everything that was measured for it. This cannot be undone."""
    from surepick.study import delete_study

    with open_study(name, storage) as study:
        told = study.progress().measured
    if not yes:
        click.confirm(
            f"Delete {shown(name)} with its {plural(told, 'measurement')}? This cannot be undone.",
            abort=True,
            err=True,
        )
    if (at := at_server()) is not None:
        at.delete_study(name)
    else:
        delete_study(name, storage)
    say(as_json, {"deleted": name}, f"{shown(name)} is deleted.")

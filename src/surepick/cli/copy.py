"""``surepick copy``: a study to another database, as a backup or to move it."""

from __future__ import annotations

import click

from surepick.cli.studies import local_study_options, say, shown
from surepick.conditions import REPEATED
from surepick.text import typed


@click.command("copy", short_help="Copy a study to another database, or move it.")
@local_study_options
@click.option("--to", required=True, metavar="URL", help="The other database, as for --storage.")
@click.option("--as", "new_name", metavar="NAME", help="What the copy is called.")
@click.option("--move", is_flag=True, help="Delete the original once the copy is there.")
def command(
    name: str, storage: str, as_json: bool, to: str, new_name: str | None, move: bool
) -> None:
    """Copy a study with all that was measured and done: from SQLite to PostgreSQL, or back.

    The copy is compared with the original before anything is deleted. Pause the study first if
    others work on it: pulls that are out wait in the copy, to be handed out again, and results that
    are told to the original afterwards are not in the copy.
    """
    from surepick.study import copy_study, load_study

    copy_study(name, to, storage, new_name=new_name, move=move)
    called = new_name or name
    with load_study(called, to) as study:
        told, where = study.progress().measured, study.storage.url
    done = "moved" if move else "copied"
    lines = [f"{shown(name)} is {done} to {where}, with {told:,} measurements."]
    if not move:
        lines.append(
            f"Go on with one of the two only: {REPEATED}. "
            f"({typed('delete', name)} removes the original.)"
        )
    content = {done: name, "to": where, "name": called, "measurements": told}
    say(as_json, content, "\n".join(lines))

"""``surepick list``, ``copy`` and ``delete``: the studies of a database."""

from __future__ import annotations

import json

import click

from surepick.cli.options import JSON, from_signature, option
from surepick.cli.studies import (
    local_study_options,
    open_study,
    place_of,
    say,
    shown,
    storage_option,
    study_options,
)
from surepick.conditions import REPEATED
from surepick.text import plural, typed


@click.command("list", short_help="List studies, and where each one stands.")
@storage_option
@from_signature
def list_command(
    storage: str,
    as_json: bool = JSON,
) -> None:
    """List the studies of a database: what each is doing, and how far it has come."""
    from surepick.study.manage import describe_studies

    rows = describe_studies(storage)
    if as_json:
        click.echo(json.dumps(rows))
        return
    if not rows:
        click.echo("There are no studies.")
        return
    wide = max(len(shown(row["name"])) for row in rows)
    for row in rows:
        left = row["survivors"]
        said = "" if left is None else f"{left} of {row['options']} options left"
        unit = f"{row['unit']}{'' if row['samples'] == 1 else 's'}"
        found = "" if row["answer"] is None else f"  {shown(row['answer'])}"
        begin = f"{shown(row['name']):<{wide}}  {row['state']:<9}"
        click.echo(f"{begin}{row['samples']:>9,} {unit:<12}  {said}{found}".rstrip())


@click.command("copy", short_help="Copy a study to another database, or move it.")
@local_study_options
@from_signature
def copy_command(
    name: str,
    storage: str,
    as_json: bool,
    to: str = option(None, "The other database, as for --storage.", required=True, metavar="URL"),
    new_name: str | None = option(None, "What the copy is called.", flag="--as", metavar="NAME"),
    move: bool = option(False, "Delete the original once the copy is there."),
) -> None:
    """Copy a study with all that was measured and done: from SQLite to PostgreSQL, or back.

    The copy is compared with the original before anything is deleted. Pause the study first if
    others work on it: measurements that are out wait in the copy, to be handed out again, and
    results that are told to the original afterwards are not in the copy.
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


@click.command("delete", short_help="Delete a study with everything measured for it.")
@study_options
@from_signature
def delete_command(
    name: str,
    storage: str,
    as_json: bool,
    yes: bool = option(False, "Do not ask."),
) -> None:
    """Delete a study with everything that was measured for it. This cannot be undone."""
    with open_study(name, storage) as study:
        told = study.progress().measured
    if not yes:
        click.confirm(
            f"Delete {shown(name)} with its {plural(told, 'measurement')}? This cannot be undone.",
            abort=True,
            err=True,
        )
    place_of(storage).delete_study(name)
    say(as_json, {"deleted": name}, f"{shown(name)} is deleted.")

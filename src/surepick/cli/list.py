"""``surepick list``: the studies of a database, and where each one stands."""

from __future__ import annotations

import json

import click

from surepick.cli.studies import shown, storage_option


@click.command("list", short_help="List studies, and where each one stands.")
@storage_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(storage: str, as_json: bool) -> None:
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

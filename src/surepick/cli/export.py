"""``surepick export``: everything that was measured, as a table."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.options import file_option, from_signature, option
from surepick.cli.studies import local_study_options, open_study, say
from surepick.errors import InvalidInputError
from surepick.text import plural

_KINDS = ("measurements", "options", "events", "corrections", "option-changes", "limits")
_FORMATS = ("csv", "json", "parquet")


@click.command("export")
@local_study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    what: str = option(
        "measurements",
        "Rewards that count; a summary per option; everything that did not count (failures, "
        "repeats, conflicts); corrections and withdrawals; options added and retired; or changes "
        "of limits.",
        click.Choice(_KINDS),
    ),
    form: str | None = option(
        None, "By default taken from the file's extension.", click.Choice(_FORMATS), flag="--format"
    ),
    out: Path = file_option(Path("-"), "File; by default it is printed.", allow_dash=True),
) -> None:
    """Write what was measured as CSV, JSON or Parquet.

    In CSV files, texts that a spreadsheet would take for a formula get a quote in front.
    """
    to_screen = str(out) == "-"
    form = form or (out.suffix[1:].lower() if not to_screen else "json" if as_json else "csv")
    if form not in _FORMATS:
        raise InvalidInputError(f"format: {form!r} is unknown; choose one of {', '.join(_FORMATS)}")
    if to_screen and form == "parquet":
        raise InvalidInputError("out: a Parquet file cannot be printed; name a file")
    from surepick.study import export

    rows = export.rows(open_study(name, storage), what)
    content = export.content(rows, form)
    if to_screen:
        click.echo(content, nl=False)
        return
    from surepick.files import write_whole

    write_whole(out, content)
    say(
        as_json,
        {"file": str(out), "format": form, "what": what, "rows": len(rows)},
        f"{plural(len(rows), 'row')} written to {out}",
    )

"""``surepick add``: more options for a study that is under way."""

from __future__ import annotations

from pathlib import Path

import click

from surepick.cli.studies import open_study, say_option_change, study_options


@click.command("add", short_help="Add options to a study.")
@study_options
@click.argument("table", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--reason", default="", help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who adds them.")
def command(
    name: str, storage: str, as_json: bool, table: Path, reason: str, by: str | None
) -> None:
    """Add the options of a TABLE (CSV or Parquet) with the same columns as the first one.

    That includes the column of costs, where options cost different amounts.

    They come with the next batch, or with the shares of the next period of a website test; a study
    that has ended goes on. The answer is then the best of
    all options that were not retired, and the guarantee stands, even if options are added because
    of what was seen. A category may have levels that no option had before.
    """
    study = open_study(name, storage)
    say_option_change(study, study.add(table, reason=reason, by=by), as_json)

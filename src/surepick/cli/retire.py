"""``surepick retire``: an option that is not there any more."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say_option_change, study_options


@click.command("retire", short_help="Retire an option of a study.")
@study_options
@click.argument("label")
@click.option(
    "--reason", required=True, help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who retires it.")
def command(
    name: str, storage: str, as_json: bool, label: str, reason: str, by: str | None
) -> None:
    """Retire the option called LABEL: it is not measured any more, and cannot be the answer.

    The batch that is open is finished first; in a website test it has no share from the next period
    on. Unless the option had been ruled out, all that had
    been are back in the race, as they may be the best of those that are left; so a study that has
    ended may go on.
    """
    study = open_study(name, storage)
    say_option_change(study, study.retire(label, reason=reason, by=by), as_json)

"""``surepick withdraw``: rewards that do not count at all."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say_changes, study_options
from surepick.errors import InvalidInputError


@click.command("withdraw", short_help="Take back a reward, or all that came with a token.")
@study_options
@click.argument("pull", type=int, required=False)
@click.option("--token", default=None, help="Instead of a pull: id of a token of the service.")
@click.option(
    "--reason", required=True, help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who withdraws it.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    pull: int | None,
    token: str | None,
    reason: str,
    by: str | None,
) -> None:
    """Take back the reward of a PULL, or all rewards that came with one --token.

    As long as its batch is open, the pull goes back in line and is measured again. Afterwards its
    batch has one reward less, and everything is worked out again from what is left.
    """
    if (pull is None) == (token is None):
        raise InvalidInputError("give either a pull, or --token with the id of a token")
    study = open_study(name, storage)
    if token is not None:
        made = study.withdraw_token(token, reason=reason, by=by)
    else:
        assert pull is not None
        made = [study.withdraw(pull, reason=reason, by=by)]
    say_changes(study, made, as_json)

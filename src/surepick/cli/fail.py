"""``surepick fail``: a pull could not be measured."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, study_options


@click.command("fail", short_help="Say that a pull could not be measured.")
@study_options
@click.argument("pull", type=int)
@click.option("--reason", default="", help="Reason; stored with the study.")
@click.option("--worker", default=None, help="Who tried to measure it.")
def command(
    name: str, storage: str, as_json: bool, pull: int, reason: str, worker: str | None
) -> None:
    """Say that a PULL could not be measured: somebody else will get it.

    Only for failures that have nothing to do with what the reward would have been.
    """
    back = open_study(name, storage).fail(pull, reason, worker)
    text = f"Pull {pull} will be handed out again."
    if not back:
        text = (
            f"Pull {pull} already has a reward or was given to another worker; nothing was changed."
        )
    say(as_json, {"pull": pull, "back_in_line": back}, text)

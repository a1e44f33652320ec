"""``surepick fail``: a pull could not be measured."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, study_options


@click.command("fail", short_help="Say that a pull could not be measured.")
@study_options
@click.argument("pull", type=int)
@click.option("--reason", default="", help="Reason; stored with the study.")
@click.option("--worker", default=None, help="Who tried to measure it.")
@click.option("--final", is_flag=True, help="With --complete: count it as the worst score.")
def command(
    name: str, storage: str, as_json: bool, pull: int, reason: str, worker: str | None, final: bool
) -> None:
    """Say that a PULL could not be measured: somebody else will get it.

    Only for failures that have nothing to do with what the reward would have been. With --final,
    in a study of a finite set of items (--complete), it cannot be measured at all: it counts as the
    worst score and is listed with the answer.
    """
    back = open_study(name, storage).fail(pull, reason, worker, final=final)
    text = f"Pull {pull} {'counts as the worst score' if final else 'will be handed out again'}."
    if not back:
        text = (
            f"Pull {pull} already has a reward or was given to another worker; nothing was changed."
        )
    say(as_json, {"pull": pull, "back_in_line": back and not final}, text)

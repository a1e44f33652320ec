"""``surepick correct``: another reward counts, as the first one was wrong."""

from __future__ import annotations

import click

from surepick.cli.numbers import Number
from surepick.cli.studies import open_study, say_changes, study_options


# Otherwise a negative reward would be taken for an option.
@click.command(
    "correct",
    short_help="Correct a reward that was entered wrongly.",
    context_settings={"ignore_unknown_options": True},
)
@study_options
@click.argument("pull", type=int)
@click.argument("reward")
@click.option("--number", default=None, help="Correct this further number, such as latency.")
@click.option(
    "--reason", required=True, help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who corrects it.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    pull: int,
    reward: str,
    number: str | None,
    reason: str,
    by: str | None,
) -> None:
    """Let REWARD count for a PULL that was told, instead of what was told.

    Where two options are compared, REWARD is the label of the better one, or tie. With --number it
    is a further number of the measurement.

    As long as its batch is open, the reward is simply replaced; afterwards everything is worked out
    again from what was measured. Old and new reward, who, when and why are kept.
    """
    study = open_study(name, storage)
    paired = study.problem.pairing is not None
    value = reward if paired else Number().convert(reward, None, None)
    made = study.correct(pull, value, number=number, reason=reason, by=by)
    say_changes(study, [made], as_json)

"""``surepick accept``: what is close enough from now on, as options are nearly alike."""

from __future__ import annotations

import click

from surepick.cli.numbers import Rate, in_rates
from surepick.cli.studies import open_study, say, shown, study_options
from surepick.text import typed


@click.command("accept", short_help="Accept from now on what is nearly as good as the best.")
@study_options
@click.option(
    "--within",
    type=Rate(),
    required=True,
    help="How much worse than the best the answer may be, in the unit of rewards.",
)
@click.option(
    "--reason", required=True, help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who accepts it.")
def command(
    name: str, storage: str, as_json: bool, within: float, reason: str, by: str | None
) -> None:
    """Accept from now on any option that is within so much of the best.

    For options that turn out to be nearly equal: telling them apart may take longer than it is
    worth. The guarantee stands, whatever you have seen; what shows that an option is close enough
    is measured from now on. The open batch is finished first. It cannot be undone: a smaller
    difference does not count any more.
    """
    study = open_study(name, storage)
    noise = study.problem.noise_kind.written
    epsilon = float(in_rates(within, "within", noise, of_wins=True) or 0.0)
    made = study.accept(epsilon, reason=reason, by=by)
    state = f"finished: {typed('answer', name)}" if study.finished else "under way"
    say(as_json, made.to_dict(), f"{made.said}\n{shown(name)} is {state}.")

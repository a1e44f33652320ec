"""``surepick stop``: the study ends now, and says what is known."""

from __future__ import annotations

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.text import plural


@click.command("stop", short_help="End a study now, with what is known.")
@study_options
@click.option("--reason", default="", help="Reason; stored with the study.")
@click.option("--by", default=None, help="Who says so.")
def command(name: str, storage: str, as_json: bool, reason: str, by: str | None) -> None:
    """End a study now, for good.

    The answer is the option that looks best. What is guaranteed, and what is not, is said in words;
    rewards of a batch that is not complete are kept, but not counted.
    """
    answer = open_study(name, storage).stop(reason, by)
    said = f"Answer: {shown(answer.label)}, after {plural(answer.samples, 'measurement')}."
    say(as_json, {"study": name, **answer.to_dict()}, f"{said}\n{answer.plain}")

"""``surepick limit``: how much may be measured, changed on the way."""

from __future__ import annotations

from typing import Any

import click

from surepick.cli.studies import open_study, say, study_options
from surepick.run.limits import NONE
from surepick.text import typed


class _Limit(click.ParamType):
    """A number, or none."""

    def __init__(self, kind: click.ParamType) -> None:
        self.name, self._kind = kind.name, kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if value == NONE else self._kind.convert(value, param, ctx)


@click.command("limit", short_help="Change how much may be measured.")
@study_options
@click.option(
    "--max-samples",
    type=_Limit(click.INT),
    help="Total number of measurements, or none for no limit.",
)
@click.option(
    "--budget",
    type=_Limit(click.FLOAT),
    help="Total cost of measurements, or none for no such limit.",
)
@click.option(
    "--reason", default="", help="Reason; stored with the study and shown in the certificate."
)
@click.option("--by", default=None, help="Who says so.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    max_samples: int | str | None,
    budget: float | str | None,
    reason: str,
    by: str | None,
) -> None:
    """Change how many measurements there may be, and what they may cost, in all.

    What was asked for is measured in any case. A study that has ended because a limit was reached
    goes on, if the new one is higher. Its guarantee does not depend on limits.
    """
    study = open_study(name, storage)
    made = study.limit(max_samples=max_samples, budget=budget, reason=reason, by=by)
    finished = study.finished
    state = f"finished: {typed('answer', study.name)}" if finished else "under way"
    say(as_json, made.to_dict() | {"finished": finished}, f"{made.said}\nThe study is {state}.")

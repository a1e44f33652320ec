"""``surepick tell``: hand in a reward."""

from __future__ import annotations

import dataclasses

import click

from surepick.cli.studies import open_study, say, study_options

_SAID = {
    "accepted": "Pull {pull}: {value:g} is recorded.",
    "duplicate": "Pull {pull}: {value:g} had been told before; it counts once.",
    "late": "Pull {pull} had been told as {value:g} by another worker, which counts; "
    "yours is kept, but not used.",
}


# Otherwise a negative reward would be taken for an option.
@click.command("tell", context_settings={"ignore_unknown_options": True})
@study_options
@click.argument("pull", type=int)
@click.argument("reward", type=float)
@click.option("--worker", default=None, help="Who measured it.")
def command(
    name: str, storage: str, as_json: bool, pull: int, reward: float, worker: str | None
) -> None:
    """Tell the REWARD of a PULL; once this returns, it is kept.

    The first reward of a pull counts. The same one again is fine; another one is refused, with
    exit code 2.
    """
    study = open_study(name, storage)
    told = study.tell(pull, reward, worker)
    finished = study.finished
    text = _SAID[told.status].format(pull=told.pull, value=told.value)
    if finished:
        text += f"\nThe study is finished: surepick answer {name}"
    say(as_json, dataclasses.asdict(told) | {"used": told.used, "finished": finished}, text)

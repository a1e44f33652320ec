"""``surepick tell``: hand in a reward, or a file of them."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.studies import open_study, say, study_options
from surepick.errors import InvalidInputError

if TYPE_CHECKING:
    from surepick.study import Study, Told

_CONFIRMATIONS = {
    "accepted": "Pull {pull}: {value:g} is recorded.",
    "duplicate": "Pull {pull}: {value:g} had been told before; it counts once.",
    "late": "Pull {pull} had been told as {value:g} by another worker, which counts; "
    "yours is kept, but not used.",
}


# Otherwise a negative reward would be taken for an option.
@click.command(
    "tell",
    short_help="Tell the reward of a pull, or of many.",
    context_settings={"ignore_unknown_options": True},
)
@study_options
@click.argument("pull", required=False)
@click.argument("reward", type=float, required=False)
@click.option("--worker", default=None, help="Who measured it.")
@click.option(
    "--file",
    "source",
    default=None,
    type=click.Path(path_type=Path),
    help="Instead: a table (CSV or Parquet) with the columns pull and reward.",
)
@click.option(
    "--strict", is_flag=True, help="Refuse rewards far from all that was measured before."
)
def command(
    name: str,
    storage: str,
    as_json: bool,
    pull: str | None,
    reward: float | None,
    worker: str | None,
    source: Path | None,
    strict: bool,
) -> None:
    """Tell the REWARD of a PULL, or with --file many; once this returns, it is kept.

    The first reward of a pull counts. The same one again is fine; another one is refused, with
    exit code 2. Of a file, either all rewards are recorded or (on an error) none. A reward far from
    all that was measured before is pointed out; surepick correct and surepick withdraw change it.
    """
    if (source is None) == (pull is None) or (pull is None) != (reward is None):
        raise InvalidInputError("give either a pull and its reward, or --file with a table of them")
    if source is not None:
        _tell_file(open_study(name, storage), source, worker, as_json, strict)
        return
    study = open_study(name, storage)
    assert pull is not None
    assert reward is not None
    told = study.tell(_number(pull), reward, worker, strict=strict)
    finished = study.finished
    text = (
        f"Pull {told.pull} is with another worker by now, whose reward will count; yours is kept, "
        f"but not used."
        if told.value is None
        else _CONFIRMATIONS[told.status].format(pull=told.pull, value=told.value)
    )
    if finished:
        text += f"\nThe study is finished: surepick answer {name}"
    _point_out([told], name)
    say(as_json, dataclasses.asdict(told) | {"used": told.used, "finished": finished}, text)


def _number(pull: str) -> int:
    """The number of a pull; a label is none."""
    from surepick.study.pulls import as_pull

    try:
        return int(pull)
    except ValueError:
        return as_pull(pull)


def _point_out(told: list[Told], name: str) -> None:
    """Rewards that may be wrong; at most ten, as one mistake may concern all of a file."""
    unusual = [one for one in told if one.warning]
    for one in unusual[:10]:
        cure = f"if it is wrong: surepick correct {name} {one.pull} REWARD --reason …"
        click.echo(f"warning: {one.warning}; {cure}", err=True)
    if len(unusual) > 10:
        click.echo(f"warning: … and {len(unusual) - 10} more like that", err=True)


def _tell_file(study: Study, source: Path, worker: str | None, as_json: bool, strict: bool) -> None:
    from surepick.problem.tables.cells import as_floats, is_numeric
    from surepick.problem.tables.read import read
    from surepick.study.pulls import UNASKED

    table = read(source)
    if "pull" not in table.cells and table.cells.keys() & {"label", "option", "arm"}:
        raise InvalidInputError(f"{source.name}: there is no column 'pull'; {UNASKED}")
    for column in ("pull", "reward"):
        if not is_numeric(table, column):
            raise InvalidInputError(
                f"{table.at(0, column)}: {table.column(column)[0]!r} is not a number"
            )
    pulls = as_floats(table, "pull")
    for i, number in enumerate(pulls.tolist()):
        if number != int(number):
            raise InvalidInputError(f"{table.at(i, 'pull')}: {number:g} is not a whole number")
    told = study.tell_many(
        zip(pulls.astype(int).tolist(), as_floats(table, "reward").tolist()),
        worker,
        strict=strict,
    )
    _point_out(told, study.name)
    counts = Counter(one.status for one in told)
    refused = [one.pull for one in told if one.status == "conflict"]
    content: dict[str, Any] = {status: counts[status] for status in (*_CONFIRMATIONS, "conflict")}
    content |= {"refused": refused, "finished": study.finished}
    lines = [f"{counts['accepted']:,} rewards are recorded."]
    if counts["duplicate"]:
        lines.append(f"{counts['duplicate']:,} had been told before; they count once.")
    if counts["late"]:
        lines.append(f"{counts['late']:,} are other workers' pulls, whose rewards count.")
    if content["finished"]:
        lines.append(f"The study is finished: surepick answer {study.name}")
    say(as_json, content, "\n".join(lines))
    if refused:
        click.echo(
            f"error: {len(refused)} pulls had been told other rewards, which count: "
            f"{', '.join(map(str, refused[:10]))}{' …' if len(refused) > 10 else ''}",
            err=True,
        )
        raise SystemExit(2)

"""``surepick tell`` and ``surepick fail``: hand in rewards, or say that there is none."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.cli.numbers import Number
from surepick.cli.options import argument, from_signature, option
from surepick.cli.studies import at_server, open_study, say, study_options
from surepick.errors import InvalidInputError
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.study import Study, Told

_CONFIRMATIONS = {
    "accepted": "Measurement {pull}: {value:g} is recorded.",
    "duplicate": "Measurement {pull}: {value:g} was already recorded; it counts once.",
    "again": "Measurement {pull} must be made again: its reading is far from all earlier ones, and "
    "this study has the rule --again. The second reading counts, whatever it is. Ask for "
    "the measurement and tell the new reading.",
    "late": "Measurement {pull} already has the reward {value:g} from another worker, which "
    "counts; yours is stored but not used.",
}


# Otherwise a negative reward would be taken for an option.
@click.command(
    "tell",
    short_help="Tell the reward of a measurement, or of many.",
    context_settings={"ignore_unknown_options": True},
)
@study_options
@from_signature
def command(
    name: str,
    storage: str,
    as_json: bool,
    pull: str | None = argument(required=False),
    reward: str | None = argument(required=False),
    label: str | None = option(
        None, "The option you measured; refused if the measurement was for another one."
    ),
    numbers: tuple[str, ...] = option(
        (),
        "A further number of the measurement, such as latency=12; may be repeated.",
        flag="--number",
    ),
    worker: str | None = option(None, "Who measured it."),
    source: Path | None = option(
        None, "Instead: a table (CSV or Parquet) with the columns pull and reward.", flag="--file"
    ),
    strict: bool = option(
        False,
        "Refuse rewards that are far from all earlier ones, and files with rows that have no "
        "reward.",
    ),
) -> None:
    """Tell the REWARD of a measurement (PULL: its number), or with --file many.

    Once this returns, it is kept. The first reward of a measurement counts. The same one again is
    fine; another one is refused, with exit code 2. Where two options are compared, the reward is
    the label of the better one, or tie (or 1 for the first, 0 for the second, 0.5 for neither).
    Where measurements have further numbers, give each with --number NAME=VALUE, or as a column of
    the file.

    Of a file, either all rewards are recorded or (on an error) none. Rows without a
    reward are skipped, and named; their measurements stay open. Where a column (option, label, arm)
    says which option was measured, it is compared with what each measurement was for, and the file
    is refused where they differ. A reward far from all that was measured before is pointed out;
    surepick correct and surepick withdraw change it.
    """
    if (source is None) == (pull is None) or (pull is None) != (reward is None):
        raise InvalidInputError(
            "give either a measurement and its reward, or --file with a table of them"
        )
    if source is not None and label is not None:
        raise InvalidInputError("label: not with --file; the file can have a column label")
    if source is not None and numbers:
        raise InvalidInputError("number: not with --file; the file can have a column of that name")
    study = open_study(name, storage)
    if source is not None:
        _tell_file(study, source, worker, as_json, strict)
        return
    assert pull is not None
    assert reward is not None
    paired = study.problem.pairing is not None
    value: Any = reward if paired else Number().convert(reward, None, None)
    if numbers:
        value = {"reward": value} | dict(map(_further, numbers))
    told = study.tell(_number(pull), value, worker, strict=strict, label=label)
    finished = study.finished
    text = (
        f"Measurement {told.pull} has been given to another worker, whose reward will count; yours "
        "is stored but not used."
        if told.value is None and told.status == "late"
        else _CONFIRMATIONS[told.status].format(pull=told.pull, value=told.value)
    )
    if finished:
        text += f"\nThe study is finished: {typed('answer', name)}"
    _point_out([told], name)
    say(as_json, dataclasses.asdict(told) | {"used": told.used, "finished": finished}, text)


def _further(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InvalidInputError(f"number: write it as NAME=VALUE, such as latency=12; got {text!r}")
    return name.strip(), Number().convert(value.strip(), None, None)


def _number(pull: str) -> int:
    from surepick.study.pulls import as_pull

    try:
        return int(pull)
    except ValueError:
        return as_pull(pull)


def _point_out(told: list[Told], name: str) -> None:
    """Rewards that may be wrong; at most ten, as one mistake may concern all of a file."""
    unusual = [one for one in told if one.warning]
    for one in unusual[:10]:
        cure = f"if it is wrong: {typed('correct', name, one.pull, more='REWARD --reason …')}"
        if one.status == "again":
            cure = "it is stored but not used"
        then = f" {cure[:1].upper()}{cure[1:]}" if str(one.warning).endswith("?") else f"; {cure}"
        click.echo(f"warning: {one.warning}{then}", err=True)
    if len(unusual) > 10:
        click.echo(f"warning: … and {len(unusual) - 10} more like that", err=True)


def _tell_file(study: Study, source: Path, worker: str | None, as_json: bool, strict: bool) -> None:
    from surepick.study.reward_sheet import RewardSheet

    paired = study.problem.pairing is not None
    column = None if paired else study.meta.get("label_column")
    more = tuple(study.problem.numbers)
    sheet = RewardSheet.of(source, study.problem.labels, column, words=paired, numbers=more)
    if sheet.skipped and strict:
        raise InvalidInputError(
            f"{plural(len(sheet.skipped), 'row has', 'rows have')} no reward: "
            f"{_some(sheet.skipped)}; nothing was recorded, because --strict is set"
        )
    if at_server() is None:
        study.desk.refuse_others(sheet.said)
        told = study.tell_many(sheet.rewards, worker, strict=strict)
    else:  # a service compares what each row says with what its pull was for
        told = study.tell_many(sheet.named(study.problem.labels), worker, strict=strict)
    _point_out(told, study.name)
    counts = Counter(one.status for one in told)
    refused = [one.pull for one in told if one.status == "conflict"]
    content: dict[str, Any] = {status: counts[status] for status in (*_CONFIRMATIONS, "conflict")}
    content |= {"refused": refused, "skipped": sheet.skipped, "finished": study.finished}
    lines = [f"{plural(counts['accepted'], 'reward is', 'rewards are')} recorded."]
    if counts["duplicate"]:
        again = plural(counts["duplicate"], "was already recorded; it counts", "were already")
        lines.append(
            again + (" once." if counts["duplicate"] == 1 else " recorded; they count once.")
        )
    if counts["late"]:
        late = plural(
            counts["late"],
            "measurement is with another worker",
            "measurements are with other workers",
        )
        lines.append(f"{late}, whose rewards count.")
    if counts["again"]:
        pulls = [str(one.pull) for one in told if one.status == "again"]
        lines.append(
            f"{plural(len(pulls), 'pull is', 'pulls are')} to be measured again, by the rule "
            f"--again of this study: {_some(pulls)}. The second reading counts."
        )
    if sheet.skipped:
        lines.append(
            f"{plural(len(sheet.skipped), 'row has', 'rows have')} no reward and "
            f"{'was' if len(sheet.skipped) == 1 else 'were'} skipped: {_some(sheet.skipped)}."
        )
    if content["finished"]:
        lines.append(f"The study is finished: {typed('answer', study.name)}")
    say(as_json, content, "\n".join(lines))
    if refused:
        had = plural(
            len(refused),
            "measurement already has a different reward",
            "measurements already have different",
        )
        rewards = ", which counts" if len(refused) == 1 else " rewards, which count"
        click.echo(f"error: {had}{rewards}: {_some([*map(str, refused)])}", err=True)
        raise SystemExit(2)


def _some(places: list[str]) -> str:
    return f"{', '.join(places[:10])}{' …' if len(places) > 10 else ''}"


@click.command("fail", short_help="Say that a measurement could not be made.")
@study_options
@from_signature
def fail_command(
    name: str,
    storage: str,
    as_json: bool,
    pull: int = argument(),
    reason: str = option("", "Reason; stored with the study."),
    worker: str | None = option(None, "Who tried to measure it."),
    final: bool = option(False, "With --complete: count it as the worst score."),
) -> None:
    """Say that a measurement (PULL: its number) could not be made: somebody else will get it.

    Only for failures that have nothing to do with what the reward would have been. With --final,
    in a study of a finite set of items (--complete), it cannot be measured at all: it counts as the
    worst score and is listed with the answer.
    """
    back = open_study(name, storage).fail(pull, reason, worker, final=final)
    done = "counts as the worst score" if final else "will be handed out again"
    text = f"Measurement {pull} {done}."
    if not back:
        text = (
            f"Measurement {pull} already has a reward or was given to another worker; nothing was "
            "changed."
        )
    say(as_json, {"pull": pull, "back_in_line": back and not final}, text)

"""The verbs that only do something to a study, made from what its acts declare.

``surepick act`` does any of them, also those that packages from outside add and those that have a
verb of their own for another reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import click

from surepick.cli.numbers import Number, Percent, Rate, in_rates
from surepick.cli.options import argument, from_signature, option
from surepick.cli.studies import (
    end_of,
    open_studies,
    open_study,
    say,
    shown,
    state_of,
    study_options,
)
from surepick.errors import InvalidInputError
from surepick.study import SegmentStudies
from surepick.study.acts import ActKind, registry
from surepick.study.sheet import Sheet
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.study import Study
    from surepick.study.acts import Act
    from surepick.study.acts.base import Field

_EITHER = float | str  # a number, or a label where two options are compared
_BEHIND = ("pull",)  # stands behind the name of the study, even where something may stand instead
_CERTIFIED = "Reason; stored with the study and shown in the certificate."


class _OrNone(click.ParamType):
    def __init__(self, kind: click.ParamType) -> None:
        self.name, self._kind = f"{kind.name}|none", kind

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        return value if value == "none" else self._kind.convert(value, param, ctx)


_PLAIN = {int: click.INT, float: Number(), str: click.STRING, _EITHER: click.STRING}
_PLAIN |= {Sheet: click.Path(path_type=Path, dir_okay=False)}


def known(name: str) -> bool:
    """Whether this is an act, also of a plugin."""
    return any(one.kind == name for one in registry.kinds())


def verb(name: str) -> click.Command:
    """The verb of an act: an argument or option for each field, the reason, and who."""
    kind = registry.get(name)

    asks = type(kind).asks is not ActKind.asks

    def done(name: str, storage: str, as_json: bool, reason: str, by: str | None, **given: Any):
        if asks and not given.pop("yes") and (question := kind.asks(given)):
            click.confirm(question, abort=True, err=True)
        _do(kind, name, storage, as_json, {"reason": reason, "by": by}, given)

    command: Callable[..., Any] = click.option("--by", default=None, help="Who does it.")(done)
    why: dict[str, Any] = {"required": True} if kind.needs_reason else {"default": ""}
    certified = kind.needs_reason or kind.fields
    said = _CERTIFIED if certified else "Reason; stored with the study."
    command = click.option("--reason", help=said, **why)(command)
    if asks:
        command = click.option("--yes", is_flag=True, help="Do not ask.")(command)
    for field in reversed(kind.fields):
        command = _parameter(field)(command)
    # Otherwise a negative number would be taken for an option.
    numbers = any(one.type == _EITHER for one in kind.fields)
    how = {"ignore_unknown_options": True} if numbers else {}
    short = kind.short or kind.about
    made = click.command(kind.kind, help=_help(kind), short_help=short, context_settings=how)
    return made(study_options(command))


def _help(kind: ActKind) -> str:
    """What it does, and what stands behind the name."""
    behind = [one for one in kind.fields if _is_behind(one)]
    said = "".join(f"\n{one.name.upper()}: {one.help}\n" for one in behind)
    return f"{kind.about}\n{said}"


def _is_behind(field: Field) -> bool:
    return field.default is ... or field.type is Sheet or field.name in _BEHIND


def _parameter(field: Field) -> Callable[..., Any]:
    """One field, as an argument or an option; lists are for ``surepick act``."""
    if _is_behind(field):
        needed = field.name not in _BEHIND or field.default is ...
        type_: Any = Rate() if field.unit else _PLAIN[field.type]
        return click.argument(field.name, type=type_, required=needed)
    flag = f"--{field.name.replace('_', '-')}"
    if field.type is bool:
        return click.option(flag, is_flag=True, help=field.help)
    kinds = get_args(field.type)
    if Literal["none"] in kinds:
        kind: Any = _OrNone(_PLAIN[kinds[0]])
    elif field.type in _PLAIN:
        kind = _PLAIN[field.type]
    else:
        return lambda command: command
    return click.option(flag, type=kind, default=None, help=field.help)


def _do(
    kind: ActKind, name: str, storage: str, as_json: bool, who: dict[str, Any], given: Any
) -> None:
    study = open_studies(name, storage)
    if isinstance(study, SegmentStudies):
        _in_each(study, kind, as_json, who, given)
        return
    fields = {key: _sent(kind, key, one, study) for key, one in given.items() if one is not None}
    before = len(study.acts(kind.kind))
    result = study.act(kind.kind, **who, **fields)
    made = study.acts(kind.kind)[before:]
    lines = [shown(one.said) for one in made] or ["Nothing had to be changed."]
    lines += [*_further(study, made), *_answer(study, result), *end_of(study)]
    lines += [kind.caution] if kind.caution else []
    say(as_json, _content(study, result, bool(made)), "\n".join(lines))


def _sent(kind: ActKind, name: str, value: Any, study: Study) -> Any:
    """A value as acts take it."""
    (type_,) = (one.type for one in kind.fields if one.name == name)
    if isinstance(value, Percent):
        return in_rates(value, name, study.problem.noise_kind, of_wins=True)
    if isinstance(value, Path):
        return Sheet.of(value).to_dict()
    if type_ == _EITHER and study.problem.pairing is None:
        return Number().convert(value, None, None)
    return value


def _further(study: Study, made: list[Act]) -> list[str]:
    """What an act led to, beside what was done."""
    lines = []
    for one in made:
        if any(change["counted"] for change in one.details.get("changes", ())):
            lines.append("They had been counted, so everything was recomputed.")
        if one.details.get("waits"):
            at = study.progress()
            lines.append(f"Measurements left in the open batch: {at.size - at.told}.")
    return lines


def _answer(study: Study, result: Any) -> list[str]:
    if not (study.finished and isinstance(result, bool)):
        return []
    answer = study.answer
    said = f"Answer: {shown(answer.label)}, after {plural(answer.samples, 'measurement')}."
    return [said, answer.plain]


def _content(study: Study, result: Any, changed: bool) -> dict[str, Any]:
    from surepick.study.acts.rewards import Change

    if isinstance(result, Change | list):
        several = result if isinstance(result, list) else [result]
        found = {"changes": [one.to_dict() for one in several]}
    elif hasattr(result, "to_dict"):
        found = result.to_dict()
    else:
        found = {"study": study.name, "changed": changed}
    finished = study.finished
    own = study.answer.to_dict() if finished and isinstance(result, bool) else {}
    return found | {"finished": finished} | own


def _in_each(
    studies: SegmentStudies, kind: ActKind, as_json: bool, who: dict[str, Any], given: Any
) -> None:
    """Set a period aside in each study of a test whose segments have an answer each."""
    if kind.kind != "set-aside":
        raise InvalidInputError(
            f"{kind.kind}: each segment has a study of its own: say which "
            f"({', '.join(one.name for one in studies.studies.values())})"
        )
    period = str(given["period"] or "")
    made = studies.set_aside(period, blind=given["blind"], **who)
    lines = []
    for name, one in made.items():
        lines += [shown(one.said), f"{shown(name)} is {state_of(studies.studies[name])}."]
    content = {name: one.to_dict() for name, one in made.items()}
    say(as_json, content, "\n".join([*lines, kind.caution]))


# Otherwise a negative number would be taken for an option.
@click.command(
    "act",
    short_help="Do something to a study: any act, also from a plugin.",
    context_settings={"ignore_unknown_options": True},
)
@study_options
@from_signature
def act_command(
    name: str,
    storage: str,
    as_json: bool,
    kind: str = argument(),
    fields: tuple[str, ...] = argument(),
    reason: str = option("", "Reason; stored with the study."),
    by: str | None = option(None, "Who does it."),
) -> None:
    """Do something to a study: KIND says what, FIELDS (name=value …) what it needs.

    For example: surepick act layouts correct pull=3 reward=4.2 --reason "read again". Acts of every
    kind can be done like this, also those that installed packages add; the usual ones have verbs
    of their own.
    """
    given = _values(registry.get(kind), fields)
    study = open_study(name, storage)
    before = len(study.acts())
    study.act(kind, reason=reason, by=by, **given)
    made = study.acts()[before:]
    lines = [shown(one.said) for one in made] or ["Nothing had to be changed."]
    say(as_json, {"acts": [one.to_dict() for one in made]}, "\n".join(lines))


def _values(kind: ActKind, fields: tuple[str, ...]) -> dict[str, Any]:
    """What name=value pairs say, as the types that the act declares."""
    types = {one.name: one.type for one in kind.fields}
    given: dict[str, Any] = {}
    for field in fields:
        name, equals, text = field.partition("=")
        if not equals:
            known = ", ".join(f"{one}=…" for one in types) or "none"
            raise InvalidInputError(f"{field!r}: expected name=value; {kind.kind} takes {known}")
        given[name] = text if types.get(name) is str else _plain(text)
    return given


def _plain(text: str) -> Any:
    """A number, true, false or a list, as JSON writes it; otherwise the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text

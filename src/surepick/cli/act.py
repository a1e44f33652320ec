"""``surepick act``: do something to a study; also what packages from outside add."""

from __future__ import annotations

import json
from typing import Any

import click

from surepick.cli.studies import open_study, say, shown, study_options
from surepick.errors import InvalidInputError


# Otherwise a negative number would be taken for an option.
@click.command(
    "act",
    short_help="Do something to a study: any act, also from a plugin.",
    context_settings={"ignore_unknown_options": True},
)
@study_options
@click.argument("kind")
@click.argument("fields", nargs=-1)
@click.option("--reason", default="", help="Reason; stored with the study.")
@click.option("--by", default=None, help="Who does it.")
def command(
    name: str,
    storage: str,
    as_json: bool,
    kind: str,
    fields: tuple[str, ...],
    reason: str,
    by: str | None,
) -> None:
    """Do something to a study: KIND says what, FIELDS (name=value …) what it needs.

    For example: surepick act layouts correct pull=3 reward=4.2 --reason "read again". Acts of every
    kind can be done like this, also those that installed packages add; the usual ones have verbs
    of their own.
    """
    from surepick.study import acts

    given = _values(acts.get(kind), fields)
    study = open_study(name, storage)
    before = len(study.acts())
    study.act(kind, reason=reason, by=by, **given)
    made = study.acts()[before:]
    lines = [shown(one.said) for one in made] or ["Nothing had to be changed."]
    say(as_json, {"acts": [one.to_dict() for one in made]}, "\n".join(lines))


def _values(kind: Any, fields: tuple[str, ...]) -> dict[str, Any]:
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

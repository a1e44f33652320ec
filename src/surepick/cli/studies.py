"""What the verbs about studies share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from surepick.study import Study

STORAGE = "sqlite:///surepick.db"
NOT_YET, GAVE_UP, FINISHED = 4, 5, 6  # exit codes; surepick --help explains them


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """NAME, --storage and --json."""
    command = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")(
        command
    )
    command = storage_option(command)
    return click.argument("name")(command)


storage_option = click.option(
    "--storage",
    default=STORAGE,
    show_default=True,
    envvar="SUREPICK_STORAGE",
    help="Where studies are kept: sqlite:///file.db or postgresql+psycopg://user@host/database; "
    "also taken from SUREPICK_STORAGE.",
)


def open_study(name: str, storage: str) -> Study:
    """The study of this name."""
    from surepick.study import load_study

    return load_study(name, storage)


def features_of(study: Study, arm: int) -> dict[str, Any]:
    """The cells of an option's row in the table that the study was made from."""
    return {name: cells[arm] for name, cells in (study.meta.get("columns") or {}).items()}


def say(as_json: bool, content: dict[str, Any], text: str) -> None:
    """The result, for programs or for people."""
    click.echo(json.dumps(content) if as_json else text)


def shown(text: str) -> str:
    """A label as it can be printed: without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)

"""Options of a verb, said where its function takes them: the signature is what people type."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin

import click

from surepick.cli.numbers import Rate

Verb = TypeVar("Verb", bound=Callable[..., Any])


class Typed(NamedTuple):
    """The default of a parameter that people type: how click takes it."""

    flag: str | None  #: None: typed without one
    how: dict[str, Any]

    def made(self, name: str, kind: Any) -> Callable[[Verb], Verb]:
        """The decorator of a verb that takes it under this name, as this type."""
        how = _taken(kind) | self.how
        if self.flag is None:
            how["nargs"] = -1 if how.pop("multiple", False) else 1
            return click.argument(name, **how)
        return click.option(self.flag or f"--{name.replace('_', '-')}", name, **how)


def option(default: Any, help: str, kind: Any = None, *, flag: str = "", **how: Any) -> Any:
    """An option with its default; its parameter says what it is called, and what it takes."""
    how |= {"help": help} if kind is None else {"help": help, "type": kind}
    if not how.get("required"):
        plain = default is None or isinstance(default, bool) or str(default) in ("", "-", "()")
        how |= {"default": default, "show_default": not plain}
    return Typed(flag, how)


def file_option(default: Any, help: str, *, flag: str = "", **how: Any) -> Any:
    """An option that names a file."""
    return option(default, help, click.Path(path_type=Path, dir_okay=False, **how), flag=flag)


def folder_option(default: Any, help: str, **how: Any) -> Any:
    """An option that names a folder."""
    return option(default, help, click.Path(path_type=Path, file_okay=False, **how))


def argument(**how: Any) -> Any:
    """What is typed without a flag."""
    return Typed(None, how)


JSON = option(False, "Print the result as JSON.", flag="--json")
DELTA = option(0.05, "Error probability.", Rate())
# tables of options, jobs: the same for all verbs that take them
FEATURES = option(None, "Columns that describe an option: price,colour.")
FORMULA = option(None, "A formula instead: 'price + C(colour)*C(layout)'.")
UNSTRUCTURED = option(False, "Use no features at all.")
LABEL = option(None, "Column with the names of the options.")
ENGINE = option("processes", "Or: dask.", flag="--engine")
SCHEDULER = option(None, "Address of a Dask scheduler (tcp://host:port).")


def from_signature(function: Verb) -> Verb:
    """Let people type those parameters of a verb that say so."""
    for name, one in reversed([*inspect.signature(function, eval_str=True).parameters.items()]):
        if isinstance(one.default, Typed):
            function = one.default.made(name, one.annotation)(function)
    return function


def _taken(kind: Any) -> dict[str, Any]:
    """How click takes a value of this type."""
    if kind is bool:
        return {"is_flag": True}
    if get_origin(kind) is Literal:
        return {"type": click.Choice(get_args(kind))}
    several = get_origin(kind) is tuple
    first = (get_args(kind) or (kind,))[0]
    plain = click.Path(path_type=Path) if first is Path else first
    return {"type": plain, "multiple": True} if several else {"type": plain}

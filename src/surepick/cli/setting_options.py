"""Options of the command line that come from the settings of studies."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from surepick.cli.numbers import Number, Rate, in_rates
from surepick.study.settings import Setting, flag, known


class _Json(click.ParamType):
    name = "JSON"

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        try:
            return json.loads(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(f"{value!r} is not JSON: {error}", param, ctx)


_TYPES: Mapping[str, Any] = {
    "number": Number(),
    "integer": int,
    "string": str,
    "boolean": None,  # as the default says
}
_PER_CENT = {
    "": "",
    "probability": " Or in per cent: 5%.",
    "reward": " For rates also 0.2%.",
    "lead": " For rates also 0.2%.",
}


def setting_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """An option for every setting that is one."""
    for setting in reversed([one for one in known().values() if one.flag]):
        command = _option(setting)(command)
    return command


def _option(setting: Setting) -> Callable[..., Any]:
    said = setting.helped(flag) + _PER_CENT[setting.unit]
    if setting.default is None:
        said += f"  [default: {setting.empty}]" if setting.empty else ""
        return click.option(setting.flags, default=None, type=_type(setting), help=said)
    if setting.default is False:
        return click.option(setting.flags, is_flag=True, help=said)
    shown = {"default": setting.default, "show_default": True}
    return click.option(setting.flags, type=_type(setting), help=said, **shown)


def _type(setting: Setting) -> Any:
    if setting.unit:
        return Rate()
    if "enum" in setting.schema:
        return click.Choice(setting.schema["enum"])
    if "$ref" in setting.schema:  # a table
        return click.Path(path_type=Path)
    return _TYPES.get(setting.schema.get("type", ""), _Json())


def in_numbers(given: Mapping[str, Any], noise: Any) -> dict[str, Any]:
    """The values of these options; rates in per cent only where rewards, or it, are rates."""
    found = dict(given)
    for name, value in given.items():
        unit = known()[name].unit
        if unit in ("reward", "lead"):
            found[name] = in_rates(value, name, noise, of_wins=unit == "lead")
        elif unit == "probability" and value is not None:
            found[name] = float(value)
    return found

"""Things named by a line of text: ``family:parameter=value,parameter=value``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from surepick.errors import InvalidInputError

_WORDS = {"true": True, "false": False, "none": None}


def split_list(text: str) -> list[str]:
    """The items of a list separated by ``;`` or ``,``; parameters stay with their item.

    Examples
    --------
    >>> split_list("standard:gap=0.3,d=5,confounding:d=6; unit_sphere:d=10")
    ['standard:gap=0.3,d=5', 'confounding:d=6', 'unit_sphere:d=10']
    """
    items: list[str] = []
    for part in text.split(";"):
        started = False
        for piece in (p.strip() for p in part.split(",")):
            head = piece.split("=")[0]
            if started and "=" in piece and ":" not in head:
                items[-1] += f",{piece}"  # one more parameter of the item before
            elif piece:
                items.append(piece)
                started = True
    return items


def parse(text: str, kind: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters of one item.

    Examples
    --------
    >>> parse("lingape: norm_bound=2, union=true", "algorithm")
    ('lingape', {'norm_bound': 2, 'union': True})
    """
    name, _, rest = text.partition(":")
    name = name.strip()
    if not name or "=" in name:
        raise InvalidInputError(f"{kind} {text!r} has no name; write name:parameter=value,...")
    parameters: dict[str, Any] = {}
    for piece in filter(None, (p.strip() for p in rest.split(","))):
        key, equals, value = (p.strip() for p in piece.partition("="))
        if not (equals and key and value):
            raise InvalidInputError(f"{kind} {text!r}: {piece!r} should be parameter=value")
        if key in parameters:
            raise InvalidInputError(f"{kind} {text!r} gives {key} twice")
        parameters[key] = _value(value)
    return name, parameters


def write(name: str, parameters: Iterable[tuple[str, Any]]) -> str:
    """The text of an item, always written in the same way."""
    settings = ",".join(f"{key}={_show(value)}" for key, value in parameters)
    return f"{name}:{settings}" if settings else name


def _value(text: str) -> Any:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _show(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)

"""Things named by a line of text: ``family:parameter=value,parameter=value``; and lines to show."""

from __future__ import annotations

import re
import shlex
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


def typed(verb: str, *words: Any, more: str = "") -> str:
    """A command of ours as it can be pasted into a shell; ``more`` is shown as it stands.

    Examples
    --------
    >>> typed("answer", "paint trial"), typed("correct", "tea", 3, more="REWARD")
    ("surepick answer 'paint trial'", 'surepick correct tea 3 REWARD')
    """
    line = shlex.join(["surepick", verb, *map(str, words)])
    return f"{line} {more}" if more else line


def plural(count: int, one: str, many: str | None = None) -> str:
    """So many of something, in words.

    Examples
    --------
    >>> plural(1, "reward"), plural(0, "reward"), plural(1234, "batch", "batches")
    ('1 reward', '0 rewards', '1,234 batches')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def number_of(text: str) -> float:
    """The number that somebody typed, with a decimal point or a decimal comma.

    Examples
    --------
    >>> number_of("4.56"), number_of("4,56"), number_of("-0,125")
    (4.56, 4.56, -0.125)
    >>> number_of("1,234")
    Traceback (most recent call last):
    surepick.errors.InvalidInputError: '1,234' may be 1.234 or 1234: write it in one of these ways
    """
    typed_in = text.strip()
    if _THOUSANDS.fullmatch(typed_in):
        point, none = typed_in.replace(",", "."), typed_in.replace(",", "")
        raise InvalidInputError(
            f"{typed_in!r} may be {point} or {none}: write it in one of these ways"
        )
    if _DECIMAL_COMMA.fullmatch(typed_in):
        typed_in = typed_in.replace(",", ".")
    try:
        if "_" in typed_in:
            raise ValueError
        return float(typed_in)
    except ValueError:
        raise InvalidInputError(f"{text!r:.80} is not a number") from None


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


def duration(seconds: float) -> str:
    """Seconds as people say them: whole days where it has some.

    Examples
    --------
    >>> duration(7 * 86_400.0), duration(90.0)
    ('7 days', '90 seconds')
    """
    for size, unit in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size and seconds % size == 0.0:
            n = round(seconds / size)
            return f"{n:,} {unit}{'' if n == 1 else 's'}"
    return f"{seconds:g} seconds"

"""What a text may be that comes in; things named by a line of text; and lines to show."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Iterable
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError

_WORDS = {"true": True, "false": False, "none": None}
_LINE, _PASSAGE = 200, 10_000  # characters
_BREAKS = frozenset("\t\n\r")
# Marks that turn the direction of what follows: a screen shows something else than is kept.
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
# The same characters in JSON: as bytes; and escaped, by an odd backslash, where halves of a pair
# are only fine as a pair.
_BAD_BYTES = re.compile(rb"\x7f|\xc2[\x80-\x9f]|\xe2(?:\x80[\xaa-\xae]|\x81[\xa6-\xa9])")
_BAD_ESCAPES = re.compile(
    rb"(?<!\\)(?:\\\\)*+\\u(?:d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}"
    rb"|(?P<bad>00(?:0[0-8bcef]|1[0-9a-f]|7f|[89][0-9a-f])|20(?:2[a-e]|6[6-9])|d[89a-f]))",
    re.IGNORECASE,
)
_SHORT = 2**16  # bytes of JSON that are read again to name the field


# -- what comes in -----------------------------------------------------------------------------
def unfit(text: str) -> str:
    """Why a text can be neither kept in every database nor shown as it is; empty: it can be."""
    if text.isprintable():
        return ""
    for place, c in enumerate(text):
        if (unicodedata.category(c) in ("Cc", "Cs") and c not in _BREAKS) or c in _TURNING:
            return f"the character U+{ord(c):04X} at place {place}"
    return ""


def as_line(value: Any, what: str, most: int = _LINE) -> str:
    """A name: one line that can be kept and shown everywhere, or an error that names it."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"{what} must be a text; got {value!r:.80}")
    if not (value.isprintable() and value.strip() == value and 0 < len(value) <= most):
        raise InvalidInputError(
            f"{what} must be 1 to {most} printable characters, and not begin or end with a space; "
            f"got {value!r:.250}"
        )
    return value


def as_passage(value: Any, what: str, most: int = _PASSAGE) -> str:
    """A text of any number of lines that can be kept and shown, or an error that names it."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"{what} must be a text; got {value!r:.80}")
    if len(value) > most:
        raise InvalidInputError(
            f"{what} has {len(value):,} characters, and at most {most:,} are accepted; it begins "
            f"{value[:40]!r}"
        )
    if why := unfit(value):
        raise InvalidInputError(f"{what} must not have {why}; got {value!r:.80}")
    return value


def as_output(text: str, most: int = _PASSAGE) -> str:
    """What a program said, without what cannot be kept: it is not for people to mend."""
    if unfit(text):
        text = "".join(c for c in text if not unfit(c))
    return text[:most]


def unfit_in_json(body: bytes, where: str) -> str:
    """The first text in JSON that must not come in, and why; empty: there is none.

    Looks at the bytes alone, which takes little however long they are; where something is found,
    what is short is read once more, to name the field.
    """
    found = _BAD_BYTES.search(body)
    if found is None and b"\\u" in body:
        found = next((one for one in _BAD_ESCAPES.finditer(body) if one["bad"]), None)
    if found is None:
        return ""
    near = body[max(0, found.start() - 30) : found.end() + 10].decode("utf-8", "replace")
    somewhere = f"{where} has a character that cannot be kept at byte {found.start()}: {near!r}"
    if len(body) > _SHORT:
        return somewhere
    try:
        left: list[tuple[str, Any]] = [(where, json.loads(body))]
    except ValueError:
        return ""  # whoever reads it says so
    while left:
        place, value = left.pop()
        if isinstance(value, str) and (why := unfit(value)):
            return f"{place} must not have {why}; got {value!r:.80}"
        if isinstance(value, list):
            left += [(f"{place}.{i}", one) for i, one in enumerate(value)][::-1]
        elif isinstance(value, dict):
            for key, one in reversed(value.items()):
                left.append((f"{place}.{as_output(key, 80)}", one))
                if why := unfit(key):
                    return f"a name in {place} must not have {why}; got {key!r:.80}"
    return somewhere


# -- lines -------------------------------------------------------------------------------------


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
    >>> parse("lingape: norm_bound=2, constants=printed", "algorithm")
    ('lingape', {'norm_bound': 2, 'constants': 'printed'})
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

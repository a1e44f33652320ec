"""What a certificate says, read without any conversion.

A whole number is a whole number: neither ``true`` nor ``2.0`` stands for one. NumPy would take a
list of ``true`` and ``false`` for a mask, and what is shown would not be what is worked out. A key
stands in an object once: of two, readers may see one and the verifier the other.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Callable
from itertools import chain
from typing import Any, NoReturn, TypeVar

import numpy as np

from surepick.errors import CertificateError, FormatError

T = TypeVar("T")
_DEEPEST = 64  # levels of objects and lists within each other; certificates have some ten


def refuse(complaint: str) -> NoReturn:
    """Say why a certificate does not hold."""
    raise CertificateError(f"certificate refused: {complaint}")


def demand(holds: Any, complaint: str) -> None:
    """Refuse the certificate unless something holds."""
    if not holds:
        refuse(complaint)


def demand_unchanged(body: dict[str, Any]) -> str:
    """The digest of what is as it was when that was made; signatures came later."""
    content = {k: v for k, v in body.items() if k not in ("digest", "signature")}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    if digest != body.get("digest"):
        refuse("its content was changed after it was made (digest differs)")
    return digest


# -- JSON ----------------------------------------------------------------------------------
def read_json(text: str | bytes) -> Any:
    """JSON text as plain values; no key twice, no number that is none."""
    try:
        found = json.loads(text, object_pairs_hook=_object, parse_constant=_no_number)
    except FormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FormatError(f"certificate is not JSON: {error}") from None
    demand_json(found)
    return found


def demand_json(value: Any) -> None:
    """Refuse what JSON text of one meaning cannot hold, or what goes deeper than certificates do.

    Of a dict with the keys 1 and "1", or with NaN, the digest would be that of another one.
    """
    left = [(value, 0)]
    while left:
        one, depth = left.pop()
        if type(one) is dict:
            for name in one:
                if type(name) is not str:
                    raise FormatError(f"certificate is not JSON: the key {name!r:.80} is no text")
                _demand_text(name)
            inside = one.values()
        elif type(one) is list:
            inside = one
        else:
            _demand_value(one)
            continue
        if depth == _DEEPEST:
            raise FormatError("certificate nests too deep")
        for kind in set(map(type, inside)):
            if kind in (int, bool, type(None)):
                continue
            here = [entry for entry in inside if type(entry) is kind]
            if kind in (dict, list):
                left += [(entry, depth + 1) for entry in here]
            else:
                for entry in here:
                    _demand_value(entry)


def _demand_value(value: Any) -> None:
    """What is neither an object with keys nor a list."""
    if type(value) is str:
        _demand_text(value)
    elif type(value) is float:
        if not math.isfinite(value):
            raise FormatError(f"certificate is not JSON: it contains {value}")
    elif value is not None and type(value) not in (int, bool):
        raise FormatError(f"certificate is not JSON: {value!r:.80} is a {type(value).__name__}")


def _demand_text(text: str) -> None:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise FormatError("certificate is not JSON: half a character in a text") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise FormatError(f"certificate is ambiguous: {twice!r:.80} stands twice in one object")
    return found


def _no_number(name: str) -> NoReturn:
    raise FormatError(f"certificate is not JSON: it contains {name}")


# -- single values -------------------------------------------------------------------------
def whole(value: Any, what: str) -> int:
    """A whole number."""
    if type(value) is not int:
        refuse(f"{what} is {value!r:.80}, not a whole number")
    return value


def number(value: Any, what: str) -> float:
    """A finite number."""
    if type(value) not in (int, float) or not math.isfinite(value):
        refuse(f"{what} is {value!r:.80}, not a finite number")
    return float(value)


def text(value: Any, what: str) -> str:
    """A text."""
    if type(value) is not str:
        refuse(f"{what} is {value!r:.80}, not a text")
    return value


def mapping(value: Any, what: str) -> dict[str, Any]:
    """An object with keys."""
    if type(value) is not dict:
        refuse(f"{what} is {value!r:.80}, not an object with keys")
    return value


# -- lists of them -------------------------------------------------------------------------
def whole_numbers(values: Any, what: str) -> np.ndarray:
    """A list of whole numbers, as an array."""
    if type(values) is not list:
        refuse(f"{what} are {values!r:.80}, not a list of whole numbers")
    if not set(map(type, values)) <= {int}:
        wrong = next(value for value in values if type(value) is not int)
        refuse(f"{what}: {wrong!r:.80} is not a whole number")
    return np.array(values, dtype=np.int64)


def numbers(values: Any, what: str) -> np.ndarray:
    """A list of finite numbers, as an array."""
    if type(values) is not list:
        refuse(f"{what} are {values!r:.80}, not a list of numbers")
    if not set(map(type, values)) <= {int, float}:
        wrong = next(value for value in values if type(value) not in (int, float))
        refuse(f"{what}: {wrong!r:.80} is not a finite number")
    found = np.array(values, dtype=np.float64)
    if not np.isfinite(found).all():
        refuse(f"{what}: {found[~np.isfinite(found)][0]} is not a finite number")
    return found


def texts(values: Any, what: str) -> list[str]:
    """A list of texts."""
    if type(values) is not list or not set(map(type, values)) <= {str}:
        refuse(f"{what} are not a list of texts")
    return values


def mappings(values: Any, what: str) -> list[dict[str, Any]]:
    """A list of objects with keys."""
    if type(values) is not list or not set(map(type, values)) <= {dict}:
        refuse(f"{what} are not a list of objects with keys")
    return values


def matrix(rows: Any, what: str) -> np.ndarray:
    """A list of rows of finite numbers, all of the same length, as an array."""
    fine = type(rows) is list and set(map(type, rows)) <= {list}
    if not (fine and set(map(type, chain.from_iterable(rows))) <= {int, float}):
        refuse(f"{what} must be a matrix of finite numbers")
    if len({len(row) for row in rows}) > 1:
        refuse(f"{what} must be a matrix of finite numbers: its rows differ in length")
    found = np.array(rows, dtype=np.float64)
    if found.ndim != 2 or not np.isfinite(found).all():
        refuse(f"{what} must be a matrix of finite numbers")
    return found


# -- values with fields ----------------------------------------------------------------------
Wholes = np.ndarray  #: a list of whole numbers
Numbers = np.ndarray  #: a list of finite numbers
Words = str  #: a text that says something


def _words(value: Any, what: str) -> str:
    demand(text(value, what).strip(), f"{what} is empty")
    return value


def _or_none(read: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    return lambda value, what: None if value is None else read(value, what)


#: how a field is read, by its annotation
READERS: dict[str, Callable[[Any, str], Any]] = {
    "Any": lambda value, what: value,
    "int": whole,
    "int | None": _or_none(whole),
    "float": number,
    "float | None": _or_none(number),
    "str": text,
    "str | None": _or_none(text),
    "Words": _words,
    "dict[str, Any]": mapping,
    "tuple[dict[str, Any], ...]": lambda value, what: tuple(mappings(value, what)),
    "tuple[str, ...]": lambda value, what: tuple(texts(value, what)),
    "list[int]": lambda value, what: whole_numbers(value, what).tolist(),
    "list[float]": lambda value, what: numbers(value, what).tolist(),
    "Wholes": whole_numbers,
    "Numbers": numbers,
}


def readable(kind: type[T]) -> type[T]:
    """Let fields of others be values of this dataclass, or lists of them."""

    def one(given: Any, where: str) -> T:
        return read(kind, given, where)

    def several(given: Any, where: str) -> tuple[T, ...]:
        return tuple(one(entry, f"{where}, {n}") for n, entry in enumerate(mappings(given, where)))

    def by_name(given: Any, where: str) -> dict[str, T]:
        return {
            name: one(own, f"{where}, {name!r:.80}") for name, own in mapping(given, where).items()
        }

    READERS[kind.__name__], READERS[f"{kind.__name__} | None"] = one, _or_none(one)
    READERS[f"tuple[{kind.__name__}, ...]"] = several
    READERS[f"dict[str, {kind.__name__}]"] = by_name
    return kind


def read(kind: type[T], given: Any, where: str) -> T:
    """A dataclass from an object with keys: its fields as they are annotated, and no others.

    Unless it says that it may have ``others``. What has a default may be missing; then it is
    neither null nor empty.
    """
    found, body = {}, mapping(given, where)
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        name, may_lack = field.name.rstrip("_"), field.default is not dataclasses.MISSING
        what = f"{where}: its {name}" if where else f"its {name}"
        if name in body:
            annotated = str(field.type).removesuffix(" | None") if may_lack else str(field.type)
            value = found[field.name] = READERS[annotated](body[name], what)
            empty = isinstance(value, list | tuple) and not value
            demand(not (may_lack and empty), f"{what} is an empty list")
        else:
            demand(may_lack, f"{where or 'it'} lacks {name!r}")
    known = {name.rstrip("_") for name in found}
    fine = getattr(kind, "others", False) or known == body.keys()
    demand(fine, f"{where} does not say what it has to, and nothing else")
    return kind(**found)

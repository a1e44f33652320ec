"""Seeds of orders of items, for tools that call a function: what it does belongs to what is known.

An order is drawn once all that it could have to do with is there (:mod:`surepick.algorithms.items`
says why): options, scores that are known, and the function that measures, whose code stands for
what options mean. What that function calls, or reads from a file, cannot be seen.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from surepick.algorithms.items import mixed
from surepick.run.order import seed_of


def seed_after(given: Any, *known: str | bytes) -> int:
    """A fresh seed; or the one that this comes to after all that is known."""
    return seed_of(None) if given is None else mixed(seed_of(given), *known)


def named(function: Any) -> str:
    """A name for what a function does: the same for the same code, another where it was changed.

    Its code, texts that it closes over, and plain arguments that are set beforehand.

    Examples
    --------
    >>> named(lambda x: x + 1) == named(lambda x: x + 1), named(lambda x: x + 1) == named(abs)
    (True, False)
    """
    return hashlib.sha256(repr(_content(function)).encode("utf-8", "backslashreplace")).hexdigest()


def _content(one: Any) -> Any:
    """What a function, its code or a value in it says, wherever it stands."""
    if isinstance(one, CodeType):
        return one.co_code, one.co_names, [_content(value) for value in one.co_consts]
    if isinstance(one, functools.partial):
        return _content(one.func), _plain(one.args), _plain(tuple(sorted(one.keywords.items())))
    if isinstance(one, MethodType):
        return _content(one.__func__)
    if isinstance(one, FunctionType):
        cells = [cell.cell_contents for cell in one.__closure__ or () if _is_set(cell)]
        texts = [value for value in cells if isinstance(value, str)]  # numbers may be counters
        return _content(one.__code__), texts, _plain(one.__defaults__ or ())
    if isinstance(one, str | bytes | int | float | complex | bool | tuple | frozenset | None):
        return _plain(one)
    call = inspect.getattr_static(type(one), "__call__", None)  # of an object, its class's
    own = _content(call) if isinstance(call, FunctionType) else ""
    return type(one).__qualname__, getattr(one, "__qualname__", ""), own


def _plain(value: Any) -> Any:
    """A value whose text says all that it is; of others only the kind."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, frozenset):
        return sorted(map(repr, value))
    plain = isinstance(value, str | bytes | int | float | complex | bool | None)
    return repr(value) if plain else type(value).__qualname__


def _is_set(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # of a variable that has no value yet
        return False

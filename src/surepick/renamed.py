"""Old names of arguments, which keep working."""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar, cast

from surepick.errors import InvalidInputError

T = TypeVar("T", bound=Callable[..., Any])


def renamed(**names: str) -> Callable[[T], T]:
    """Let a function, or a class, be called with old names of its arguments: ``old="new"``.

    A class also has attributes of the old names. The documentation shows the new names only.

    Examples
    --------
    >>> @renamed(colour="paint")
    ... def dry(paint):
    ...     return f"{paint} is dry"
    >>> dry(colour="red")
    'red is dry'
    """

    def decorate(thing: T) -> T:
        call: Any = thing.__init__ if isinstance(thing, type) else thing

        @functools.wraps(call)
        def renaming(*args: Any, **given: Any) -> Any:
            for old, new in names.items():
                if old in given:
                    if new in given:
                        raise InvalidInputError(
                            f"{old} is the old name of {new}: give only one of them"
                        )
                    given[new] = given.pop(old)
            return call(*args, **given)

        if not isinstance(thing, type):
            return cast(T, renaming)
        attributes: dict[str, Any] = {old: property(attrgetter(new)) for old, new in names.items()}
        for name, value in {"__init__": renaming, **attributes}.items():
            setattr(thing, name, value)
        return cast(T, thing)

    return decorate

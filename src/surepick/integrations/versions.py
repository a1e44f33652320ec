"""Is a function still what it was? A text that changes with its code, and with what it reads.

Evidence about a function is worth nothing for another one under its name. What is looked at: the
code, default values, what it closes over and the globals that it names, functions and plain values
among them; of modules and classes of one's own the file they are in; of installed ones the name. A
change that is deeper, in data on a disk or behind a service, is seen by nobody here.
"""

from __future__ import annotations

import functools
import hashlib
import random
import site
import sys
import sysconfig
import types
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_DRAWS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_DEEP = 6  # objects within objects


def version_of(function: Any) -> str:
    """A text that is another one where the function, or what it reads, has changed.

    Examples
    --------
    >>> def made(offset):
    ...     return lambda trial: trial + offset
    >>> version_of(made(1)) == version_of(made(1)), version_of(made(1)) == version_of(made(2))
    (True, False)
    """
    look = _Look()
    look.at(function)
    return look.digest.hexdigest()[:32]


class _Look:
    """What was seen so far."""

    def __init__(self) -> None:
        self.digest = hashlib.sha256()
        self._seen: dict[int, Any] = {}  # kept, so that no other object gets its id
        self._depth = 0

    def at(self, value: Any) -> None:
        """Take it in."""
        self._note(type(value).__qualname__)
        if isinstance(value, _PLAIN):
            self._note(repr(value))
            return
        if id(value) in self._seen or self._depth > _DEEP:
            return
        self._seen[id(value)] = value
        self._depth += 1
        self._inside(value)
        self._depth -= 1

    def _inside(self, value: Any) -> None:
        match value:
            case types.CodeType():
                self._all([value.co_code, value.co_names, value.co_consts])
            case types.FunctionType():
                self._function(value)
            case types.MethodType():
                self._all([value.__func__, value.__self__])
            case functools.partial():
                self._all([value.func, value.args, value.keywords])
            case types.ModuleType() | type():
                self._home(value)
            case np.ndarray():
                self._all([str(value.dtype), value.shape])
                self.digest.update(np.ascontiguousarray(value).tobytes())
            case Mapping():
                self._all([*value.keys(), *value.values()])
            case list() | tuple():
                self._all(value)
            case set() | frozenset():
                self._all(sorted(repr(one) for one in value if isinstance(one, _PLAIN)))
            case _:
                self._home(type(value))
                if not isinstance(value, _DRAWS):  # they change by being used
                    self._all(sorted(getattr(value, "__dict__", {}).items()))

    def _all(self, values: Iterable[Any]) -> None:
        for one in values:
            self.at(one)

    def _function(self, function: types.FunctionType) -> None:
        self._all([function.__code__, function.__defaults__, function.__kwdefaults__])
        for cell in function.__closure__ or ():
            try:
                self.at(cell.cell_contents)
            except ValueError:  # nothing in it yet
                self._note("empty")
        if not _own_file(function.__module__):  # its globals are the file's, or not ours
            return
        for name in sorted(_names(function.__code__) & function.__globals__.keys()):
            self._note(name)
            self.at(function.__globals__[name])

    def _home(self, value: Any) -> None:
        """A module or a class: the file it is in, or its name where it is not one's own."""
        module = value.__name__ if isinstance(value, types.ModuleType) else value.__module__
        self._note(f"{module} {getattr(value, '__qualname__', '')}")
        file = _own_file(module)
        if file is True:
            own = vars(value) if isinstance(value, type) else {}
            parts = sorted((n, f) for n, f in own.items() if isinstance(f, types.FunctionType))
            self._all(parts)
        elif file:
            self.digest.update(Path(file).read_bytes())

    def _note(self, text: str) -> None:
        self.digest.update(f"{len(text)}:{text};".encode())


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)


def _own_file(name: str | None) -> str | bool:
    """The file of a module of one's own, or True where it has none, such as in a notebook."""
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    if file is None:
        return name == "__main__" or module is None
    return "" if any(Path(file).is_relative_to(folder) for folder in _INSTALLED) else file


_INSTALLED = [
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
    *map(Path, [site.getusersitepackages(), *site.getsitepackages()]),
    Path(__file__).parents[1],
]

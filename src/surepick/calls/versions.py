"""Is a function still what it was? Its parts by their names, each with a text of what is in it.

Evidence about a function is worth nothing for another one under its name. What is looked at: the
code, default values, what it closes over and the globals that it names, functions and plain values
among them, and so on for functions of one's own that it calls; of classes of one's own the methods,
of objects their attributes. Of what is installed only the name counts, and what was set on an
object. A change that is deeper, in data on a disk or behind a service, is seen by nobody here.

What changes while the function is called, such as a list of its calls or a counter, is its own
doing and no other version: whoever compares two of them names it as state.

A dict whose keys are options or items has a part for each of these: where a prompt is changed, or
one is added, the others are still what they were.
"""

from __future__ import annotations

import functools
import hashlib
import random
import site
import sys
import sysconfig
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))
_DRAWS = (random.Random, np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_DEEP = 6  # objects within objects
_DIGITS = 16  # of what a part has in it


@dataclass
class Version:
    """What functions are made of."""

    parts: dict[str, str] = field(default_factory=dict)
    #: parts of dicts, by their keys
    keyed: dict[str, dict[str, str]] = field(default_factory=dict)
    #: keys that the code itself names
    literals: set[str] = field(default_factory=set)
    #: parts that are code or a text
    texts: set[str] = field(default_factory=set)

    def changed(self, since: Version) -> list[str]:
        """The parts that are not what they were."""
        mine, before = ({**one.parts, **_joined(one.keyed)} for one in (self, since))
        return different(before, mine)

    def common(self, labels: Collection[str] = ()) -> dict[str, str]:
        """The parts that matter to whatever is measured, by their names.

        Of a dict that has some of these labels as its keys: what the code names of it.
        """
        found, several = dict(self.parts), set(labels)
        for name, entries in self.keyed.items():
            if several.isdisjoint(entries):
                found[name] = _text(sorted(entries.items()))
            else:
                for key in sorted((self.literals - several) & entries.keys()):
                    found[f"{name}[{key!r}]"] = entries[key]
        return found

    def own(self, of: Iterable[str], state: Collection[str] = ()) -> str:
        """A text of what dicts have for these labels."""
        kept = [(name, entries) for name, entries in self.keyed.items() if name not in state]
        return _text([(n, key, e[key]) for key in of for n, e in kept if key in e])

    def said(self) -> str:
        """A text of code, and of the texts that it reads: what no call changes."""
        parts = self.parts | _joined(self.keyed)
        return _text(sorted((name, parts[name]) for name in self.texts))

    def digest(self) -> str:
        return _text(sorted(self.common().items()))


def different(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """The names of parts that are not the same in both."""
    names = dict.fromkeys([*one, *other])
    return [name for name in names if one.get(name) != other.get(name)]


def version_of(*functions: Any) -> Version:
    """What functions are made of, now."""
    found = Version()
    look = _Parts(found)
    for one in functions:
        look.at(one, _name(one))
    return found


def digest_of(value: Any) -> str:
    """A text that is another one where a value is."""
    look = _Look()
    look.at(value)
    return look.text


def _joined(keyed: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {name: _text(sorted(entries.items())) for name, entries in keyed.items()}


def _text(value: Any) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()[:_DIGITS]


def _name(value: Any) -> str:
    """What a function, class or object is called."""
    if isinstance(value, functools.partial):
        return _name(value.func)
    if not hasattr(value, "__qualname__"):
        value = type(value)
    module = getattr(value, "__module__", None)
    own = value.__qualname__
    return own if module in (None, "__main__", "builtins") else f"{module}.{own}"


class _Parts:
    """Goes from function to function, and notes what each of them reads."""

    def __init__(self, into: Version) -> None:
        self._into = into
        self._seen: dict[int, Any] = {}  # kept, so that no other object gets its id

    def at(self, value: Any, name: str, depth: int = 0) -> None:
        """Note what is found under a name, and what it leads to."""
        if not isinstance(value, _PLAIN):
            if id(value) in self._seen or depth > _DEEP:
                return
            self._seen[id(value)] = value
        match value:
            case types.FunctionType():
                self._function(value)
            case types.MethodType():
                self.at(value.__func__, name, depth + 1)
                self.at(value.__self__, f"{_name(value)}: self", depth + 1)
            case functools.partial():
                self.at(value.func, name, depth + 1)
                for key, one in [*enumerate(value.args), *value.keywords.items()]:
                    self.at(one, f"{name}({key})", depth + 1)
            case type():
                self._class(value, depth)
            case Mapping() if value and all(isinstance(key, str) for key in value):
                self._into.keyed[name] = {key: digest_of(one) for key, one in value.items()}
                self._functions(value.values(), name, depth)
                if all(isinstance(one, str) for one in value.values()):
                    self._into.texts.add(name)
            case list() | tuple() | Mapping():
                self._into.parts[name] = digest_of(value)
                inside = value.values() if isinstance(value, Mapping) else value
                self._functions(inside, name, depth)
            case _ if _is_object(value):
                self._into.parts[name] = _name(type(value))
                self._class(type(value), depth)
                for key, one in _attributes(value):
                    self.at(one, f"{name}.{key}", depth + 1)
            case _:
                self._plain(value, name)

    def _plain(self, value: Any, name: str) -> None:
        self._into.parts[name] = digest_of(value)
        if isinstance(value, str | bytes | type(None)):
            self._into.texts.add(name)

    def _functions(self, values: Iterable[Any], name: str, depth: int) -> None:
        """What functions in a list or dict read, as their code is seen with it."""
        for one in values:
            if isinstance(one, types.FunctionType | types.MethodType | functools.partial):
                self.at(one, name, depth + 1)

    def _function(self, function: types.FunctionType) -> None:
        name, code = _name(function), function.__code__
        if not _is_own(function.__module__):
            self._into.parts[name] = ""
            return
        read = _Look()
        read.at(code)
        self._into.parts[f"{name}()"] = read.text
        self._into.literals |= _literals(code)
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).items()]
        for number, one in enumerate(defaults):
            self.at(one, f"{name}({number})")
        for variable, cell in zip(code.co_freevars, function.__closure__ or ()):
            try:
                self.at(cell.cell_contents, f"{name}: {variable}")
            except ValueError:  # nothing in it yet
                continue
        names = _names(code)
        for variable in sorted(names & function.__globals__.keys()):
            self._global(function.__globals__[variable], f"{function.__module__}.{variable}", names)

    def _global(self, value: Any, name: str, names: set[str]) -> None:
        name = name.removeprefix("__main__.")
        if not isinstance(value, types.ModuleType):
            self.at(value, name)
        elif _is_own(value.__name__):  # what is taken out of it
            for one in sorted(names & vars(value).keys()):
                self.at(vars(value)[one], f"{value.__name__}.{one}")

    def _class(self, one: type, depth: int) -> None:
        if not _is_own(one.__module__):
            self._into.parts[_name(one)] = ""
            return
        for kind in one.__mro__:
            for key, value in sorted(vars(kind).items()) if _is_own(kind.__module__) else ():
                plain = value.__func__ if isinstance(value, classmethod | staticmethod) else value
                plain = plain.fget if isinstance(plain, property) else plain
                code = isinstance(plain, types.FunctionType)
                if code or (isinstance(value, _PLAIN) and not key.startswith("__")):
                    self.at(plain, f"{_name(kind)}.{key}", depth + 1)


class _Look:
    """What was seen of a value, with all that is in it."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._seen: dict[int, Any] = {}
        self._depth = 0

    @property
    def text(self) -> str:
        return self._digest.hexdigest()[:_DIGITS]

    def at(self, value: Any) -> None:
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
                self._all([value.__code__, value.__defaults__, value.__kwdefaults__])
            case types.MethodType():
                self._all([value.__func__, value.__self__])
            case functools.partial():
                self._all([value.func, value.args, value.keywords])
            case type():
                self._note(_name(value))
            case np.ndarray() if value.dtype != object:
                self._all([str(value.dtype), value.shape])
                self._digest.update(np.ascontiguousarray(value).tobytes())
            case Mapping():
                self._all([*value.keys(), *value.values()])
            case list() | tuple():
                self._all(value)
            case set() | frozenset():
                self._all(sorted(repr(one) for one in value if isinstance(one, _PLAIN)))
            case _ if hasattr(value, "to_numpy") and hasattr(value, "columns"):  # a data frame
                self._all([*map(str, value.columns), value.to_numpy().tolist()])
            case _:
                self._note(_name(type(value)))
                self._all(_attributes(value))

    def _all(self, values: Iterable[Any]) -> None:
        for one in values:
            self.at(one)

    def _note(self, text: str) -> None:
        self._digest.update(f"{len(text)}:{text};".encode("utf-8", "backslashreplace"))


def _is_object(value: Any) -> bool:
    """Whether it is something with attributes, and not data of a kind that everybody has."""
    known = (*_PLAIN, *_DRAWS, np.ndarray, np.generic, types.CodeType, types.ModuleType)
    known += (list, tuple, set, frozenset, Mapping, types.BuiltinFunctionType)
    return not isinstance(value, known) and not hasattr(value, "to_numpy")


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object has; of what is installed only what was set and is plain data.

    Connections, locks and counters of a client are others every time.
    """
    if isinstance(value, _DRAWS):  # they change by being used
        return
    own = _is_own(type(value).__module__)
    data = (*_PLAIN, np.ndarray, list, tuple, set, frozenset, Mapping)
    slots = [key for kind in type(value).__mro__ for key in _slots(kind)]
    held = {**{key: getattr(value, key) for key in slots if hasattr(value, key)}}
    held |= getattr(value, "__dict__", {})
    for key, one in sorted(held.items()):
        if own or (not key.startswith("_") and isinstance(one, data)):
            yield key, one


def _slots(kind: type) -> Iterable[str]:
    found = vars(kind).get("__slots__", ())
    names = (found,) if isinstance(found, str) else found
    return [one for one in names if not one.startswith("__")]


def _names(code: types.CodeType) -> set[str]:
    """The names that code reads, and not those that it sets: these are its own doing."""
    inner = (_names(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return set(code.co_names).union(*inner)


def _literals(code: types.CodeType) -> set[str]:
    """The texts that stand in code."""
    found = {one for one in code.co_consts if isinstance(one, str)}
    inner = (_literals(one) for one in code.co_consts if isinstance(one, types.CodeType))
    return found.union(*inner)


@functools.cache
def is_own_file(file: str) -> bool:
    """Whether a file is one's own, and of nothing that was installed."""
    return not any(Path(file).is_relative_to(folder) for folder in _INSTALLED)


def _is_own(name: str | None) -> bool:
    """Whether a module is one's own: not installed, or none that has a file, as in a notebook."""
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None)
    if file is None:
        return name == "__main__" or module is None
    return is_own_file(file)


_INSTALLED = [
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib", "scripts")),
    *map(Path, [site.getusersitepackages(), *site.getsitepackages()]),
    Path(__file__).parents[1],
]

"""Settings of studies, as data: what a setting is called, takes, does, and asks people.

Every field of :class:`surepick.study.StudySpec` carries a :class:`Setting`. From these come the
options of ``surepick new``, what the service takes (``POST /studies``), the form of its page and
the tables of the documentation. A package from outside adds one with :func:`register`.
"""

from __future__ import annotations

import dataclasses
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from typing import Any, TypeVar, cast

from surepick import plugins
from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.tables.past import PastTable

__all__ = ["Setting", "known", "register", "unregister"]

T = TypeVar("T", bound=type)
_KEY = "setting"  # in the metadata of a field
_IN = "    "
_NAMED = re.compile(r"`(\w+)`")


def _as_it_is(value: Any) -> Any:
    return value


def yes_or_no(name: str) -> Callable[[Any], bool]:
    """The check of a setting that is True or False."""

    def check(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise InvalidTypeError(f"{name} must be true or false; got {value!r:.80}")

    return check


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One thing that can be said of a new study.

    Parameters
    ----------
    name
        What it is called: ``create_study(name=…)``, ``--name`` on the command line, and in the
        body of a request.
    help
        What it means, in a sentence or two, with the names of other settings in backticks.
    schema
        JSON schema of its values (``type``, perhaps ``enum``, ``minimum``, …). It also says how a
        value is read from the command line, and by which control the page asks for it.
    default
        What it is where nothing is said. A default of None also lets people say null.
    check
        The value as it is used from then on, or an error that names the setting.
    apply
        What it does: from the value and the study as prepared so far to the study that is stored,
        with another problem, algorithm or note, say. It is called where the value is not the
        default; values of such settings, and of all that are registered, are kept in the study's
        ``meta`` under their names, and are there already.
    words
        A sentence about the value, for whoever has just created a study.
    read, write
        From and to JSON, where the value is not as JSON has it.
    keep
        To JSON, as a study keeps it, where that is more than ``write`` gives.
    flag
        Whether it is one option of ``surepick new``.
    unit
        ``"probability"``, ``"reward"`` or ``"lead"``, for numbers that may be typed in per cent
        (of rewards: where they are rates; of leads: also where they are shares of wins).
    question, hint
        How the page asks for it, and what helps to answer; the page leaves out what has no
        question.
    choices
        Pairs of a value and its words, to choose from on the page; the default comes first.
    empty
        What it means, in a word or two, to say nothing.
    traffic
        Whether the page asks for it where visitors are sent by shares only (True), or only
        elsewhere (False); None: everywhere.
    pairs
        Whether the page asks for it where options are compared two at a time only (True), or only
        elsewhere (False); None: everywhere.
    first
        Whether the page asks for it at once, not among further settings.
    shown
        Whether the page asks for it now.

    Examples
    --------
    >>> plates = Setting(name="plates", help="How many plates there are.",
    ...     schema={"type": "integer", "minimum": 1}, question="How many plates do you have?")
    >>> register(plates)
    >>> known()["plates"].flags
    '--plates'
    >>> unregister("plates")
    """

    name: str = ""
    help: str
    schema: Mapping[str, Any]
    default: Any = None
    check: Callable[[Any], Any] = _as_it_is
    apply: Callable[[Any, Prepared], Prepared] | None = None
    words: Callable[[Any], str] | None = None
    read: Callable[[Any], Any] = _as_it_is
    write: Callable[[Any], Any] = _as_it_is
    keep: Callable[[Any], Any] | None = None
    flag: bool = True
    unit: str = ""
    question: str = ""
    hint: str = ""
    choices: tuple[tuple[Any, str], ...] = ()
    empty: str = ""
    traffic: bool | None = False
    pairs: bool | None = None
    first: bool = False
    shown: Callable[[], bool] = lambda: True

    def field(self) -> Any:
        """The field of a dataclass that holds its value."""
        told = {_KEY: self}
        if isinstance(self.default, dict):
            return dataclasses.field(default_factory=self.default.copy, metadata=told)
        return dataclasses.field(default=self.default, metadata=told)

    def checked(self, value: Any) -> Any:
        """The value as it is used, or an error; nothing is wrong with saying nothing."""
        return value if value is self.default else self.check(value)

    def given(self, value: Any) -> Any:
        """The value that JSON has."""
        return None if value is None else self.read(value)

    def as_kept(self, value: Any) -> Any:
        """The value as it is kept with a study, or an error where JSON cannot hold it."""
        try:
            held = (self.keep or self.write)(value)
            return json.loads(json.dumps(held, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"{self.name} must be what JSON can hold: {error}") from None

    @property
    def required(self) -> bool:
        """Whether it has to be said."""
        return self.default is MISSING

    @property
    def kept(self) -> bool:
        """Whether the meta of studies has it, where it is not the default."""
        return self.apply is not None or self.name in _REGISTERED

    @property
    def flags(self) -> str:
        """What it is on the command line; both words of one that may also be switched off."""
        word = flag(self.name)
        three_ways = self.schema.get("type") == "boolean" and self.default is None
        return f"{word}/--no-{word[2:]}" if three_ways else word

    def helped(self, named: Callable[[str], str] = str) -> str:
        """The help, with other settings as ``named`` writes them."""
        return _NAMED.sub(lambda found: named(found[1]), self.help)


def flag(name: str) -> str:
    """A setting on the command line."""
    return "--" + name.replace("_", "-")


_FIELDS: dict[str, Setting] = {}
_REGISTERED: dict[str, Setting] = {}


def known() -> dict[str, Setting]:
    """Every setting by its name, those of plugins last.

    Examples
    --------
    >>> known()["delta"].default
    0.05
    """
    plugins.load()
    return _FIELDS | _REGISTERED


def register(setting: Setting) -> None:
    """Add a setting of your own.

    The library, the command line, the service, its page and the clients then take it, and it is
    kept with studies. For them to know it, it is registered by a plugin (:mod:`surepick.plugins`).

    Parameters
    ----------
    setting
        With its name, help and JSON schema.

    Examples
    --------
    >>> register(Setting(name="room", help="Where it is measured.", schema={"type": "string"}))
    >>> import surepick as sp
    >>> study = sp.create_study("tea", sp.Problem([[1], [2]]), storage="memory://", room="kitchen")
    >>> study.meta["room"]
    'kitchen'
    >>> unregister("room")
    """
    name = setting.name
    if not (name.isidentifier() and name.islower()) or name.startswith("_"):
        raise InvalidInputError(f"name: expected small letters, digits and _, got {name!r}")
    if name in _FIELDS or name in _REGISTERED:
        raise InvalidInputError(f"name: a setting called {name!r} already exists")
    _REGISTERED[name] = setting


def unregister(name: str) -> None:
    """Take back :func:`register`.

    Parameters
    ----------
    name
        Of the setting.

    Examples
    --------
    >>> register(Setting(name="shelf", help="Where it is kept.", schema={"type": "string"}))
    >>> unregister("shelf")
    """
    _REGISTERED.pop(name, None)


def from_outside(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the named values that are of settings from outside."""
    if fields.keys() <= _FIELDS.keys():
        return {}
    plugins.load()
    return {name: value for name, value in fields.items() if name in _REGISTERED}


def find(name: str) -> Setting:
    """The setting of this name."""
    found = _FIELDS.get(name) or _REGISTERED.get(name) or known().get(name)
    if found is None:
        raise UnknownNameError.among("setting", name, known())
    return found


def declares(cls: T) -> T:
    """Know the fields of a dataclass as settings, and list them in its docstring."""
    listed = []
    for one in dataclasses.fields(cast(Any, cls)):
        if _KEY not in one.metadata:
            continue
        setting = dataclasses.replace(one.metadata[_KEY], name=one.name)
        _FIELDS[one.name] = setting
        words = setting.helped(lambda name: f"``{name}``")
        listed += [one.name, *textwrap.wrap(words, 92, initial_indent=_IN, subsequent_indent=_IN)]
    text = textwrap.indent("\n".join(["Parameters", "----------", *listed]), _IN)
    cls.__doc__ = (cls.__doc__ or "").replace(f"{_IN}(settings)", text)
    return cls


#: what a study's notes call conditions of its promise that were known when it was created, as
#: :func:`surepick.conditions.written` has them
CONDITIONS = "conditions"


@dataclass(frozen=True)
class Prepared:
    """All that is stored of a new study, and what to say about it.

    What a setting does is a function of it (:attr:`surepick.study.settings.Setting.apply`).
    """

    problem: Problem
    algorithm: Algorithm
    past: PastTable | None
    meta: dict[str, Any]  #: what is kept with it; settings under their names
    columns: tuple[str, ...] = ()  #: names of the features that were made of a table
    notes: tuple[str, ...] = ()  #: what was dropped, merged or decided, as sentences
    traffic: bool = False  #: whether visitors are sent by shares, and reported

"""What an act is: something that people do to a study while it is under way.

A kind of act says what a request has to bring (``fields``), checks it, works out what it changes
(``apply``), and reads back from the chain what was done (``details``, ``words``). Where and how it
is written is the same for all kinds: see :mod:`surepick.study.acts.write`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol, Self

from surepick.arrays.validate import real, whole
from surepick.errors import InvalidInputError, InvalidTypeError, NotAllowedError, UnknownNameError
from surepick.problem import Problem
from surepick.run import Run
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import Link, Report, StudyProgress, StudyRecord, Tell
from surepick.study.pulls import as_name
from surepick.text import as_passage

ADMIN, WORKER = "admin", "worker"  # who may do it at a service
NEEDED: Any = ...  #: in place of a default: the field must be given


@dataclass(frozen=True)
class Who:
    """Who does something, and why."""

    reason: str = ""
    by: str | None = None
    token: str | None = None  #: id of the token it is done with; None: on this machine


@dataclass(frozen=True)
class Field:
    """One thing that a request brings.

    Examples
    --------
    >>> Field("pull", int, "Which pull.").checked(3)
    3
    """

    name: str
    type: Any  #: what values of it are in Python, and in JSON
    help: str = ""
    default: Any = NEEDED
    limits: Mapping[str, Any] = field(default_factory=dict)  #: as JSON schemas write them
    example: Any = None
    unit: str = ""  #: as that of :class:`surepick.study.settings.Setting`

    def checked(self, value: Any) -> Any:
        """A value of a plain type that fits, or an error; others are for the act to check."""
        if value is None and self.default is None:
            return None
        if self.type is int:
            return whole(value, self.name)
        if self.type is float:
            return real(value, self.name)
        if self.type in (str, bool) and not isinstance(value, self.type):
            kind = "a text" if self.type is str else "true or false"
            raise InvalidTypeError(f"{self.name} must be {kind}; got {value!r:.80}")
        return value


@dataclass(frozen=True)
class Record:
    """Something that is kept, or sent, as its fields by their names."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` made."""
        return cls(**{name: saved[name] for name in cls.__dataclass_fields__ if name in saved})


@dataclass(frozen=True)
class Act(Record):
    """Something that was done to a study.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("acts", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> study.pause("lunch", by="ann")
    True
    >>> [(act.kind, act.by, act.reason) for act in study.acts()]
    [('pause', 'ann', 'lunch')]
    """

    kind: str
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None  #: id of the token it was done with; None: on this machine
    said: str  #: what was done, in words
    details: dict[str, Any]  #: what was done, as JSON-ready values


class Measured(NamedTuple):
    """Where a study stands, and what the log says about some pulls."""

    at: StudyProgress
    tells: dict[int, Tell]  #: rewards of these pulls
    firsts: list[int]  #: the first pull of each batch


class Scene(Protocol):
    """The study that somebody acts on: what an act can ask of it."""

    storage: Storage
    record: StudyRecord

    @property
    def problem(self) -> Problem: ...
    def label(self, arm: int) -> str:
        """Of an option, also of one that came since the study was created."""
        ...

    @property
    def paired(self) -> bool: ...  #: whether two options are compared in each measurement
    def check_reward(self, pull: int, value: float | str) -> float: ...
    def check_number(self, pull: int, name: str, value: float) -> float: ...
    def told(self) -> Iterator[Tell]: ...
    def progress(self) -> StudyProgress: ...
    def run(self) -> tuple[Run, StudyProgress]:
        """The run, which may be changed, and where the study stands."""
        ...

    def measured(self, pulls: Sequence[int]) -> Measured:
        """Where the study stands, and what the log says about these pulls."""
        ...

    def recounted(self, changes: Sequence[Any]) -> tuple[Run, list[int]]:
        """What that log leads to once rewards are changed: the run, and who is in after batches."""
        ...

    def rereported(
        self, reports: Sequence[Report], aside: Sequence[str] = ()
    ) -> tuple[Run, list[int]]:
        """What other reports of traffic lead to, or these without periods of such names."""
        ...


@dataclass(frozen=True)
class Step:
    """What an act changes, worked out outside any transaction; it is written if nothing else was.

    With ``effect``, the link also says what the act leads to: whether the study has ended, and the
    digest of the run. The study then has another revision: whoever has the run in memory reads it
    anew.
    """

    at: StudyProgress  #: where the study stood
    content: dict[str, Any]  #: of the link
    run: Run | None = None  #: as it is then; None: as it was
    finished: bool = False
    effect: bool = True
    more: Callable[[Transaction, StudyProgress], StudyProgress] = lambda tx, now: now  #: other rows
    same: Callable[[Transaction], bool] = lambda tx: True  #: what else must be as it was
    outcome: dict[str, Any] = field(default_factory=dict)  #: details for whoever does it
    notes: Sequence[str] = ()  #: what whoever does it is warned of
    text: str | None = None  #: the run as it is kept, where it is written down already

    def kept(self) -> str | None:
        """The run as it is kept; None where it stays as it was."""
        return self.run.to_json() if self.text is None and self.run is not None else self.text


class ActKind:
    """One kind of act; :func:`surepick.study.acts.register` makes one of your own known.

    As it stands here, an act is a remark: the values of its fields are kept in the chain, with who,
    when and why, and nothing else changes.
    """

    kind: str  #: its name, which requests use
    link: str  #: the kind of its links in the chain
    about: str  #: what it does, in a line or a few
    short: str = ""  #: the same in a few words, for lists of verbs
    caution: str = ""  #: what whoever has done it should know
    fields: tuple[Field, ...] = ()
    needs_reason: bool = False
    role: str = ADMIN  #: who may do it at a service; admins may do everything
    own: bool = False  #: whether workers may do it to what they told last, too: see ``of_worker``
    large: bool = False  #: whether requests may bring tables

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        """What a request brings, checked, with defaults for what it leaves out."""
        return self.filled(given)

    def asks(self, given: Mapping[str, Any]) -> str:
        """What a person is asked before it is done for good; nothing where nobody is."""
        return ""

    def filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The declared fields, of the declared types."""
        names = [one.name for one in self.fields]
        for name in given:
            if name not in names:
                raise UnknownNameError.among(f"field of {self.kind}", name, names)
        for one in self.fields:
            if one.default is NEEDED and given.get(one.name) is None:
                raise InvalidInputError(f"{one.name}: {self.kind} needs it ({one.help})")
        return {one.name: one.checked(given.get(one.name, one.default)) for one in self.fields}

    def of_worker(self, scene: Scene, given: Mapping[str, Any], who: Who) -> None:
        """Raise ``NotAllowedError`` where this is more than a worker's token allows."""
        raise NotAllowedError(f"{self.kind}: this needs the role {ADMIN}")

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """What it changes; an act that was done before; or None: there is nothing to do."""
        content = {"details": given, "by": who.by, "reason": who.reason, "token": who.token}
        return Step(scene.progress(), content, effect=False)

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        """What a link says was done."""
        return content["details"]

    def words(self, details: dict[str, Any]) -> str:
        """What was done, as a sentence or two."""
        return "; ".join(f"{name}: {value}" for name, value in details.items())

    def act(self, link: Link, scene: Scene) -> Act:
        """The act that a link is about."""
        content = json.loads(link.content)
        details = self.details(content, link, scene)
        who = Who(content.get("reason", ""), content.get("by"), content.get("token"))
        return self.done(details, who, content.get("at", link.at))

    def done(self, details: dict[str, Any], who: Who, at: float) -> Act:
        """An act with these details."""
        plain = json.loads(json.dumps(details))  # as it is wherever it is read
        return Act(self.kind, at, who.by, who.reason, who.token, self.words(plain), plain)

    def records(self, act: Act) -> list[Any]:
        """What an act changed, one by one."""
        return [act]

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        """What whoever does it gets back."""
        return act


def who_of(kind: ActKind, reason: str, by: str | None, token: str | None = None) -> Who:
    """Who does it, and why, checked."""
    why = as_passage(reason, "reason").strip()
    if kind.needs_reason and not why:
        raise InvalidInputError(
            "reason: say why; the reason is stored with the study and appears in the certificate"
        )
    return Who(why, None if by is None else as_name(by, "by"), token)


class Changing(ActKind):
    """An act that changes one thing, of which its details say what it was."""

    change: type[Any]  #: what people get: it has ``from_dict`` and ``said``

    def words(self, details: dict[str, Any]) -> str:
        return self.change.from_dict(details).said

    def records(self, act: Act) -> list[Any]:
        return [self.change.from_dict(act.details)]

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        return None if act is None else self.records(act)[0]

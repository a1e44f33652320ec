"""The kinds of acts, by name."""

from __future__ import annotations

from surepick import plugins
from surepick.errors import InvalidInputError, UnknownNameError
from surepick.study.acts.accept import ACCEPT
from surepick.study.acts.aside import SET_ASIDE
from surepick.study.acts.base import ActKind
from surepick.study.acts.canaries import ASK_AGAIN
from surepick.study.acts.limits import LIMIT
from surepick.study.acts.options import ADD, RETIRE
from surepick.study.acts.pause import PAUSE, RESUME, STOP
from surepick.study.acts.reports import CORRECT_REPORT, RECORD
from surepick.study.acts.rewards import CORRECT, WITHDRAW

_OWN = (CORRECT, WITHDRAW, ADD, RETIRE, LIMIT, PAUSE, RESUME, STOP, RECORD, CORRECT_REPORT)
_OWN += (SET_ASIDE, ACCEPT, ASK_AGAIN)
_KINDS: dict[str, ActKind] = {one.kind: one for one in _OWN}


def register(kind: ActKind) -> None:
    """Make an act of your own known: here, on the command line and at services.

    Parameters
    ----------
    kind
        An object of its class.

    Examples
    --------
    >>> from surepick.study.acts import ActKind, Field
    >>> class Note(ActKind):
    ...     kind = link = "note"
    ...     about = "Keep a remark."
    ...     fields = (Field("text", str, "What to remember."),)
    >>> register(Note())
    >>> get("note").about
    'Keep a remark.'
    >>> unregister("note")
    """
    for one in kinds():
        if kind.kind == one.kind or kind.link == one.link:
            raise InvalidInputError(f"kind: an act called {one.kind!r} already exists")
    if not kind.kind.replace("-", "").isalnum():
        raise InvalidInputError(f"kind: letters, digits and hyphens only; got {kind.kind!r}")
    _KINDS[kind.kind] = kind


def unregister(kind: str) -> None:
    """Forget an act of your own.

    Parameters
    ----------
    kind
        Its name.
    """
    if kind not in _KINDS or _KINDS[kind] in _OWN:
        raise UnknownNameError.among("act of your own", kind, _KINDS)
    del _KINDS[kind]


def kinds() -> tuple[ActKind, ...]:
    """All kinds of acts, also those of plugins."""
    plugins.load()
    return tuple(_KINDS.values())


def get(kind: str) -> ActKind:
    """The kind of this name.

    Parameters
    ----------
    kind
        Its name.
    """
    if kind not in _KINDS:
        plugins.load()
    if kind not in _KINDS:
        raise UnknownNameError.among("act", kind, _KINDS)
    return _KINDS[kind]


def or_plain(kind: str) -> ActKind:
    """The kind of this name; where it is not known here, one that leaves acts as they are."""
    return next((one for one in kinds() if one.kind == kind), ActKind())


def by_link() -> dict[str, ActKind]:
    """The kinds by what their links are called."""
    return {one.link: one for one in kinds()}

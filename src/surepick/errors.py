"""Every error this package raises on purpose.

Each is a :class:`SurepickError`, so one ``except`` catches them all, and each is
also the builtin error a Python programmer would expect at that place.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

_MOST_NAMES, _LONG = 20, 30  # names shown of a list with more than so many, the nearest first
_MOST_COMPARED = 20_000  # more would keep somebody waiting for an error


class SurepickError(Exception):
    """Root of all errors raised by surepick.

    Examples
    --------
    >>> import surepick as sp
    >>> try:
    ...     sp.Problem([[1.0], [float("nan")]])
    ... except sp.SurepickError as error:
    ...     print(isinstance(error, ValueError))
    True
    """


class InvalidInputError(SurepickError, ValueError):
    """An argument has a value that cannot be accepted; the message names it."""


class InvalidTypeError(SurepickError, TypeError):
    """An argument is of a kind that cannot be accepted; the message names it."""


class BatchError(SurepickError, ValueError):
    """Rewards were told for a batch that is not the open batch of this run."""


class RunStateError(SurepickError, RuntimeError):
    """The run is not in a state where this makes sense (stopped, or not yet)."""


class FormatError(SurepickError, ValueError):
    """A saved run or certificate cannot be read by this version."""


class CertificateError(SurepickError, ValueError):
    """A certificate does not prove what it claims."""


class UnknownNameError(SurepickError, LookupError):
    """No algorithm, instance or other registered thing has this name."""

    @classmethod
    def among(cls, kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
        """Build the error: the nearest known name is suggested, and a long list is cut."""
        known = sorted(known)
        near = _nearest(name, known)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        return cls(f"unknown {kind} {name!r:.200}{hint} Known: {listed(known, name) or 'none'}")


class SolverError(SurepickError, ArithmeticError):
    """A numerical solver could not produce a trustworthy result."""


class OutOfMemoryError(SurepickError, MemoryError):
    """What was asked for does not fit in memory; the message says what would."""


class CancelledError(SurepickError, RuntimeError):
    """A long computation was told to end before it was done."""


class PluginError(SurepickError, ImportError):
    """A package from outside that adds to surepick cannot be loaded; the message names it."""


class MissingExtraError(SurepickError, ImportError):
    """An optional dependency is needed; the message says which extra to install."""


class MeasurementError(SurepickError, RuntimeError):
    """A measurement gave no reward; the message says why."""


class StorageError(SurepickError, OSError):
    """A study's database cannot do what is asked of it."""


class UnknownStudyError(StorageError, LookupError):
    """There is no study of this name in this database."""


class StudyExistsError(StorageError, FileExistsError):
    """A study of this name already exists."""


class UnknownPullError(StorageError, LookupError):
    """This study has never handed out a pull of this number."""


class TellConflictError(StorageError, ValueError):
    """The pull was told before, with another reward; the first one stands."""


class StudyDamagedError(StorageError, ValueError):
    """What a study has stored contradicts itself."""


class NotADatabaseError(StorageError, ValueError):
    """The file or address is not a database that surepick can use."""


class StorageVersionError(StorageError, ValueError):
    """The database was written by a newer version of surepick."""


class StorageLockedError(StorageError, TimeoutError):
    """The database stayed locked for longer than surepick waits."""


class StorageReadOnlyError(StorageError, PermissionError):
    """The database may be read but not written."""


class StorageFullError(StorageError):
    """There is no room left where the database lives."""


class StorageConnectionError(StorageError, ConnectionError):
    """The database server cannot be reached, or the connection to it was cut."""


class ServiceError(SurepickError, OSError):
    """A service cannot do what is asked of it, or something else went wrong there."""


class AccessError(ServiceError, PermissionError):
    """The service refuses this caller: no valid token, or one that is not for this."""


class NotAllowedError(AccessError):
    """The token is good, but does not allow this."""


class TooManyRequestsError(ServiceError):
    """The service has too much to do at the moment."""

    wait = 2  #: seconds after which to come back


class ServiceUnreachableError(ServiceError, ConnectionError):
    """No service answers at this address."""


def listed(names: Iterable[str], asked: object = "") -> str:
    """Names with commas between; a long list is cut, and begins with what is nearest to one.

    Examples
    --------
    >>> listed([f"column {i}" for i in range(1000)], "colum 77")[:40]
    'column 77, column 977, column 877, colum'
    """
    names = list(names)
    if len(names) <= _LONG:
        return ", ".join(names)
    shown = list(dict.fromkeys([*_nearest(asked, names), *names]))[:_MOST_NAMES]
    return f"{', '.join(shown)}, … and {len(names) - _MOST_NAMES:,} more"


def _nearest(asked: object, names: Iterable[str]) -> list[str]:
    """The names most like what was asked for, best first; of very many, only the first count."""
    plain = {_plain(name): name for name in itertools.islice(names, _MOST_COMPARED)}
    return [plain[k] for k in difflib.get_close_matches(_plain(str(asked))[:200], plain, n=10)]


def _plain(name: str) -> str:
    """A name without what people mistype most: case, and which dash it was."""
    return name.lower().replace("_", "-")

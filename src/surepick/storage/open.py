"""From an address to a storage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from surepick import plugins
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.storage.contract import Storage
from surepick.storage.memory import MemoryStorage

#: opens the storage of an address; the second argument says whether it may be made
Opener = Callable[[str, bool], Storage]


def _memory(url: str, create: bool) -> Storage:
    return MemoryStorage.shared(url)


def _sqlite(url: str, create: bool, later: bool = False) -> Storage:
    from surepick.storage.sql.sqlite import SqliteStorage

    return SqliteStorage("sqlite://" + url.partition("://")[2], create=create, later=later)


def _postgres(url: str, create: bool, later: bool = False) -> Storage:
    from surepick.storage.sql.postgres import PostgresStorage

    return PostgresStorage("postgresql+psycopg://" + url.partition("://")[2], later=later)


_OPENERS: dict[str, Opener] = {
    "memory": _memory,
    "sqlite": _sqlite,
    "sqlite+pysqlite": _sqlite,
    "postgresql": _postgres,
    "postgres": _postgres,
    "postgresql+psycopg": _postgres,
}
# What messages name, and examples that can be typed.
_FORMS = {
    "memory": "memory://",
    "sqlite": "sqlite:///file.db",
    "postgresql+psycopg": "postgresql+psycopg://user@host/database",
}


def register(scheme: str, opener: Opener, *, form: str | None = None) -> None:
    """Let addresses that begin with ``scheme://`` open a storage of your own.

    Parameters
    ----------
    scheme
        Letters before ``://``.
    opener
        Called with the whole address, and with whether a storage that is not there may be made.
    form
        An address as an example, for messages.

    Examples
    --------
    >>> from surepick.storage.memory import MemoryStorage
    >>> register("shelf", lambda url, create: MemoryStorage(url), form="shelf://name")
    >>> open_storage("shelf://mine").url
    'shelf://mine'
    >>> unregister("shelf")
    """
    if not scheme or "://" in scheme:
        raise InvalidInputError(f"scheme: expected letters before '://', got {scheme!r}")
    if scheme in _OPENERS:
        raise InvalidInputError(f"scheme: {scheme!r} is taken already")
    _OPENERS[scheme], _FORMS[scheme] = opener, form or f"{scheme}://…"


def unregister(scheme: str) -> None:
    """Take back :func:`register`.

    Parameters
    ----------
    scheme
        The first part of its addresses.

    Examples
    --------
    >>> from surepick.storage.memory import MemoryStorage
    >>> register("drawer", lambda url, create: MemoryStorage(url))
    >>> unregister("drawer")
    """
    _OPENERS.pop(scheme, None)
    _FORMS.pop(scheme, None)


def open_storage(storage: str | Storage, *, create: bool = True, later: bool = False) -> Storage:
    """The storage at this address.

    Parameters
    ----------
    storage
        ``memory://`` (this process only), ``sqlite:///file.db`` (relative; four slashes for an
        absolute path), ``postgresql+psycopg://user@host/database``, an address of a storage that
        was registered, or an open storage.
    create
        Whether a storage that is not there may be made.
    later
        Look at a database only when it is used: one that is away for now is then an error of
        whatever is asked of it, and no longer once it is back.

    Examples
    --------
    >>> open_storage("memory://mine").url
    'memory://mine'
    """
    if isinstance(storage, Storage):
        return storage
    scheme, colon, _ = storage.partition("://") if isinstance(storage, str) else ("", "", "")
    opener: Any = _OPENERS.get(scheme)
    if colon and later and opener in (_sqlite, _postgres):
        return opener(storage, create, later=True)
    if colon and scheme in _OPENERS:
        return _OPENERS[scheme](storage, create)
    plugins.load()
    forms = ", ".join(_FORMS.values())
    if not isinstance(storage, str):
        raise InvalidTypeError(f"storage must be an address such as {forms}; got {storage!r:.80}")
    if not colon:
        raise InvalidInputError(
            f"storage must be an address such as {forms}; got {storage!r} "
            f"(for a file: 'sqlite:///{storage}')"
        )
    if scheme not in _OPENERS:
        raise InvalidInputError(f"storage: {scheme!r} is not supported; known: {forms}")
    return _OPENERS[scheme](storage, create)

"""From an address to a storage."""

from __future__ import annotations

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.storage.contract import Storage
from surepick.storage.memory import MemoryStorage

_FORMS = "memory://, sqlite:///file.db, postgresql+psycopg://user@host/database"
_POSTGRES = ("postgresql", "postgres", "postgresql+psycopg")


def open_storage(storage: str | Storage, *, create: bool = True) -> Storage:
    """The storage at this address.

    Parameters
    ----------
    storage
        ``memory://`` (this process only), ``sqlite:///file.db`` (relative; four slashes for an
        absolute path), ``postgresql+psycopg://user@host/database``, or an open storage.
    create
        Whether an SQLite file that is not there may be made.

    Examples
    --------
    >>> open_storage("memory://mine").url
    'memory://mine'
    """
    if isinstance(storage, Storage):
        return storage
    if not isinstance(storage, str):
        raise InvalidTypeError(f"storage must be an address such as {_FORMS}; got {storage!r:.80}")
    scheme, colon, rest = storage.partition("://")
    if not colon:
        raise InvalidInputError(
            f"storage must be an address such as {_FORMS}; got {storage!r} "
            f"(for a file: 'sqlite:///{storage}')"
        )
    if scheme == "memory":
        return MemoryStorage.shared(storage)
    if scheme in ("sqlite", "sqlite+pysqlite"):
        from surepick.storage.sql.sqlite import SqliteStorage

        return SqliteStorage("sqlite://" + rest, create=create)
    if scheme in _POSTGRES:
        from surepick.storage.sql.postgres import PostgresStorage

        return PostgresStorage("postgresql+psycopg://" + rest)
    raise InvalidInputError(f"storage: {scheme!r} is not supported; known: {_FORMS}")

"""Tokens: who may do what. Only their hashes are stored, beside the studies.

A token is 256 random bits, so a plain SHA-256 is enough: there is nothing to guess. Logging in
on the page makes a session: a token of its own that ends with the one it came from.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import time
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, or_, select, update

from surepick.errors import AccessError, InvalidInputError, RunStateError, UnknownNameError
from surepick.storage.contract import Storage, Transaction
from surepick.storage.sql.rows import SqlTransaction
from surepick.storage.sql.tables import leases, tokens

ADMIN, WORKER, VIEWER, JUDGE = "admin", "worker", "viewer", "judge"
ROLES = (ADMIN, WORKER, VIEWER, JUDGE)
_PREFIX = "sp_"  # so that people and scanners recognise what must not be published
_TRUSTED = 2.0  # seconds for which a process believes what it has read about a token
_LOOKED = 0.5  # seconds for which streams do
_KEPT = 10_000  # tokens remembered by a process


@dataclass(frozen=True)
class Token:
    """What is known about a token; never the token itself."""

    id: str
    role: str
    studies: tuple[str, ...] | None  #: None: all of them
    created: float
    expires: float | None
    note: str = ""
    session_of: str | None = None  #: the token that logged in, if this is a session

    @property
    def owner(self) -> str:
        """Id of the token that was handed out: a session's is that of whoever logged in."""
        return self.session_of or self.id

    def expired(self, now: float) -> bool:
        return self.expires is not None and self.expires <= now

    def covers(self, study: str) -> bool:
        return self.studies is None or study in self.studies

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "role": self.role,
            "studies": None if self.studies is None else list(self.studies),
            "created": self.created,
            "expires": self.expires,
            "note": self.note,
        }


class Tokens:
    """The tokens of a storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._seen: dict[str, tuple[float, Token | None]] = {}  # hash -> when read, what
        self._checked: dict[str, tuple[float, bool]] = {}  # id -> when, whether it was there
        self._good: dict[str, None] = {}  # hashes of those found lately, oldest first

    # -- making and ending ------------------------------------------------------------------
    def make(
        self,
        role: str,
        studies: tuple[str, ...] | None = None,
        expires_in: float | None = None,
        note: str = "",
    ) -> tuple[Token, str]:
        """A new token: what is known about it, and the secret, which is not kept anywhere."""
        if role not in ROLES:
            raise UnknownNameError.among("role", role, ROLES)
        if role in (WORKER, JUDGE) and not studies:
            raise InvalidInputError(f"studies: name the studies that this {role}'s token is for")
        if role == ADMIN and studies is not None:
            raise InvalidInputError("studies: leave it out; an admin's token is for all studies")
        token, secret = _new(role, studies, expires_in, note)
        self._storage.write(lambda tx: _insert(tx, token, secret))
        return token, secret

    def log_in(self, token: Token, seconds: float) -> tuple[Token, str]:
        """A session of this token, which ends with it; a session cannot make another one."""
        if token.session_of is not None:
            raise AccessError("a session cannot log in again; use the token")
        session, secret = _new(token.role, token.studies, seconds, "")
        if token.expires is not None:
            session = replace(session, expires=min(token.expires, session.expires or 0.0))
        session = replace(session, session_of=token.id)

        def write(tx: Transaction) -> None:
            # Locked, so that whoever revokes the token meanwhile finds the session, or comes first.
            there = select(tokens.c.id).where(tokens.c.id == token.id).with_for_update()
            if _connection(tx).execute(there).first() is None:
                raise AccessError("the token is no longer valid")
            gone = tokens.c.session_of.is_not(None) & (tokens.c.expires < time.time())
            _connection(tx).execute(delete(tokens).where(gone))
            _insert(tx, session, secret)

        self._storage.write(write)
        return session, secret

    def revoke(self, number: str) -> None:
        def write(tx: Transaction) -> None:
            found = _connection(tx).execute(select(tokens).where(tokens.c.id == number))
            row = found.one_or_none()
            if row is None or row.session_of is not None:
                raise UnknownNameError(f"no token has the id {number!r}")
            if row.role == ADMIN and self._admins(tx) == [number]:
                raise RunStateError(
                    "this is the only admin token that does not expire; make another one first"
                )
            ended = or_(tokens.c.id == number, tokens.c.session_of == number)
            _connection(tx).execute(delete(tokens).where(ended))
            _end_leases(tx, number)

        self._storage.write(write)
        self._seen.clear()
        self._checked.clear()

    def log_out(self, session: Token) -> None:
        self._storage.write(
            lambda tx: _connection(tx).execute(delete(tokens).where(tokens.c.id == session.id))
        )
        self._seen.clear()

    def first_admin(self) -> str | None:
        """The secret of a new admin token, where there is none yet."""
        token, secret = _new(ADMIN, None, None, "made at the first start")

        def write(tx: Transaction) -> bool:
            _lock(tx)
            mine = select(tokens.c.id).where(tokens.c.id == token.id)
            if _connection(tx).execute(mine).first() is not None:
                return True  # written already; only the confirmation was lost
            if self._admins(tx):
                return False
            _insert(tx, token, secret)
            return True

        return secret if self._storage.write(write) else None

    @staticmethod
    def _admins(tx: Transaction) -> list[str]:
        query = select(tokens.c.id).where(
            tokens.c.role == ADMIN, tokens.c.expires.is_(None), tokens.c.session_of.is_(None)
        )
        return list(_connection(tx).execute(query).scalars())

    # -- finding ----------------------------------------------------------------------------
    def all(self) -> list[Token]:
        """All tokens but sessions, oldest first."""
        query = select(tokens).where(tokens.c.session_of.is_(None)).order_by(tokens.c.created)
        return self._storage.read(
            lambda tx: [_token(row) for row in _connection(tx).execute(query)]
        )

    def remembered(self, secret: str) -> tuple[bool, Token | None]:
        """Whether this process has looked up the secret lately, and what it found."""
        kept = self._seen.get(fingerprint(secret))
        if kept is None or time.monotonic() - kept[0] > _TRUSTED:
            return False, None
        return True, _valid(kept[1])

    def was_good(self, secret: str) -> bool:
        """Whether the secret was that of a token when it was last looked up here."""
        return fingerprint(secret) in self._good

    def known_to_be_good(self, token: Token) -> bool | None:
        """Whether a token is good, if that was looked up a moment ago: once for all its streams."""
        when, good = self._checked.get(token.id, (-math.inf, False))
        if time.monotonic() - when > _LOOKED:
            return None
        return good and not token.expired(time.time())

    def still_valid(self, token: Token) -> bool:
        """Whether a token (or session) has neither been revoked nor expired."""
        query = select(tokens.c.id).where(tokens.c.id == token.id)
        there = self._storage.read(lambda tx: _connection(tx).execute(query).first())
        if len(self._checked) >= _KEPT:
            self._checked.clear()
        self._checked[token.id] = (time.monotonic(), there is not None)
        return there is not None and not token.expired(time.time())

    def find(self, secret: str) -> Token | None:
        """The token with this secret, unless it has expired."""
        key = fingerprint(secret)
        query = select(tokens).where(tokens.c.hash == key)
        row = self._storage.read(lambda tx: _connection(tx).execute(query).one_or_none())
        token = None if row is None else _token(row)
        if len(self._seen) >= _KEPT:
            self._seen.clear()
        self._seen[key] = (time.monotonic(), token)
        self._good.pop(key, None)
        if token is not None:
            self._good[key] = None
            if len(self._good) > _KEPT:
                del self._good[next(iter(self._good))]
        return _valid(token)


def fingerprint(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def csrf_of(secret: str) -> str:
    """What a page must send along with the cookie that holds this secret.

    It follows from the secret, which scripts of other sites (and of the page) cannot read.
    """
    return hashlib.sha256(b"csrf " + secret.encode("utf-8", "replace")).hexdigest()


def _new(
    role: str, studies: tuple[str, ...] | None, expires_in: float | None, note: str
) -> tuple[Token, str]:
    now = time.time()
    expires = None if expires_in is None else now + expires_in
    token = Token(secrets.token_hex(8), role, studies, now, expires, note)
    return token, _PREFIX + secrets.token_urlsafe(32)


def _valid(token: Token | None) -> Token | None:
    return None if token is None or token.expired(time.time()) else token


def _connection(tx: Transaction) -> Connection:
    assert isinstance(tx, SqlTransaction)  # a service keeps its tokens in a database
    return tx.connection


def _lock(tx: Transaction) -> None:
    """Keep others from adding tokens until the end of the transaction."""
    connection = _connection(tx)
    if connection.dialect.name == "postgresql":  # SQLite's writers wait for each other anyway
        connection.exec_driver_sql(f"LOCK TABLE {tokens.name} IN SHARE ROW EXCLUSIVE MODE")


def _end_leases(tx: Transaction, token: str) -> None:
    """Let others have the pulls of a token."""
    theirs, as_second = leases.c.token == token, leases.c.second_token == token
    held = select(leases.c.study).where(theirs | as_second).distinct()
    for study in sorted(_connection(tx).execute(held).scalars()):
        at = tx.find_progress(study, lock=True)  # whoever changes leases has this row
        if at is not None:
            of_study = update(leases).where(leases.c.study == study)
            alone = {"second": None, "second_token": None}
            first = {"worker": leases.c.second, "token": leases.c.second_token} | alone
            left = theirs & (leases.c.until > at.now)
            for change in (
                of_study.where(as_second).values(alone),
                of_study.where(theirs, leases.c.second.is_not(None)).values(first),
                of_study.where(left).values(until=at.now),
            ):
                _connection(tx).execute(change)


def _insert(tx: Transaction, token: Token, secret: str) -> None:
    values = vars(token) | {
        "hash": fingerprint(secret),
        "studies": None if token.studies is None else json.dumps(token.studies),
    }
    there = select(tokens.c.id).where(tokens.c.id == token.id)
    if _connection(tx).execute(there).first() is None:  # else an earlier try wrote it
        _connection(tx).execute(insert(tokens), values)


def _token(row: Row[Any]) -> Token:
    named = None if row.studies is None else tuple(json.loads(row.studies))
    return Token(row.id, row.role, named, row.created, row.expires, row.note, row.session_of)

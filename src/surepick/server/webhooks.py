"""Webhooks: who wants to be told of a study, what is still to be sent, and sending it.

A notice is written into the database before it is sent, once for each webhook: two processes that
find the same write it once, and a crash loses nothing. Whoever sends one claims it for a minute.
If a process dies between sending and noting that, it is sent again, with the same ``webhook-id``,
by which receivers tell. Signatures follow the Standard Webhooks (https://www.standardwebhooks.com):
HMAC-SHA256 of id, time and body.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import delete, exists, func, insert, select, update

from surepick.errors import InvalidInputError, SurepickError, UnknownNameError
from surepick.server import outward
from surepick.storage.contract import Storage, Transaction
from surepick.storage.sql.tables import chain, deliveries, reports, studies, tells, webhooks
from surepick.study.manage import load_study
from surepick.study.notices import KINDS, MORNING, PATIENCE, USUAL, Notice, morning_of, notices

_log = logging.getLogger(__name__)
_CLAIM = 60.0  # seconds that whoever sends has for it
_PAUSES = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21_600.0, 43_200.0, 86_400.0)  # between attempts
_PREFIX = "whsec_"  # as the standard has it
_MOST = 20  # webhooks of a study


@dataclass(frozen=True)
class Webhook:
    """Where to send notices of a study."""

    id: str
    study: int
    url: str
    kinds: tuple[str, ...]
    private: bool  #: whether the address may be one of a private network
    secret: str
    created: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values, without the secret."""
        where = urlsplit(self.url)
        return {
            "id": self.id,
            "to": f"{where.scheme}://{where.hostname}/…",  # the rest is often a secret
            "on": list(self.kinds),
            "created": self.created,
        }


class Webhooks:
    """The webhooks of a storage.

    Parameters
    ----------
    storage
        A database; studies in memory have none.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._seen: dict[int, Any] = {}  # what a study was when nothing new was found

    def add(
        self, study: int, url: str, kinds: Iterable[str] = (), *, private: bool = False
    ) -> Webhook:
        """Have notices of a study sent to an address; the usual ones, where none are named."""
        asked = tuple(dict.fromkeys(kinds)) or USUAL
        _check_kinds(asked)
        outward.check_url(url, private)
        key = _PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        made = Webhook(secrets.token_hex(8), study, url, asked, private, key, time.time())

        def write(tx: Transaction) -> None:
            there = select(func.count()).where(webhooks.c.study == study)
            if _connection(tx).execute(there).scalar_one() >= _MOST:
                raise InvalidInputError(f"a study has {_MOST} webhooks at most; remove one first")
            values = vars(made) | {"kinds": ",".join(made.kinds)}
            _connection(tx).execute(insert(webhooks), values)

        self._storage.write(write)
        return made

    def of(self, study: int | None = None) -> list[Webhook]:
        """Those of a study, or all."""
        query = select(webhooks).order_by(webhooks.c.created)
        query = query if study is None else query.where(webhooks.c.study == study)
        rows = self._storage.read(lambda tx: _connection(tx).execute(query).all())
        return [
            Webhook(r.id, r.study, r.url, tuple(r.kinds.split(",")), r.private, r.secret, r.created)
            for r in rows
        ]

    def remove(self, study: int, number: str) -> None:
        """Send nothing there any more, not even what is waiting."""

        def write(tx: Transaction) -> bool:
            mine = (webhooks.c.study == study) & (webhooks.c.id == number)
            _connection(tx).execute(delete(deliveries).where(deliveries.c.webhook == number))
            return bool(_connection(tx).execute(delete(webhooks).where(mine)).rowcount)

        if not self._storage.write(write):
            raise UnknownNameError(f"no webhook of this study has the id {number!r}")

    def deliveries(self, number: str) -> list[dict[str, Any]]:
        """What was sent there, or is to be; the newest last."""
        query = select(deliveries).where(deliveries.c.webhook == number)
        query = query.order_by(deliveries.c.created)
        rows = self._storage.read(lambda tx: _connection(tx).execute(query).all())
        return [
            {
                "event": row.event,
                "type": json.loads(row.body)["type"],
                "created": row.created,
                "delivered": row.delivered,
                "attempts": row.attempts,
                "error": row.error,
            }
            for row in rows
        ]

    # -- what is to be sent ----------------------------------------------------------------
    def look(self, now: float | None = None) -> int:
        """Look at the studies that have webhooks, and write down what is to be sent; how many."""
        now = time.time() if now is None else now
        by_study: dict[int, list[Webhook]] = {}
        for hook in self.of():
            by_study.setdefault(hook.study, []).append(hook)
        return sum(self._look_at(study, hooks, now) for study, hooks in by_study.items())

    def to_tell(
        self, study: int, kinds: Iterable[str] = (), now: float | None = None
    ) -> list[Notice]:
        """What there is to tell of a study now, whoever was told of it: of these kinds, or all."""
        asked, now = tuple(kinds) or tuple(KINDS), time.time() if now is None else now
        _check_kinds(asked)
        name, last, _ = self._storage.read(lambda tx: _last_sign(tx, study))
        found = notices(load_study(name, self._storage), last, now, morning=True)
        return [one for one in found if one.kind in asked]

    def _look_at(self, number: int, hooks: list[Webhook], now: float) -> int:
        try:
            name, last, at = self._storage.read(lambda tx: _last_sign(tx, number))
            seen = (at, [hook.id for hook in hooks], morning_of(now))
            if self._seen.get(number) == seen and now - last < PATIENCE:
                return 0  # what is to be told of it is written
            morning = any(MORNING in hook.kinds for hook in hooks)
            found = notices(load_study(name, self._storage), last, now, morning=morning)
        except SurepickError as problem:  # deleted meanwhile, or damaged: others go on
            _log.warning("notices of study %s: %s", number, problem)
            return 0
        new = sum(self._written(hook, one, now) for hook in hooks for one in found)
        self._seen[number] = seen
        return new

    def _written(self, hook: Webhook, notice: Notice, now: float) -> bool:
        if notice.kind not in hook.kinds:
            return False
        at = datetime.datetime.fromtimestamp(now, datetime.UTC).isoformat(timespec="seconds")
        values = {
            "webhook": hook.id,
            "event": notice.key,
            "body": json.dumps(notice.body(at), ensure_ascii=False),
            "created": now,
            "due": now,
            "attempts": 0,
            "error": "",
        }

        def write(tx: Transaction) -> bool:
            connection = _connection(tx)
            lock = select(webhooks.c.id).where(webhooks.c.id == hook.id).with_for_update()
            mine = (deliveries.c.webhook == hook.id) & (deliveries.c.event == notice.key)
            known = connection.execute(select(exists().where(mine))).scalar_one
            if connection.execute(lock).first() is None or known():
                return False
            connection.execute(insert(deliveries), values)
            return True

        return self._storage.write(write)

    # -- sending ---------------------------------------------------------------------------
    def send(self, post: Callable[..., int] | None = None, now: float | None = None) -> int:
        """Send what is due; how many arrived."""
        moment = time.time() if now is None else now
        due = (
            deliveries.c.delivered.is_(None)
            & deliveries.c.due.is_not(None)
            & (deliveries.c.due <= moment)
        )
        rows = self._storage.read(
            lambda tx: _connection(tx).execute(select(deliveries).where(due)).all()
        )
        hooks = {hook.id: hook for hook in self.of()} if rows else {}
        return sum(
            self._send(hooks[row.webhook], row, post or _post, moment)
            for row in rows
            if row.webhook in hooks
        )

    def _send(self, hook: Webhook, row: Any, post: Callable[..., int], now: float) -> bool:
        mine = (deliveries.c.webhook == row.webhook) & (deliveries.c.event == row.event)
        unclaimed = mine & (deliveries.c.attempts == row.attempts) & (deliveries.c.due == row.due)
        claim = update(deliveries).where(unclaimed)
        claim = claim.values(attempts=row.attempts + 1, due=now + _CLAIM)
        if not self._storage.write(lambda tx: _connection(tx).execute(claim).rowcount):
            return False  # another process sends it
        body = row.body.encode()
        try:
            status = post(hook, body, signed(hook.secret, row.event, int(now), body))
            problem = "" if 200 <= status < 300 else f"the answer was {status}"
            gone = status == 410  # as the standard has it: nobody listens there any more
        except Exception as error:
            problem, gone = f"{type(error).__name__}: {error}"[:500], False
        values: dict[str, Any] = {"delivered": now, "error": ""}
        if problem:
            again = row.attempts < len(_PAUSES) and not gone
            due = now + _PAUSES[row.attempts] if again else None
            values = {"due": due, "error": problem}
            _log.warning("webhook %s, attempt %s: %s", hook.id, row.attempts + 1, problem)
        kept = update(deliveries).where(mine).values(**values)
        self._storage.write(lambda tx: _connection(tx).execute(kept))
        return not problem


def signed(secret: str, event: str, at: int, body: bytes) -> dict[str, str]:
    """The headers of a message: id, time and signature.

    Examples
    --------
    >>> signed("whsec_AAAA", "sp_1", 1700000000, b"{}")["webhook-signature"][:3]
    'v1,'
    """
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    content = f"{event}.{at}.".encode() + body
    digest = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
    return {
        "content-type": "application/json",
        "webhook-id": event,
        "webhook-timestamp": str(at),
        "webhook-signature": f"v1,{digest}",
    }


def _connection(tx: Transaction) -> Any:
    return tx.connection  # pyright: ignore[reportAttributeAccessIssue]


def _check_kinds(asked: Iterable[str]) -> None:
    for kind in asked:
        if kind not in KINDS:
            raise UnknownNameError.among("notice", kind, tuple(KINDS))


def _last_sign(tx: Transaction, study: int) -> tuple[str, float, Any]:
    """The name of a study, when something last came of it, and where it stands."""
    connection = _connection(tx)
    row = connection.execute(select(studies).where(studies.c.id == study)).one()
    times = [row.created]
    for table in (tells, reports, chain):
        newest = select(func.max(table.c.at)).where(table.c.study == study)
        times.append(connection.execute(newest).scalar() or 0.0)
    return row.name, max(times), replace(tx.progress(study), now=0.0)


def _post(hook: Webhook, body: bytes, headers: dict[str, str]) -> int:
    """Send a message; what is answered is of no interest."""
    return outward.post(hook.url, body, headers, hook.private).status

"""Webhooks: who wants to be told of a study, what is still to be sent, and sending it.

A notice is written into the database before it is sent, once for each webhook: two processes that
find the same write it once, and a crash loses nothing. Whoever sends one claims it for a minute.
If a process dies between sending and noting that, it is sent again, with the same ``webhook-id``,
by which receivers tell. Signatures follow the Standard Webhooks (https://www.standardwebhooks.com):
HMAC-SHA256 of id, time and body.
"""

from __future__ import annotations

import asyncio
import base64
import datetime
import functools
import hashlib
import hmac
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
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
_AT_A_TIME = 16  # receivers that are being sent something; and as many of those that failed before


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
    """The webhooks of a storage: a database, as studies in memory have none."""

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
            lock = select(webhooks.c.id).where(mine).with_for_update()
            if _connection(tx).execute(lock).first() is None:
                return False  # of another study, perhaps: what waits for it is left alone
            _connection(tx).execute(delete(deliveries).where(deliveries.c.webhook == number))
            _connection(tx).execute(delete(webhooks).where(mine))
            return True

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
    def due(self, now: float) -> list[tuple[Webhook, list[Any]]]:
        """Who is to get something now, and what, in its order."""
        wanted = (
            deliveries.c.delivered.is_(None)
            & deliveries.c.due.is_not(None)
            & (deliveries.c.due <= now)
        )
        query = select(deliveries).where(wanted).order_by(deliveries.c.created)
        rows = self._storage.read(lambda tx: _connection(tx).execute(query).all())
        found: dict[str, list[Any]] = {}
        for row in rows:
            found.setdefault(row.webhook, []).append(row)
        return [(hook, found[hook.id]) for hook in self.of() if hook.id in found] if rows else []

    def claim(self, row: Any, now: float) -> bool:
        """Whether it is for this process to send it: nobody else does for a while."""
        mine = (deliveries.c.webhook == row.webhook) & (deliveries.c.event == row.event)
        unclaimed = mine & (deliveries.c.attempts == row.attempts) & (deliveries.c.due == row.due)
        claim = update(deliveries).where(unclaimed)
        claim = claim.values(attempts=row.attempts + 1, due=now + _CLAIM)
        return bool(self._storage.write(lambda tx: _connection(tx).execute(claim).rowcount))

    def note(self, row: Any, problem: str, gone: bool, now: float) -> None:
        """Write down what became of it; nothing is a problem, or nobody listens any more."""
        values: dict[str, Any] = {"delivered": now, "error": ""}
        if problem:
            again = row.attempts < len(_PAUSES) and not gone
            due = now + _PAUSES[row.attempts] if again else None
            values = {"due": due, "error": problem}
            _log.warning("webhook %s, attempt %s: %s", row.webhook, row.attempts + 1, problem)
        mine = (deliveries.c.webhook == row.webhook) & (deliveries.c.event == row.event)
        kept = update(deliveries).where(mine).values(**values)
        self._storage.write(lambda tx: _connection(tx).execute(kept))

    def send(self, post: Callable[..., int] | None = None, now: float | None = None) -> int:
        """Send what is due; how many arrived."""
        clock = time.time if now is None else lambda: now

        async def all_of_it() -> int:
            by = None if post is None else functools.partial(asyncio.to_thread, post)
            sending = Sending(self, by, clock=clock)
            await sending.begin()
            return await sending.all_done()

        return outward.to_its_end(all_of_it())


class Sending:
    """Sends what is due: to each receiver one message after the other, to many at a time.

    A receiver that is slow, or does not answer, holds up nobody but itself, and itself for one
    message at a time: what else waits for it is tried later. It must be used in one event loop.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        post: Callable[[Webhook, bytes, dict[str, str]], Awaitable[int]] | None = None,
        run: Callable[[Callable[[], Any]], Awaitable[Any]] = asyncio.to_thread,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._webhooks, self._run, self._clock = webhooks, run, clock
        self._post = _post if post is None else post
        self._under_way: dict[str, asyncio.Task[int]] = {}  # by receiver
        # Those that did not take their last message do not keep others from the room there is.
        self._rooms = {again: asyncio.Semaphore(_AT_A_TIME) for again in (False, True)}

    async def begin(self) -> None:
        """Begin to send what is due to those who are not being sent anything."""
        for hook, rows in await self._run(lambda: self._webhooks.due(self._clock())):
            if hook.id not in self._under_way:
                task = asyncio.get_running_loop().create_task(self._send_to(hook, rows))
                self._under_way[hook.id] = task
                task.add_done_callback(lambda done, number=hook.id: self._ended(number, done))

    async def all_done(self) -> int:
        """Wait until all that was begun is over; how many messages arrived."""
        return sum(await asyncio.gather(*self._under_way.values()))

    async def close(self) -> None:
        """Leave what has not arrived where it is: in the database, to be sent next time."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, number: str, done: asyncio.Task[int]) -> None:
        self._under_way.pop(number, None)
        if not done.cancelled() and (error := done.exception()) is not None:
            _log.warning("webhook %s: %s; it is tried again", number, error)

    async def _send_to(self, hook: Webhook, rows: list[Any]) -> int:
        arrived = 0
        async with self._rooms[rows[0].attempts > 0]:
            for row in rows:
                if not await self._run(functools.partial(self._webhooks.claim, row, self._clock())):
                    continue  # another process sends it
                problem, gone = await self._problem(hook, row)
                now = self._clock()
                await self._run(functools.partial(self._webhooks.note, row, problem, gone, now))
                if problem:
                    break
                arrived += 1
        return arrived

    async def _problem(self, hook: Webhook, row: Any) -> tuple[str, bool]:
        """What was wrong with sending a message now, if anything; and whether nobody is there."""
        body = row.body.encode()
        try:
            headers = signed(hook.secret, row.event, int(self._clock()), body)
            status = await self._post(hook, body, headers)
        except Exception as error:
            return f"{type(error).__name__}: {error}"[:500], False
        # 410, as the standard has it: nobody listens there any more.
        return ("" if 200 <= status < 300 else f"the answer was {status}"), status == 410


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


async def _post(hook: Webhook, body: bytes, headers: dict[str, str]) -> int:
    """Send a message; what is answered is of no interest."""
    return (await outward.send(hook.url, body, headers, hook.private)).status

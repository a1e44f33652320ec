"""The door of the service: every request passes here before anything else looks at it.

In this order: how long its head is, whom it is for (Host), how often its sender has come, who sends
it (token or cookie; looking one up that was never seen counts as a stranger's visit), whether a
page of another site made the browser send it (Origin, CSRF token), and how large and how deep it
is. What a request costs is charged before it is worked on, a large one as many. Every answer
gets headers that forbid browsers to guess its type, to show it inside other pages, or to load
anything from other sites for it.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import math
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes, urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from surepick.errors import StorageError
from surepick.server import logs, metrics, replies
from surepick.server.bodies import LONG, OnTheWay, Refused, cap_of, whole_body
from surepick.server.quotas import USELESS, Charges, Rate, neighbourhood, several
from surepick.server.settings import Settings
from surepick.server.studies import Threads
from surepick.server.tokens import Token, Tokens, csrf_of
from surepick.text import as_output, unfit

_log = logging.getLogger(__name__)

#: what anybody may see: that the service runs, the page without any data, and the way in
OPEN = frozenset((("GET", "/health"), ("GET", "/"), ("POST", "/api/v1/session")))
OPEN_FOLDER = "/static/"
#: stands for a slash inside a name: names cannot have it, and routes do not split there
SLASH = "\x1f"

_SAFE = frozenset(("GET", "HEAD", "OPTIONS"))
_TELL = "/tell"
_WORK = ("/ask", _TELL, "/fail", "/progress")  # ends of the addresses that workers use
_READS_COST, _PAGE_COST = 50, 5  # of other requests, in requests of workers
_METRICS = "/metrics"
_METRICS_COST = 500  # they change once a second: nobody needs them more often
_BODIES = 4  # largest bodies that one caller may be sending at a time
_PENALTY = 1.0  # seconds that an answer to too many requests takes
_LONGEST_PATH = 4 * 2**10  # bytes: names have 200 letters at most, of 12 bytes each when encoded
_MOST_HEADERS = 100

_POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_FIXED = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
_NO_STORE = (b"cache-control", b"no-store")
_STRICT_TLS = (b"strict-transport-security", b"max-age=31536000")


@dataclass(frozen=True)
class Caller:
    """Who sends a request."""

    token: Token
    csrf: str | None  #: for callers with a cookie


class Gate:
    """The application behind its door."""

    def __init__(
        self, app: ASGIApp, settings: Settings, tokens: Tokens, threads: Threads, charges: Charges
    ) -> None:
        self._app, self._settings, self._tokens, self._threads = app, settings, tokens, threads
        self._hosts = settings.hosts
        self._open = OPEN | ({("GET", _METRICS)} if settings.metrics_open else frozenset())
        sites = " ".join(settings.pictures_from)
        policy = f"{_POLICY}; img-src 'self' {sites}" if sites else _POLICY
        self._policy = (b"content-security-policy", policy.encode())
        self._charges, self._work = charges, charges.work
        self._reads = several(settings.rate / _READS_COST)
        metrics_rate = settings.rate / _METRICS_COST
        self._metrics = Rate(metrics_rate, 3 + 2 * metrics_rate)
        self._page = several(settings.rate / _PAGE_COST)  # by address, as nobody is known yet
        self._bodies = OnTheWay(_BODIES * settings.max_body)
        self._strangers = Rate(settings.stranger_rate, 10 + 10 * settings.stranger_rate)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        answer = _Answer(send, scope["scheme"] == "https", self._policy)
        try:
            try:
                with ExitStack() as under_way:
                    receive = await self._admit(scope, receive, under_way)
                    await self._app(scope, receive, answer)
            except Refused as refused:
                metrics.refused.labels(refused.why).inc()
                if refused.why == "rate":  # who does not wait by himself waits here
                    await asyncio.sleep(_PENALTY)
                await refused.reply(scope, receive, answer)
        finally:
            self._note(scope, answer.status, time.perf_counter() - started)

    # -- who and what -----------------------------------------------------------------------
    async def _admit(self, scope: Scope, receive: Receive, under_way: ExitStack) -> Receive:
        _check_head(scope)
        headers = _headers(scope)
        method = scope["method"]
        scope["path"] = path = _path(scope)
        _check_texts(scope)
        if path == "/health":
            self._count(self._page, _address(scope))
            return receive
        self._check_host(scope, headers)
        is_open = (method, path) in self._open or path.startswith(OPEN_FOLDER)
        caller = None if is_open else await self._caller(scope, headers)
        if caller is None:
            scope.setdefault("state", {})["open"] = True
            self._count(self._strangers if method not in _SAFE else self._page, _address(scope))
        else:
            self._count(self._rate_of(path), caller.token.owner)
            if path.endswith(_TELL):
                self._refuse(self._charges.debt(caller.token.owner), USELESS)
            scope.setdefault("state", {})["caller"] = caller
        if method in _SAFE:
            return receive
        self._check_origin(headers)
        if caller is not None and caller.csrf is not None:
            given = headers.get(b"x-csrf-token", b"")
            if not hmac.compare_digest(given, caller.csrf.encode()):
                raise _forbidden("csrf", "the header X-CSRF-Token is missing or wrong")
        cap = cap_of(path, caller is None, self._settings.max_body)
        sender = _address(scope) if caller is None else caller.token.owner
        size = under_way.enter_context(self._bodies.count(sender, headers, cap))
        if size > LONG:
            self._count(self._work, sender, size / LONG)
        return await whole_body(headers, receive, cap, self._settings.max_depth)

    def _check_host(self, scope: Scope, headers: dict[bytes, bytes]) -> None:
        """Refuse requests for other hosts, or for several: a proxy may have read another one.

        Starlette's TrustedHostMiddleware would do so in plain text, without the headers, the log
        and the count that all answers have here, for /health as well; its older versions that
        are still allowed do not know the addresses of IPv6.
        """
        host = headers.get(b"host", b"").decode("latin-1").lower()
        several = sum(name == b"host" for name, _ in scope["headers"]) > 1
        if several or _without_port(host) not in self._hosts:
            raise Refused(
                "host",
                replies.refusal(
                    400,
                    "InvalidInputError",
                    "this service does not accept that host name (Host header); see --allowed-host",
                ),
            )

    def _rate_of(self, path: str) -> Rate:
        if path == _METRICS:
            return self._metrics
        return self._work if path.endswith(_WORK) else self._reads

    def _count(
        self, rate: Rate, caller: str, cost: float = 1.0, why: str = "too many requests"
    ) -> None:
        self._refuse(rate.wait(caller, cost), why)

    def _refuse(self, wait: float, why: str) -> None:
        """Say when to come back, where somebody has to wait."""
        if wait:
            headers = {"Retry-After": str(math.ceil(wait))}
            text = f"{why}; try again in {math.ceil(wait)} s"
            raise Refused("rate", replies.refusal(429, "TooManyRequestsError", text, headers))

    async def _caller(self, scope: Scope, headers: dict[bytes, bytes]) -> Caller:
        """Whoever the token or the cookie belongs to."""
        given = headers.get(b"authorization", b"").decode("latin-1")
        if given:
            scheme, _, secret = given.partition(" ")
            secret, cookie = (secret.strip() if scheme.lower() == "bearer" else ""), False
        else:
            secret, cookie = session_cookie(headers, scope["scheme"] == "https"), True
        token = await self._find(secret, _address(scope))
        if token is None or (cookie and token.session_of is None):
            why = "the token is not valid (or has expired)" if secret else "a token is needed"
            reply = replies.refusal(
                401,
                "AccessError",
                f"{why}: Authorization: Bearer TOKEN",
                {"WWW-Authenticate": "Bearer"},
            )
            raise Refused("token", reply)
        return Caller(token, csrf_of(secret) if cookie else None)

    async def _find(self, secret: str, address: str) -> Token | None:
        """The token with this secret; asking for one that nobody knows is a stranger's visit.

        That is counted before the database is asked, and taken back where the token is good:
        guessing cannot keep the database busy.
        """
        known, token = self._tokens.remembered(secret) if secret else (True, None)
        if known and token is not None:
            return token
        familiar = self._tokens.was_good(secret)
        if not familiar:
            self._count(self._strangers, address)
        if known:
            return None
        try:
            token = await self._threads.quick(lambda: self._tokens.find(secret))
        except StorageError as error:
            _log.warning("tokens cannot be read: %s", error)
            raise Refused("storage", replies.explain(error, None)) from None
        if token is not None and not familiar:
            self._strangers.give_back(address)
        return token

    def _check_origin(self, headers: dict[bytes, bytes]) -> None:
        """Refuse what a page of another site made the browser send."""
        origin = headers.get(b"origin")
        if origin is None:
            return
        here = headers.get(b"host", b"").decode("latin-1").lower()
        try:
            there = urlsplit(origin.decode("latin-1").lower()).netloc
        except ValueError:
            there = ""
        if there != here:
            raise _forbidden("origin", "requests from other websites are refused")

    # -- afterwards -------------------------------------------------------------------------
    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count the request and log it; without query string, headers and body."""
        route = getattr(scope.get("route"), "path", "other")
        metrics.requests.labels(scope["method"], route, str(status)).inc()
        metrics.seconds.labels(route).observe(seconds)
        if not logs.requests.isEnabledFor(logging.INFO):
            return
        caller: Caller | None = scope.get("state", {}).get("caller")
        fields = {
            "method": scope["method"],
            "path": scope["path"].replace(SLASH, "%2F"),
            "status": status,
            "ms": round(1000 * seconds, 1),
            "client": _address(scope),
            "token": None if caller is None else caller.token.id,
        }
        logs.requests.info("request", extra={"fields": fields})


class _Answer:
    def __init__(self, send: Send, tls: bool, policy: tuple[bytes, bytes]) -> None:
        self._send, self._tls, self._policy = send, tls, policy
        self.status = 499  # the caller left before there was an answer

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = [*message.get("headers", ()), self._policy, *_FIXED]
            if not any(name == b"cache-control" for name, _ in headers):
                headers.append(_NO_STORE)
            if self._tls:
                headers.append(_STRICT_TLS)
            message = {**message, "headers": headers}
        await self._send(message)


def cookie_name(tls: bool) -> str:
    """What the session's cookie is called; browsers keep the first kind to this host alone."""
    return "__Host-surepick" if tls else "surepick-session"


def session_cookie(headers: dict[bytes, bytes], tls: bool) -> str:
    """The secret in the session's cookie, or nothing."""
    wanted = cookie_name(tls)
    for part in headers.get(b"cookie", b"").decode("latin-1").split(";"):
        name, _, value = part.strip().partition("=")
        if name == wanted:
            return value
    return ""


def _check_head(scope: Scope) -> None:
    """Refuse a head so long that reading it would already be work."""
    raw: bytes = scope.get("raw_path") or b""
    if len(raw) > _LONGEST_PATH or len(scope["path"]) > _LONGEST_PATH:
        scope["path"] = "/"  # nothing else looks at it
        scope["raw_path"] = b"/"
        text = f"the address is longer than {_LONGEST_PATH} bytes"
        raise Refused("head", replies.refusal(414, "InvalidInputError", text))
    if len(scope["headers"]) > _MOST_HEADERS:
        text = f"the request has more than {_MOST_HEADERS} headers"
        raise Refused("head", replies.refusal(431, "InvalidInputError", text))


def _check_texts(scope: Scope) -> None:
    """Refuse an address that names what no database can keep, and no screen can show."""
    query = scope.get("query_string", b"").decode("latin-1")
    for where, text in (("path", scope["path"].replace(SLASH, "/")), *parse_qsl(query)):
        if why := unfit(text):
            what = f"{as_output(where, 80)} must not have {why}; got {text!r:.80}"
            raise Refused("text", replies.refusal(422, "InvalidInputError", what))


def _headers(scope: Scope) -> dict[bytes, bytes]:
    return dict(scope["headers"])


def _path(scope: Scope) -> str:
    """The decoded path, in which an encoded slash does not separate anything."""
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    if b"%" not in raw:
        return scope["path"]
    raw = raw.split(b"?")[0].replace(b"%2f", b"%1F").replace(b"%2F", b"%1F")
    return unquote_to_bytes(raw).decode("utf-8", "replace")


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _address(scope: Scope) -> str:
    client: Any = scope.get("client")
    return neighbourhood(client[0]) if client else "unknown"


def _forbidden(why: str, text: str) -> Refused:
    return Refused(why, replies.refusal(403, "AccessError", text))

"""Requests to a service: again where an answer was lost, errors as if they had happened here."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import ssl
import threading
import time
import weakref
from collections.abc import Callable
from types import ModuleType
from typing import Any, Generic
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from surepick import errors
from surepick.client.requests import R, Request, ServiceRequests, Steps, Study
from surepick.errors import (
    AccessError,
    InvalidInputError,
    MissingExtraError,
    ServiceError,
    ServiceUnreachableError,
    SurepickError,
    TooManyRequestsError,
    UnknownStudyError,
)

_log = logging.getLogger(__name__)
PAUSES = (0.05, 5.0)  # seconds before the second try, and before any later one at most
_QUIET = 3.0  # seconds of waiting after which it is said what is waited for
_BY_STATUS = {401: AccessError, 403: AccessError, 429: TooManyRequestsError}


class Transport:
    """Sends requests to one service; the parameters are those of :class:`surepick.Client`.

    All requests may be sent again when it is not known whether they arrived: an ask gives a
    worker the same pulls again, and the same tell counts once.
    """

    def __init__(
        self, url: str, token: str, *, patience: float, timeout: float, verify: Any = True
    ) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise InvalidInputError(f"url must begin with http:// or https://; got {url!r:.80}")
        if not isinstance(token, str) or not token.isascii() or not token.strip():
            raise InvalidInputError("token must be the text that the service showed")
        self.url, self.patience, self.timeout = url.rstrip("/"), patience, timeout
        self._http = _need_http()
        self._headers = {"Authorization": f"Bearer {token.strip()}"}
        self._verify = verify
        if isinstance(verify, str | os.PathLike):
            self._verify = ssl.create_default_context(cafile=verify)
        self._client: Any = None
        self._lock = threading.Lock()

    def follow(self, steps: Steps[R]) -> R:
        """Send what these steps ask for, one request after the other, and return their result."""
        try:
            request = next(steps)
            while True:
                request = steps.send(self.send(request))
        except StopIteration as done:
            return done.value

    def send(self, request: Request) -> Any:
        """The answer, tried again while the service is away or busy.

        That goes on for ``patience`` seconds, and for what is to be told of a pull as long as its
        lease lasts: nobody else has it until then.
        """
        tries = Tries(request, self.patience)
        while True:
            answer, after = self._try(request)
            pause = tries.pause(answer, after)
            if pause is None:
                return content(request, answer)
            time.sleep(pause)

    def _try(self, request: Request) -> tuple[Any, float | None]:
        """A response, or an error and how many seconds later to try again (None: do not)."""
        http = self._http
        timeout = http.Timeout(self.timeout + request.wait, connect=self.timeout)
        try:
            response = self._connected().request(
                request.method,
                request.path,
                json=request.body,
                params=request.query or None,
                timeout=timeout,
            )
        except http.TransportError as error:
            return self.lost(error)
        return judged(request, response)

    def lost(self, error: Exception) -> tuple[SurepickError, float | None]:
        """What stands for a connection that was lost; a certificate gets no better by waiting."""
        text = f"{self.url} does not answer ({type(error).__name__}: {error})"
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            return ServiceUnreachableError(f"{text}; name the one to trust (verify=)"), None
        return ServiceUnreachableError(text), 0.0

    def trusted(self) -> Any:
        """The certificates to trust, on an encrypted way to the service; on another one, none.

        Reading them takes longer than many requests.
        """
        ways = (self.url, proxy_of(self.url) or "")
        return self._verify if any(way.startswith("https:") for way in ways) else False

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                # As many connections as there are threads: none waits for another.
                limits = self._http.Limits(max_connections=None, max_keepalive_connections=64)
                self._client = self._http.Client(
                    base_url=self.url, headers=self._headers, limits=limits, verify=self.trusted()
                )
                weakref.finalize(self, self._client.close)  # where close is never called
            return self._client

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
                self._client = None


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for this address, if any."""
    address = urlsplit(url)
    if proxy_bypass(address.netloc):
        return None
    named = getproxies()
    return named.get(address.scheme) or named.get("all")


def error_of(response: Any) -> SurepickError:
    """The error that a response stands for, as the class that would be raised here."""
    try:
        said = response.json()["error"]
        kind, message = str(said["kind"]), str(said["message"])
    except (ValueError, KeyError, TypeError):  # not from the service: a proxy, say
        kind, message = "", f"the answer has status {response.status_code}"
    found = getattr(errors, kind, None)
    if not (isinstance(found, type) and issubclass(found, SurepickError)):
        found = _BY_STATUS.get(response.status_code, ServiceError)
    return found(message)


def judged(request: Request, response: Any) -> tuple[Any, float | None]:
    """A response, or the error it stands for and when to try again (None: do not)."""
    if response.is_success or (request.says_of_each and _says_of_each(response)):
        return response, None
    return error_of(response), _retry_after(response)


def content(request: Request, response: Any) -> Any:
    """What a response has to say; nothing, where an earlier try has done it already."""
    if isinstance(response, SurepickError):
        return None
    return response.content if request.raw else response.json()


def _says_of_each(response: Any) -> bool:
    """Whether a refusal says what became of each reward."""
    try:
        return response.status_code == 409 and "told" in response.json()
    except ValueError:
        return False


class Tries:
    """How often a request is sent, and how long to wait in between."""

    def __init__(self, request: Request, patience: float) -> None:
        self._request, self._began = request, time.monotonic()
        self._end = max(self._began + patience, request.until)
        self._pause, self._count, self._said = PAUSES[0], 0, False

    def pause(self, answer: Any, after: float | None) -> float | None:
        """Seconds until the next try, None where there is an answer; or the error that it is."""
        self._count += 1
        now = time.monotonic()
        if not isinstance(answer, SurepickError):
            if self._said:
                _log.warning("it goes on, after %.0f s", now - self._began)
            return None
        gone = isinstance(answer, UnknownStudyError) and self._request.gone_is_done
        if gone and self._count > 1:
            return None
        if after is None or now + after > self._end:
            raise answer
        # Longer each time, and for each caller another while: all come back at once otherwise.
        pause = random.uniform(0.5, 1.0) * self._pause
        self._pause = min(2 * self._pause, PAUSES[1])
        self._say(answer, now)
        return max(after * random.uniform(1.0, 1.25), pause) if after else pause

    def _say(self, answer: SurepickError, now: float) -> None:
        """What is waited for, once, where it is not over in a moment."""
        _log.info("%s %s: trying again (%s)", self._request.method, self._request.path, answer)
        if now - self._began >= _QUIET and not self._said:
            self._said = True
            _log.warning(
                "waiting, and trying again for %.0f s at most: %s", self._end - now, answer
            )


def _retry_after(response: Any) -> float | None:
    """Seconds after which to try again, as the service or a gateway needs it; None: do not."""
    if response.status_code not in (429, 502, 503, 504):
        return None
    try:
        after = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return 0.0  # as soon as seems fit
    return after if after >= 0.0 else 0.0


def _need_http() -> ModuleType:
    try:
        import httpx2
    except ImportError:
        raise MissingExtraError("the client needs httpx2: pip install 'surepick[client]'") from None
    return httpx2


class AsyncTransport(Transport):
    """Requests to one service, awaited; tried again as those of :class:`Transport` are."""

    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(*where, **how)
        self._idle: list[Any] = []  # connections that wait for a request
        self._trusted: Any = None  # certificates, once they are read

    async def followed(self, steps: Steps[R]) -> R:
        """Send what these steps ask for, one request after the other, and return their result."""
        try:
            request = next(steps)
            while True:
                request = steps.send(await self.sent(request))
        except StopIteration as done:
            return done.value

    async def sent(self, request: Request) -> Any:
        """The answer; see :meth:`Transport.send`."""
        tries = Tries(request, self.patience)
        while True:
            answer, after = await self._attempt(request)
            pause = tries.pause(answer, after)
            if pause is None:
                return content(request, answer)
            await asyncio.sleep(pause)

    async def _attempt(self, request: Request) -> tuple[Any, float | None]:
        timeout = self._http.Timeout(self.timeout + request.wait, connect=self.timeout)
        made = self._http.Request(
            request.method,
            f"{self.url}{request.path}",
            params=request.query or None,
            headers=self._headers,
            json=request.body,
            extensions={"timeout": timeout.as_dict()},
        )
        try:
            return judged(request, await self._exchange(made))
        except self._http.TransportError as error:
            return self.lost(error)

    async def _exchange(self, request: Any) -> Any:
        """The response to a request, over a connection that nobody else uses meanwhile.

        A pool of connections looks at all of them for every request, and a client at cookies and
        redirections, which takes as long as everything else.
        """
        connection = self._idle.pop() if self._idle else self._connection()
        try:
            response = await connection.handle_async_request(request)
            await response.aread()
        except BaseException:  # nobody knows what would come next over it
            await connection.aclose()
            raise
        self._idle.append(connection)
        return response

    def _connection(self) -> Any:
        if self._trusted is None:
            self._trusted = self._http.create_ssl_context(verify=self.trusted())
        return self._http.AsyncHTTPTransport(verify=self._trusted, proxy=proxy_of(self.url))

    async def aclose(self) -> None:
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.aclose()


class OfService(Generic[Study]):
    """A service's studies; its methods say how one waits."""

    _way: type[Transport]
    _study: Callable[[Any, str], Study]

    def __init__(
        self,
        url: str,
        token: str,
        *,
        patience: float = 300.0,
        timeout: float = 30.0,
        verify: bool | str = True,
    ) -> None:
        made = self._way(url, token, patience=patience, timeout=timeout, verify=verify)
        self._transport: Any = made
        self._requests = ServiceRequests(lambda name: type(self)._study(made, name))

    @property
    def url(self) -> str:
        """Where the service is."""
        return self._transport.url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

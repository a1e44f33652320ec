"""Requests to a service that are awaited, so that one thread can have many under way."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from surepick.client.transport import PAUSES, Transport, proxy_of
from surepick.errors import ServiceUnreachableError, SurepickError, UnknownStudyError


def _remember_what_is_missing() -> None:
    """Say once that sniffio is not installed, where it is not.

    httpx tries to import it several times with every request, and looking for it everywhere takes
    about as long as the request itself.
    """
    if "sniffio" not in sys.modules and find_spec("sniffio") is None:
        sys.modules["sniffio"] = None  # pyright: ignore[reportArgumentType]


class AsyncTransport(Transport):
    """Requests to one service, awaited; tried again as those of :class:`Transport` are."""

    def __init__(self, *where: Any, **how: Any) -> None:
        super().__init__(*where, **how)
        self._idle: list[Any] = []  # connections that wait for a request
        self._trusted: Any = None  # certificates, once they are read

    async def get_json(self, path: str, **query: Any) -> Any:
        """The answer to a GET, from JSON."""
        return (await self.request("GET", path, query=query)).json()

    async def post_json(self, path: str, body: dict[str, Any], wait: float = 0.0) -> Any:
        """The answer to a POST, which may take ``wait`` seconds longer than others."""
        return (await self.request("POST", path, body, wait=wait)).json()

    async def request(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        *,
        query: dict[str, Any] | None = None,
        wait: float = 0.0,
        gone_is_done: bool = False,
        fine: Callable[[Any], bool] = lambda response: response.is_success,
    ) -> Any:
        """The response; see :meth:`Transport.send`."""
        end, pause, tries = time.monotonic() + self.patience, PAUSES[0], 0
        while True:
            tries += 1
            problem, after = await self._attempt(method, path, body, query, wait, fine)
            if not isinstance(problem, SurepickError):
                return problem
            if gone_is_done and tries > 1 and isinstance(problem, UnknownStudyError):
                return None
            if after is None or time.monotonic() + after > end:
                raise problem
            await asyncio.sleep(max(after, random.uniform(0.5, 1.0) * pause))
            pause = min(2 * pause, PAUSES[1])

    async def _attempt(
        self, method: str, path: str, body: Any, query: Any, wait: float, fine: Any
    ) -> tuple[Any, float | None]:
        timeout = self._httpx.Timeout(self.timeout + wait, connect=self.timeout)
        request = self._httpx.Request(
            method,
            f"{self.url}{path}",
            params=query or None,
            headers=self._headers,
            json=body,
            extensions={"timeout": timeout.as_dict()},
        )
        try:
            return self._judged(await self._exchange(request), fine)
        except self._httpx.TransportError as error:
            text = f"{self.url} does not answer ({type(error).__name__}: {error})"
            return ServiceUnreachableError(text), 0.0

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
            _remember_what_is_missing()
            self._trusted = self._httpx.create_ssl_context(verify=self.trusted())
        return self._httpx.AsyncHTTPTransport(verify=self._trusted, proxy=proxy_of(self.url))

    async def aclose(self) -> None:
        """Let go of connections; they come back when needed."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.aclose()

"""Requests to a service that are awaited, so that one thread can have many under way."""

from __future__ import annotations

import asyncio
from typing import Any

from surepick.client.requests import R, Request, Steps
from surepick.client.transport import Transport, Tries, content, judged, proxy_of


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
        """Let go of connections; they come back when needed."""
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.aclose()

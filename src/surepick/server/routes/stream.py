"""News of a study as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from surepick.errors import StorageError
from surepick.server import metrics, replies
from surepick.server.gate import Caller
from surepick.server.routing import READERS, caller_of, router, spec
from surepick.server.service import Service, service_of
from surepick.server.studies import Opened

routes = router("studies")
_HEARTBEAT = 15.0  # seconds
_LOOK_AT_TOKEN = 1.0  # seconds between looks at whether the token is still good


@routes.get(
    "/studies/{name}/stream",
    **spec(READERS, media=("text/event-stream",), description="Events called status."),
)
async def stream(request: Request, name: str) -> Response:
    """Follow a study: an event ``status`` whenever something has changed."""
    service, caller = service_of(request), caller_of(request)
    settings, owner = service.settings, caller.token.owner
    if service.streams.total() >= settings.max_streams:
        return _refused("too many streams are open; try again later")
    if service.streams[owner] >= settings.token_streams:
        return _refused(f"this token has {settings.token_streams} streams open; close one first")

    async def there(opened: Opened) -> Opened:
        await opened.position()
        return opened

    opened = await service.studies.use(name, there)
    return StreamingResponse(
        _news(service, opened, caller),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


def _refused(text: str) -> Response:
    return replies.refusal(429, "TooManyRequestsError", text, {"Retry-After": "5"})


async def _news(service: Service, opened: Opened, caller: Caller) -> AsyncIterator[bytes]:
    owner = caller.token.owner
    service.streams[owner] += 1
    metrics.streams_open.inc()
    try:
        known, silent_since = None, time.monotonic()
        yield b": hello\n\n"
        while not service.stopping:
            found = await opened.watch.wait_for_news(known, min(_LOOK_AT_TOKEN, _HEARTBEAT))
            try:
                good = await still_good(service, caller)
            except StorageError:  # nobody knows; until it is known, nothing is told
                good, found = True, None
                await asyncio.sleep(_LOOK_AT_TOKEN)
            if opened.watch.closed or not good:
                return
            now = time.monotonic()
            if found is not None:
                known, silent_since = found, now
                yield f"event: status\ndata: {json.dumps(found.news)}\n\n".encode()
            elif now - silent_since >= _HEARTBEAT:
                silent_since = now
                yield b": still here\n\n"
    finally:
        service.streams[owner] -= 1
        if not service.streams[owner]:
            del service.streams[owner]
        metrics.streams_open.dec()


async def still_good(service: Service, caller: Caller) -> bool:
    """Whether the token has neither been revoked nor expired meanwhile.

    Only a token that was looked up and not found is not: where the storage cannot be read, its
    error is raised.
    """
    known = service.tokens.known_to_be_good(caller.token)
    if known is not None:
        return known
    return await service.studies.threads.quick(lambda: service.tokens.still_valid(caller.token))

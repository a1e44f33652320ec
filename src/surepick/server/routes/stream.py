"""News of a study as server-sent events."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator

from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from surepick.errors import SurepickError
from surepick.server import metrics, replies
from surepick.server.gate import Caller
from surepick.server.routing import READERS, caller_of, router, spec
from surepick.server.service import Service, service_of
from surepick.server.studies import Opened

routes = router("studies")
_HEARTBEAT = 15.0  # seconds


@routes.get(
    "/studies/{name}/stream",
    **spec(READERS, media=("text/event-stream",), description="Events called status."),
)
async def stream(request: Request, name: str) -> Response:
    """Follow a study: an event ``status`` whenever something has changed."""
    service = service_of(request)
    if service.streams >= service.settings.max_streams:
        text = "too many streams are open; come back later"
        return replies.refusal(429, "TooManyRequestsError", text, {"Retry-After": "5"})

    async def there(opened: Opened) -> Opened:
        await opened.position()
        return opened

    opened = await service.studies.use(name, there)
    return StreamingResponse(
        _news(service, opened, caller_of(request)),
        media_type="text/event-stream",
        headers={"X-Accel-Buffering": "no"},
    )


async def _news(service: Service, opened: Opened, caller: Caller) -> AsyncIterator[bytes]:
    service.streams += 1
    metrics.streams_open.inc()
    try:
        known, checked = None, time.monotonic()
        yield b": hello\n\n"
        while not service.stopping:
            if time.monotonic() - checked > _HEARTBEAT:
                checked = time.monotonic()
                if not await _still_valid(service, caller):
                    return
            found = await opened.watch.wait_for_news(known, _HEARTBEAT)
            if found is None:
                if opened.watch.closed:
                    return
                yield b": still here\n\n"
                continue
            known = found
            yield f"event: status\ndata: {json.dumps(found.news)}\n\n".encode()
    finally:
        service.streams -= 1
        metrics.streams_open.dec()


async def _still_valid(service: Service, caller: Caller) -> bool:
    """Whether the token has neither been revoked nor expired meanwhile."""
    try:
        return await service.studies.threads.quick(lambda: service.tokens.still_valid(caller.token))
    except SurepickError:
        return False

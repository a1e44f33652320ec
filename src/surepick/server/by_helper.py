"""Answers that a helper works out, until they are there or the caller has gone."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable
from typing import Any, TypeVar

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from surepick.server.bodies import Large
from surepick.server.helpers import Helpers
from surepick.server.routing import caller_of
from surepick.server.service import service_of

_LOOK_SECONDS = 120.0
T = TypeVar("T")


class Gone(Exception):
    """The caller has left: nobody hears the answer."""


async def look(request: Request, study: str, task: str, **given: Any) -> bytes:
    """What a quick look at a study shows, as JSON."""
    service = service_of(request)
    await service.studies.use(study, lambda opened: opened.position())  # is it there?
    return await _whole(request, service.looks, task, _LOOK_SECONDS, {"study": study, **given})


async def work(
    request: Request,
    task: str,
    body: BaseModel | Large | None = None,
    *,
    helpers: Helpers | None = None,
    most: float | None = None,
    **given: Any,
) -> bytes:
    """What a task of at most so many seconds comes to; a large body is parsed by the helper."""
    service = service_of(request)
    if isinstance(body, BaseModel):
        given["body"] = body.model_dump(exclude_unset=True)
    raw = body.content if isinstance(body, Large) else b""
    seconds = service.settings.task_seconds if most is None else most
    return await _whole(request, helpers or service.tasks, task, seconds, given, raw)


def json_of(content: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """JSON that is written already."""
    return Response(content, status, headers, "application/json")


async def _whole(
    request: Request,
    helpers: Helpers,
    task: str,
    seconds: float,
    given: dict[str, Any],
    body: bytes = b"",
) -> bytes:
    owner = caller_of(request).token.owner
    return await unless_gone(request, helpers.whole(owner, task, seconds, given, body))


async def unless_gone(request: Request, coroutine: Awaitable[T]) -> T:
    """What a coroutine returns; it is cancelled when the caller leaves."""
    doing = asyncio.ensure_future(coroutine)
    leaving = asyncio.ensure_future(_left(request))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not doing.done():
            raise Gone
        return doing.result()
    finally:
        for task in (doing, leaving):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def streamed(
    request: Request, task: str, media: str, headers: dict[str, str], **given: Any
) -> Response:
    """An answer that is sent while it is worked out; an error before its first part is one."""
    service = service_of(request)
    owner, seconds = caller_of(request).token.owner, service.settings.task_seconds
    parts = service.tasks.parts(owner, task, seconds, given)
    first = await unless_gone(request, anext(parts, b""))

    async def all_parts() -> AsyncIterator[bytes]:
        async with contextlib.aclosing(parts):
            yield first
            async for part in parts:
                yield part

    return StreamingResponse(all_parts(), media_type=media, headers=headers)

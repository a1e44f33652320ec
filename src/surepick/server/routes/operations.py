"""Health, metrics, and the page."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from surepick.server import messages, metrics
from surepick.server.replies import Json
from surepick.server.routing import ADMINS, READERS, GuardedRoute, spec
from surepick.server.service import service_of

#: for everybody
public = APIRouter(tags=["operations"])
guarded = APIRouter(route_class=GuardedRoute, tags=["operations"])


@public.get("/health", **spec((), messages.Health))
async def health() -> Json:
    """Say that the service runs."""
    return Json({"status": "ok"})


@public.get("/", include_in_schema=False)
async def page(request: Request) -> Response:
    """The page."""
    return HTMLResponse(request.app.state.page.index(), headers={"Cache-Control": "no-cache"})


@guarded.get("/metrics", **spec(READERS, media=("text/plain",)))
async def counts(request: Request) -> Response:
    """What the service counts about itself, for Prometheus; of no study by name.

    It needs a token, unless the service runs with ``--metrics-open``.
    """
    return Response(service_of(request).metrics(), media_type=metrics.CONTENT_TYPE)


@guarded.get("/api/v1/openapi.json", include_in_schema=False, openapi_extra={"x-roles": ADMINS})
async def description(request: Request) -> Json:
    """This description."""
    return Json(request.app.openapi())

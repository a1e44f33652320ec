"""Looking at a table before a study is made of it: what is in it, and what it would take."""

from __future__ import annotations

from fastapi import Request, Response

from surepick.server import models
from surepick.server.by_helper import json_of, work
from surepick.server.replies import refusal
from surepick.server.routing import ADMINS, router, spec, takes_large
from surepick.server.service import service_of

routes = router("tables")


@routes.post("/tables", **spec(ADMINS, models.TableContent))
@takes_large
async def look_at(request: Request, body: models.TableBody) -> Response:
    """See what is in a table, and what would become of it."""
    return json_of(await work(request, "table", body))


@routes.post("/plan", **spec(ADMINS, models.PlanOf))
@takes_large
async def plan(request: Request, body: models.PlanRequest) -> Response:
    """Forecast how many measurements it takes to find the best option of a table."""
    service = service_of(request)
    if service.planning.locked():
        return refusal(
            429, "TooManyRequestsError", "another forecast is under way", {"Retry-After": "2"}
        )
    async with service.planning:
        seconds = service.settings.plan_seconds
        return json_of(await work(request, "plan", body, helpers=service.plans, most=seconds))

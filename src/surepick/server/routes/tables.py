"""Looking at a table before a study is made of it: what is in it, and what it would take."""

from __future__ import annotations

from fastapi import Request, Response

from surepick.server import models, planning
from surepick.server.by_helper import json_of, unless_gone, work
from surepick.server.replies import Json, refusal
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
async def plan(request: Request, body: models.PlanRequest) -> Json:
    """Forecast how many measurements it takes to find the best option of a table."""
    service = service_of(request)
    if service.planning.locked():
        return refusal(
            429, "TooManyRequestsError", "another forecast is under way", {"Retry-After": "2"}
        )
    async with service.planning:
        return Json(await unless_gone(request, planning.plan(body, service.settings.plan_seconds)))

"""Looking at a table before a study is made of it: what is in it, and what it would take."""

from __future__ import annotations

from fastapi import Request

from surepick.server import creation, models, planning
from surepick.server.replies import Json, refusal
from surepick.server.routing import ADMINS, router, spec
from surepick.server.service import service_of

routes = router("tables")


@routes.post("/tables", **spec(ADMINS, models.TableContent))
async def look_at(request: Request, body: models.TableBody) -> Json:
    """See what is in a table, and what would become of it."""
    threads = service_of(request).studies.threads
    return Json(await threads.slow(lambda: creation.content_of(body)))


@routes.post("/plan", **spec(ADMINS, models.PlanOf))
async def plan(request: Request, body: models.PlanRequest) -> Json:
    """Forecast how many measurements it takes to find the best option of a table."""
    service = service_of(request)
    if service.planning.locked():
        return refusal(
            429, "TooManyRequestsError", "another forecast is under way", {"Retry-After": "2"}
        )
    async with service.planning:
        return Json(await planning.plan(body, service.settings.plan_seconds))

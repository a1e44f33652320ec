"""Shares for visitors: what a site asks for. Its reports are acts."""

from __future__ import annotations

from fastapi import Request

from surepick.server import messages
from surepick.server.replies import Json
from surepick.server.routing import READERS, WORKERS, router, spec
from surepick.server.service import service_of
from surepick.server.studies import Opened

routes = router("traffic")


@routes.post("/studies/{name}/split", **spec(WORKERS, messages.SplitOf))
async def split(request: Request, name: str, body: messages.SplitBody) -> Json:
    """Get the shares by which to send visitors; they are stored before they are answered.

    Those of the period that is under way, or of a new one; a request whose answer was lost may be
    repeated.
    """

    async def do(opened: Opened) -> Json:
        found = await opened.of_traffic(lambda desk: desk.split(body.visits, body.period))
        return Json(found.to_dict() | {"csv": found.to_csv()})

    return await service_of(request).studies.use(name, do)


@routes.get("/studies/{name}/periods", **spec(READERS, messages.PeriodsOf))
async def periods(request: Request, name: str) -> Json:
    """List the periods that have their shares: when they began and ended, and who had a share."""

    async def do(opened: Opened) -> Json:
        return Json({"periods": await opened.of_traffic(lambda desk: desk.listed())})

    return await service_of(request).studies.use(name, do)

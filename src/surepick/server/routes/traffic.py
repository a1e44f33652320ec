"""Shares for visitors, and reports of what came of them: what a site does."""

from __future__ import annotations

from fastapi import Request, Response

from surepick.server import messages
from surepick.server.bodies import Large
from surepick.server.by_helper import json_of, look, work
from surepick.server.replies import Json
from surepick.server.reports import given_report
from surepick.server.routing import (
    ADMINS,
    READERS,
    WORKERS,
    caller_of,
    router,
    spec,
    takes_large,
)
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


@routes.post("/studies/{name}/record", **spec(WORKERS, messages.RecordedOf))
@takes_large
async def record(request: Request, name: str, body: messages.RecordBody) -> Response:
    """Record what came of a period; once this is answered, it is kept, and counts once.

    The same report again changes nothing, so a request may be repeated when its answer was lost;
    other numbers for the same period are refused (409).
    """
    token = caller_of(request).token.owner
    if isinstance(body, Large):
        done = await work(request, "record", body, study=name, caller=token)
        await service_of(request).studies.use(name, _hint)
        return json_of(done)
    report = given_report(body.model_dump())

    async def do(opened: Opened) -> Json:
        done = await opened.of_traffic(
            lambda desk: desk.record(report, body.period, token, body.check)
        )
        return Json(done.to_dict())

    return await service_of(request).studies.use(name, do)


@routes.get("/studies/{name}/report-changes", **spec(READERS, messages.ReportChangeList))
async def changes(request: Request, name: str) -> Response:
    """Get all reports that were corrected, with who, when and why."""
    return json_of(await look(request, name, "report_changes"))


@routes.post("/studies/{name}/report-changes", **spec(ADMINS, messages.ReportChangeList))
@takes_large
async def correct(request: Request, name: str, body: messages.ReportCorrection) -> Response:
    """Let another report count for a period; everything is worked out again.

    The same correction again changes nothing, so a request may be repeated when its answer was
    lost.
    """
    caller = caller_of(request).token.owner
    done = await work(request, "correct_report", body, study=name, caller=caller)
    await service_of(request).studies.use(name, _hint)
    return json_of(done)


async def _hint(opened: Opened) -> None:
    opened.watch.hint()

"""Shares for visitors, and reports of what came of them: what a site does."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from surepick.errors import InvalidInputError
from surepick.server import messages
from surepick.server.replies import Json
from surepick.server.routing import WORKERS, caller_of, router, spec
from surepick.server.service import service_of
from surepick.server.studies import Opened
from surepick.study.sheet import Sheet

routes = router("traffic")


@routes.post("/studies/{name}/split", **spec(WORKERS, messages.SplitOf))
async def split(request: Request, name: str, body: messages.SplitBody) -> Json:
    """Get the shares by which to send visitors; they are stored before they are answered.

    Those of the period that is under way, or of a new one; a request whose answer was lost may be
    repeated.
    """

    async def work(opened: Opened) -> Json:
        found = await opened.of_traffic(lambda desk: desk.split(body.visits, body.period))
        return Json(found.to_dict())

    return await service_of(request).studies.use(name, work)


@routes.post("/studies/{name}/record", **spec(WORKERS, messages.RecordedOf))
async def record(request: Request, name: str, body: messages.RecordBody) -> Json:
    """Record what came of a period; once this is answered, it is kept, and counts once.

    The same report again changes nothing, so a request may be repeated when its answer was lost;
    other numbers for the same period are refused (409).
    """
    report, token = _report(body), caller_of(request).token.owner

    async def work(opened: Opened) -> Json:
        done = await opened.of_traffic(lambda desk: desk.record(report, body.period, token))
        return Json(done.to_dict())

    return await service_of(request).studies.use(name, work)


def _report(body: messages.RecordBody) -> Any:
    if (body.report is None) == (body.table is None):
        raise InvalidInputError("give either a report (by label) or a table")
    if body.table is not None:
        return Sheet.from_dict(body.table.model_dump(), "table")
    return {label: _cells(cells) for label, cells in (body.report or {}).items()}


def _cells(cells: Any) -> Any:
    """Keys of JSON are texts; buckets are numbers."""
    if not isinstance(cells, dict):
        return cells
    return {int(key) if key.isascii() and key.isdigit() else key: v for key, v in cells.items()}

"""How much may be measured: for admins."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from surepick.server import limit_messages as messages
from surepick.server.by_helper import json_of, look, work
from surepick.server.routing import ADMINS, READERS, caller_of, router, spec
from surepick.server.service import service_of

routes = router("limits")


@routes.get("/studies/{name}/limits", **spec(READERS, messages.LimitChangeList))
async def limit_changes(request: Request, name: str) -> Response:
    """Get all changes of how much may be measured, with who, when and why."""
    return json_of(await look(request, name, "limit_changes"))


@routes.post("/studies/{name}/limits", **spec(ADMINS, messages.LimitChangeList))
async def limit(request: Request, name: str, body: messages.NewLimits) -> Response:
    """Change how many measurements there may be, and what they may cost, in all.

    What was asked for is measured in any case. A study that has ended because a limit was reached
    goes on, if the new one is higher.
    """
    caller = caller_of(request).token.owner
    done = await work(request, "limit", study=name, caller=caller, **body.model_dump())
    await service_of(request).studies.use(name, _hint)
    return json_of(done)


async def _hint(opened: Any) -> None:
    opened.watch.hint()

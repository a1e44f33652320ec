"""Adding and retiring options: for admins."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel

from surepick.server import option_messages as messages
from surepick.server.bodies import Large
from surepick.server.by_helper import json_of, look, work
from surepick.server.routing import ADMINS, READERS, caller_of, router, spec, takes_large
from surepick.server.service import service_of

routes = router("options")


@routes.get("/studies/{name}/options", **spec(READERS, messages.OptionChangeList))
async def option_changes(request: Request, name: str) -> Response:
    """Get all options that were added or retired, with who, when and why."""
    return json_of(await look(request, name, "option_changes"))


@routes.post("/studies/{name}/options", **spec(ADMINS, messages.OptionChangeList))
@takes_large
async def add(request: Request, name: str, body: messages.NewOptions) -> Response:
    """Add options; they come with the next batch.

    The answer is then the best of all that were not retired. A study that has ended goes on.
    """
    return await _change(request, name, "add", body)


@routes.post("/studies/{name}/retire", **spec(ADMINS, messages.OptionChangeList))
async def retire(request: Request, name: str, body: messages.Retirement) -> Response:
    """Retire an option: it is not measured any more, and cannot be the answer.

    The batch that is open is finished first. Unless the option had been ruled out, all that had
    been are back in the race.
    """
    return await _change(request, name, "retire", body)


async def _change(request: Request, name: str, task: str, body: BaseModel | Large) -> Response:
    done = await work(request, task, body, study=name, caller=caller_of(request).token.owner)
    await service_of(request).studies.use(name, _hint)
    return json_of(done)


async def _hint(opened: Any) -> None:
    opened.watch.hint()

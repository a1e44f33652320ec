"""Correcting and withdrawing rewards: for admins; what came of it, for all who read."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from surepick.errors import InvalidInputError
from surepick.server import messages
from surepick.server.by_helper import json_of, look, work
from surepick.server.routing import ADMINS, READERS, caller_of, router, spec
from surepick.server.service import service_of

routes = router("corrections")


@routes.get("/studies/{name}/corrections", **spec(READERS, messages.ChangeList))
async def corrections(request: Request, name: str) -> Response:
    """Get all rewards that were corrected or withdrawn, with who, when and why."""
    return json_of(await look(request, name, "corrections"))


@routes.post("/studies/{name}/correct", **spec(ADMINS, messages.ChangeList))
async def correct(request: Request, name: str, body: messages.Correction) -> Response:
    """Let another reward count for a pull that was told wrongly.

    As long as its batch is open, the reward is replaced; afterwards everything is worked out again.
    """
    return await _change(request, name, body.model_dump())


@routes.post("/studies/{name}/withdraw", **spec(ADMINS, messages.ChangeList))
async def withdraw(request: Request, name: str, body: messages.Withdrawal) -> Response:
    """Let the reward of a pull not count, or all rewards that came with one token.

    As long as its batch is open, a pull is measured again; afterwards everything is worked out
    again from what is left.
    """
    if (body.pull is None) == (body.token is None):
        raise InvalidInputError("give either a pull, or the id of a token")
    return await _change(request, name, {**body.model_dump(), "reward": None})


async def _change(request: Request, name: str, body: dict[str, Any]) -> Response:
    service, given = service_of(request), {**body, "caller": caller_of(request).token.owner}
    done = await work(request, "change", study=name, **({"token": None} | given))
    await service.studies.use(name, _hint)
    return json_of(done)


async def _hint(opened: Any) -> None:
    opened.watch.hint()

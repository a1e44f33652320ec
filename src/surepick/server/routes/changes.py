"""Correcting and withdrawing rewards, pausing and stopping: for admins."""

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
    """Take back the reward of a pull, or all rewards that came with one token.

    As long as its batch is open, a pull is measured again; afterwards everything is worked out
    again from what is left.
    """
    if (body.pull is None) == (body.token is None):
        raise InvalidInputError("give either a pull, or the id of a token")
    return await _change(request, name, {**body.model_dump(), "reward": None})


@routes.post("/studies/{name}/pause", **spec(ADMINS, messages.Paused))
async def pause(request: Request, name: str, body: messages.Said) -> Response:
    """Hand out nothing until the study is resumed; pulls that are out can still be told."""
    return await _steer(request, name, "pause", body)


@routes.post("/studies/{name}/resume", **spec(ADMINS, messages.Paused))
async def resume(request: Request, name: str, body: messages.Said) -> Response:
    """Hand out pulls again."""
    return await _steer(request, name, "resume", body)


@routes.post("/studies/{name}/stop", **spec(ADMINS, messages.Paused))
async def stop(request: Request, name: str, body: messages.Said) -> Response:
    """End the study now, for good; its answer says what is known, and what is not."""
    return await _steer(request, name, "stop", body)


async def _steer(request: Request, name: str, verb: str, body: messages.Said) -> Response:
    done = await work(request, "steer", study=name, verb=verb, **body.model_dump())
    await service_of(request).studies.use(name, _hint)
    return json_of(done)


async def _change(request: Request, name: str, body: dict[str, Any]) -> Response:
    service, given = service_of(request), {**body, "caller": caller_of(request).token.owner}
    done = await work(request, "change", study=name, **({"token": None} | given))
    await service.studies.use(name, _hint)
    return json_of(done)


async def _hint(opened: Any) -> None:
    opened.watch.hint()

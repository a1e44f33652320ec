"""Creating, listing, looking at and deleting studies; looking at a table before that."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

from fastapi import Query, Request, Response

from surepick.server import messages, models, visible
from surepick.server.by_helper import json_of, look, work
from surepick.server.creation import questions, rewards_asked
from surepick.server.replies import Json, refusal
from surepick.server.routing import (
    ADMINS,
    ALL_BUT_JUDGES,
    EVERYONE,
    READERS,
    caller_of,
    router,
    spec,
    takes_large,
)
from surepick.server.service import service_of
from surepick.server.signing import Signer
from surepick.server.studies import Opened
from surepick.study import delete_study

routes = router("studies")


@routes.get("/studies", **spec(EVERYONE, models.StudyList))
async def list_all(request: Request) -> Json:
    """List the studies that the token is for."""
    token = caller_of(request).token
    rows = await service_of(request).listing.rows(token.covers)
    return Json({"studies": [visible.row(one, token.role) for one in rows]})


@routes.post("/studies", **spec(ADMINS, models.Created, 201))
@takes_large
async def create(request: Request, body: models.NewStudy) -> Response:
    """Create a study from a table of options, or from their features."""
    return json_of(await work(request, "create", body), 201)


@routes.get("/settings", **spec(ALL_BUT_JUDGES, models.SettingsOf))
async def settings(request: Request) -> Json:
    """List what people are asked about a new study, besides its options."""
    return Json({"settings": questions(), "rewards": rewards_asked()})


@routes.get("/studies/{name}", **spec(ALL_BUT_JUDGES, models.Status))
async def status(request: Request, name: str) -> Response:
    """Show where a study stands, with the checks and the outlook."""
    service = service_of(request)

    async def signed() -> bytes:
        content = await look(request, name, "status")
        return await asyncio.to_thread(_signed, service.signer, content)

    async def status(opened: Opened) -> bytes:
        visible.check_status(caller_of(request).token.role, opened.of_pairs)
        return await opened.status(signed)

    return json_of(await service.studies.use(name, status))


def _signed(signer: Signer, status: bytes) -> bytes:
    content = json.loads(status)
    return json.dumps(content | {"chain": signer.signed_head(content["chain"])}).encode()


@routes.delete("/studies/{name}", **spec(ADMINS, status=204))
async def delete(request: Request, name: str) -> Response:
    """Delete a study with everything that was measured for it."""
    studies = service_of(request).studies
    await studies.threads.quick(lambda: delete_study(name, studies.storage))
    await studies.forget(name)
    return Response(status_code=204)


@routes.get("/studies/{name}/progress", **spec(EVERYONE, models.ProgressOf))
async def progress(request: Request, name: str) -> Json:
    """Show where a study stands, in a few numbers."""
    position = await service_of(request).studies.use(name, Opened.position)
    keys = ("batch", "first", "size", "asked", "told", "ahead", "early", "finished", "paused")
    content = {key: getattr(position.at, key) for key in keys}
    return Json(content | {"samples": position.samples})


@routes.get("/studies/{name}/definition", **spec(ALL_BUT_JUDGES, models.Definition))
async def definition(request: Request, name: str) -> Response:
    """Show what a study was created with."""
    return json_of(await look(request, name, "definition"))


@routes.get("/studies/{name}/history", **spec(READERS, models.HistoryOf))
async def history(request: Request, name: str) -> Response:
    """Show how the survivors shrank from batch to batch."""
    return json_of(await look(request, name, "history"))


@routes.get("/studies/{name}/judgements", **spec(READERS, models.JudgementsOf))
async def judgements(request: Request, name: str) -> Response:
    """Show who judged what, where options are compared two at a time."""
    return json_of(await work(request, "judgements", study=name))


@routes.get("/studies/{name}/rewards", **spec(READERS, messages.RewardColumns))
async def rewards(request: Request, name: str) -> Response:
    """Get every reward that counts, as columns."""
    return json_of(await work(request, "rewards", study=name))


@routes.get("/studies/{name}/events", **spec(READERS, messages.EventLog))
async def events(
    request: Request,
    name: str,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    kind: Annotated[list[str] | None, Query()] = None,
) -> Response:
    """Get the log of what did not count: duplicates, conflicts, late tells, failures."""
    return json_of(await look(request, name, "events", after=after, kinds=kind or []))


tables = router("tables")


@tables.post("/tables", **spec(ADMINS, models.TableContent))
@takes_large
async def look_at(request: Request, body: models.TableBody) -> Response:
    """See what is in a table, and what would become of it."""
    return json_of(await work(request, "table", body))


@tables.post("/plan", **spec(ADMINS, models.PlanOf))
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

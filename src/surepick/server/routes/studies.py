"""Creating, listing, looking at and deleting studies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Query, Request, Response

from surepick.server import creation, models
from surepick.server.replies import Json
from surepick.server.routing import ADMINS, EVERYONE, READERS, caller_of, router, spec
from surepick.server.service import service_of
from surepick.server.studies import Opened
from surepick.study import Study, delete_study

routes = router("studies")


async def read(request: Request, name: str, work: Callable[[Study], Any]) -> Any:
    """Do something with a study that may take a while."""
    service = service_of(request)

    async def there(opened: Opened) -> Any:
        await opened.position()  # it may have been deleted
        return await service.studies.threads.slow(lambda: work(opened.study))

    return await service.studies.use(name, there)


@routes.get("/studies", **spec(EVERYONE, models.StudyList))
async def list_all(request: Request) -> Json:
    """List the studies that the token is for."""
    rows = await service_of(request).listing.rows(caller_of(request).token.covers)
    return Json({"studies": rows})


@routes.post("/studies", **spec(ADMINS, models.Created, 201))
async def create(request: Request, body: models.NewStudy) -> Json:
    """Create a study from a table of options, or from their features."""
    service = service_of(request)
    notes = await service.studies.threads.slow(
        lambda: creation.create(body, service.studies.storage)
    )
    opened = await service.studies.get(body.name)
    content = {"name": body.name, "notes": notes, "study": await opened.status()}
    return Json(content, status_code=201)


@routes.get("/studies/{name}", **spec(EVERYONE, models.Status))
async def status(request: Request, name: str) -> Json:
    """Show where a study stands, with the checks and the outlook."""
    service = service_of(request)
    content = await service.studies.use(name, Opened.status)
    return Json(content | {"chain": service.signer.signed_head(content["chain"])})


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
    keys = ("batch", "first", "size", "asked", "told", "finished")
    content = {key: getattr(position.at, key) for key in keys}
    return Json(content | {"samples": position.samples})


@routes.get("/studies/{name}/definition", **spec(EVERYONE, models.Definition))
async def definition(request: Request, name: str) -> Json:
    """Show what a study was created with."""

    return Json(await read(request, name, Study.definition))


@routes.get("/studies/{name}/history", **spec(READERS, models.HistoryOf))
async def history(request: Request, name: str) -> Json:
    """Show how the survivors shrank from batch to batch."""
    return Json({"batches": await read(request, name, Study.history)})


@routes.get("/studies/{name}/rewards", **spec(READERS, models.RewardColumns))
async def rewards(request: Request, name: str) -> Json:
    """Get every reward that counts, as columns."""

    def work(study: Study) -> dict[str, Any]:
        return {name: column.tolist() for name, column in vars(study.rewards()).items()}

    return Json(await read(request, name, work))


@routes.get("/studies/{name}/events", **spec(READERS, models.EventLog))
async def events(
    request: Request,
    name: str,
    after: Annotated[int, Query(ge=0, lt=2**62)] = 0,
    kind: Annotated[list[str] | None, Query()] = None,
) -> Json:
    """Get the log of what did not count: duplicates, conflicts, late tells, failures."""
    found = await read(request, name, lambda study: study.events(*(kind or ())))
    rows = [vars(event) for event in found[after:]]
    return Json({"events": rows, "next": max(after, len(found))})

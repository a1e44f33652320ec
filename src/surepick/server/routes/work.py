"""Asking, telling, failing: what workers do."""

from __future__ import annotations

import time
from typing import Any

from fastapi import Request

from surepick.server import messages, metrics
from surepick.server.replies import Json
from surepick.server.routing import WORKERS, router, spec
from surepick.server.service import Service, service_of
from surepick.server.studies import Opened
from surepick.study.desk.crowd import Ask
from surepick.study.pulls import Reward

routes = router("work")


@routes.post("/studies/{name}/ask", **spec(WORKERS, messages.AskReply))
async def ask(request: Request, name: str, body: messages.AskBody) -> Json:
    """Get pulls to measure.

    Empty, and not finished: the rest of the batch is with other workers; ask again, or wait. A
    worker that asks again gets what it has not told yet first, so an ask may be repeated when
    its answer was lost.
    """
    service = service_of(request)

    async def work(opened: Opened) -> Json:
        return await _ask(service, opened, request, body)

    return await service.studies.use(name, work)


async def _ask(service: Service, opened: Opened, request: Request, body: messages.AskBody) -> Json:
    end = time.monotonic() + body.wait
    wanted = Ask(body.n, body.worker, body.lease)
    while True:
        given = await opened.ask(wanted)
        left = end - time.monotonic()
        if given.pulls or given.finished or left <= 0 or service.stopping:
            break
        with metrics.asks_waiting.track_inprogress():
            await opened.watch.wait_for_work(left)
        # Nobody would hear of the pulls of a caller who has left.
        if await request.is_disconnected():
            break
    metrics.asked.inc(len(given.pulls))
    study = opened.study
    rows = [vars(pull) | {"features": study.features_of(pull.arm)} for pull in given.pulls]
    return Json({"pulls": rows, "finished": given.finished})


@routes.post("/studies/{name}/tell", **spec(WORKERS, messages.ToldAll))
async def tell(request: Request, name: str, body: messages.TellBody) -> Json:
    """Hand in rewards; once this is answered, they are kept.

    The first reward of a pull counts. The same one again is a duplicate and counts once, so a
    tell may be repeated when its answer was lost.
    """
    rewards = [Reward(one.pull, one.reward, body.worker) for one in body.rewards]

    async def work(opened: Opened) -> Json:
        told = await opened.tell(rewards)
        for one in told:
            metrics.told.labels(one.status).inc()
        rows: list[dict[str, Any]] = [vars(one) for one in told]
        return Json({"told": rows})

    return await service_of(request).studies.use(name, work)


@routes.post("/studies/{name}/fail", **spec(WORKERS, messages.Failed))
async def fail(request: Request, name: str, body: messages.Fail) -> Json:
    """Say that a pull could not be measured: it goes back in line."""

    async def work(opened: Opened) -> Json:
        returned = await opened.fail(body.pull, body.reason, body.worker)
        metrics.failed.inc()
        return Json({"returned": returned})

    return await service_of(request).studies.use(name, work)

"""Asking, telling, failing: what workers do."""

from __future__ import annotations

import json
import time
from collections import Counter

from fastapi import Request, Response

from surepick.errors import AccessError, InvalidInputError, TellConflictError
from surepick.server import messages, metrics
from surepick.server.by_helper import json_of
from surepick.server.replies import Json, in_rows
from surepick.server.routes.stream import still_good
from surepick.server.routing import WORKERS, caller_of, router, spec
from surepick.server.service import Service, service_of
from surepick.server.studies import Opened
from surepick.server.tokens import Token
from surepick.study.again import AGAIN
from surepick.study.desk.crowd import Ask
from surepick.study.named import Said
from surepick.study.pulls import Reward, Told
from surepick.text import plural

routes = router("work")

_LEAST_LEASE = 1e-3  # seconds a pull: what runs out at once is handed out again and again
_FEW = 200  # rows that are written at once


@routes.post("/studies/{name}/ask", **spec(WORKERS, messages.AskReply))
async def ask(request: Request, name: str, body: messages.AskBody) -> Response:
    """Get pulls to measure.

    Empty, and not finished: the rest of the batch is with other workers; ask again, or wait. A
    worker that asks again gets what it has not told yet first, so an ask may be repeated when
    its answer was lost.
    """
    service = service_of(request)

    async def work(opened: Opened) -> Response:
        return await _ask(service, opened, request, body)

    return await service.studies.use(name, work)


async def _ask(
    service: Service, opened: Opened, request: Request, body: messages.AskBody
) -> Response:
    end = time.monotonic() + body.wait
    wanted = _wanted(body, caller_of(request).token, service.settings.max_lease)
    service.charges.pulls(wanted.token or "", wanted.n)
    while True:
        given = await opened.ask(wanted)
        left = end - time.monotonic()
        if given.pulls or given.finished or left <= 0 or service.stopping:
            break
        with metrics.asks_waiting.track_inprogress():
            await opened.watch.wait_for_work(left)
        # Nobody would hear of the pulls of a caller who has left, or may not have them any more.
        if await request.is_disconnected():
            break
        if not await still_good(service, caller_of(request)):
            raise AccessError("the token is no longer valid")
    metrics.asked.inc(given.pulls)
    return json_of(given.content)


def _wanted(body: messages.AskBody, token: Token, longest: float) -> Ask:
    """What is asked for; nobody keeps a pull for longer than is allowed, nor after the token."""
    if body.lease > longest and "lease" in body.model_fields_set:
        raise InvalidInputError(
            f"lease: at most {longest:g} s here (surepick serve --max-lease); got {body.lease:g}"
        )
    if body.lease < _LEAST_LEASE * body.n:
        raise InvalidInputError(
            f"lease: {body.lease:g} s for {body.n:,} pulls is less than a millisecond each; ask "
            "for fewer pulls or a longer lease"
        )
    lease = min(body.lease, longest)
    if token.expires is not None:
        lease = min(lease, max(token.expires - time.time(), 1e-3))
    return Ask(body.n, body.worker, lease, token.owner, longest, body.stratum, body.same)


@routes.post("/studies/{name}/tell", **spec(WORKERS, messages.ToldAll))
async def tell(request: Request, name: str, body: messages.TellBody) -> Response:
    """Hand in rewards; once this is answered, they are kept.

    The first reward of a pull counts, if it comes from whoever holds the pull. The same one again
    is a duplicate and counts once, so a tell may be repeated when its answer was lost. Where some
    reward does not count (another one was told before, or another worker has the pull), the
    answer is 409 and says what became of each; the others are kept.
    """
    token = caller_of(request).token.owner
    rewards = [Reward(one.pull, one.reward, body.worker, token) for one in body.rewards]

    said = [Said(one.pull, one.label) for one in body.rewards if one.label is not None]

    useless = 0

    async def work(opened: Opened) -> Response:
        nonlocal useless
        if said:
            await opened.refuse_others(said)
        if body.strict:
            await opened.refuse_unusual(rewards)
        told = await opened.tell(rewards)
        for status, count in Counter(one.status for one in told).items():
            metrics.told.labels(status).inc(count)
        in_vain = [one for one in told if not (one.used or one.status == AGAIN)]
        before, code = "{", 200
        if in_vain:
            error = {"kind": TellConflictError.__name__, "message": _unused(in_vain, len(told))}
            before, code = f'{{"error":{json.dumps(error)},', 409
            useless = len(in_vain)

        def write() -> bytes:
            return in_rows(before + '"told":[', (vars(one) for one in told))

        return json_of(write() if len(told) <= _FEW else await opened.written(write), code)

    charges = service_of(request).charges
    taken = charges.rewards(token, len(rewards))
    try:
        return await service_of(request).studies.use(name, work)
    finally:
        charges.settle(token, taken, useless)


def _unused(unused: list[Told], told: int) -> str:
    first = unused[0]
    counts = "another worker's will" if first.value is None else f"{first.value!r} does"
    return (
        f"{len(unused)} of {plural(told, 'reward')} {'does' if len(unused) == 1 else 'do'} not "
        f"count; of pull {first.pull} {counts} ({first.status}). The others are recorded."
    )


@routes.post("/studies/{name}/fail", **spec(WORKERS, messages.Failed))
async def fail(request: Request, name: str, body: messages.Fail) -> Json:
    """Say that a pull could not be measured: it goes back in line."""

    async def work(opened: Opened) -> Json:
        token = caller_of(request).token.owner
        returned = await opened.fail(body.pull, body.reason, body.worker, token)
        metrics.failed.inc()
        return Json({"returned": returned})

    return await service_of(request).studies.use(name, work)

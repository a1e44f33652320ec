"""What workers do (asking, telling, failing), and shares for visitors, which a site asks for."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Query, Request, Response

from surepick.errors import AccessError, InvalidInputError, UnknownPullError
from surepick.server import messages, metrics, told, visible
from surepick.server.bodies import Large
from surepick.server.by_helper import json_of, work
from surepick.server.replies import Json
from surepick.server.routes.stream import still_good
from surepick.server.routing import (
    EVERYONE,
    MEASURERS,
    READERS,
    WORKERS,
    caller_of,
    router,
    spec,
    takes_large,
)
from surepick.server.service import Service, service_of
from surepick.server.studies import Opened
from surepick.server.tokens import JUDGE, Token
from surepick.study.desk.crowd import Ask
from surepick.study.shown import FILES, PICTURES, picture

routes = router("work")

_LEAST_LEASE = 1e-3  # seconds a pull: what runs out at once is handed out again and again
_FEW = 200  # rows that are written at once
_LEAST_REWARD = 24  # bytes, about: {"pull":123,"reward":0.5}


@routes.post("/studies/{name}/ask", **spec(MEASURERS, messages.AskReply))
async def ask(request: Request, name: str, body: messages.AskBody) -> Response:
    """Get measurements to make.

    Empty, and not finished: the rest of the batch is with other workers; ask again, or wait. A
    worker that asks again gets what it has not told yet first, which counts as measured again: its
    result may be why it was not told. So an ask that is repeated because its answer was lost has
    the same `request` as before.
    """
    service = service_of(request)

    async def work(opened: Opened) -> Response:
        return await _ask(service, opened, request, body)

    return await service.studies.use(name, work)


async def _ask(
    service: Service, opened: Opened, request: Request, body: messages.AskBody
) -> Response:
    end, role = time.monotonic() + body.wait, caller_of(request).token.role
    visible.check_pairs(role, opened.of_pairs)
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
    if role != JUDGE:
        return json_of(given.content)
    hidden = await opened.written(lambda: visible.comparisons(given.content, _files(opened)))
    return json_of(hidden)


def _files(opened: Opened) -> dict[str, str]:
    return opened.study.meta.get(FILES) or {}


def _wanted(body: messages.AskBody, token: Token, longest: float) -> Ask:
    """What is asked for; nobody keeps it for longer than is allowed, nor after the token."""
    if body.lease > longest and "lease" in body.model_fields_set:
        raise InvalidInputError(
            f"lease: at most {longest:g} s here (surepick serve --max-lease); got {body.lease:g}"
        )
    if body.lease < _LEAST_LEASE * body.n:
        raise InvalidInputError(
            f"lease: {body.lease:g} s for {body.n:,} measurements is less than a millisecond each; "
            "ask for fewer measurements or a longer lease"
        )
    lease = min(body.lease, longest)
    if token.expires is not None:
        lease = min(lease, max(token.expires - time.time(), 1e-3))
    n = min(body.n, visible.MOST) if token.role == JUDGE else body.n
    own: dict[str, Any] = {} if body.request is None else {"request": body.request}
    return Ask(n, body.worker, lease, token.owner, longest, body.stratum, body.same, **own)


@routes.post("/studies/{name}/tell", **spec(MEASURERS, messages.ToldAll))
@takes_large
async def tell(request: Request, name: str, body: messages.TellBody) -> Response:
    """Hand in rewards; once this is answered, they are kept.

    The first reward of a measurement counts, if it comes from whoever holds it. The same one again
    is a duplicate and counts once, so a tell may be repeated when its answer was lost. Where some
    reward does not count (another one was told before, or another worker has it), the answer is 409
    and says what became of each; the others are kept.
    """
    service, token = service_of(request), caller_of(request).token.owner
    large = isinstance(body, Large)
    role = caller_of(request).token.role
    if role == JUDGE:
        if large:
            raise InvalidInputError("rewards: too many at once for a judge")
        visible.check_verdicts(body)
    many = len(body.content) // _LEAST_REWARD if large else len(body.rewards)
    taken, in_vain = service.charges.rewards(token, many), 0
    try:
        if large:
            head, content = await _tell_by_helper(request, name, body, token)
        else:
            head, content = await service.studies.use(name, _tell(body, token, role))
        in_vain = head["in_vain"]
    except UnknownPullError:
        in_vain = many  # all were looked up
        raise
    finally:
        service.charges.settle(token, taken, in_vain)
    for status, count in head["counts"].items():
        metrics.told.labels(status).inc(count)
    return json_of(content, head["status"])


Outcomes = tuple[dict[str, Any], bytes]  # what is to be counted, and the answer


def _tell(
    body: messages.TellBody, token: str, role: str
) -> Callable[[Opened], Coroutine[Any, Any, Outcomes]]:
    rewards, said = told.given(body, token)

    async def work(opened: Opened) -> Outcomes:
        visible.check_pairs(role, opened.of_pairs)
        if said:
            await opened.refuse_others(said)
        if body.strict:
            await opened.refuse_unusual(rewards)
        found = told.Outcome(visible.told(await opened.tell(rewards), role))
        few = len(rewards) <= _FEW
        return found.head(), found.content() if few else await opened.written(found.content)

    return work


async def _tell_by_helper(request: Request, name: str, body: Large, token: str) -> Outcomes:
    """Thousands of rewards: to read them, and to see what each comes to, would hold up others."""
    service = service_of(request)
    await service.studies.use(name, lambda opened: opened.position())  # is it there?
    answer = await work(request, "tell", body, helpers=service.tells, study=name, caller=token)
    await service.studies.use(name, _hint)
    head, _, content = answer.partition(b"\n")
    return json.loads(head), content


async def _hint(opened: Opened) -> None:
    opened.watch.hint()


@routes.get(
    "/studies/{name}/shown",
    **spec(EVERYONE, media=tuple(dict.fromkeys(PICTURES.values())), description="The picture."),
)
async def shown(
    request: Request, name: str, file: Annotated[str, Query(max_length=1_000)]
) -> Response:
    """Get a picture that came with a study, for judges."""

    async def look(opened: Opened) -> Response:
        kept = await opened.written(lambda: _files(opened))
        name = visible.file_of(kept, file, caller_of(request).token.role)
        kind, content = picture(kept[name], name)
        headers = {"Cache-Control": "private, max-age=3600"}
        return Response(content, media_type=kind, headers=headers)

    return await service_of(request).studies.use(name, look)


@routes.post("/studies/{name}/fail", **spec(MEASURERS, messages.Failed))
async def fail(request: Request, name: str, body: messages.Fail) -> Json:
    """Say that a measurement could not be made: it goes back in line; or never can be."""

    async def work(opened: Opened) -> Json:
        token = caller_of(request).token.owner
        returned = await opened.fail(body.pull, body.reason, body.worker, token, body.final)
        metrics.failed.inc()
        return Json({"returned": returned})

    return await service_of(request).studies.use(name, work)


@routes.get("/studies/{name}/canary", **spec(WORKERS, messages.CanaryOf))
async def canary(request: Request, name: str) -> Json:
    """Ask which cell of a table is due to be measured once more; ``ask-again`` keeps its score."""

    async def work(opened: Opened) -> Json:
        due = await opened.written(opened.study.canary)
        own = () if due is None else ("arm", "label", "attempt", "item", "features")
        cell = {name: getattr(due, name) for name in own}
        return Json({"pulls": [] if due is None else [{"id": due.pull, **cell}]})

    return await service_of(request).studies.use(name, work)


@routes.post("/studies/{name}/keep", **spec(MEASURERS, messages.Kept))
async def keep(request: Request, name: str, body: messages.Keep) -> Json:
    """Say which measurements are still being made: their workers have them for longer.

    Nobody keeps a measurement for longer than is allowed in all.
    """

    async def work(opened: Opened) -> Json:
        token, longest = caller_of(request).token, service_of(request).settings.max_lease
        lease = min(body.lease, longest)
        if token.expires is not None:
            lease = min(lease, max(token.expires - time.time(), 1e-3))
        return Json({"held": await opened.keep(body.held, lease, token.owner, longest)})

    return await service_of(request).studies.use(name, work)


visitors = router("traffic")


@visitors.post("/studies/{name}/split", **spec(WORKERS, messages.SplitOf))
async def split(request: Request, name: str, body: messages.SplitBody) -> Json:
    """Get the shares by which to send visitors; they are stored before they are answered.

    Those of the period that is under way, or of a new one; a request whose answer was lost may be
    repeated.
    """

    async def do(opened: Opened) -> Json:
        found = await opened.of_traffic(lambda desk: desk.split(body.visits, body.period))
        return Json(found.to_dict() | {"csv": found.to_csv()})

    return await service_of(request).studies.use(name, do)


@visitors.get("/studies/{name}/periods", **spec(READERS, messages.PeriodsOf))
async def periods(request: Request, name: str) -> Json:
    """List the periods that have their shares: when they began and ended, and who had a share."""

    async def do(opened: Opened) -> Json:
        return Json({"periods": await opened.of_traffic(lambda desk: desk.listed())})

    return await service_of(request).studies.use(name, do)

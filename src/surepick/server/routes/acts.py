"""What people do to studies: one route for each kind of act."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from surepick.server import messages, visible
from surepick.server.acts import model_of
from surepick.server.by_helper import json_of, look, work
from surepick.server.routing import (
    ADMINS,
    MEASURERS,
    READERS,
    WORKERS,
    caller_of,
    router,
    spec,
    takes_large,
)
from surepick.server.service import service_of
from surepick.server.studies import Opened
from surepick.server.tokens import JUDGE
from surepick.study import acts
from surepick.study.acts.base import WORKER, ActKind


def routes() -> APIRouter:
    """The routes of all kinds of acts that are known by now."""
    found = router("acts")
    found.add_api_route(
        "/studies/{name}/acts", list_acts, methods=["GET"], **spec(READERS, messages.ActList)
    )
    for kind in acts.kinds():
        _add(found, kind)
    return found


async def list_acts(
    request: Request,
    name: str,
    kind: Annotated[list[str], Query(description="Only these kinds.")] = [],  # noqa: B006
) -> Response:
    """Get what was done to a study, in order, with who, when and why."""
    return json_of(await look(request, name, "acts", kinds=kind))


def _add(found: APIRouter, kind: ActKind) -> None:
    async def act(request: Request, name: str, body: Any) -> Response:
        token = caller_of(request).token
        if token.role == JUDGE:
            visible.check_verdict(getattr(body, "reward", None))
        given: dict[str, Any] = {"study": name, "kind": kind.kind, "caller": token.owner}
        given["worker"] = token.role in (WORKER, JUDGE) and kind.role != WORKER
        done = await work(request, "act", body, **given)
        await service_of(request).studies.use(name, _hint)
        return json_of(visible.act(done, token.role))

    act.__annotations__["body"] = model_of(kind)
    act.__name__ = f"acts_{kind.kind}".replace("-", "_")
    act.__doc__ = kind.about
    own = MEASURERS if kind.own else ADMINS
    roles = WORKERS if kind.role == WORKER else own
    endpoint = takes_large(act) if kind.large else act
    path = f"/studies/{{name}}/acts/{kind.kind}"
    found.add_api_route(path, endpoint, methods=["POST"], **spec(roles, messages.ActDone))


async def _hint(opened: Opened) -> None:
    opened.watch.hint()

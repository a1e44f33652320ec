"""What people do to studies: one route for each kind of act, and the addresses of 0.2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from surepick.server import act_messages as messages
from surepick.server import visible
from surepick.server.acts import ALIASES, LISTS, model_of
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
    for path, (kinds, answer) in LISTS.items():
        listed = _listing(path, kinds)
        where = f"/studies/{{name}}{path}"
        found.add_api_route(where, listed, methods=["GET"], **spec(READERS, answer))
    for kind in acts.kinds():
        _add(found, f"/acts/{kind.kind}", kind, messages.ActDone, as_before=False)
        if kind.kind in ALIASES:
            _add(found, ALIASES[kind.kind].path, kind, ALIASES[kind.kind].answer, as_before=True)
    return found


async def list_acts(
    request: Request,
    name: str,
    kind: Annotated[list[str], Query(description="Only these kinds.")] = [],  # noqa: B006
) -> Response:
    """Get what was done to a study, in order, with who, when and why."""
    return json_of(await look(request, name, "acts", kinds=kind))


def _listing(path: str, kinds: tuple[str, ...]) -> Callable[..., Any]:
    async def listed(request: Request, name: str) -> Response:
        return json_of(await look(request, name, "records", kinds=kinds))

    listed.__name__ = f"list_{path[1:].replace('-', '_')}"
    listed.__doc__ = f"Get acts of these kinds, with who, when and why: {', '.join(kinds)}."
    return listed


def _add(found: APIRouter, path: str, kind: ActKind, answer: Any, *, as_before: bool) -> None:
    async def act(request: Request, name: str, body: Any) -> Response:
        token = caller_of(request).token
        if token.role == JUDGE:
            visible.check_verdict(getattr(body, "reward", None))
        given = {"study": name, "kind": kind.kind, "caller": token.owner, "as_before": as_before}
        given["worker"] = token.role in (WORKER, JUDGE) and kind.role != WORKER
        done = await work(request, "act", body, **given)
        await service_of(request).studies.use(name, _hint)
        return json_of(visible.act(done, token.role))

    act.__annotations__["body"] = model_of(kind)
    act.__name__ = path[1:].replace("/", "_").replace("-", "_")
    act.__doc__ = kind.about
    own = MEASURERS if kind.own and not as_before else ADMINS
    roles = WORKERS if kind.role == WORKER else own
    endpoint = takes_large(act) if kind.large else act
    found.add_api_route(
        f"/studies/{{name}}{path}", endpoint, methods=["POST"], **spec(roles, answer)
    )


async def _hint(opened: Opened) -> None:
    opened.watch.hint()

"""Routes that cannot be made without saying who may use them."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute

from surepick.server import models, replies
from surepick.server.bodies import LONG, Large
from surepick.server.gate import SLASH, Caller
from surepick.server.tokens import ADMIN, JUDGE, VIEWER, WORKER

#: in the description of an operation: the roles that may use it
ROLES = "x-roles"
EVERYONE, ALL_BUT_JUDGES, READERS, MEASURERS, WORKERS, ADMINS = (
    (ADMIN, WORKER, VIEWER, JUDGE),
    (ADMIN, WORKER, VIEWER),
    (ADMIN, VIEWER),
    (ADMIN, WORKER, JUDGE),
    (ADMIN, WORKER),
    (ADMIN,),
)
_REFUSALS = {
    400: "The request cannot be understood.",
    401: "There is no valid token.",
    403: "The token does not allow this.",
    404: "Nothing was found at this address.",
    409: "It conflicts with what is already there.",
    413: "The request is too large.",
    422: "Something in the request cannot be accepted; the message says what.",
    429: "Too many requests.",
    501: "Something that this needs is not installed at the service.",
    503: "Not now: the database cannot be used at the moment. Ask again after `Retry-After`.",
}


Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])
_LARGE = "takes_large"


def takes_large(endpoint: Endpoint) -> Endpoint:
    """Hand a large body to this endpoint as it is (:class:`Large`) in place of its model."""
    setattr(endpoint, _LARGE, True)
    return endpoint


class GuardedRoute(APIRoute):
    """A route that checks the caller's role, and studies, before anything else is done."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        roles = (self.openapi_extra or {})[ROLES]
        handle, takes = super().get_route_handler(), getattr(self.endpoint, _LARGE, False)

        async def guarded(request: Request) -> Response:
            if request.scope["state"].get("open"):  # the gate lets in everybody
                return await handle(request)
            caller: Caller = request.scope["state"]["caller"]
            name = request.path_params.get("name")
            if name is not None:
                name = request.path_params["name"] = name.replace(SLASH, "/")
            token = caller.token
            if token.role not in roles:
                text = f"this needs the role {' or '.join(roles)}; the token's is {token.role}"
                return replies.refusal(403, "AccessError", text)
            if name is not None and not token.covers(name):
                return replies.refusal(403, "AccessError", "the token is not for this study")
            if takes and len(body := await request.body()) > LONG:
                return await self.endpoint(request, **request.path_params, body=Large(body))
            return await handle(request)

        return guarded


def router(tag: str) -> APIRouter:
    """A group of guarded routes."""
    return APIRouter(prefix="/api/v1", route_class=GuardedRoute, tags=[tag])


def spec(
    roles: tuple[str, ...],
    answer: Any = None,
    status: int = 200,
    *,
    media: tuple[str, ...] = (),
    description: str = "Done.",
) -> dict[str, Any]:
    """What is the same about all routes: roles, and the shape of answers and refusals.

    Answers are written as they are, not checked against their model on the way out; the tests
    check that they match.
    """
    responses: dict[int | str, dict[str, Any]] = {
        code: {"model": models.Refusal, "description": text} for code, text in _REFUSALS.items()
    }
    if media:
        content = {kind: {} for kind in media}
        responses[status] = {"description": description, "content": content}
    elif answer is not None:
        responses[status] = {"model": answer, "description": description}
    return {
        "openapi_extra": {ROLES: list(roles)},
        "responses": responses,
        "response_model": None,
        "status_code": status,
    }


def caller_of(request: Request) -> Caller:
    """Who sends this request."""
    return request.scope["state"]["caller"]

"""Logging in on the page, and tokens."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from surepick.server import messages
from surepick.server.gate import cookie_name
from surepick.server.replies import Json, refusal
from surepick.server.routing import ADMINS, EVERYONE, caller_of, router, spec
from surepick.server.service import service_of
from surepick.server.tokens import Token, csrf_of

routes = router("access")
#: open to requests without a token: logging in is how a page hands one in
way_in = APIRouter(prefix="/api/v1", tags=["access"])


@way_in.post("/session", **spec((), messages.Session))
async def log_in(request: Request, body: messages.LogIn) -> Response:
    """Log in with a token; the answer sets a cookie that scripts cannot read."""
    service = service_of(request)
    quick = service.studies.threads.quick
    token = await quick(lambda: service.tokens.find(body.token))
    if token is None or token.session_of is not None:  # a session does not make another one
        return refusal(401, "AccessError", "the token is not valid (or has expired)")
    seconds = 3600 * service.settings.session_hours
    session, secret = await quick(lambda: service.tokens.log_in(token, seconds))
    reply = Json(_shown(session, csrf_of(secret)))
    tls = request.url.scheme == "https"
    reply.set_cookie(
        cookie_name(tls),
        secret,
        max_age=int(seconds),
        path="/",
        secure=tls,
        httponly=True,
        samesite="strict",
    )
    return reply


@routes.get("/session", **spec(EVERYONE, messages.Session))
async def session(request: Request) -> Json:
    """Show who is logged in, and the token against forged requests."""
    caller = caller_of(request)
    return Json(_shown(caller.token, caller.csrf))


@routes.delete("/session", **spec(EVERYONE, status=204))
async def log_out(request: Request) -> Response:
    """Log out."""
    service, token = service_of(request), caller_of(request).token
    if token.session_of is not None:  # a token itself is revoked, not logged out
        await service.studies.threads.quick(lambda: service.tokens.log_out(token))
    reply = Response(status_code=204)
    tls = request.url.scheme == "https"
    reply.delete_cookie(cookie_name(tls), path="/", secure=tls, httponly=True, samesite="strict")
    return reply


@routes.get("/tokens", **spec(ADMINS, messages.TokenList))
async def list_tokens(request: Request) -> Json:
    """List tokens; never the secrets."""
    service = service_of(request)
    found = await service.studies.threads.quick(service.tokens.all)
    return Json({"tokens": [token.to_dict() for token in found]})


@routes.post("/tokens", **spec(ADMINS, messages.TokenMade, 201))
async def make_token(request: Request, body: messages.NewToken) -> Json:
    """Make a token. This answer is the only place where it is shown."""
    service = service_of(request)
    studies = None if body.studies is None else tuple(body.studies)
    token, secret = await service.studies.threads.quick(
        lambda: service.tokens.make(body.role, studies, body.expires_in, body.note)
    )
    return Json(token.to_dict() | {"token": secret}, status_code=201)


@routes.delete("/tokens/{id}", **spec(ADMINS, status=204))
async def revoke(request: Request, id: str) -> Response:
    """End a token and all that is logged in with it."""
    service = service_of(request)
    await service.studies.threads.quick(lambda: service.tokens.revoke(id))
    return Response(status_code=204)


def _shown(token: Token, csrf: str | None) -> dict[str, object]:
    studies = None if token.studies is None else list(token.studies)
    return {"role": token.role, "studies": studies, "csrf": csrf}

"""The application: routes behind the door."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

import surepick
from surepick.errors import StorageError, SurepickError
from surepick.server import replies
from surepick.server.bodies import complaints
from surepick.server.by_helper import Gone
from surepick.server.gate import Gate
from surepick.server.page_files import PageFiles
from surepick.server.routes import (
    access,
    acts,
    operations,
    results,
    stream,
    studies,
    work,
)
from surepick.server.service import Service
from surepick.server.settings import Settings

_log = logging.getLogger(__name__)
_ABOUT = """Find the best of many options from few noisy measurements.

Every request needs `Authorization: Bearer TOKEN`, except for `/health`. Workers ask for pulls,
measure them, and tell the rewards; asks and tells may be repeated when their answer was lost."""


def make_app(settings: Settings) -> FastAPI:
    """The application with these settings."""
    service = Service(settings)
    app = FastAPI(
        title="surepick",
        version=surepick.__version__,
        description=_ABOUT,
        openapi_url=None,  # a route of our own serves it, to those who may see it
        docs_url=None,
        redoc_url=None,
        lifespan=service.lifespan,
        redirect_slashes=False,
    )
    app.state.service = service
    for group in (
        work.routes,  # first, as it is used most
        operations.public,
        operations.guarded,
        access.way_in,
        work.visitors,
        access.routes,
        studies.routes,
        results.routes,
        acts.routes(),
        stream.routes,
        studies.tables,
    ):
        app.include_router(group)
    for route in app.routes:  # else FastAPI prepares a group when first asked for it: all wait
        route.matches({"type": "http", "method": "GET", "path": "/", "root_path": ""})
    app.state.page = PageFiles()
    app.mount("/static", app.state.page, name="static")
    app.add_exception_handler(SurepickError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Gone, _gone)
    app.add_exception_handler(Exception, _unexpected)
    app.add_middleware(
        Gate,
        settings=settings,
        tokens=service.tokens,
        threads=service.studies.threads,
        charges=service.charges,
    )
    plain = app.openapi
    app.openapi = lambda: _with_security(plain())
    return app


def _with_security(description: dict[str, Any]) -> dict[str, Any]:
    """The description, with how to log in."""
    parts = description.setdefault("components", {})
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations_ in description["paths"].items():
        for operation in operations_.values():
            is_open = not operation.get("x-roles")
            operation["security"] = [] if is_open or path == "/health" else [{"token": []}]
    return description


async def _ours(request: Request, problem: Exception) -> replies.Json:
    assert isinstance(problem, SurepickError)
    reply = replies.explain(problem, request.path_params.get("name"))
    if isinstance(problem, StorageError) and reply.status_code >= 500:
        _log.error("%s: %s", type(problem).__name__, problem)
    return reply


async def _invalid(_request: Request, problem: Exception) -> replies.Json:
    assert isinstance(problem, RequestValidationError)
    return replies.refusal(422, "InvalidInputError", complaints(problem.errors()))


async def _http(_request: Request, problem: Exception) -> replies.Json:
    assert isinstance(problem, HTTPException)
    kind = "UnknownNameError" if problem.status_code == 404 else "InvalidInputError"
    headers = dict(problem.headers) if problem.headers else None
    return replies.refusal(problem.status_code, kind, str(problem.detail), headers)


async def _gone(_request: Request, _problem: Exception) -> replies.Json:
    """The caller has left: nobody reads this, but the log."""
    return replies.refusal(499, "ServiceError", "the client has disconnected")


async def _unexpected(_request: Request, problem: Exception) -> replies.Json:
    """Anything else: the trace goes to the log, not to the caller."""
    text = "something went wrong here; see the log of the service"
    return replies.refusal(500, "ServiceError", text)

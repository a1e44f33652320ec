"""Errors as answers: a kind that programs understand, a sentence for people, never a trace."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from fastapi import Response

from surepick.errors import (
    AccessError,
    MissingExtraError,
    NotAllowedError,
    PluginError,
    RunStateError,
    ServiceError,
    ServiceUnreachableError,
    StorageConnectionError,
    StorageError,
    StorageLockedError,
    StudyDamagedError,
    StudyExistsError,
    SurepickError,
    TellConflictError,
    TooManyRequestsError,
    UnknownPullError,
    UnknownStudyError,
)

_STATUS: tuple[tuple[type[SurepickError], int], ...] = (
    (UnknownStudyError, 404),
    (UnknownPullError, 404),
    (StudyExistsError, 409),
    (TellConflictError, 409),
    (NotAllowedError, 403),
    (AccessError, 401),
    (TooManyRequestsError, 429),
    (RunStateError, 409),
    (StudyDamagedError, 500),
    (StorageError, 503),
    (ServiceUnreachableError, 503),
    (ServiceError, 500),
    (MissingExtraError, 501),
    (PluginError, 501),
    (SurepickError, 422),
)
#: seconds after which a fault of the storage may have passed
_SOON, _LATER = 1, 5
_PASSES_SOON = (StorageLockedError, StorageConnectionError)


class Json(Response):
    """A plain value as JSON, without a detour over models."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()


def in_rows(before: str, rows: Iterable[dict[str, Any]], after: str = "]}") -> bytes:
    """Many rows as JSON, one at a time: writing all at once would let no other thread go on."""
    written = (json.dumps(row, separators=(",", ":"), allow_nan=False) for row in rows)
    return (before + ",".join(written) + after).encode()


def refusal(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Json:
    """An error in the form that all errors have."""
    content = {"error": {"kind": kind, "message": message}}
    return Json(content, status_code=status, headers=headers)


def explain(problem: SurepickError, study: str | None) -> Json:
    """One of our errors as an answer.

    A fault of the storage says nothing about what was asked: it is always 503, and when to ask
    again. What a database says about itself (addresses, users, other studies) stays in the log.
    """
    status = next(code for kind, code in _STATUS if isinstance(problem, kind))
    message = str(problem)
    if isinstance(problem, UnknownStudyError):
        message = f"no study is called {study!r}"
    elif isinstance(problem, StudyExistsError):
        message = "a study of this name already exists"
    wait = None
    if isinstance(problem, ServiceUnreachableError):
        wait = _LATER
    elif status == 503:
        message = "the database cannot be used at the moment; see the log of the service"
        wait = _SOON if isinstance(problem, _PASSES_SOON) else _LATER
    elif isinstance(problem, TooManyRequestsError):
        wait = problem.wait
    headers = None if wait is None else {"Retry-After": str(wait)}
    return refusal(status, type(problem).__name__, message, headers)

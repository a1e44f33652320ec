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
    StorageConnectionError,
    StorageError,
    StorageFullError,
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
    (ServiceError, 500),
    (MissingExtraError, 503),
    (PluginError, 503),
    (SurepickError, 422),
)
#: seconds after which it may have passed
_WORTH_RETRYING: tuple[tuple[type[SurepickError], int], ...] = (
    (StorageLockedError, 1),
    (StorageConnectionError, 1),
    (StorageFullError, 5),
)


class Json(Response):
    """A plain value as JSON, without a detour over models."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """As bytes."""
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

    What a database says about itself (addresses, users, other studies) stays in the log.
    """
    status = next(code for kind, code in _STATUS if isinstance(problem, kind))
    message = str(problem)
    if isinstance(problem, UnknownStudyError):
        message = f"no study is called {study!r}"
    elif isinstance(problem, StudyExistsError):
        message = "a study of this name already exists"
    elif status == 503 and isinstance(problem, StorageError):
        message = "the database cannot be used at the moment; see the log of the service"
    wait = next((s for kind, s in _WORTH_RETRYING if isinstance(problem, kind)), None)
    if isinstance(problem, TooManyRequestsError):
        wait = problem.wait
    headers = None if wait is None else {"Retry-After": str(wait)}
    return refusal(status, type(problem).__name__, message, headers)

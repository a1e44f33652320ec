"""Problems and noise as the JSON of a study's description has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.contents import read_misfit
from surepick.problem.noise import NoiseKind, as_given, noise_kind
from surepick.problem.numbers import read as read_further


def kind_of(noise: Any) -> NoiseKind:
    """The kind that is meant; whether there is one scale per option shows with the table."""
    listed = isinstance(noise, list) or bool(getattr(noise, "shape", ()))
    return noise_kind(noise, len(noise) if listed else 1)


def problem_body(problem: Problem) -> dict[str, Any]:
    """A problem in plain lists."""
    body = {
        "arms": problem.arms.tolist(),
        "labels": list(problem.labels),
        "noise": problem.noise_kind.said,
    }
    body |= problem.written_more()
    if problem.transductive:
        body["candidates"] = problem.candidates.tolist()
        body["candidate_labels"] = list(problem.candidate_labels)
    return body


def problem_of(body: dict[str, Any]) -> Problem:
    """What :func:`problem_body` wrote."""
    return Problem(
        body.get("arms"),
        body.get("candidates"),
        as_given(body.get("noise")),
        body.get("labels"),
        read_misfit(body),
        body.get("costs"),
        candidate_labels=body.get("candidate_labels"),
        minimise=body.get("minimise", False),
        numbers=read_further(body, 1),
    )


def as_meta(meta: Any) -> dict[str, Any]:
    """What is kept with a study, or an error."""
    if not isinstance(meta, Mapping | None):
        raise InvalidTypeError(f"meta must be a dict; got {meta!r:.80}")
    try:
        return json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"meta must be what JSON can hold: {error}") from None

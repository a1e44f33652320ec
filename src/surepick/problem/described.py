"""A problem in a file: the whole of it, or a reference to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepick.problem.labels import describe_labels

if TYPE_CHECKING:
    from surepick.problem.problem import Problem


def describe(problem: Problem) -> dict[str, Any]:
    """Everything needed to build a problem again, as NumPy arrays and plain values."""
    separate, host = problem.transductive, problem.backend.host
    content = {
        "arms": host(problem.arms),
        "candidates": host(problem.candidates) if separate else None,
        "noise": problem.noise,
        "labels": list(problem.labels),
        "candidate_labels": list(problem.candidate_labels) if separate else None,
    }
    if problem.large and not problem.by_reference:  # as was asked for: nothing else says so
        content["backend"] = problem.backend.name
    return content


def refer(problem: Problem) -> dict[str, Any]:
    """Shapes, digests and labels: what tells whether another problem is this one."""
    separate = problem.transductive
    tables = [
        {"shape": [int(n) for n in table.shape], "sha256": digest}
        for table, digest in zip((problem.arms, problem.candidates), problem.digests, strict=True)
    ]
    return {
        "arms": tables[0],
        "candidates": tables[1] if separate else None,
        "noise": problem.noise,
        "labels": describe_labels(problem.labels),
        "candidate_labels": describe_labels(problem.candidate_labels) if separate else None,
    }

"""Whether batches overlap: workers that never wait for the slowest of a batch."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT
from surepick.errors import InvalidInputError, InvalidTypeError

#: what a study's notes call it
OVERLAP = "overlap"


def as_overlap(value: Any) -> bool | None:
    """True, False or None: where a worker would wait."""
    if value is None or isinstance(value, bool):
        return value
    raise InvalidTypeError(f"overlap must be true, false or left out; got {value!r:.80}")


def noted(overlap: bool | None, algorithm: Algorithm, traffic: bool) -> dict[str, bool]:
    """What a study notes of it; an error where batches cannot overlap."""
    if overlap is None:
        return {}
    if overlap and traffic:
        raise InvalidInputError(
            "overlap: a study of traffic hands out no pulls that could wait; leave it out"
        )
    if overlap and not algorithm.overlaps:
        raise InvalidInputError(
            f"overlap: with {algorithm.registered_name()} set like this, a batch starts only when "
            f"the one before is complete; use {DEFAULT} without max_batch, check_fit and "
            f"control='fdr', or leave overlap out"
        )
    return {OVERLAP: overlap}

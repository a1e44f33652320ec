"""Whether a pull may be handed out a second time, and when that is worth a measurement."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError

#: what a study's notes call it
HEDGE = "hedge"
#: what is recorded when a pull is handed out a second time
HEDGED = "hedged"
# Those who are slow hold up others so much that a second measurement pays, once rewards of later
# batches wait for them: as many as
_OVERTAKEN = 2.0  # this many times the pulls that are out: two or more of every worker's; and
_BEHIND = 0.04  # this share of those that count already: with fewer, too little is gained


def as_hedge(value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool):
        return value
    raise InvalidTypeError(f"hedge must be true or false; got {value!r:.80}")


def hedge_noted(hedge: bool, strata: str | None, traffic: bool) -> dict[str, bool]:
    """What a study notes of it; an error where pulls cannot be handed out twice."""
    if not hedge:
        return {}
    if traffic:
        raise InvalidInputError("hedge: a traffic study hands out no pulls; leave it out")
    if strata is not None:
        raise InvalidInputError(
            f"hedge: a pull belongs to the {strata} of the worker who got it first, so no second "
            "worker can measure it; leave out hedge or strata"
        )
    return {HEDGE: True}


def holds_up(early: int, out: int, counted: int) -> bool:
    """Whether what is still out of the open batch holds up so much that it is measured twice.

    Parameters
    ----------
    early
        Rewards of later batches, which wait for it.
    out
        Pulls that are out, of all batches.
    counted
        Pulls of complete batches.
    """
    return early >= max(_OVERTAKEN * out, _BEHIND * counted)

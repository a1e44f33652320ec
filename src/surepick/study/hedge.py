"""Whether a pull may be handed out a second time, to a worker who would otherwise wait."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError

#: what a study's notes call it
HEDGE = "hedge"
#: what is recorded when a pull is handed out a second time
HEDGED = "hedged"


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
        raise InvalidInputError(
            "hedge: a study of traffic hands out no pulls that could wait; leave it out"
        )
    if strata is not None:
        raise InvalidInputError(
            f"hedge: a pull belongs to the {strata} of whoever was given it first, so nobody "
            f"else can measure it; leave out hedge or strata"
        )
    return {HEDGE: True}

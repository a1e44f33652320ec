"""Measurements that were made before a study: where they come from and how they are kept."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.tables.past import Past, past_measurements
from surepick.run import Run
from surepick.run.codec import dumps, loads

#: how the measurements were chosen -> whether they count as evidence
CHOSEN = {"in advance": True, "by results": False}

#: the difference, for users
DIFFERENCE = (
    "'in advance': what was measured, and how often, was decided without looking at rewards (a "
    "survey of all options, a designed experiment); the measurements then count as evidence. "
    "'by results': somebody went on measuring what looked good, or stopped when it looked good "
    "enough; averages are then biased, so that they only guide what is measured first, which is "
    "safe however wrong they are. If in doubt: 'by results'."
)


def as_past(problem: Problem, past: Any, chosen: str | None) -> Past | None:
    """What ``create_study`` was given, as past measurements; None where there are none."""
    if past is None:
        if chosen is not None:
            raise InvalidInputError("past_chosen says how past measurements were chosen: give past")
        return None
    if isinstance(past, Past):
        if chosen is not None:
            raise InvalidInputError("past_chosen: these past measurements say so themselves")
        return past
    if chosen not in CHOSEN:
        raise InvalidInputError(
            f"past_chosen must say how past measurements were chosen. {DIFFERENCE}"
        )
    return past_measurements(problem, past, chosen_in_advance=CHOSEN[chosen])


def stored(past: Past) -> str:
    """Past measurements as text."""
    return dumps({"arms": past.arms, "rewards": past.rewards, "evidence": past.evidence})


def tell_stored(run: Run, text: str | None) -> None:
    """Tell a fresh run what was measured before it."""
    if text is not None:
        past = loads(text, "stored past measurements")
        run.tell_past(past["arms"], past["rewards"], chosen_in_advance=past["evidence"])

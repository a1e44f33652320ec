"""How much might be measured: which cap ended a run, and how caps were changed on the way.

No promise rests on them, but a certificate says what ended its run, and that has to be true. Which
caps held when a batch was asked for matters to whoever makes the run again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check

_ROUNDING = 1e-9  # of sums of money


def check_caps(check: Check) -> None:
    """Caps must allow something, and changes of them must be in order."""
    _demand_some(*_at_first(check), "its settings")
    last = 0
    for number, change in enumerate(check.record.limits):
        where = f"change {number} of its limits"
        check.demand(change.asked >= last, f"{where} comes before the one that it follows")
        last = change.asked
        _demand_some(change.max_samples, change.budget, where)


def _at_first(check: Check) -> tuple[Any, Any]:
    return check.settings.get("max_samples"), check.settings.get("budget")


def _demand_some(most: Any, budget: Any, where: str) -> None:
    some = most is None or exact.whole(most, f"{where}: max_samples") >= 1
    some = some and (budget is None or exact.number(budget, f"{where}: budget") > 0)
    exact.demand(some, f"{where} allows no measurement at all")


def cap_reached(check: Check) -> tuple[str, float | None]:
    """What ended a run that was not decided: which cap, and how much that was."""
    (most, budget), changes, samples = _at_first(check), check.record.limits, check.claim["samples"]
    if changes:
        most, budget = changes[-1].max_samples, changes[-1].budget
    if budget is not None and (most is None or samples < most):
        _demand_spent(check, float(budget))
        return "budget", float(budget)
    if most is None:
        return "tied", None
    check.demand(samples >= most, f"it was not ended by {most} samples, as there were {samples}")
    return "max_samples", most


def _demand_spent(check: Check, budget: float) -> None:
    each = np.ones(len(check.raw_arms)) if check.costs is None else check.costs
    check.demand(len(each) == len(check.raw_arms), "its costs are not one for each arm")
    check.demand((each > 0).all(), "it has a cost that is not above 0")
    spent = sum(float(each[batch.arms] @ batch.counts) for batch in check.batches)
    left = budget - spent
    check.demand(
        left < float(each.max()) + _ROUNDING * budget, f"its budget of {budget:g} is not spent"
    )

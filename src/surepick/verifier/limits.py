"""How much might be measured: which limit ended a run, and how limits were changed on the way.

No promise rests on them, but a certificate says what ended its run, and that has to be true. Which
limits held when a batch was asked for matters to whoever makes the run again.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check

_ROUNDING = 1e-9  # of sums of money
_FIELDS = {"asked", "max_samples", "budget"}


def check_limits(check: Check) -> None:
    """The list of changes must make sense; an empty one is left out."""
    _limits(check.settings.get("max_samples"), check.settings.get("budget"), "its settings")
    if "limits" not in check.body:
        return
    entries = exact.mappings(check.body["limits"], "its limits")
    check.demand(entries, "its list of changed limits is empty")
    last = 0
    for number, entry in enumerate(entries):
        where = f"change {number} of its limits"
        exact.event(entry, where, _FIELDS)
        asked = exact.whole(entry["asked"], f"{where}: its number of batches")
        check.demand(asked >= last, f"{where} comes before the one that it follows")
        last = asked
        _limits(entry["max_samples"], entry["budget"], where)


def _limits(most: Any, budget: Any, where: str) -> None:
    if most is not None and exact.whole(most, f"{where}: max_samples") < 1:
        exact.refuse(f"{where} allows no measurement at all")
    if budget is not None and exact.number(budget, f"{where}: budget") <= 0:
        exact.refuse(f"{where} allows no measurement at all")


def limit_reached(check: Check) -> tuple[str, float | None]:
    """What ended a run that was not decided: which limit, and how much that was."""
    held = check.body["limits"][-1] if "limits" in check.body else check.settings
    most, budget = held.get("max_samples"), held.get("budget")
    samples = exact.whole(check.claim["samples"], "the number of its samples")
    if budget is not None and (most is None or samples < most):
        _demand_spent(check, float(budget))
        return "budget", float(budget)
    if most is None:
        return "tied", None
    check.demand(samples >= most, f"it was not ended by {most} samples, as there were {samples}")
    return "max_samples", most


def _demand_spent(check: Check, budget: float) -> None:
    costs = check.body["problem"].get("costs")
    each = np.ones(len(check.raw_arms)) if costs is None else exact.numbers(costs, "its costs")
    check.demand(len(each) == len(check.raw_arms), "its costs are not one for each arm")
    check.demand((each > 0).all(), "it has a cost that is not above 0")
    spent = sum(float(each[batch["arms"]] @ np.array(batch["counts"])) for batch in check.batches)
    left = budget - spent
    check.demand(
        left < float(each.max()) + _ROUNDING * budget, f"its budget of {budget:g} is not spent"
    )

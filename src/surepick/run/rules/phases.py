"""Phased elimination (PELEG, RAGE): least squares per phase, one-sided widths."""

from __future__ import annotations

import math

from surepick.run.check import Check


def verify(check: Check) -> list[int]:
    """Phased elimination: each phase's least squares, one-sided widths, levels summing to delta.

    In phase m each comparison may err with probability ``level``; the best candidate can only
    be lost through the |active| - 1 comparisons that involve it.
    """
    phases, batches = check.body["evidence"]["phases"], check.body["batches"]
    check.demand(len(phases) == len(batches), "phases and batches do not correspond")
    active = check.distinct()
    theta, variance, last = None, None, None
    for number, (phase, batch) in enumerate(zip(phases, batches, strict=True), start=1):
        where = f"phase {number}"
        check.demand(list(phase["active"]) == active, f"{where} starts from other candidates")
        level, threshold = phase["level"], phase["threshold"]
        check.demand(0 < level < 1, f"{where} has level {level}")
        check.risk += level * (len(active) - 1)
        theta, variance = check.least_squares(batch)
        last = (theta, variance, level, threshold)
        dropped = set()
        for entry in phase["dropped"]:
            loser, by = entry["candidate"], entry["by"]
            check.demand(loser in active and by in active, f"{where} compares absent candidates")
            check.demand(loser not in dropped, f"{where} drops {loser} twice")
            y = check.candidates[by] - check.candidates[loser]
            gap = float(theta @ y) * check.noise
            earned = math.sqrt(2 * variance(y) * math.log(1 / level)) * check.noise
            width = earned if threshold is None else threshold * check.noise
            check.agree(entry["gap"], gap, f"{where}: the gap of {loser} to {by}")
            check.agree(entry["width"], width, f"{where}: the width for {loser} and {by}")
            check.demand(gap > width * (1 - 1e-9), f"{where}: {by} does not beat {loser}")
            check.demand(
                width >= earned * (1 - 1e-9),
                f"{where}: width {width:.6g} is below the {earned:.6g} that level {level:g} needs",
            )
            dropped.add(loser)
            check.checked += 1
        active = [i for i in active if i not in dropped]
    if check.claim["guarantee"] == "eps-pac":
        check.demand(last is not None, "nothing was measured")
        assert last is not None
        theta, variance, level, threshold = last
        chosen = check.claim["candidate"]
        leads = phases[-1]["leads"]
        check.demand(len(leads) == len(active), "the bounds are not those of the survivors")
        for i, lead in zip(active, leads, strict=True):
            y = check.candidates[i] - check.candidates[chosen]
            earned = math.sqrt(2 * variance(y) * math.log(1 / level))
            width = earned if threshold is None or i == chosen else max(threshold, earned)
            bound = (float(theta @ y) + width) * check.noise
            check.agree(lead, bound, f"how much better {i} may be")
            check.demand(
                bound <= check.epsilon * (1 + 1e-9),
                f"candidate {i} may still be {bound:.6g} better, more than epsilon",
            )
            check.checked += 1
    return active

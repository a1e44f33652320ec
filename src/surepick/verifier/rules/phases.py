"""Phased elimination (PELEG, RAGE): least squares per phase, one-sided widths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.estimate import Fit
from surepick.verifier.tables import slices


def verify(check: Check) -> list[int]:
    """Phased elimination: each phase's least squares, one-sided widths, published levels.

    In phase m each comparison may err with probability ``level``; the best candidate can only
    be lost through the |active| - 1 comparisons that involve it. Who is active follows from who
    was dropped before.
    """
    phases, batches = exact.mappings(check.evidence["phases"], "phases"), check.batches
    check.demand(len(phases) == len(batches), "phases and batches do not correspond")
    active = np.array(check.distinct())
    fit, terms = None, published.PhaseTerms(check)
    for number, (phase, batch) in enumerate(zip(phases, batches, strict=True), start=1):
        where = f"phase {number}"
        level = exact.number(phase["level"], f"the level of {where}")
        threshold = phase["threshold"]
        if threshold is not None:
            exact.number(threshold, f"the threshold of {where}")
        at = published.Phase(
            number, len(active), len(check.distinct()), batch.pulls, number == len(phases)
        )
        terms.demand(level, threshold, at)
        check.risk += level * (len(active) - 1)
        fit = check.fit(batch)
        active = np.setdiff1d(active, _dropped(check, phase, active, fit, where))
    if check.claim["guarantee"] == "eps-pac":
        check.demand(fit is not None, "nothing was measured")
        assert fit is not None
        _check_leads(check, phases[-1], active, fit)
    return active.tolist()


def _dropped(
    check: Check, phase: dict[str, Any], active: np.ndarray, fit: Fit, where: str
) -> np.ndarray:
    """Who is dropped in a phase, each by a comparison that holds."""
    names = ("candidate", "by", "gap", "width")
    losers, by, gaps, widths = check.columns(phase["dropped"], *names)
    level, threshold = phase["level"], phase["threshold"]
    present = check.mask(active)
    check.demand_all(
        check.among(losers, present) & check.among(by, present),
        lambda i: f"{where} compares absent candidates",
    )
    once = np.zeros(len(losers), dtype=bool)
    once[np.unique(losers, return_index=True)[1]] = True
    check.demand_all(once, lambda i: f"{where} drops {losers[i]} twice")
    gap, earned = np.empty(len(losers)), np.empty(len(losers))
    for part in slices(len(losers), check.candidates.shape[1]):
        y = check.candidates[by[part]] - check.candidates[losers[part]]
        gap[part] = (y @ fit.theta) * check.noise
        earned[part] = np.sqrt(2 * fit.variance(y) * math.log(1 / level)) * check.noise
    width = earned if threshold is None else np.full(len(losers), threshold * check.noise)
    check.agree_all(gaps, gap, lambda i: f"{where}: the gap of {losers[i]} to {by[i]}")
    check.agree_all(widths, width, lambda i: f"{where}: the width for {losers[i]} and {by[i]}")
    check.demand_all(
        gap > width * (1 - 1e-9), lambda i: f"{where}: {by[i]} does not beat {losers[i]}"
    )
    check.demand_all(
        width >= earned * (1 - 1e-9),
        lambda i: (
            f"{where}: width {width[i]:.6g} is below the {earned[i]:.6g} that level {level:g} needs"
        ),
    )
    check.checked += len(losers)
    return losers


def _check_leads(check: Check, phase: dict[str, Any], active: np.ndarray, fit: Fit) -> None:
    """Nobody who is left may be better than the answer by more than epsilon."""
    level, threshold, chosen = phase["level"], phase["threshold"], check.claim["candidate"]
    (leads,) = check.columns({"lead": phase["leads"]}, "lead")
    check.demand(len(leads) == len(active), "the bounds are not those of the survivors")
    bound = np.empty(len(active))
    for part in slices(len(active), check.candidates.shape[1]):
        y = check.candidates[active[part]] - check.candidates[chosen]
        width = np.sqrt(2 * fit.variance(y) * math.log(1 / level))
        if threshold is not None:
            width = np.where(active[part] == chosen, width, np.maximum(threshold, width))
        bound[part] = (y @ fit.theta + width) * check.noise
    check.agree_all(leads, bound, lambda i: f"how much better {active[i]} may be")
    check.demand_all(
        bound <= check.epsilon * (1 + 1e-9),
        lambda i: f"candidate {active[i]} may still be {bound[i]:.6g} better, more than epsilon",
    )
    check.checked += len(active)

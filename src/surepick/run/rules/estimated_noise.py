"""A pilot for the noise scale, then the rule of the algorithm proper."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from surepick.run.check import Check

_LEVEL = 0.025
_INNER = ("phases", "pooled", "static", "alba")  # rules of the algorithms that work in batches


def verify(check: Check) -> list[int]:
    """Work out the noise scale again from the pilot, then why candidates are ruled out with it.

    The claim can only be a heuristic one: an estimated scale may be too small.
    """
    evidence, batches = check.body["evidence"], check.body["batches"]
    kind = check.claim["guarantee"]
    check.demand(kind in ("heuristic", "none"), f"an estimated noise cannot support {kind!r}")
    rounds, inner = int(evidence["rounds"]), evidence["inner"]
    if inner is None:
        check.demand(kind == "none" or len(check.distinct()) == 1, "the pilot is not complete")
        return check.distinct()
    check.demand(2 <= rounds <= len(batches), "the pilot's rounds are not recorded")
    noise = _noise(check, batches[:rounds])
    check.agree(float(evidence["noise"]), noise, "the estimated noise")
    rule = inner["rule"]
    check.demand(rule in _INNER, f"it uses an unknown rule {rule!r}")
    used = sum(sum(batch["counts"]) for batch in batches[:rounds])
    proper = Check(
        check.body
        | {
            "batches": batches[rounds:],
            "evidence": inner,
            "problem": check.body["problem"] | {"noise": float(evidence["noise"])},
            "claim": check.claim | {"samples": check.claim["samples"] - used},
        }
    )
    proper.check_record()
    survivors = importlib.import_module(f"surepick.run.rules.{rule}").verify(proper)
    check.risk, check.checked = 1.0, proper.checked  # no bound
    return survivors


def _noise(check: Check, rounds: list[dict[str, Any]]) -> float:
    """Upper end of the interval for the pooled standard deviation of the pilot's arms."""
    arms = rounds[0]["arms"]
    for number, batch in enumerate(rounds):
        check.demand(
            batch["arms"] == arms and all(count == 1 for count in batch["counts"]),
            f"round {number} of the pilot does not pull the same arms once each",
        )
    rewards = np.array([batch["sums"] for batch in rounds], dtype=float)
    spread = float(((rewards - rewards.mean(axis=0)) ** 2).sum())
    freedom = len(arms) * (len(rounds) - 1)
    least = 1e-9 * max(check.noise, float(np.abs(rewards).max()))
    return max(math.sqrt(spread / _chi_square_quantile(_LEVEL, freedom)), least)


def _chi_square_quantile(level: float, freedom: int) -> float:
    """The value that a chi-square variable falls below with probability ``level`` (bisection)."""
    low, high = 0.0, float(freedom)  # the median is below the mean, and level is small
    for _ in range(200):
        middle = (low + high) / 2
        if _chi_square_below(middle, freedom) < level:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _chi_square_below(x: float, freedom: int) -> float:
    """P(chi-square <= x), by the series of the incomplete gamma function."""
    a, half = freedom / 2, x / 2
    if half == 0:
        return 0.0
    term = total = math.exp(a * math.log(half) - half - math.lgamma(a + 1))
    n = 1
    while term > 1e-18 * total:
        term *= half / (a + n)
        total += term
        n += 1
    return total

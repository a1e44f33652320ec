"""A pilot for the noise scale, then the rule of the algorithm proper."""

from __future__ import annotations

import importlib
import math
from typing import Any

from surepick.verifier import exact, published
from surepick.verifier.check import Check

_LEVEL = 0.025
_INNER = ("phases", "pooled", "static", "alba")  # rules of the algorithms that work in batches


def verify(check: Check) -> list[int]:
    """Work out the noise scale again from the pilot, then why candidates are ruled out with it.

    The claim can only be a heuristic one: an estimated scale may be too small.
    """
    evidence, batches = check.evidence, check.batches
    kind = check.claim["guarantee"]
    check.demand(check.kind.scales is None, "a pilot is for one noise scale of all arms")
    check.demand(kind in ("heuristic", "none"), f"an estimated noise cannot support {kind!r}")
    rounds, inner = exact.whole(evidence["rounds"], "the pilot's rounds"), evidence["inner"]
    if inner is None:
        check.demand(kind == "none" or len(check.distinct()) == 1, "the pilot is not complete")
        return check.distinct()
    check.demand(2 <= rounds <= len(batches), "the pilot's rounds are not recorded")
    _check_pilot(check, batches[:rounds])
    scales = _scales(check, batches, rounds)
    recorded = exact.mappings(evidence["noise"], "its estimates of the noise")
    starts = exact.whole_numbers([entry["from_batch"] for entry in recorded], "their batches")
    check.demand(
        starts.tolist() == [b for b, _ in scales],
        "the noise was not estimated when it should have been",
    )
    for entry, (b, noise) in zip(recorded, scales, strict=True):
        check.agree(
            exact.number(entry["noise"], "a noise"), noise, f"the noise estimated before batch {b}"
        )
    rule = exact.text(exact.mapping(inner, "the evidence inside")["rule"], "the rule inside")
    check.demand(rule in _INNER, f"it uses an unknown rule {rule!r}")
    used = sum(sum(batch["counts"]) for batch in batches[:rounds])
    proper = check.variant(
        {
            "algorithm": published.inner_algorithm(check),
            "batches": _rescaled(batches, [(e["from_batch"], e["noise"]) for e in recorded]),
            "evidence": inner,
            "problem": check.body["problem"] | {"noise": float(recorded[0]["noise"])},
            "claim": check.claim | {"samples": check.claim["samples"] - used},
            "past": _plain(check.body.get("past")),
        }
    )
    proper.check_record()
    published.check_name(proper)
    survivors = importlib.import_module(f"surepick.verifier.rules.{rule}").verify(proper)
    check.risk, check.checked = 1.0, proper.checked  # no bound
    return survivors


def _plain(past: dict[str, Any] | None) -> dict[str, Any] | None:
    """Past measurements without what only the noise was estimated from."""
    if past is None:
        return None
    columns = ("arms", "counts", "sums")
    return past | {"batches": [{key: b[key] for key in columns} for b in past["batches"]]}


def _check_pilot(check: Check, rounds: list[dict[str, Any]]) -> None:
    for number, batch in enumerate(rounds):
        check.demand(
            batch["arms"] == rounds[0]["arms"] and all(count == 1 for count in batch["counts"]),
            f"round {number} of the pilot does not pull the same arms once each",
        )


def _scales(check: Check, batches: list[dict[str, Any]], rounds: int) -> list[tuple[int, float]]:
    """Upper end of the interval for the noise, with the batch from which on it is used.

    That is after the pilot, and whenever the number of replicates has doubled.
    """
    values: dict[int, list[tuple[float, int]]] = {}  # mean and size of each batch, by arm
    found: list[tuple[int, float]] = []
    largest, known, within, inside = check.noise, 0, 0.0, 0
    for b, batch in enumerate(batches, start=1):
        for arm, count, total in zip(batch["arms"], batch["counts"], batch["sums"], strict=True):
            values.setdefault(arm, []).append((total / count, count))
            largest = max(largest, abs(total / count))
        if "spreads" in batch:
            within += sum(batch["spreads"])
            inside += sum(count - 1 for count in batch["counts"])
        freedom = inside + sum(len(means) - 1 for means in values.values())
        if b == rounds or (b > rounds and freedom >= 2 * known):
            known = freedom
            spread = within + sum(_spread(means) for means in values.values())
            scale = math.sqrt(spread / _chi_square_quantile(_LEVEL, freedom))
            found.append((b, max(scale, 1e-9 * largest)))
    return found


def _spread(means: list[tuple[float, int]]) -> float:
    """Squared distances to the mean of all, weighted by size."""
    middle = sum(mean * n for mean, n in means) / sum(n for _, n in means)
    return sum(n * (mean - middle) ** 2 for mean, n in means)


def _rescaled(
    batches: list[dict[str, Any]], scales: list[tuple[int, float]]
) -> list[dict[str, Any]]:
    """The batches after the pilot, as if the noise had been the first estimate all along."""
    out = []
    for b, batch in enumerate(batches):
        if b >= scales[0][0]:
            noise = next(noise for start, noise in reversed(scales) if start <= b)
            ratio = float(scales[0][1]) / float(noise)
            sums = [total * ratio for total in batch["sums"]]
            out.append({"arms": batch["arms"], "counts": batch["counts"], "sums": sums})
    return out


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

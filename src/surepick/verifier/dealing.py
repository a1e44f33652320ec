"""The first report of traffic, dealt into two by a seed: a tenth guides, and the rest is bet on.

Of n visitors S said yes. m = ⌈n/10⌉ of them guide, of whom J said yes: drawn as if they had been
picked at random, by whole numbers alone. Weights begin with 2^128 for the most likely J and follow
from it in both directions by the ratio of probabilities, each rounded down, until one is 0. J is
the first up to which all weights sum to more than their whole sum times a fraction, rounded down:
the SHA-256 of the seed and the option over 2^256. Then J and S − J are independent if visitors are
and have one rate.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import hashlib
from typing import Any

from surepick.verifier import exact
from surepick.verifier.check import Check


def is_dealt(check: Check) -> bool:
    """Whether the first report is two blocks."""
    records = exact.mappings(check.evidence["blocks"], "blocks")
    return bool(records) and "dealt" in records[0]


def dealt_in_two(
    check: Check, record: dict[str, Any], batch: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What guides, and what is bet on, of the first report; ``record`` is of the block."""
    dealt = exact.mapping(record["dealt"], "how the first report was dealt")
    check.demand(
        set(dealt) == {"rule", "seed"} and exact.whole(dealt["rule"], "the rule of dealing") == 1,
        "the first report was dealt by a rule that is not known",
    )
    seed = exact.text(dealt["seed"], "the seed by which the first report was dealt")
    check.demand(
        "traffic" in check.body and check.rule == "pooled" and check.kind.zero_one,
        "only reports of yes or no can be dealt",
    )
    check.demand(
        set(batch) == {"arms", "counts", "sums"}, "a report that was dealt has other columns"
    )
    names = ("arms", "counts", "sums")
    guides, rest = ({name: list[Any]() for name in names} for _ in range(2))
    for arm, visits, yes in zip(*(batch[name] for name in names), strict=True):
        few = (visits + 9) // 10
        found = drawn(f"surepick deal 1|{seed}|{arm}", visits, int(yes), few)
        for part, row in (
            (guides, (arm, few, float(found))),
            (rest, (arm, visits - few, float(yes - found))),
        ):
            if row[1]:
                for name, value in zip(names, row, strict=True):
                    part[name].append(value)
    return guides, rest


def drawn(text: str, visits: int, yes: int, few: int) -> int:
    """How many of the first few said yes."""
    no = visits - yes
    start = ((few + 1) * (yes + 1)) // (visits + 2)
    weights = {start: 2**128}
    here = start
    while weights[here] > 0 and here < min(few, yes):
        ratio = (yes - here) * (few - here), (here + 1) * (no - few + here + 1)
        weights[here + 1] = weights[here] * ratio[0] // ratio[1]
        here += 1
    here = start
    while weights[here] > 0 and here > max(0, few - no):
        ratio = here * (no - few + here), (yes - here + 1) * (few - here + 1)
        weights[here - 1] = weights[here] * ratio[0] // ratio[1]
        here -= 1
    fraction = int(hashlib.sha256(text.encode()).hexdigest(), 16)
    goal, total = (sum(weights.values()) * fraction) >> 256, 0
    for place in sorted(weights):
        total += weights[place]
        if total > goal:
            return place
    raise AssertionError("a sum is more than a part of it")

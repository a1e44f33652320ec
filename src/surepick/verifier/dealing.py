"""The first report of traffic, dealt into two by a seed: a tenth guides, and the rest is bet on.

Of n visitors S said yes. m = ⌈n/10⌉ of them guide, of whom J said yes: drawn as if they had been
picked at random, by whole numbers alone. Weights begin with 2^128 for the most likely J and follow
from it in both directions by the ratio of probabilities, each rounded down, until one is 0. J is
the first up to which all weights sum to more than their whole sum times a fraction, rounded down:
the SHA-256 of the seed and the option over 2^256. Then J and S − J are independent if visitors are
and have one rate.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.record import Batch

_MOST = 10**12  # visitors of an option: of more it would take long to deal them


@exact.readable
@dataclass(frozen=True)
class _Dealt:
    rule: int
    seed: str


def dealt_in_two(check: Check, how: Any, batch: Batch) -> tuple[Batch, Batch]:
    """What guides, and what is bet on, of the first report."""
    dealt = exact.read(_Dealt, how, "how the first report was dealt")
    check.demand(dealt.rule == 1, "the first report was dealt by a rule that is not known")
    check.demand(
        check.record.traffic is not None and check.rule == "pooled" and check.kind.zero_one,
        "only reports of yes or no can be dealt",
    )
    check.demand(not batch.columns, "a report that was dealt has other columns")
    check.demand((batch.counts <= _MOST).all(), "a report has more visitors than can be dealt")
    few = (batch.counts + 9) // 10
    rows = zip(*(own.tolist() for own in (batch.arms, batch.counts, batch.sums, few)), strict=True)
    found = [drawn(f"surepick deal 1|{dealt.seed}|{k}", n, int(yes), m) for k, n, yes, m in rows]
    yes = np.array(found, dtype=float)
    guides = Batch(batch.arms, few, yes)
    rest = Batch(batch.arms, batch.counts - few, batch.sums - yes)
    return guides, rest.of(rest.counts > 0)


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

"""Traffic: batches that are reports of periods, whose visitors were sent by shares.

What a period came to, nobody plans. But nobody can have come to an option without a share, shares
were fixed before the reports that they could have been chosen by, and counts must not contradict
them: then who got which option had to do with something else, and no guarantee stands.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.conditions import of_visitors
from surepick.verifier.noise import Noise, read_noise
from surepick.verifier.options import at_first, turns_of
from surepick.verifier.own_past import went_their_own_way
from surepick.verifier.waiting import PROVEN, check_waiting

_STRENGTHS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
_LEVEL = 0.001
_UNIT = 2.0**-53  # to which a sum is exact, with every number that is added
_SLACK = 1e-9  # of the squared range, for each reward: nothing that bets notice
_RULES = {"at_least", "control", "control_share", "periods", "waits"}


def check_traffic(check: Check) -> None:
    """Shares and counts of a certificate of traffic; nothing where it is another."""
    if "traffic" not in check.body:
        return
    traffic = exact.mapping(check.body["traffic"], "what it says of traffic")
    check.demand(
        set(traffic) - {"past", "window"} == _RULES,
        "what it says of traffic is not what is published",
    )
    of_visitors(traffic)  # refuses a window that is none
    check.demand(check.rule in ("pooled", "keeping"), "traffic is decided by another rule")
    for name in ("at_least", "control_share"):
        share = exact.number(traffic[name], f"traffic: {name}")
        check.demand(0.0 <= share < 1.0, f"traffic: {name} is no share")
    periods = exact.mappings(traffic["periods"], "periods")
    check.demand(len(periods) == len(check.batches), "periods and batches do not correspond")
    names = [exact.text(period["name"], "the name of a period") for period in periods]
    check.demand(len(set(names)) == len(names), "two periods have the same name")
    held = exact.mapping(check.body["problem"].get("numbers", {}), "further numbers")
    kinds = {k: read_noise(one, len(check.raw_arms), check.demand) for k, one in held.items()}
    numbers = {} if check.rule == "pooled" else kinds
    reports: list[tuple[np.ndarray, np.ndarray]] = []
    past, last, logs = _Past(len(check.arms)), 0, np.zeros(len(_STRENGTHS))
    sizes = [at_first(check)]  # options that have come: at first, and with each addition
    begun = [0]
    additions = [turn for turn in turns_of(check) if turn.added]
    for number, (period, batch) in enumerate(zip(periods, check.batches, strict=True)):
        where = f"period {names[number]!r}"
        settled = exact.whole(period["settled"], f"{where}: the reports before it")
        check.demand(
            last <= settled <= number, f"{where}: its shares came before reports they rest on"
        )
        last = settled
        while additions and additions[0].batch <= number:
            sizes.append(sizes[-1] + len(additions.pop(0).arms))
            begun.append(number)
        shares = _shares(check, period, where, sizes[-1])
        counts = np.bincount(batch["arms"], batch["counts"], len(shares))
        check.demand_all(
            (counts == 0) | (shares > 0),
            lambda arm, w=where: f"{w}: visitors came to arm {arm}, which had no share",
        )
        logs += past.take(shares, counts)
        _check_rounding(check, check.kind, batch, batch, where)
        for name, kind in numbers.items():
            _check_rounding(check, kind, batch, batch["numbers"].get(name), f"{where}, {name}")
        hits = np.bincount(batch["arms"], batch["sums"], len(shares))
        reports.append((counts.astype(np.float64), hits))
    for record in exact.mappings(check.evidence["blocks"], "blocks"):
        if "dealt" in record:  # a part of the first report
            continue
        of_past = record["batches"] == 0 and "past" in record  # measured before any visitor came
        check.demand(record["batches"] == 1 or of_past, "a report is not a block of its own")
    check_waiting(check, traffic)
    counted = _counted(check, numbers)
    # What rates are compared with their own past nobody chooses: all that there are.
    due = 3 if check.kind.shares else 2 if counted else 1 if check.kind.zero_one else None
    said = exact.whole(traffic["past"], "the rule of its past") if "past" in traffic else None
    check.demand(
        said == due or not periods, "it is not said of all rates that they keep their past"
    )
    if periods:
        check.broken = _broken(check, logs, reports, counted, (sizes, begun))
    # What is said of a study that was stopped early depends on it, too.
    check.demand(check.claim["guarantee"] not in PROVEN or not check.broken, check.broken)


def _counted(check: Check, numbers: dict[str, Noise]) -> list[str]:
    """Further numbers that are counted, as successes are."""
    told = exact.mapping(check.batches[0].get("numbers", {}) if check.batches else {}, "numbers")
    return [name for name in told if name in numbers and numbers[name].zero_one]


def _broken(
    check: Check,
    logs: np.ndarray,
    reports: list[tuple[np.ndarray, np.ndarray]],
    counted: list[str],
    waves: tuple[list[int], list[int]],
) -> str:
    """What reports say against every promise: shares that were not kept, or rates that moved.

    Of rates all are looked at: of successes, of each segment, and of further counts.
    """
    top = float(logs.max())
    if top + math.log(float(np.exp(logs - top).mean())) >= -math.log(_LEVEL):
        return "visitors did not come in the shares they were sent by"
    columns = {"successes": reports} if check.kind.zero_one else {}
    if segments := range(len(check.kind.shares)):
        batches, n = check.batches, len(check.arms)
        columns = {f"segment {one}": [_of_segment(b, one, n) for b in batches] for one in segments}
    for name in counted:
        hits = [
            np.bincount(batch["arms"], batch["numbers"][name]["sums"], len(check.arms))
            for batch in check.batches
        ]
        columns[name] = [(visits, own) for (visits, _), own in zip(reports, hits, strict=True)]
    for name, seen in columns.items():
        if off := went_their_own_way(seen, *waves, len(columns)):
            return f"an option did not keep to its own past, {name}: arm {off}"
    return ""


def _of_segment(batch: dict[str, Any], segment: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Visitors of one segment and their successes, for each arm."""
    rows = np.asarray(batch["parts"]) == segment
    arms = np.asarray(batch["arms"])[rows]
    counts, sums = (np.asarray(batch[name], dtype=float)[rows] for name in ("counts", "sums"))
    return np.bincount(arms, counts, n), np.bincount(arms, sums, n)


def _check_rounding(
    check: Check, kind: Noise, batch: dict[str, Any], told: dict[str, Any] | None, where: str
) -> None:
    """Rewards between bounds must be said to differ by at least what rounding can hide.

    They are reported by sums of n rewards and of n squares, whose difference may lose n units in
    the last place of both. The squares add up to S²/n at least, so from the sum S alone it is
    known how much that is.
    """
    if told is None or not kind.squares:
        return
    low, high = kind.low, kind.high
    largest = max(abs(low), abs(high))
    for row, n in enumerate(batch["counts"]):
        total, spread = abs(float(told["sums"][row])), float(told["spreads"][row])
        mean = float(told["sums"][row]) / n
        hidden = n * _UNIT * (total * total / n + 2 * largest * total)
        most = max(n * (high - mean) * (mean - low), 0.0)
        check.demand(
            n == 1 or spread >= min(hidden, most) - _SLACK * n * (high - low) ** 2,
            f"{where}, arm {batch['arms'][row]}: rounding may hide that rewards differ by more "
            f"than is said",
        )


def _shares(check: Check, period: dict[str, Any], where: str, n: int) -> np.ndarray:
    """Shares of all arms; those that came later have none."""
    shares = exact.numbers(period["shares"], f"{where}: its shares")
    check.demand(
        len(shares) == n and bool((shares >= 0).all()) and abs(float(shares.sum()) - 1.0) <= 1e-6,
        f"{where}: its shares are not one for each arm that sum to 1",
    )
    return np.append(shares, np.zeros(len(check.arms) - n))


class _Past:
    """Visitors of each arm so far, and how many its shares would have brought."""

    def __init__(self, n: int) -> None:
        self.came, self.due = np.zeros(n), np.zeros(n)

    def take(self, shares: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Log likelihood ratios of a period, for every strength of the prior."""
        p, n = shares[shares > 0], counts[shares > 0]
        came, due = self.came[shares > 0], self.due[shares > 0]
        found = []
        for strength in _STRENGTHS:
            lean = p * (strength * p + came) / (strength * p + due)
            prior = (strength + float(self.due.sum())) * lean / lean.sum()
            total = math.lgamma(prior.sum()) - math.lgamma(prior.sum() + n.sum())
            for a, c, share in zip(prior.tolist(), n.tolist(), p.tolist(), strict=True):
                total += math.lgamma(a + c) - math.lgamma(a) - c * math.log(share)
            found.append(total)
        self.came[shares > 0] += n
        self.due[shares > 0] += n.sum() * p
        return np.array(found)

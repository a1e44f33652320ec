"""Traffic: batches that are reports of periods, whose visitors were sent by shares.

What a period came to, nobody plans. But nobody can have come to an option without a share, shares
were fixed before the reports that they could have been chosen by, and counts must not contradict
them: then who got which option had to do with something else, and no guarantee stands.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.conditions import of_visitors
from surepick.verifier.noise import Noise
from surepick.verifier.options import at_first
from surepick.verifier.own_past import went_their_own_way
from surepick.verifier.record import Batch, Period, Traffic
from surepick.verifier.waiting import PROVEN, check_waiting

_STRENGTHS = (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
_LEVEL = 0.001
_UNIT = 2.0**-53  # to which a sum is exact, with every number that is added
_SLACK = 1e-9  # of the squared range, for each reward: nothing that bets notice


def check_traffic(check: Check, traffic: Traffic) -> None:
    """Shares and counts of a certificate of traffic."""
    of_visitors(traffic.window)  # refuses a window that is none
    check.demand(check.rule in ("pooled", "keeping"), "traffic is decided by another rule")
    for share in (traffic.at_least, traffic.control_share):
        check.demand(0.0 <= share < 1.0, f"traffic: {share:g} is no share")
    periods = traffic.periods
    check.demand(len(periods) == len(check.batches), "periods and batches do not correspond")
    names = {period.name for period in periods}
    check.demand(len(names) == len(periods), "two periods have the same name")
    numbers = {} if check.rule == "pooled" else check.numbers
    reports: list[tuple[np.ndarray, np.ndarray]] = []
    past, last, logs = _Past(len(check.arms)), 0, np.zeros(len(_STRENGTHS))
    sizes = [at_first(check)]  # options that have come: at first, and with each addition
    begun = [0]
    additions = [turn for turn in check.record.options if turn.added]
    for number, (period, batch) in enumerate(zip(periods, check.batches, strict=True)):
        where = f"period {period.name!r}"
        check.demand(
            last <= period.settled <= number,
            f"{where}: its shares came before reports they rest on",
        )
        last = period.settled
        while additions and additions[0].batch <= number:
            sizes.append(sizes[-1] + len(additions.pop(0).arms))
            begun.append(number)
        shares = _shares(check, period, where, sizes[-1])
        counts = np.bincount(batch.arms, batch.counts, len(shares))
        check.demand_all(
            (counts == 0) | (shares > 0),
            lambda arm, w=where: f"{w}: visitors came to arm {arm}, which had no share",
        )
        logs += past.take(shares, counts)
        _check_rounding(check, check.kind, batch, where)
        for name in (batch.numbers or {}).keys() & numbers.keys():
            _check_rounding(check, numbers[name], batch.about(name), f"{where}, {name}")
        reports.append((counts, np.bincount(batch.arms, batch.sums, len(shares))))
    for record in exact.mappings(check.evidence["blocks"], "blocks"):
        if "dealt" in record:  # a part of the first report
            continue
        of_past = record["batches"] == 0 and "past" in record  # measured before any visitor came
        check.demand(record["batches"] == 1 or of_past, "a report is not a block of its own")
    check_waiting(check, traffic)
    # further numbers that are counted, as successes are
    told = check.batches[0].numbers or {} if check.batches else {}
    counted = [name for name in told if name in numbers and numbers[name].zero_one]
    # What rates are compared with their own past nobody chooses: all that there are.
    due = 3 if check.kind.shares else 2 if counted else 1 if check.kind.zero_one else None
    said = traffic.past == due or not periods
    check.demand(said, "it is not said of all rates that they keep their past")
    if periods:
        check.broken = _broken(check, logs, reports, counted, (sizes, begun))
    # What is said of a study that was stopped early depends on it, too.
    check.demand(check.claim["guarantee"] not in PROVEN or not check.broken, check.broken)


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
            np.bincount(batch.arms, batch.about(name).sums, len(check.arms))
            for batch in check.batches
        ]
        columns[name] = [(visits, own) for (visits, _), own in zip(reports, hits, strict=True)]
    for name, seen in columns.items():
        if off := went_their_own_way(seen, *waves, len(columns)):
            return f"an option did not keep to its own past, {name}: arm {off}"
    return ""


def _of_segment(batch: Batch, segment: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Visitors of one segment and their successes, for each arm."""
    own = batch.of(batch.parts == segment)
    return np.bincount(own.arms, own.counts, n), np.bincount(own.arms, own.sums, n)


def _check_rounding(check: Check, kind: Noise, batch: Batch, where: str) -> None:
    """Rewards between bounds must be said to differ by at least what rounding can hide.

    They are reported by sums of n rewards and of n squares, whose difference may lose n units in
    the last place of both. The squares add up to S²/n at least, so from the sum S alone it is
    known how much that is.
    """
    if not kind.squares:
        return
    if batch.spreads is None:
        exact.refuse(f"{where} has no spreads")
    n, sums, low, high = batch.counts, batch.sums, kind.low, kind.high
    means, largest = sums / n, max(abs(low), abs(high))
    hidden = n * _UNIT * (sums * sums / n + 2 * largest * np.abs(sums))
    most = np.maximum(n * (high - means) * (means - low), 0.0)
    fine = batch.spreads >= np.minimum(hidden, most) - _SLACK * n * (high - low) ** 2
    check.demand_all(
        (n == 1) | fine,
        lambda row: (
            f"{where}, arm {batch.arms[row]}: rounding may hide that rewards differ by more than "
            "is said"
        ),
    )


def _shares(check: Check, period: Period, where: str, n: int) -> np.ndarray:
    """Shares of all arms; those that came later have none."""
    shares = period.shares
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

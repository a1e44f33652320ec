"""A fixed allocation, looked at repeatedly (XY-static, XY-oracle)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.estimate import Fit, log_sum, log_twice_normal
from surepick.verifier.record import Batch
from surepick.verifier.tables import slices

Test = Callable[[np.ndarray, np.ndarray], np.ndarray]  # leads and variances -> which pass
_SCALES = (1.0, 30.0, 900.0, 27_000.0)  # precisions of the mixture, in cycles


def verify(check: Check) -> list[int]:
    """Candidates left when each dropped one lost to a rival by a test that holds at all looks.

    The pulls are a cycle repeated, so the estimate of a direction is an average over cycles and
    the mixture test (one-sided, level ``level``) holds at all looks at once. The first batch is one
    cycle: how long a cycle is cannot be chosen in hindsight. The other tests are a
    union over all numbers of pulls n, at level 6 delta/(pi² n² M^power) for each comparison, and
    a union over looks j, at level delta/(2 j² M^power).
    """
    evidence, batches = check.evidence, check.batches
    everyone = check.distinct()
    if len(everyone) == 1:
        return everyone
    left, M = check.mask(everyone), len(everyone)
    test = exact.text(evidence["test"], "its test")
    check.demand(test in _TESTS, f"unknown test {test!r:.80}")
    level, make = _TESTS[test]
    published.demand_test(check, level, evidence["power"])
    passes = make(check, M)
    counts, sums = np.zeros(len(check.arms)), np.zeros(len(check.arms))
    records = exact.mappings(evidence["looks"], "its looks")
    looks = {exact.whole(look["batch"], "the batch of a look"): look["dropped"] for look in records}
    check.demand(
        len(looks) == len(records) and all(0 <= b < len(batches) for b in looks),
        "looks and batches do not correspond",
    )
    for number, batch in enumerate(batches):
        counts[batch.arms] += batch.counts
        sums[batch.arms] += batch.sums
        final = number == len(batches) - 1 and check.claim["guarantee"] == "eps-pac"
        if number not in looks and not final:
            continue
        pulled = np.flatnonzero(counts)
        total = Batch(pulled, counts[pulled], sums[pulled])
        fit = check.fit(total)
        test = passes(counts)
        _drop(check, left, looks.get(number, []), fit, test, f"batch {number}")
        if final:
            _check_close(check, np.flatnonzero(left), fit, test)
    return np.flatnonzero(left).tolist()


def _drop(check: Check, left: np.ndarray, dropped: Any, fit: Fit, test: Test, where: str) -> None:
    """Candidates that one look rules out."""
    losers, winners, gaps = check.columns(dropped, "candidate", "by", "gap")
    # Entries hold in their order: who lost in an earlier one is gone in the later ones.
    out = {int(i): place for place, i in reversed(list(enumerate(losers)))}
    earlier = [
        out[int(i)] == n and out.get(int(by), n) >= n and i != by
        for n, (i, by) in enumerate(zip(losers, winners, strict=True))
    ]
    here = check.among(losers, left) & check.among(winners, left)
    check.demand_all(
        here & np.array(earlier, dtype=bool), lambda i: f"{where} compares absent candidates"
    )
    lead, variance = _compare(check, fit, winners, losers)
    check.agree_all(gaps, lead * check.noise, lambda i: f"the gap of {losers[i]} to {winners[i]}")
    check.demand_all(
        test(lead, variance), lambda i: f"{where}: {winners[i]} does not beat {losers[i]}"
    )
    left[losers] = False
    check.checked += len(losers)


def _check_close(check: Check, left: np.ndarray, fit: Fit, test: Test) -> None:
    """Nobody who is left may be more than epsilon better than the answer."""
    chosen = check.claim["candidate"]
    left = left[left != chosen]
    lead, variance = _compare(check, fit, np.full(len(left), chosen), left)
    check.demand_all(
        test(lead + check.epsilon / check.noise, variance),
        lambda i: f"candidate {left[i]} may still be better by more than epsilon",
    )
    check.checked += len(left)


def _compare(
    check: Check, fit: Fit, by: np.ndarray, losers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Estimated leads of some candidates over others, and their variances."""
    lead, variance = np.empty(len(losers)), np.empty(len(losers))
    for part in slices(len(losers), check.candidates.shape[1]):
        y = check.candidates[by[part]] - check.candidates[losers[part]]
        lead[part], variance[part] = y @ fit.theta, fit.variance(y)
    return lead, variance


class _Mixture:
    """log E >= log(1/level), E a mixture of half-normal drifts."""

    def __init__(self, check: Check, M: int) -> None:
        self.check = check
        self.level = exact.number(check.evidence["level"], "the level")
        published.demand_level(check, self.level, check.delta / (M - 1))
        check.risk += self.level * (M - 1)
        arms, counts = (exact.whole_numbers(c, "its cycle") for c in check.evidence["cycle"])
        check.demand(len(arms) == len(counts) == len(np.unique(arms)), "its cycle is inconsistent")
        check.demand((arms >= 0).all() and (arms < len(check.arms)).all(), "its cycle has no arms")
        self.cycle = np.zeros(len(check.arms))
        self.cycle[arms] = counts
        check.demand(self.cycle.sum() > 0 and (self.cycle >= 0).all(), "the cycle is empty")
        self.begun = check.batches[:1]

    def __call__(self, counts: np.ndarray) -> Test:
        first = np.zeros(len(self.cycle))
        for batch in self.begun:
            first[batch.arms] = batch.counts
        self.check.demand((first == self.cycle).all(), "its cycle is not what was pulled first")
        cycles = round(counts.sum() / self.cycle.sum())
        self.check.demand(
            cycles >= 1 and (counts == cycles * self.cycle).all(),
            "the pulls are not whole repetitions of the cycle",
        )

        def test(lead: np.ndarray, variance: np.ndarray) -> np.ndarray:
            z = lead / np.sqrt(variance)
            logs = []
            for scale in _SCALES:
                share = cycles / (cycles + scale)
                logs.append(log_twice_normal(z * math.sqrt(share)) + 0.5 * math.log(1 - share))
                logs[-1] += z * z * share / 2
            evidence = log_sum(np.stack(logs, axis=-1)) - math.log(len(logs))
            return (z > 0) & (evidence >= math.log(1 / self.level) - 1e-6)

        return test


class _Union:
    """θ̂ᵀy >= 2√2 sqrt(a_y log(6 n² M^power/(pi² delta)))."""

    def __init__(self, check: Check, M: int) -> None:
        self.check = check
        self.power = exact.whole(check.evidence["power"], "the power of its union")
        check.demand(self.power in (1, 2), f"a union over M^{self.power} comparisons is unknown")
        self.delta, self.size = check.delta, M**self.power
        # sum over n of 6/(pi² n²) is one
        check.risk += check.delta * (M - 1) / self.size

    def factor(self, n: int) -> float:
        """The squared width of a comparison after ``n`` pulls, over its variance."""
        return 8 * math.log(6 * n * n * self.size / (math.pi**2 * self.delta))

    def __call__(self, counts: np.ndarray) -> Test:
        factor = self.factor(round(counts.sum()))

        def test(lead: np.ndarray, variance: np.ndarray) -> np.ndarray:
            return lead >= np.sqrt(variance * factor) * (1 - 1e-9)

        return test


class _Looks(_Union):
    """θ̂ᵀy >= sqrt(2 a_y log(2 j² M^power/delta)) at look j = 1, 3, 5, … of a program.

    Before look j it draws ⌈growth^j⌉ pulls; n pulls count as the first look that has as many. No
    two batches may be the same look.
    """

    def __init__(self, check: Check, M: int) -> None:
        super().__init__(check, M)
        self.growth = published.look_growth(check, self.power)
        ends = np.cumsum([batch.pulls for batch in check.batches]).tolist()
        looks = [self._look(n) for n in ends]
        check.demand(len(set(looks)) == len(looks), "two batches are one look of the program")

    def _look(self, n: int) -> int:
        j, drawn = 1, math.ceil(self.growth)
        while drawn < n:
            j += 2
            drawn += math.ceil(self.growth**j)
        return j

    def factor(self, n: int) -> float:
        return 2 * math.log(2 * self._look(n) ** 2 * self.size / self.delta)


#: names of tests -> whose constants they have, and what works them out
_TESTS: dict[str, tuple[str, Callable[[Check, int], Callable[[np.ndarray], Test]]]] = {
    "mixture": ("tight", _Mixture),
    "union over times": ("printed", _Union),
    "union over looks": ("program", _Looks),
}

"""Bets that pool the evidence of all blocks (PooledPeleg)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.run.check import Check

# Doubt, the stakes' prior precisions and the capital of their accounts, as published: they must
# not have been chosen after the rewards were seen.
_PRIORS = [(4.0, [10.0, 150.0], [1 / 3, 2 / 3])]
_RIVALS = 8


def verify(check: Check) -> list[int]:
    """Candidates left when capital bet against each of the others has reached 1/delta.

    Block after block, the rivals must be the candidates that trailed the leader least in the
    earlier blocks, and shares and stakes what those blocks suggest. Each payoff then has an
    expectation of at most 1 while the candidate bet against is the best. With epsilon, half of
    the capital is bet on "not more than epsilon better than the leader" instead, leader after
    leader.
    """
    evidence = check.body["evidence"]
    prior = (evidence["doubt"], evidence["precisions"], evidence["accounts"])
    check.demand(prior in _PRIORS, "the stakes' prior is not one that was fixed in advance")
    left = check.distinct()
    if len(left) == 1:
        return left
    check.risk += check.delta
    book = _Book(check, left)
    for number, (block, batches) in enumerate(_blocks(check), start=1):
        merged = _merge(batches)
        lost = book.settle(block, merged, f"block {number}")
        left = [i for i in left if i not in lost]
    if check.claim["guarantee"] == "eps-pac":
        _check_close(check, book, left)
    # Everybody dropped: an event of probability at most delta, and any answer will do.
    return left or [check.claim["candidate"]]


def _blocks(check: Check) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """What is recorded of each block, and its batches: past ones and new ones."""
    records = check.body["evidence"]["blocks"]
    new, past = list(check.body["batches"]), list(check.past)
    found = []
    for number, record in enumerate(records):
        some, old = int(record["batches"]), int(record.get("past", 0))
        check.demand(some >= 0 and old >= 0 and some + old >= 1, "a block without a batch")
        check.demand(len(new) >= some and len(past) >= old, "blocks and batches do not correspond")
        # Nothing is bet on the first block, so it may depend on anything.
        check.demand(
            not old or number == 0 or check.past_counts,
            "past measurements that were chosen by results count as evidence",
        )
        found.append((record, past[:old] + new[:some]))
        new, past = new[some:], past[old:]
    check.demand(
        not new or check.claim["guarantee"] == "none", "blocks and batches do not correspond"
    )
    return found


def _check_close(check: Check, book: _Book, left: list[int]) -> None:
    chosen = check.claim["candidate"]
    for i in left:
        shown = i == chosen or (chosen, i) in book.close
        check.demand(shown, f"candidate {i} may be more than epsilon better")
        check.checked += 1


def _merge(batches: list[dict[str, Any]]) -> dict[str, Any]:
    """Several batches as one."""
    counts: dict[int, float] = {}
    sums: dict[int, float] = {}
    for batch in batches:
        for arm, count, total in zip(batch["arms"], batch["counts"], batch["sums"], strict=True):
            counts[arm] = counts.get(arm, 0) + count
            sums[arm] = sums.get(arm, 0.0) + total
    arms = sorted(counts)
    return {"arms": arms, "counts": [counts[a] for a in arms], "sums": [sums[a] for a in arms]}


def _entries(dropped: Any) -> list[dict[str, Any]]:
    """One entry per dropped candidate; records of many candidates hold columns instead."""
    if isinstance(dropped, list):
        return dropped
    columns = zip(dropped["candidate"], dropped["log_capital"], strict=True)
    return [{"candidate": i, "log_capital": capital} for i, capital in columns]


class _Book:
    """Who has bet how much on what, worked out again from the record."""

    def __init__(self, check: Check, candidates: list[int]) -> None:
        self.check = check
        evidence = check.body["evidence"]
        self.doubt, self.precisions = evidence["doubt"], evidence["precisions"]
        self.accounts = evidence["accounts"]
        self.epsilon = check.epsilon / check.noise
        self.candidates, self.alive = candidates, set(candidates)
        self.past: dict[str, Any] | None = None
        self.unit: Callable[[np.ndarray], float] | None = None
        self.capital: dict[Any, list[float]] = {}  # log capital of each account
        self.leaders: list[int] = []
        self.close: set[tuple[int, int]] = set()
        s = np.linalg.svd(check.arms, compute_uv=False)
        small = max(1e-12, max(check.arms.shape) * float(np.finfo(float).eps))
        self.rank = int((s > s[0] * small).sum())

    def settle(self, record: dict[str, Any], batch: dict[str, Any], where: str) -> list[int]:
        """Pay out one block; the candidates it drops."""
        if self.past is None:
            self.check.demand(not record["dropped"], f"{where} has no past to bet by")
            _, variance = self.check.least_squares(batch)
            pulls_per_dimension = sum(batch["counts"]) / self.rank
            self.unit = lambda y: 1.0 / (variance(y) * pulls_per_dimension)
            self.past = batch
            return []
        check, rivals = self.check, record["rivals"]
        before, now = check.least_squares(self.past), check.least_squares(batch)
        shares = self._shares(before, rivals, where)
        leader = rivals[0]
        if self.epsilon > 0 and leader not in self.leaders:
            self.leaders.append(leader)
        for x in self.alive:
            self._pay(x, {r: shares[r] for r in rivals if r != x}, before, now, 0.0)
            if self.epsilon > 0 and x != leader:
                self._pay((leader, x), {leader: 0.0}, before, now, self.epsilon)
                if self._log_capital((leader, x)) >= -math.log(check.delta) - 1e-9:
                    self.close.add((leader, x))
        lost = [self._drop(entry, where) for entry in _entries(record["dropped"])]
        self.alive -= set(lost)
        self.past = _merge([self.past, batch])
        return lost

    def _shares(self, before: Any, rivals: list[int], where: str) -> dict[int, float]:
        """Log shares of the rivals, after checking that they trailed the leader least."""
        check, (theta, variance) = self.check, before
        means = {c: float(check.candidates[c] @ theta) for c in self.candidates}
        slack = 1e-6 * (max(abs(m) for m in means.values()) + 1.0)
        check.demand(
            len(set(rivals)) == len(rivals) == min(_RIVALS, len(means))
            and set(rivals) <= set(means),
            f"{where}: the rivals are not the right number of candidates",
        )
        top = means[rivals[0]]
        check.demand(
            top >= max(means.values()) - slack, f"{where}: {rivals[0]} did not lead before"
        )
        trail = {rivals[0]: 0.0}
        for c in means:
            if c != rivals[0]:
                y = check.candidates[rivals[0]] - check.candidates[c]
                trail[c] = (top - means[c]) ** 2 / variance(y)
        last = max(trail[r] for r in rivals)
        others = [trail[c] for c in means if c not in rivals]
        check.demand(
            last <= min(others, default=math.inf) * (1 + 1e-6) + 1e-9,
            f"{where}: other candidates trailed the leader less than these rivals",
        )
        return {r: -self.doubt * trail[r] for r in rivals}

    def _pay(
        self, account: Any, shares: dict[int, float], before: Any, now: Any, shift: float
    ) -> None:
        """Multiply the capital by what stakes that the past suggests paid, rival by rival."""
        check = self.check
        x = account[1] if isinstance(account, tuple) else account
        held = self.capital.setdefault(account, [math.log(share) for share in self.accounts])
        assert self.unit is not None
        logs: list[list[float]] = []
        for r, share in shares.items():
            y = check.candidates[r] - check.candidates[x]
            unit, told = self.unit(y), 1.0 / now[1](y)  # 0 where the block says nothing about y
            information = 1.0 / before[1](y)
            past_score = information * (float(before[0] @ y) + shift)
            score = told * (float(now[0] @ y) + shift)
            row = [share + math.log(unit)]
            for multiple in self.precisions:
                precision = information + multiple * unit
                after = precision + told
                payoff = (
                    _log_psi((past_score + score) / math.sqrt(after))
                    - _log_psi(past_score / math.sqrt(precision))
                    - 0.5 * math.log(after / precision)
                )
                row.append(row[0] + payoff)
            logs.append(row)
        whole = _log_sum([row[0] for row in logs])
        for j in range(len(held)):
            held[j] += _log_sum([row[j + 1] for row in logs]) - whole

    def _log_capital(self, account: Any) -> float:
        total = _log_sum(self.capital.get(account, [0.0]))
        if self.epsilon == 0:
            return total
        if isinstance(account, tuple):  # the k-th leader has 1/(k(k+1)) of one half
            k = self.leaders.index(account[0]) + 1
            return total - math.log(2 * k * (k + 1))
        return total - math.log(2)

    def _drop(self, entry: dict[str, Any], where: str) -> int:
        check, x = self.check, entry["candidate"]
        check.demand(x in self.alive, f"{where} drops an absent candidate")
        capital = self._log_capital(x)
        check.agree(entry["log_capital"], capital, f"{where}: the log capital against {x}")
        check.demand(
            capital >= -math.log(check.delta) - 1e-6,
            f"{where}: the capital against {x} has not reached 1/delta",
        )
        check.checked += 1
        return x


def _log_sum(logs: list[float]) -> float:
    top = max(logs)
    return top + math.log(sum(math.exp(value - top) for value in logs))


def _log_psi(z: float) -> float:
    """log of e^{z²/2} Φ(z)."""
    if z > -20:
        return 0.5 * z * z + math.log(0.5 * math.erfc(-z / math.sqrt(2)))
    # the tail's asymptotic series: exact to float64 out there
    t = 1 / (z * z)
    series = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))))
    return math.log(series / (-z * math.sqrt(2 * math.pi)))

"""Bets on which options are better than a baseline, or a number, and keep limits.

Being better is one mark more: on rewards, set by the baseline's mean. For each mark j and option k
there is capital G_j on "k keeps it" and B_j on "k breaks it", each a non-negative supermartingale
where what it is bet on is not so. With J marks in all, one of them that of the baseline:

- against "k is not better, or breaks a limit" counts the smallest of all G_j, those of limits with
  a tolerance up to that tolerance;
- against "k is better and keeps all limits" counts 0.8 P + 0.2 mean of all B_j, where
  P = Π Σ_j s_j b_j over blocks, b_j what B_j paid in one, and shares s_j that follow from what was
  known before it: ∝ exp(−½ z_j |z_j|), z_j standard errors by which k seems to keep mark j.

Never are both true of one option. All claims together are right with probability 1 − delta if the
weighted sum of capital against every set of statements that may be the true one, and contains what
a claim refutes, has come to 1/delta times its weight; a set has at most one statement of an option,
and none that contradicts an earlier claim. Of k claims at the end a share of delta is wrong on
average if each has n/(k delta), for n options beside the baseline.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import blocks_of
from surepick.verifier.check import Check
from surepick.verifier.comparison import Comparison, conclude_comparison, read_question
from surepick.verifier.estimate import log_sum
from surepick.verifier.rules.keeping import (
    Limit,
    Record,
    Seen,
    check_asked,
    limits_of,
    rests_on,
    squared,
)
from surepick.verifier.statement import check_claims_statement

CLAIMS = ("better", "ruled_out")
_PURSE = 0.8
_CLOSE = 1e-6  # what rounding may make of log capital
_CAUTION, _LEAST = 1.5, 1e-4  # of weights


class Found(NamedTuple):
    """What the record shows."""

    compared: Comparison
    limits: list[Limit]


def verify(check: Check) -> Found:
    """What was shown about options, worked out again block by block."""
    limits = limits_of(check)
    check_asked(check, limits)
    asked = read_question(check)
    check.demand(check.epsilon == 0, "it accepts what is close to the baseline, and has limits")
    book = _Claims(check, limits, asked)
    blocks = blocks_of(check)
    for number, (record, batches) in enumerate(blocks):
        check.demand(len(batches) == 1, f"block {number} is not one batch")
        check.demand(not record["dropped"], f"block {number} drops an option")
        if number >= len(blocks) - check.waited:
            check.demand(book.over and not record["rivals"], "bets were made after the decision")
            continue
        check.demand(not book.over, f"block {number} comes after the question was answered")
        book.settle(record, batches[0], f"block {number}", number + 1)
    check.risk = check.delta
    return Found(book.conclusion(), limits)


def conclude(check: Check, found: Found) -> None:
    """The claim must say what was shown, and nothing else."""
    check.further = rests_on(check, found.limits)
    conclude_comparison(check, found.compared, CLAIMS)
    keep = " and ".join(one.text for one in found.limits)
    check_claims_statement(check, found.compared, keep)


class _Claims(Record):
    """Capital on both sides of all marks, and what was claimed."""

    def __init__(self, check: Check, limits: list[Limit], asked: Comparison) -> None:
        number = asked.threshold is not None
        super().__init__(check, limits, rewards_by_number=number)
        K, J = self.K, 1 + len(limits)
        self.asked = asked
        self.about = K if asked.baseline is None else asked.baseline
        self.number = check.sign * (asked.threshold or 0.0) / check.noise
        self.others = np.array([k for k in range(K) if k != self.about])
        self.lead = np.tile(self.start, (2, K, 1))  # better than the baseline, and worse
        self.purse, self.marks = np.zeros(K), J
        self.weights: np.ndarray | None = None
        self.left = list(exact.mappings(check.evidence["claims"], "the claims"))
        self.claims: dict[int, int] = {}  # what was claimed, by option
        self.now = 0  # blocks so far

    @property
    def over(self) -> bool:
        at_end = self.asked.claims == "fdr" and self._all_now()
        return len(self.left if at_end else self.claims) == len(self.others)

    def _all_now(self) -> bool:
        """Whether all claims that are left are made after the last block."""
        return all(self._block_of(claim) == self.now for claim in self.left)

    def _block_of(self, claim: dict[str, Any]) -> int:
        return exact.whole(claim["block"], "the block of a claim")

    def settle(
        self, record: dict[str, Any], batch: dict[str, Any], where: str, number: int
    ) -> None:
        """Pay out one block, and check what is claimed after it."""
        check, self.now = self.check, number
        blocks = self.read(record, batch, where)
        if not self.bets():
            check.demand(not record["rivals"], f"{where} has no past to bet by")
        else:
            due = [] if self.asked.baseline is None else [self.about]
            check.demand(record["rivals"] == due, f"{where}: the only rival is the baseline")
            seen = self._seen()
            if self.weights is None:
                self.weights = self._weights(seen)
            self.open(blocks, where)
            self._pay(seen)
            self._accept_all(where)
        self.add(blocks)

    def _seen(self) -> Seen:
        """How options stood to all marks before a block, that of the baseline first."""
        view, single = self.reward.look()[1], self.reward.single
        doubt = (view.common**2).sum(axis=1) + view.own
        apart, noise, varies = view.means - self.number, single, doubt
        if self.about < self.K:
            apart = apart - view.means[self.about]
            noise, varies = single + single[self.about], doubt + doubt[self.about]
        limits = self.margins()
        return Seen(
            np.vstack([apart / np.sqrt(noise), limits.apart]),
            np.vstack([varies / noise, limits.doubt]),
            np.vstack([squared(apart / np.sqrt(noise), varies / noise), limits.surely]),
        )

    def _weights(self, seen: Seen) -> np.ndarray:
        """Of the statements about each other option, (2, n), by the mark that seems least kept."""
        found = []
        for k in self.others:
            z = seen.apart[:, k] / np.sqrt(np.clip(seen.doubt[:, k], 1e-300, 1e300))
            for number, limit in enumerate(self.limits, 1):
                if limit.reference == k:
                    z[number] = math.inf if limit.itself else -math.inf
            j = int(np.argmin(z))
            tail = 0.5 / (1.0 + z[j] * z[j])
            likely = 1.0 - tail if z[j] > 0 else tail
            takes = math.sqrt(seen.apart[j, k] ** 2 + _CAUTION * seen.doubt[j, k])
            sides = [min(max(p, _LEAST), 1.0 - _LEAST) for p in (likely, 1.0 - likely)]
            found.append([p / (1.0 - p) / takes for p in sides] + [takes])
        columns = np.array(found).T
        return columns[:2] * columns[2].min()

    def _pay(self, seen: Seen) -> None:
        everyone, one = np.arange(self.K), np.array([self.about])
        lead = log_sum(self.lead)
        self.lead[0] += self.reward.paid(one, everyone, -self.number)[0]
        self.lead[1] += self.reward.paid(everyone, one, self.number)[:, 0]
        broken = self.pay_limits()[1]
        paid = np.vstack([(log_sum(self.lead) - lead)[1], broken])
        shares = -0.5 * seen.surely
        shares = shares - np.logaddexp.reduce(shares, axis=0)
        self.purse = self.purse + np.logaddexp.reduce(shares + paid, axis=0)

    def _capital(self) -> np.ndarray:
        """Log capital against both statements about each other option, (2, n)."""
        own = self.within if self.loose else self.keeps
        lead = log_sum(self.lead)
        better = np.minimum(lead[0], self.certain(log_sum(own), True).min(axis=0))
        broken = np.vstack([lead[1], self.certain(log_sum(self.breaks), False)])
        mean = np.logaddexp.reduce(broken, axis=0) - math.log(self.marks)
        purse = self.purse + math.log(_PURSE)
        out = np.logaddexp(purse, mean + math.log(1.0 - _PURSE))
        return np.stack([better, out])[:, self.others]

    def _needed(self, kind: int, place: int, capital: np.ndarray) -> float:
        """Log capital that the next of claims takes which are all to be right."""
        assert self.weights is not None
        with np.errstate(over="ignore"):
            short = np.maximum(1.0 - np.exp(capital + math.log(self.check.delta)), 0.0)
        lack = self.weights * short
        total = 0.0
        for x, option in enumerate(self.others.tolist()):
            if x != place:
                made = self.claims.get(option)
                total += max(lack[j, x] for j in (0, 1) if j != made)
        return math.log1p(total / self.weights[kind, place]) - math.log(self.check.delta)

    def _accept_all(self, where: str) -> None:
        """The claims of a block, in their order; each may be what another one has waited for."""
        if self.asked.claims == "all":
            while self.left and self._block_of(self.left[0]) == self.now:
                self._accept(self.left.pop(0), None, where)

    def _accept(self, claim: dict[str, Any], needed: float | None, where: str) -> None:
        check, capital = self.check, np.minimum(self._capital(), 1e300)
        option = exact.whole(claim["candidate"], "the candidate of a claim")
        name = exact.text(claim["claim"], "what is claimed")
        place = np.flatnonzero(self.others == option)
        fine = len(place) == 1 and name in CLAIMS and option not in self.claims
        check.demand(fine, f"{where}: a claim about {option}")
        kind, at = CLAIMS.index(name), int(place[0])
        recorded = np.array([exact.number(claim["log_capital"], "the capital of a claim")])
        what = f"{where}: the log capital of {option} being {name}"
        check.agree_all(recorded, capital[kind, [at]], lambda _: what, _CLOSE)
        if needed is None:
            needed = self._needed(kind, at, capital)
        found = float(capital[kind, at])
        check.demand(found >= needed - _CLOSE, f"{what} is {found:.6g}, below {needed:.6g}")
        self.claims[option] = kind
        check.checked += 1

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        check, n = self.check, len(self.others)
        if self.asked.claims == "fdr" and self.left:
            needed = math.log(n / len(self.left)) - math.log(check.delta)
            check.demand(self._all_now(), "a claim is not made at the end")
            for claim in self.left:
                self._accept(claim, needed, "at the end")
            self.left = []
        check.demand(not self.left, "claims are not in the order of blocks")
        shown = {
            name: sorted(k for k, own in self.claims.items() if own == kind)
            for kind, name in enumerate(CLAIMS)
        }
        rest = [int(k) for k in self.others if k not in self.claims]
        return self.asked._replace(shown=shown, open=rest)

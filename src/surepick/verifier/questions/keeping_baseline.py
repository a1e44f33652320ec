"""Which options are better than a baseline, or a number, and keep limits?

Being better is one mark more: on rewards, set by the baseline's mean. For each mark j and option k
there is capital G_j on "k keeps it" and B_j on "k breaks it", each a non-negative supermartingale
where what it is bet on is not so. With J marks in all, one of them that of the baseline:

- against "k is not better, or breaks a limit" counts the smallest of all G_j, those of limits with
  a tolerance up to that tolerance;
- against "k is better and keeps all limits" counts 0.8 P + 0.2 mean of all B_j, where
  P = Π Σ_j s_j b_j over blocks, b_j what B_j paid in one, and shares s_j that follow from what was
  known before it: ∝ exp(−½ z_j |z_j|), z_j standard errors by which k seems to keep mark j.

Never are both true of one option.
"""

from __future__ import annotations

import math

import numpy as np

from surepick.verifier.blocks import Noted, blocks_of
from surepick.verifier.check import Check
from surepick.verifier.formulas import Closed, Purses, averaged, odds, tail
from surepick.verifier.payoffs.limits import Limit, Numbers, Seen, read_limits
from surepick.verifier.questions.claims import Claims, Comparison, check_comparison, read_question
from surepick.verifier.record import Batch
from surepick.verifier.statement import check_claims_statement

_CLAIMS = ("better", "ruled_out")
_PURSE = 0.8
_CLOSE = 1e-6  # what rounding may make of log capital
_CAUTION = 1.5  # of weights


def verify(check: Check) -> tuple[Comparison, list[Limit]]:
    """What was shown about options, worked out again block by block."""
    limits, asked = read_limits(check), read_question(check)
    check.demand(check.epsilon == 0, "it accepts what is close to the baseline, and has limits")
    book = _Marks(check, limits, asked)
    blocks = blocks_of(check)
    for number, (note, batches) in enumerate(blocks, start=1):
        check.demand(len(batches) == 1, f"block {number} is not one batch")
        check.demand(note.nobody_dropped, f"block {number} drops an option")
        if number > len(blocks) - check.waited:
            check.demand(book.over and note.nothing, "bets were made after the decision")
            continue
        check.demand(not book.over, f"block {number} comes after the question was answered")
        book.settle(note, batches[0], f"block {number}", number)
    check.risk = check.delta
    return book.conclusion(), limits


def conclude(check: Check, found: tuple[Comparison, list[Limit]]) -> None:
    """The claim must say what was shown, and nothing else."""
    compared, limits = found
    check_comparison(check, compared)
    check_claims_statement(check, compared, " and ".join(one.text for one in limits))


class _Marks:
    """Capital on both sides of all marks, and what was claimed."""

    def __init__(self, check: Check, limits: list[Limit], asked: Comparison) -> None:
        self.numbers = Numbers(check, limits, rewards_by_number=asked.threshold is not None)
        self.check, self.asked, K = check, asked, self.numbers.K
        self.about = K if asked.baseline is None else asked.baseline
        self.mark = check.sign * (asked.threshold or 0.0) / check.noise
        self.others = [k for k in range(K) if k != self.about]
        self.lead = Purses((2, K), self.numbers.start)  # better than the baseline, and worse
        self.keeps, self.breaks, self.within = (self.numbers.purses() for _ in range(3))
        self.purse = np.zeros(K)
        self.closed: Closed | None = None
        self.claims = Claims(check, asked, _CLAIMS, self.others)
        self.now = 0  # blocks so far

    @property
    def over(self) -> bool:
        return self.claims.over(self.now)

    def settle(self, note: Noted, batch: Batch, where: str, number: int) -> None:
        """Pay out one block, and check what is claimed after it."""
        check, numbers, self.now = self.check, self.numbers, number
        blocks = numbers.read(note, batch, where)
        if not numbers.bets():
            check.demand(note.nothing, f"{where} has no past to bet by")
        else:
            due = [] if self.asked.baseline is None else [self.about]
            fine = note.rivals.tolist() == due
            check.demand(fine, f"{where}: the only rival is the baseline")
            seen = self._seen()
            if self.closed is None:
                self.closed = Closed(self._weights(seen), [(0,), (1,)])
            numbers.open(blocks, where)
            self._pay(seen)
            if self.claims.all_right:
                self.claims.take(number, self._capital(), self.closed, _CLOSE)
        numbers.add(blocks)

    def _seen(self) -> Seen:
        """How options stood to all marks before a block, that of the baseline first."""
        reference = self.about if self.about < self.numbers.K else None
        own = self.numbers.beside(0, self.mark, reference)
        return Seen(*map(np.vstack, zip(own, self.numbers.margins())))

    def _weights(self, seen: Seen) -> np.ndarray:
        """Of the statements about each other option, (2, n), by the mark that seems least kept."""
        z = seen.apart / np.sqrt(np.clip(seen.doubt, 1e-300, 1e300))
        for row, limit in zip(z[1:], self.numbers.limits):
            if limit.reference is not None:
                row[limit.reference] = math.inf if limit.itself else -math.inf
        j = np.argmin(z, axis=0), np.arange(self.numbers.K)
        takes = np.sqrt(seen.apart[j] ** 2 + _CAUTION * seen.doubt[j])[self.others]
        likely = tail(-z[j])[self.others]
        return np.array([odds(likely), odds(1.0 - likely)]) * takes.min() / takes

    def _pay(self, seen: Seen) -> None:
        everyone, one = np.arange(self.numbers.K), np.array([self.about])
        reward = self.numbers.rounds[0]
        better = reward.beats(one, everyone, -self.mark)[0]
        worse = reward.beats(everyone, one, self.mark)[:, 0]
        grown = self.lead.pay(np.stack([better, worse]))[1]
        keeps, breaks, within = self.numbers.paid()
        self.keeps.pay(keeps)
        self.within.pay(within)
        shares = -0.5 * self.numbers.surely(seen)
        shares = shares - np.logaddexp.reduce(shares, axis=0)
        paid = np.vstack([grown, self.breaks.pay(breaks)])
        self.purse = self.purse + np.logaddexp.reduce(shares + paid, axis=0)

    def _capital(self) -> np.ndarray:
        """Log capital against both statements about each other option, (2, n)."""
        certain, lead = self.numbers.certain, self.lead.total
        own = self.within if self.numbers.loose else self.keeps
        better = np.minimum(lead[0], certain(own.total, True).min(axis=0))
        broken = averaged(np.vstack([lead[1], certain(self.breaks.total, False)]))
        out = np.logaddexp(self.purse + math.log(_PURSE), broken + math.log(1.0 - _PURSE))
        return np.minimum(np.stack([better, out])[:, self.others], 1e300)

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        if not self.claims.all_right:
            self.check.demand(self.claims.all_at(self.now), "a claim is not made at the end")
            self.claims.take(self.now, self._capital(), None, _CLOSE)
            self.claims.on_average(self._capital(), 1)
        return self.claims.conclusion()

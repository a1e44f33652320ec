"""Which candidates are better than a baseline, or a number, and which are worse?

Of each candidate x there is capital against "x is not better than the baseline" and against "x is
not worse"; with epsilon also against "x is epsilon better, or more" and "epsilon worse, or more",
the smaller of which counts against "x is at least epsilon away". For no x are more than two of
these true.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.verifier.blocks import Block, Noted
from surepick.verifier.check import Check
from surepick.verifier.formulas import Closed, Purses, Steps, true_together
from surepick.verifier.payoffs.measurements import Round
from surepick.verifier.payoffs.table import STAKES, Question, Table, paid
from surepick.verifier.questions.claims import CLAIMS, Claims, Comparison, read_question
from surepick.verifier.questions.race import Race


def verify(check: Check) -> Comparison:
    """What was shown about candidates, worked out again block by block."""
    asked, everyone = read_question(check), check.distinct()
    check.risk += check.delta
    race = _Compared(check, np.array(everyone), asked)
    if len(race.others):
        race.follow()
    return race.conclusion()


class _Compared(Race):
    """Capital on both sides, and what was claimed."""

    def __init__(self, check: Check, candidates: np.ndarray, asked: Comparison) -> None:
        super().__init__(check, candidates)
        M = len(candidates)
        self.asked, self.number = asked, 0.0
        self.reference, self.others = M, np.arange(M)
        if asked.threshold is not None:
            self.number = check.sign * asked.threshold / check.noise
            check.demand(not self.levels, "a number does not move with levels")
        elif asked.baseline is not None:
            self.reference = int(np.searchsorted(candidates, check.first_like(asked.baseline)))
            self.others = np.delete(np.arange(M), self.reference)
        self.sides, self.closer = (Purses((2, len(self.others)), self.start) for _ in range(2))
        self.claims = Claims(check, asked, CLAIMS, candidates[self.others].tolist())
        self.steps: Steps | None = None
        self.settled = 1  # the first block, which has no bets

    def has_rivals(self, note: Noted) -> bool:
        """Whether anything was bet on a block; a number is no candidate, and is not named."""
        return self.asked.baseline is None or super().has_rivals(note)

    def settle(self, note: Noted, block: Block, where: str) -> None:
        self.settled += 1
        super().settle(note, block, where)

    def rivals(self, note: Noted, where: str) -> np.ndarray:
        due = [] if self.asked.baseline is None else [int(self.candidates[self.reference])]
        fine = note.rivals.tolist() == due
        self.check.demand(fine, f"{where}: the only rival is the baseline")
        return np.array([self.reference])

    def _open(self, outlook: Any, rivals: np.ndarray) -> Round:
        numbered = self.asked.baseline is None
        leader = None if numbered else self.reference
        return Round(self.known, outlook, self.candidates, leader, self.offer.rank, numbered)

    def pay(self, round: Round, rivals: np.ndarray, where: str) -> None:
        """Bets on each candidate against the baseline, and on the baseline against each."""
        if self.steps is None:  # by what was known before the first bets
            lifts, variances = round.seems(self.others, self.reference)
            unit = round.tells(self.others, self.reference)
            variances = np.clip(variances, 1e-300, 1e300)
            self.steps = Steps(lifts - self.number, variances, unit, self.epsilon)
            self.sides.logs += np.tile(self.steps.accounts(np.exp(self.start)), len(self.ways))
        self.sides.pay(self._paid(round, rivals, 0.0, self.steps.prior))
        if self.epsilon > 0:  # the one on the other side is close from here
            self.closer.pay(self._paid(round, rivals, self.epsilon, 1.0))

    def _paid(self, round: Round, base: np.ndarray, near: float, prior: float) -> np.ndarray:
        better = round.beats(base, self.others, near - self.number, prior)[0]
        worse = round.beats(self.others, base, near + self.number, prior)[:, 0]
        return np.stack([better, worse])

    def drop(self, note: Noted, where: str) -> None:
        """Nobody is dropped; claims are made."""
        self.check.demand(note.nobody_dropped, f"{where} drops a candidate")
        if self.claims.all_right:
            self.claims.take(self.settled, self._capital(), self.steps, self.rounding)

    def _capital(self) -> np.ndarray:
        close = [self.closer.total.min(axis=0)] if self.epsilon > 0 else []
        return np.array([*self.sides.total, *close])

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        if not self.claims.all_right:
            self.check.demand(self.claims.all_at(self.settled), "a claim is not made at the end")
            self.claims.take(self.settled, self._capital(), None, self.rounding)
            self.claims.on_average(self._capital(), 2)
        return self.claims.conclusion()


# -- on a table that could be filled in ---------------------------------------------------
def verify_on_table(check: Check) -> Comparison:
    """What was shown about options, worked out again place by place."""
    asked = read_question(check)
    check.demand(check.settings.get("top", 1) == 1, "top is set, and not asked")
    check.risk += check.delta
    table = Table(check)
    check.demand(not table.turns.any, "options come and go, and are compared with a baseline")
    sides = _OnTable(check, table, asked)
    table.follow(sides)
    return sides.conclusion()


class Sides:
    """Capital on both sides of a baseline with equal weights, and what was claimed.

    Who is decided is bet on no more, and keeps the capital that it had when it was claimed.
    """

    def __init__(self, check: Check, asked: Comparison, start: np.ndarray) -> None:
        self.check = check
        self.others = [x for x in range(len(check.candidates)) if x != asked.baseline]
        self._sides, self._closer = (Purses((2, len(self.others)), start) for _ in range(2))
        self.claims = Claims(check, asked, CLAIMS, self.others)
        self.kinds = 3 if check.epsilon > 0 else 2
        self._closed = Closed(np.ones((self.kinds, len(self.others))), true_together(self.kinds))
        self.settled = 0

    @property
    def open(self) -> list[int]:
        """The places of those about whom nothing is claimed."""
        return [place for place, kind in enumerate(self.claims.made) if kind is None]

    def pay(self, better: np.ndarray, worse: np.ndarray) -> None:
        """Pay out a block to those, (n, accounts) on either side."""
        self._sides.logs[:, self.open] += np.stack([better, worse])

    def pay_close(self, *both: np.ndarray) -> None:
        """What bets on not being far worse, and not far better, paid."""
        self._closer.logs[:, self.open] += np.stack(both)

    def settle(self, certain: np.ndarray | None = None) -> None:
        """The claims after a block; ``certain`` are those that take no capital."""
        self.settled += 1
        closed = self._closed if self.claims.all_right else None
        self.claims.take(self.settled, self._capital(), closed, 1e-6, certain)

    def _capital(self) -> np.ndarray:
        close = [self._closer.total.min(axis=0)] if self.kinds > 2 else []
        return np.array([*self._sides.total, *close])

    def conclusion(self, certain: np.ndarray | None = None) -> Comparison:
        """What was shown when the last block was settled."""
        if not self.claims.all_right:
            self.claims.on_average(self._capital(), 2, certain)
        return self.claims.conclusion()


class _OnTable(Question):
    """Claims on a table: one that nothing to come can change needs no capital."""

    def __init__(self, check: Check, table: Table, asked: Comparison) -> None:
        self.check, self.table, self.asked, self.level = check, table, asked, 0.0
        if asked.threshold is not None:
            share = table.share(asked.threshold)
            check.demand(0 <= share <= 1, "the threshold is out of bounds")
            self.level = share * table.unit
        self.sides = Sides(check, asked, np.log(STAKES))
        self.certain = np.zeros((self.sides.kinds, len(self.sides.others)), dtype=bool)

    def measured(self) -> list[int]:
        base = [] if self.asked.baseline is None else [self.asked.baseline]
        return sorted([*self.sides.claims.open, *base])

    def settle(self, note: Noted, first: int, where: str) -> None:
        table, sides, rows = self.table, self.sides, self.sides.open
        if note.bets:
            own = table.scores[:, : table.met]
            base = self.level if self.asked.baseline is None else own[self.asked.baseline]
            up = (own[[sides.others[row] for row in rows]] - base) / table.unit
            sides.pay(*(np.sum(list(paid(own, first, table.items)), axis=0) for own in (up, -up)))
            if self.check.epsilon > 0:
                slack = table.slack / table.unit
                near = (list(paid(own, first, table.items, slack)) for own in (up, -up))
                sides.pay_close(*(np.sum(one, axis=0) for one in near))
        for row in rows:
            self.certain[:, row] = self._certain(sides.others[row])
        sides.settle(self.certain)

    def _certain(self, x: int) -> list[bool]:
        """What nothing that is to come can change about an option."""
        table, own = self.table, self.table.scores[x].tolist()
        if self.asked.baseline is None:
            seen = [score for score in own if score >= 0]
            lead, left = sum(seen) - len(seen) * self.level, table.items - len(seen)
            less, more = self.level, table.unit - self.level
            close = 1e-9 * max(1.0, self.level * table.items)
        else:
            base = table.scores[self.asked.baseline].tolist()
            gaps = [a - b for a, b in zip(own, base) if a >= 0 and b >= 0]
            lead, left, close = sum(gaps), table.items - len(gaps), 0.0
            less = more = table.unit
        low, high = lead - left * less, lead + left * more
        slack = table.slack + close
        found = [low > close, high < -close, low >= -slack and high <= slack]
        return found[: len(self.certain)]

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        found = self.sides.conclusion(self.certain)
        ended = self.table.whole(self.measured())  # who is left ties
        return found._replace(open=[]) if ended else found

"""A table that could be filled in completely: its cells, who had to meet them, what bets pay.

The record has cells: an option, the place of an item in the order of items, a score. Nobody has two
scores in one place; who is in meets the next places together, and so every lead is over the same
places. A stake λ pays 1 + λ(D − m) for each of these: D is the lead there, and m what it would be
on average over those that are left if the total was even.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Noted, blocks_of
from surepick.verifier.check import Check
from surepick.verifier.options import Turns, epsilon_at_first
from surepick.verifier.order import check_pieces
from surepick.verifier.record import Accepted, Batch

# All fixed before anything was measured.
_RULE = 1
_SHARE = 0.4  # a stake times the root of v̂; another one follows the evidence
STAKES = np.array([0.3, 0.7])  # capital for each of the two
_MOST = 0.9  # of the capital that one item may take
_WAIT = 5
_EDGE = 1e-6  # this near to what is certain nothing is bet
_FINE = 9_009_000_000  # units in the range of a score that is not yes or no
_SEEDS = 2**53
_CELLS = 20_000_000


class Question(ABC):
    """What is asked of a table."""

    @abstractmethod
    def measured(self) -> list[int]:
        """Who meets the next places."""

    @abstractmethod
    def settle(self, note: Noted, first: int, where: str) -> None:
        """A block, from a place on."""

    def accept(self, epsilon: float) -> None:
        """So much is close enough from now on."""
        exact.refuse("what is close enough cannot be named on the way here")

    def enter(self, arms: np.ndarray) -> None:
        """Options come."""
        exact.refuse("options cannot come and go here")

    def leave(self, place: int) -> None:
        """One goes."""
        exact.refuse("options cannot come and go here")


def paid(leads: np.ndarray, first: int, items: int, slack: float = 0.0) -> Iterator[np.ndarray]:
    """log(1 + λ(D − m)) for both stakes, place by place; leads in items, (…, places)."""
    S, Q = leads[..., :first].sum(axis=-1), np.square(leads[..., :first]).sum(axis=-1)
    for t in range(first, leads.shape[-1]):
        D = leads[..., t]
        m = -(S + slack) / (items - t)
        v = (Q + 1) / (t + 2)
        edge = np.clip(S / (t + _WAIT) - m, 0, None)
        inside = (m > -1 + _EDGE) & (m < 1 - _EDGE)
        room = _MOST / np.where(inside, 1 + m, 1.0)
        sizes = (_SHARE / np.sqrt(v), edge / (v + edge**2))
        stakes = [np.where(inside, np.minimum(size, room), 0.0) for size in sizes]
        yield np.stack([np.log1p(stake * (D - m)) for stake in stakes], axis=-1)
        S, Q = S + D, Q + D**2


class Table:
    """Scores by place, −1 where there is none."""

    def __init__(self, check: Check) -> None:
        self.check = check
        evidence = check.evidence
        self.items = exact.whole(evidence["items"], "the number of items")
        K = len(check.arms)
        check.demand(self.items == check.table, "its items are not as many as were set")
        check.demand(self.items >= 1 and K * self.items <= _CELLS, "its table is too large")
        check.demand(evidence["bets"] == _RULE, "its bets follow no known rule")
        check.demand(check.kind.bounded, "its scores have no bounds")
        check.demand(check.settings.get("items") is None, "items cannot be set here")
        check.demand(not check.separate, "it has separate candidates")
        check.demand(len(check.distinct()) == K, "some of its options cannot be told apart")
        self.unit = 1 if check.kind.zero_one else _FINE
        self.accept(epsilon_at_first(check))
        self.scores = np.full((K, self.items), -1, dtype=np.int64)
        self.turns = Turns(check)
        self.met = 0
        self.known, self.given = self._orders()
        self.loose = bool(check.record.corrections)  # scores were others when it was asked for
        self._in_then: dict[int, list[int]] = {}  # who was in after so many batches

    def accept(self, epsilon: float) -> None:
        """So much is close enough from now on, in all."""
        width = self.check.kind.high - self.check.kind.low
        slack = epsilon / width * self.items * self.unit
        self.slack = math.floor(slack * (1.0 + 1e-12) + 1e-9)

    def _orders(self) -> tuple[int, list[int]]:
        """How many items came first, on which nothing is bet; where items left got new orders."""
        check, found, known = self.check, list[int](), 0
        orders = exact.mappings(check.evidence["orders"], "its orders of items")
        for number, one in enumerate(orders):
            named = dict[str, int]()
            for what in {"first", "seen"} & one.keys() if number == 0 else ():
                items = exact.whole_numbers(one[what], "the items that were known").tolist()
                there = all(0 <= item < self.items for item in items)
                check.demand(there and len(set(items)) == len(items), f"no such items came {what}")
                named[what] = len(items)
            known = named.get("first", known)
            fields = one.keys() - named.keys()
            check.demand(fields == {"from", "seed"}, "an order lacks its beginning or seed")
            seed = exact.whole(one["seed"], "the seed of an order")
            check.demand(0 <= seed < _SEEDS, "the seed of an order is out of range")
            found.append(exact.whole(one["from"], "the beginning of an order"))
        check.demand(found[:1] == [0], "its items have no order")
        return known, found[1:]

    def share(self, score: float) -> float:
        """Where a score lies between the worst, 0, and the best, 1."""
        kind = self.check.kind
        worst, best = (kind.high, kind.low) if self.check.smaller else (kind.low, kind.high)
        return (score - worst) / (best - worst)

    def follow(self, question: Question) -> None:
        """Block by block, with options that come and go between them."""
        check = self.check
        told, blocks = 0, blocks_of(check)
        check_pieces(check, blocks)
        for number, (note, batches) in enumerate(blocks, start=1):
            self._turn(told, question)
            self._in_then[told] = question.measured()
            told += note.batches
            self._settle(note, batches, question, f"block {number}")
        for batch in check.batches[told:]:  # of a block that was not completed
            self._read(batch, "the last block")
        self._turn(told, question)
        self.turns.end()
        check.demand(self.given == [], "it has orders of items that nobody used")

    def _turn(self, told: int, question: Question) -> None:
        """Let options come and go that did so after so many batches."""
        for turn in self.turns.at(told):
            if isinstance(turn, Accepted):
                self.accept(turn.epsilon[1])
                question.accept(turn.epsilon[1])
                continue
            if not turn.added:
                question.leave(turn.arms[0])
                continue
            question.enter(np.array(turn.arms))
            if self.met < self.items:
                drawn = self.given[:1] == [self.met]
                self.check.demand(drawn, "the items left got no order when options came")
                self.given.pop(0)

    def _read(self, batch: Batch, where: str) -> set[tuple[int, int]]:
        """Take in the scores of a batch; which cells they are."""
        check, cells = self.check, set()
        counts, sums = batch.counts.tolist(), batch.sums.tolist()
        for (arm, place), count, score in zip(batch.rows, counts, sums, strict=True):
            check.demand(count == 1 and 0 <= place < self.items, f"{where} has no such cell")
            check.demand(self.scores[arm, place] < 0, f"{where}: a cell is measured twice")
            self.scores[arm, place] = round(self.share(score) * self.unit)
            cells.add((arm, place))
        return cells

    def _settle(self, note: Noted, batches: list[Batch], question: Question, where: str) -> None:
        """One block: what it must be, and what follows."""
        check, now = self.check, question.measured()
        then = now
        if batches[0].after is not None:  # asked for ahead, from all that were in at that time
            then = self._in_then.get(batches[0].after, [])
            check.demand(len(batches) == 1, f"{where} was asked for ahead, and in pieces")
        met = self.scores[:, : self.met]  # a forged table may be huge: only what was met is read
        missing = {(x, int(t)) for x in now for t in np.flatnonzero(met[x] < 0)}
        cells = set().union(*(self._read(batch, where) for batch in batches))
        size = note.items
        check.demand(0 <= size <= self.items - self.met, f"{where} has more items than are left")
        first, self.met = self.met, self.met + size
        at_once = first >= self.known or self.met <= self.known
        check.demand(at_once, f"{where} has items that were known, and others")
        due = size > 0 and first >= self.known
        if self.loose:
            check.demand(all(t < self.met for _, t in cells), f"{where} has items beyond its own")
            due = due and bool((self.scores[now, first : self.met] >= 0).all())
            check.demand(note.bets == due, f"{where} lacks cells")
        else:
            check.demand(note.bets == due, f"{where} was bet on, or not, against the rule")
            fits = cells == missing
            if size > 0:
                fits = not missing and set(now) <= set(then) and self._are(cells, then, first)
            check.demand(fits, f"{where} has other cells than are due")
        question.settle(note, first, where)

    def _are(self, cells: set[tuple[int, int]], arms: list[int], first: int) -> bool:
        """Whether these are the cells of some options, from a place on to what is met."""
        if len(cells) != len(arms) * (self.met - first):  # a forged block may be huge
            return False
        return cells == {(x, t) for x in arms for t in range(first, self.met)}

    def totals(self) -> np.ndarray:
        """Over the items met, of those that are known on all of them."""
        return self.scores[:, : self.met].sum(axis=1)

    def whole(self, arms: list[int]) -> bool:
        """Whether all cells of some options are known."""
        return not (self.scores[arms] < 0).any()

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest total of each in the end."""
        low = np.where(self.scores >= 0, self.scores, 0).sum(axis=1)
        return low, low + self.unit * (self.scores < 0).sum(axis=1)

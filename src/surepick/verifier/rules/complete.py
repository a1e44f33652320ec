"""Bets on a table that could be filled in completely (PooledPeleg with ``complete``).

The record has cells: an option, the place of an item in the order of items, a score. Nobody has two
scores in one place; who is in meets the next places together, and so every lead is over the same
places. Worked out here: the capital against each option, place by place, and who cannot catch up.

Of m options that are asked for m − 1 are sure, with capital of their own, as in
:mod:`surepick.verifier.rules.top_m`. Bets on both sides of a baseline are in
:mod:`surepick.verifier.rules.complete_compared`.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from surepick.verifier import exact
from surepick.verifier.accepting import (
    Accepted,
    Shares,
    beside,
    epsilon_at_first,
    of_leader,
)
from surepick.verifier.blocks import blocks_of
from surepick.verifier.check import Check
from surepick.verifier.chosen import Chosen, check_chosen, read_top
from surepick.verifier.options import Turn, at_first, events_of
from surepick.verifier.order import check_pieces

# All fixed before anything was measured.
_RULE = 1
_SHARE = 0.4  # a stake times the root of v̂; another one follows the evidence
STAKES = np.array([0.3, 0.7])  # capital for each of the two
_MOST = 0.9  # of the capital that one item may take
_WAIT = 5
_STEEP = 6.0
_EDGE = 1e-6  # this near to what is certain nothing is bet
_FINE = 9_009_000_000  # units in the range of a score that is not yes or no
_SEEDS = 2**53
_CELLS = 20_000_000


class OnTable(NamedTuple):
    """What was shown; options by their numbers."""

    left: list[int]  #: those that are in
    tied: bool  #: whether these all have the same total over all items
    certain: bool  #: whether nobody else can have as large a total as the answer
    close: dict[int, set[int]]  #: who was shown not to be ahead of these by more than epsilon


class Question(Protocol):
    """What is asked of a table."""

    def measured(self) -> list[int]: ...  #: who meets the next places
    def settle(self, record: dict[str, Any], first: int, bets: bool, where: str) -> None: ...


def verify(check: Check) -> OnTable:
    """Who is left once the capital against each of the others has reached its goal."""
    check.demand("question" not in check.evidence, "more than the best option is asked for")
    for name in ("baseline", "threshold"):
        check.demand(check.settings.get(name) is None, f"{name} is set, and not asked")
    check.demand(check.settings.get("top", 1) == 1, "top is set, and not asked")
    return _raced(check, 1)


def verify_top(check: Check) -> OnTable:
    """Who is left of a race for the m best."""
    m = read_top(check)
    check.demand(len(check.arms) > m, "there are not more candidates than were asked for")
    return _raced(check, m)


def _raced(check: Check, m: int) -> OnTable:
    table = Table(check)
    check.risk += check.delta
    race = _Race(check, table, m)
    table.follow(race)
    return race.shown()


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
    """Scores by place, and who had to meet them."""

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
        check.demand(check.body["problem"]["candidates"] is None, "it has separate candidates")
        check.demand(len(check.distinct()) == K, "some of its options cannot be told apart")
        self.unit = 1 if check.kind.zero_one else _FINE
        self.accept(epsilon_at_first(check))
        self.scores = np.full((K, self.items), -1, dtype=np.int64)
        self.turns: list[Turn | Accepted] = events_of(check)
        self.met = 0
        self.known = 0  # items that came first, on which nothing may be bet
        self.given = self._orders()
        self.loose = "corrections" in check.body  # scores were others when it was asked for
        self._in_then: dict[int, list[int]] = {}  # who was in after so many batches

    def accept(self, epsilon: float) -> None:
        """So much is close enough from now on, in all."""
        width = self.check.kind.high - self.check.kind.low
        slack = epsilon / width * self.items * self.unit
        self.slack = math.floor(slack * (1.0 + 1e-12) + 1e-9)

    def _orders(self) -> list[int]:
        """Where orders of the items left were drawn."""
        check, found = self.check, []
        for one in exact.mappings(check.evidence["orders"], "its orders of items"):
            if not found and "first" in one:  # what everybody was known on beforehand
                first = exact.whole_numbers(one["first"], "the items that came first").tolist()
                there = all(0 <= item < self.items for item in first)
                check.demand(there and len(set(first)) == len(first), "no such items came first")
                self.known = len(first)
                one = {key: value for key, value in one.items() if key != "first"}
            if not found and "seen" in one:  # and on which others something was known
                seen = exact.whole_numbers(one["seen"], "the items that were seen").tolist()
                there = all(0 <= item < self.items for item in seen)
                check.demand(there and len(set(seen)) == len(seen), "no such items were seen")
                one = {key: value for key, value in one.items() if key != "seen"}
            check.demand(one.keys() == {"from", "seed"}, "an order lacks its beginning or seed")
            seed = exact.whole(one["seed"], "the seed of an order")
            check.demand(0 <= seed < _SEEDS, "the seed of an order is out of range")
            found.append(exact.whole(one["from"], "the beginning of an order"))
        check.demand(found[:1] == [0], "its items have no order")
        return found[1:]

    def share(self, score: float) -> float:
        """Where a score lies between the worst, 0, and the best, 1."""
        kind = self.check.kind
        worst, best = (kind.high, kind.low) if self.check.smaller else (kind.low, kind.high)
        return (score - worst) / (best - worst)

    def follow(self, question: Any) -> None:
        """Block by block, with options that come and go between them."""
        check = self.check
        told, blocks = 0, blocks_of(check)
        check_pieces(check, blocks)
        for number, (record, batches) in enumerate(blocks, start=1):
            self._turn(told, question)
            self._in_then[told] = question.measured()
            told += record["batches"]
            self._settle(record, batches, question, f"block {number}")
        for batch in check.batches[told:]:  # of a block that was not completed
            self._read(batch, "the last block")
        self._turn(told, question)
        check.demand(not self.turns, "options change within a block")
        check.demand(self.given == [], "it has orders of items that nobody used")

    def _turn(self, told: int, race: Any) -> None:
        """Let options come and go that did so after so many batches."""
        check = self.check
        while self.turns and self.turns[0].batch == told:
            turn = self.turns.pop(0)
            if isinstance(turn, Accepted):
                self.accept(turn.epsilon)
                race.accept(turn.epsilon)
                continue
            if not turn.added:
                race.leave(turn.arms[0])
                continue
            race.enter(np.array(turn.arms))
            if self.met < self.items:
                check.demand(
                    self.given[:1] == [self.met], "the items left got no order when options came"
                )
                self.given.pop(0)
        check.demand(not self.turns or self.turns[0].batch > told, "options change within a block")

    def _read(self, batch: dict[str, Any], where: str) -> set[tuple[int, int]]:
        """Take in the scores of a batch; which cells they are."""
        check, cells = self.check, set()
        for arm, place, count, score in zip(
            batch["arms"], batch["parts"], batch["counts"], batch["sums"], strict=True
        ):
            check.demand(count == 1 and 0 <= place < self.items, f"{where} has no such cell")
            check.demand(self.scores[arm, place] < 0, f"{where}: a cell is measured twice")
            self.scores[arm, place] = round(self.share(score) * self.unit)
            cells.add((arm, place))
        return cells

    def _settle(
        self, record: dict[str, Any], batches: list[dict[str, Any]], question: Question, where: str
    ) -> None:
        """One block: what it must be, and what follows."""
        check, now = self.check, question.measured()
        then = now
        if "after" in batches[0]:  # asked for ahead, from all that were in at that time
            then = self._in_then.get(batches[0]["after"], [])
            check.demand(len(batches) == 1, f"{where} was asked for ahead, and in pieces")
        met = self.scores[:, : self.met]  # a forged table may be huge: only what was met is read
        missing = {(x, int(t)) for x in now for t in np.flatnonzero(met[x] < 0)}
        cells = set().union(*(self._read(batch, where) for batch in batches))
        size = exact.whole(record["items"], f"{where}: its items")
        check.demand(0 <= size <= self.items - self.met, f"{where} has more items than are left")
        first, self.met = self.met, self.met + size
        at_once = first >= self.known or self.met <= self.known
        check.demand(at_once, f"{where} has items that were known, and others")
        bets = record["bets"]
        check.demand(type(bets) is bool, f"{where} does not say whether it was bet on")
        if self.loose:
            check.demand(all(t < self.met for _, t in cells), f"{where} has items beyond its own")
            known = bool((self.scores[now, first : self.met] >= 0).all())
            due = size > 0 and known and first >= self.known
            check.demand(bets == due, f"{where} lacks cells")
        else:
            due = size > 0 and first >= self.known
            check.demand(bets == due, f"{where} was bet on, or not, against the rule")
            others = f"{where} has other cells than are due"
            if size > 0:
                check.demand(not missing and set(now) <= set(then), others)
                fits = self._are(cells, then, first)
            else:
                fits = cells == missing
            check.demand(fits, others)
        question.settle(record, first, bets, where)

    def _are(self, cells: set[tuple[int, int]], arms: list[int], first: int) -> bool:
        """Whether these are the cells of some options, from a place on to what is met."""
        if len(cells) != len(arms) * (self.met - first):  # a forged block may be huge
            return False
        return cells == {(x, t) for x in arms for t in range(first, self.met)}

    def totals(self) -> np.ndarray:
        """Over the items met, of those that are known on all of them."""
        return self.scores[:, : self.met].sum(axis=1)

    def reach(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest total of each in the end."""
        low = np.where(self.scores >= 0, self.scores, 0).sum(axis=1)
        return low, low + self.unit * (self.scores < 0).sum(axis=1)


class _Race:
    """Capital, and who is in."""

    def __init__(self, check: Check, table: Table, m: int) -> None:
        self.check, self.table, self.m = check, table, m
        K = len(check.arms)
        self.goal = math.log(m) - math.log(check.delta)
        self.n = at_first(check)
        self.alive = np.arange(K) < self.n
        self.gone = np.zeros(K, dtype=bool)
        self.logs = np.tile(np.log(STAKES), (K, 1))  # bet on those that are not sure
        self.on_sure: dict[int, np.ndarray] = {}
        self.held = np.zeros(K)  # log capital when it was last looked at
        self.near: list[tuple[int, np.ndarray, np.ndarray]] = []  # leader, logs, who is close
        self.epsilon = epsilon_at_first(check)
        self.shares = Shares(self.epsilon, K)
        self.aside: list[int] = []  # tied for the last place, all items met

    def measured(self) -> list[int]:
        return np.flatnonzero(self.alive).tolist()

    def settle(self, record: dict[str, Any], first: int, bets: bool, where: str) -> None:
        alive = self.measured()
        peaks = self._bet(alive, first) if bets else None
        self._drop(record["dropped"], np.array(alive), peaks, where)
        left = self.measured()
        if len(left) > self.m > 1 and not (self.table.scores[left] < 0).any():
            totals = self.table.totals()
            left.sort(key=lambda x: (-int(totals[x]), x))
            self.aside = left[self.m :]
            self.alive[self.aside] = False

    # -- bets ------------------------------------------------------------------------------
    def _bet(self, alive: list[int], first: int) -> np.ndarray:
        table = self.table
        own = table.scores[:, : table.met]
        before = own[:, :first].sum(axis=1)
        ranked = sorted(alive, key=lambda x: (-int(before[x]), x))
        self._take_places(ranked[: self.m])
        rest = [x for x in alive if x not in self.on_sure]
        leads = [self._others(rest, ranked, first)]
        leads += [(own[one] - own[rest]) / table.unit for one in self.on_sure]
        near = self._closer(alive, ranked[: self.m], first) if self.epsilon > 0 else None
        peaks = np.where(np.isin(alive, rest), -math.inf, self.held[alive])
        bet_on = np.isin(alive, rest)
        for paid_now in paid(np.array(leads), first, table.items):
            self.logs[rest] += paid_now[0]
            for number, logs in enumerate(self.on_sure.values(), start=1):
                logs[rest] += paid_now[number]
            peaks[bet_on] = np.maximum(peaks[bet_on], self._total(rest))
            if near is not None:
                next(near)
        return peaks

    def _others(self, rest: list[int], ranked: list[int], first: int) -> np.ndarray:
        """By how much the others are ahead of each, on average: weights exp(−6 z), as z trails."""
        own = self.table.scores[rest, : self.table.met] / self.table.unit
        top = rest.index(next(x for x in ranked if x in rest))
        apart = own[top, :first] - own[:, :first]
        logs = -_STEEP * apart.sum(axis=1) / np.sqrt(np.square(apart).sum(axis=1) + 1)
        found = np.empty_like(own)
        weights = np.exp(logs)
        all_of_it = (weights[:, None] * own).sum(axis=0)
        for x in range(len(rest)):
            if x != top:
                others = all_of_it - weights[x] * own[x]
                found[x] = others / (weights.sum() - weights[x]) - own[x]
        weights = np.exp(logs - max(log for x, log in enumerate(logs) if x != top))
        weights[top] = 0.0
        found[top] = (weights[:, None] * own).sum(axis=0) / weights.sum() - own[top]
        return np.clip(found, -1.0, 1.0)

    def _closer(self, alive: list[int], leading: list[int], first: int) -> Iterator[None]:
        """Bets on "nobody is far ahead of those that lead"."""
        table = self.table
        own, slack = table.scores[:, : table.met], table.slack
        accounts = [self._near(one) for one in leading]
        gaps = own[leading][:, None, :] - own[alive]
        S = gaps[:, :, :first].sum(axis=2)
        all_paid = paid(gaps / table.unit, first, table.items, slack / table.unit)
        for t, paid_now in enumerate(all_paid, start=first):
            S = S + gaps[:, :, t]
            sure = S + slack > (table.items - t - 1) * table.unit
            held = self._total(alive)
            for row, k in enumerate(accounts):
                _, logs, close = self.near[k]
                logs[alive] += paid_now[row]
                part = self.shares.behind[alive] + of_leader(k, self.m)
                both = beside(held, log_sum(logs[alive]) + part)
                shown = both >= self.goal - 1e-9
                close[alive] |= sure[row] | shown
            yield

    def _near(self, leader: int) -> int:
        for k, (other, _, _) in enumerate(self.near):
            if other == leader:
                return k
        logs = np.tile(np.log(STAKES), (len(self.alive), 1))
        self.near.append((leader, logs, np.zeros(len(self.alive), dtype=bool)))
        return len(self.near) - 1

    def _take_places(self, leading: list[int]) -> None:
        """Who is sure stays so while it is one of the m that look best."""
        start = np.tile(np.log(STAKES), (len(self.alive), 1))
        if not self.on_sure:
            self.on_sure = {one: start.copy() for one in leading[: self.m - 1]}
            return
        stay = [one for one in self.on_sure if one in leading]
        if len(stay) == self.m - 1:
            return
        fresh = self._smallest()[:, None] + start
        left = np.min([self._on(one) for one in self.on_sure if one not in stay], axis=0)
        kept = {}
        for one in stay:
            logs = self.on_sure[one]
            kept[one] = logs - np.clip(log_sum(logs) - left, 0.0, None)[:, None]
        for one in leading:
            if one not in kept and len(kept) < self.m - 1:
                kept[one] = fresh.copy()
        self.on_sure, self.logs = kept, fresh

    def _on(self, one: int) -> np.ndarray:
        found = log_sum(self.on_sure[one])
        found[one] = math.inf
        return found

    def _smallest(self) -> np.ndarray:
        return np.min([log_sum(self.logs), *map(self._on, self.on_sure)], axis=0)

    def _total(self, arms: Any) -> np.ndarray:
        """Log capital against these, less what is for closeness where that is asked for."""
        return self._all_of_it()[arms] + self.shares.racing

    def _all_of_it(self) -> np.ndarray:
        return self._smallest() if self.on_sure else log_sum(self.logs)

    def _drop(self, dropped: Any, alive: np.ndarray, peaks: np.ndarray | None, where: str) -> None:
        check, table = self.check, self.table
        named, recorded = check.columns(dropped, "candidate", "log_capital")
        says = dropped["certain"]
        check.demand(
            type(says) is list and len(says) == len(named) and all(type(s) is bool for s in says),
            f"{where} does not say who is behind for certain",
        )
        check.demand(
            len(set(named.tolist())) == len(named) and np.isin(named, alive).all(),
            f"{where} drops an absent candidate",
        )
        scores = table.scores[alive, : table.met]
        there, totals = (scores >= 0).all(axis=1), scores.sum(axis=1)
        best = sorted(totals[there].tolist(), reverse=True)
        edge = best[self.m - 1] if len(best) >= self.m else 0
        sure = there & (edge - totals > (table.items - table.met) * table.unit)
        at = {int(x): i for i, x in enumerate(alive)}
        rows = [at[int(x)] for x in named]
        check.demand(sure[rows].tolist() == says, f"{where}: who is behind for certain is another")
        check.demand(set(np.flatnonzero(sure)) <= set(rows), f"{where} keeps who is behind")
        capital = self.held[alive] if peaks is None else peaks
        check.agree_all(
            recorded,
            capital[rows],
            lambda i: f"{where}: the log capital against {named[i]}",
            1e-6,
        )
        enough = sure | (capital >= self.goal - 1e-6 if peaks is not None else False)
        check.demand_all(
            enough[rows],
            lambda i: f"{where}: the capital against {named[i]} is not high enough",
        )
        if peaks is not None:
            self.held[alive] = self._total(alive)
            self.held[named] = capital[rows]
        self.held[alive[sure]] = math.inf
        self.alive[named] = False
        check.checked += len(named)

    # -- options that come and go ----------------------------------------------------------
    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by what is met later."""
        self.epsilon = epsilon
        self.shares.accept(self._all_of_it())
        self.held[self.alive] = self._total(self.measured())
        self.near = []

    def enter(self, arms: np.ndarray) -> None:
        self.check.demand(self.m == 1, "options come, and more than one is asked for")
        old = np.flatnonzero(self.alive)
        self.shares.enter(arms, old)
        self.logs[arms] = min(0.0, float(log_sum(self.logs[old]).min())) + np.log(STAKES)
        for _, logs, close in self.near:
            logs[arms] = min(0.0, float(log_sum(logs[old]).min())) + np.log(STAKES)
            close[arms] = False
        self.alive[arms] = True
        self.held[arms] = self._total(arms)
        self.n += len(arms)

    def leave(self, arm: int) -> None:
        self.check.demand(self.m == 1, "options go, and more than one is asked for")
        self.gone[arm] = True
        was_in, self.alive[arm] = self.alive[arm], False
        if not was_in:
            return
        self.shares.leave(arm)
        known = np.arange(len(self.alive)) < self.n
        capital = log_sum(self.logs)
        out = known & ~self.alive & ~self.gone
        least = np.minimum(capital, capital[arm])
        self.logs += (least - capital)[:, None]
        self.logs[out] = least[out][:, None] + np.log(STAKES)
        low, high = self.table.reach()
        back = out & (high >= low[known & ~self.gone].max(initial=0))
        self.alive |= back
        self.held[out & ~back] = math.inf
        now = np.flatnonzero(self.alive)
        self.held[now] = self._total(now)
        # The numbers of leaders go on, but nobody is close to anybody any more.
        self.near = [(-1, logs, np.zeros_like(close)) for _, logs, close in self.near]

    # -- the end ---------------------------------------------------------------------------
    def shown(self) -> OnTable:
        """What the record shows about the answer."""
        check, table, claim = self.check, self.table, self.check.claim
        chosen = claim["candidate"]
        left = self.measured()
        check.demand(0 <= chosen < len(self.alive), "the answer is no candidate")
        whole = bool(left) and not (table.scores[left] < 0).any()
        totals = table.scores.sum(axis=1)
        tied = self.m == 1 and whole and len({int(totals[x]) for x in left}) == 1
        low, high = table.reach()
        named = left if tied else [chosen]
        if self.m > 1:
            several = exact.whole_numbers(claim["candidates"], "those that were chosen").tolist()
            check.demand(all(0 <= x < len(self.alive) for x in several), "one is no candidate")
            named = several
        away = {*named, *self.aside}
        others = [x for x in range(len(self.alive)) if x not in away and not self.gone[x]]
        least = min((low[x] for x in named), default=0)
        certain = all(high[x] < least for x in others)
        close = {a: set(np.flatnonzero(shown).tolist()) for a, _, shown in self.near}
        self._check_p_value(others if len(named) == 1 and self.m == 1 else [])
        # Everybody dropped: an event of probability at most delta, and any answer will do.
        return OnTable(left or sorted(named), tied and len(left) > 1, certain, close)

    def _check_p_value(self, others: list[int]) -> None:
        check = self.check
        if "p_value" not in check.claim:
            return
        check.demand(others, "its p-value is of no comparison")
        claimed = exact.number(check.claim["p_value"], "the claim's p-value")
        due = math.exp(-max(float(self.held[others].min(initial=math.inf)), 0.0))
        check.demand(
            abs(claimed - due) <= 1e-6 * due,
            f"its p-value is given as {claimed:g}, but the data give {due:g}",
        )


def log_sum(logs: np.ndarray) -> np.ndarray:
    """log Σ exp over the stakes."""
    top = logs.max(axis=-1, keepdims=True)
    return np.log(np.exp(logs - top).sum(axis=-1)) + top[..., 0]


def conclude(check: Check, found: OnTable) -> None:
    """The claim must follow from who is left."""
    claim, left = check.claim, found.left
    chosen, kind = claim["candidate"], claim["guarantee"]
    check.demand(claim["survivors"] == left, "the survivors are not those claimed")
    check.demand(chosen in left, "the answer is not among the survivors")
    check.demand(check.label(chosen) == claim["label"], "the label is another candidate's")
    check.demand(kind in ("pac", "eps-pac", "heuristic", "none"), f"unknown claim {kind!r}")
    named = exact.whole_numbers(claim.get("candidates", [chosen]), "those chosen").tolist()
    check.demand(
        named == (left if found.tied else [chosen]), "the answer is not all of those that tie"
    )
    check.demand(check.risk <= check.delta * (1 + 1e-9), "the levels add up to more than delta")
    if kind == "pac":
        check.demand(len(left) == 1 or found.tied, "other candidates are still in the race")
    if kind == "eps-pac":
        far = sorted(set(left) - found.close.get(chosen, set()) - {chosen})
        check.demand(
            check.epsilon > 0 and not far,
            f"candidate {far[0] if far else ''} may be more than epsilon better",
        )
        check.checked += len(left)
    check.certain = found.certain and kind != "none"


def conclude_top(check: Check, found: OnTable) -> None:
    """The claim of the m best must follow from what was shown."""
    check_chosen(check, Chosen(check.top, found.left, found.close))
    check.certain = found.certain and check.claim["guarantee"] != "none"

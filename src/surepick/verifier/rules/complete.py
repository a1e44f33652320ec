"""Bets on a table that could be filled in completely (PooledPeleg with ``complete``).

The record has cells: an option, the place of an item in the order of items, a score. Nobody has two
scores in one place; who is in meets the next places together, and so every lead is over the same
places. Worked out here: the capital against each option, place by place, and who cannot catch up.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import blocks_of
from surepick.verifier.check import Check
from surepick.verifier.options import Turn, at_first, turns_of
from surepick.verifier.order import check_pieces

# All fixed before anything was measured.
_RULE = 1
_SHARES = (0.2,)  # stakes times the root of v̂; one more follows the evidence
_STAKES = np.array([0.3, 0.7])  # capital for each stake, and for each rival
_RIVALS = np.array([[0.8], [0.2]])
_MOST = 0.9  # of the capital that one item may take
_WAIT = 10
_FINE = 9_009_000_000  # units in the range of a score that is not yes or no
_SEEDS = 2**53
_CELLS = 20_000_000


class OnTable(NamedTuple):
    """What was shown; options by their numbers."""

    left: list[int]  #: those that are in
    tied: bool  #: whether these all have the same total over all items
    certain: bool  #: whether nobody else can have as large a total as the answer
    close: set[int]  #: who was shown not to be ahead of the answer by more than epsilon


def verify(check: Check) -> OnTable:
    """Who is left once the capital against each of the others has reached 1/delta."""
    table = _Table(check)
    check.risk += check.delta
    told, blocks = 0, blocks_of(check)
    check_pieces(check, blocks)
    for number, (record, batches) in enumerate(blocks, start=1):
        table.turn(told)
        told += record["batches"]
        table.settle(record, batches, f"block {number}")
    for batch in check.batches[told:]:  # of a block that was not completed
        table.read(batch, "the last block")
    table.turn(told)
    check.demand(not table.turns, "options change within a block")
    check.demand(table.given == [], "it has orders of items that nobody used")
    return table.shown()


class _Table:
    """Scores, capital, and who is in."""

    def __init__(self, check: Check) -> None:
        self.check = check
        evidence = check.evidence
        self.items = exact.whole(evidence["items"], "the number of items")
        K = len(check.arms)
        check.demand(self.items == check.table, "its items are not as many as were set")
        check.demand(self.items >= 1 and K * self.items <= _CELLS, "its table is too large")
        check.demand(evidence["bets"] == _RULE, "its bets follow no known rule")
        check.demand(check.kind.bounded, "its scores have no bounds")
        settings = check.settings
        check.demand("question" not in evidence, "more than the best option is asked for")
        for name, usual in (("top", 1), ("baseline", None), ("threshold", None), ("items", None)):
            check.demand(settings.get(name, usual) == usual, f"{name} cannot be set here")
        check.demand(check.body["problem"]["candidates"] is None, "it has separate candidates")
        check.demand(len(check.distinct()) == K, "some of its options cannot be told apart")
        self.unit = 1 if check.kind.zero_one else _FINE
        self.goal = -math.log(check.delta)
        width = check.kind.high - check.kind.low
        slack = check.epsilon / width * self.items * self.unit
        self.slack = math.floor(slack * (1.0 + 1e-12) + 1e-9)
        self.scores = np.full((K, self.items), -1, dtype=np.int64)
        self.turns: list[Turn] = turns_of(check)
        self.n = at_first(check)
        self.alive = np.arange(K) < self.n
        self.gone = np.zeros(K, dtype=bool)
        self.logs = np.tile(np.log(_RIVALS * _STAKES), (K, 1, 1))
        self.held = np.zeros(K)  # log capital when it was last looked at
        self.near: list[tuple[int, np.ndarray, np.ndarray]] = []  # leader, logs, who is close
        self.met = 0
        self.given = self._orders()
        self.loose = "corrections" in check.body  # scores were others when it was asked for

    def _orders(self) -> list[int]:
        """Where orders of the items left were drawn."""
        check, found = self.check, []
        for one in exact.mappings(check.evidence["orders"], "its orders of items"):
            check.demand(one.keys() == {"from", "seed"}, "an order lacks its beginning or seed")
            seed = exact.whole(one["seed"], "the seed of an order")
            check.demand(0 <= seed < _SEEDS, "the seed of an order is out of range")
            found.append(exact.whole(one["from"], "the beginning of an order"))
        check.demand(found[:1] == [0], "its items have no order")
        return found[1:]

    # -- cells -----------------------------------------------------------------------------
    def read(self, batch: dict[str, Any], where: str) -> set[tuple[int, int]]:
        """Take in the scores of a batch; which cells they are."""
        check, kind = self.check, self.check.kind
        worst, best = (kind.high, kind.low) if check.smaller else (kind.low, kind.high)
        cells = set()
        for arm, place, count, score in zip(
            batch["arms"], batch["parts"], batch["counts"], batch["sums"], strict=True
        ):
            check.demand(count == 1 and 0 <= place < self.items, f"{where} has no such cell")
            check.demand(self.scores[arm, place] < 0, f"{where}: a cell is measured twice")
            share = (score - worst) / (best - worst)
            self.scores[arm, place] = round(share * self.unit)
            cells.add((arm, place))
        return cells

    def settle(self, record: dict[str, Any], batches: list[dict[str, Any]], where: str) -> None:
        """One block: what it must be, what it pays, whom it drops."""
        check, alive = self.check, np.flatnonzero(self.alive).tolist()
        missing = {(x, int(t)) for x in alive for t in np.flatnonzero(self.scores[x] < 0)}
        missing = {cell for cell in missing if cell[1] < self.met}
        cells = set().union(*(self.read(batch, where) for batch in batches))
        size = exact.whole(record["items"], f"{where}: its items")
        check.demand(0 <= size <= self.items - self.met, f"{where} has more items than are left")
        first, self.met = self.met, self.met + size
        due = {(x, t) for x in alive for t in range(first, self.met)}
        bets = record["bets"]
        check.demand(type(bets) is bool, f"{where} does not say whether it was bet on")
        if self.loose:
            check.demand(all(t < self.met for _, t in cells), f"{where} has items beyond its own")
            check.demand(not bets or (size and due <= self._known(due)), f"{where} lacks cells")
        else:
            check.demand(bets == (size > 0), f"{where} was bet on, or not, against the rule")
            fits = cells == (due if bets else missing)
            check.demand(
                fits and (not bets or not missing), f"{where} has other cells than are due"
            )
        peaks = self._bet(alive, first) if bets else None
        self._drop(record["dropped"], np.array(alive), peaks, where)

    def _known(self, cells: set[tuple[int, int]]) -> set[tuple[int, int]]:
        return {cell for cell in cells if self.scores[cell] >= 0}

    # -- bets ------------------------------------------------------------------------------
    def _bet(self, alive: list[int], first: int) -> np.ndarray:
        own = self.scores[alive]
        before = own[:, :first].sum(axis=1).tolist()
        ranked = sorted(range(len(alive)), key=lambda i: (-before[i], i))
        rivals = []
        for x in range(len(alive)):
            others = [i for i in ranked[:3] if i != x]
            rivals.append((others[0], others[min(1, len(others) - 1)]))
        pick = np.array(rivals)  # (n, 2)
        gaps = own[pick] - own[:, None, :]  # (n, 2, N): by how much the rival is ahead
        S = gaps[:, :, :first].sum(axis=2)
        Q = ((gaps[:, :, :first] / self.unit) ** 2).sum(axis=2)
        leader, peaks = ranked[0], np.full(len(alive), -math.inf)
        near = self._near(alive[leader]) if self.check.epsilon > 0 else None
        to_leader = own[leader] - own  # (n, N)
        S0 = to_leader[:, :first].sum(axis=1)
        Q0 = ((to_leader[:, :first] / self.unit) ** 2).sum(axis=1)
        for t in range(first, self.met):
            D = gaps[:, :, t]
            self.logs[alive] += self._paid(S, D, Q, t, 0)
            S, Q = S + D, Q + (D / self.unit) ** 2
            peaks = np.maximum(peaks, self._total(alive))
            if near is not None:
                _, logs, close = self.near[near]
                D0 = to_leader[:, t]
                logs[alive] += self._paid(S0, D0, Q0, t, self.slack)
                S0, Q0 = S0 + D0, Q0 + (D0 / self.unit) ** 2
                sure = S0 + self.slack > (self.items - t - 1) * self.unit
                k = near + 1
                shown = _log_sum(logs[alive], 1) - math.log(2 * k * (k + 1)) >= self.goal - 1e-9
                close[alive] |= sure | shown
        return peaks

    def _paid(self, S: np.ndarray, D: np.ndarray, Q: np.ndarray, t: int, slack: int) -> np.ndarray:
        """log(1 + λ(D − m)) for every stake."""
        m = -(S + slack) / (self.unit * (self.items - t))
        v = (Q + 1) / (t + 2)
        edge = np.clip(S / self.unit / (t + _WAIT) - m, 0, None)
        sizes = [share / np.sqrt(v) for share in _SHARES] + [edge / (v + edge**2)]
        inside = (m > -1) & (m < 1)
        room = _MOST / np.where(inside, 1 + m, 1.0)
        stakes = [np.where(inside, np.minimum(size, room), 0.0) for size in sizes]
        return np.stack([np.log1p(stake * (D / self.unit - m)) for stake in stakes], axis=-1)

    def _near(self, leader: int) -> int:
        for k, (other, _, _) in enumerate(self.near):
            if other == leader:
                return k
        logs = np.tile(np.log(_STAKES), (len(self.alive), 1))
        self.near.append((leader, logs, np.zeros(len(self.alive), dtype=bool)))
        return len(self.near) - 1

    def _total(self, arms: Any) -> np.ndarray:
        """Log capital against these, of which half is for closeness where that is asked for."""
        return _log_sum(self.logs[arms], 2) - (math.log(2) if self.check.epsilon > 0 else 0.0)

    def _drop(self, dropped: Any, alive: np.ndarray, peaks: np.ndarray | None, where: str) -> None:
        check = self.check
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
        scores = self.scores[alive, : self.met]
        there, totals = (scores >= 0).all(axis=1), scores.sum(axis=1)
        top = int(totals[there].max(initial=0))
        sure = there & (top - totals > (self.items - self.met) * self.unit)
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
    def turn(self, told: int) -> None:
        """Let options come and go that did so after so many batches."""
        check = self.check
        while self.turns and self.turns[0].batch == told:
            turn = self.turns.pop(0)
            if turn.added:
                self._enter(np.array(turn.arms))
                if self.met < self.items:
                    check.demand(
                        self.given[:1] == [self.met],
                        "the items left got no order when options came",
                    )
                    self.given.pop(0)
            else:
                self._leave(turn.arms[0])
        check.demand(not self.turns or self.turns[0].batch > told, "options change within a block")

    def _enter(self, arms: np.ndarray) -> None:
        old = np.flatnonzero(self.alive)
        least = min(0.0, float(_log_sum(self.logs[old], 2).min()))
        self.logs[arms] = least + np.log(_RIVALS * _STAKES)
        for _, logs, close in self.near:
            logs[arms] = min(0.0, float(_log_sum(logs[old], 1).min())) + np.log(_STAKES)
            close[arms] = False
        self.alive[arms] = True
        self.held[arms] = self._total(arms)
        self.n += len(arms)

    def _leave(self, arm: int) -> None:
        self.gone[arm] = True
        was_in, self.alive[arm] = self.alive[arm], False
        if not was_in:
            return
        known = np.arange(len(self.alive)) < self.n
        capital = _log_sum(self.logs, 2)
        out = known & ~self.alive & ~self.gone
        least = np.minimum(capital, capital[arm])
        self.logs += (least - capital)[:, None, None]
        self.logs[out] = least[out][:, None, None] + np.log(_RIVALS * _STAKES)
        low, high = self._reach()
        back = out & (high >= low[known & ~self.gone].max(initial=0))
        self.alive |= back
        self.held[out & ~back] = math.inf
        now = np.flatnonzero(self.alive)
        self.held[now] = self._total(now)
        # The numbers of leaders go on, but nobody is close to anybody any more.
        self.near = [(-1, logs, np.zeros_like(close)) for _, logs, close in self.near]

    def _reach(self) -> tuple[np.ndarray, np.ndarray]:
        low = np.where(self.scores >= 0, self.scores, 0).sum(axis=1)
        return low, low + self.unit * (self.scores < 0).sum(axis=1)

    # -- the end ---------------------------------------------------------------------------
    def shown(self) -> OnTable:
        """What the record shows about the answer."""
        check, chosen = self.check, self.check.claim["candidate"]
        left = np.flatnonzero(self.alive).tolist()
        check.demand(0 <= chosen < len(self.alive), "the answer is no candidate")
        whole = bool(left) and not (self.scores[left] < 0).any()
        totals = self.scores.sum(axis=1)
        tied = whole and len({int(totals[x]) for x in left}) == 1
        low, high = self._reach()
        named = left if tied else [chosen]
        others = [x for x in range(len(self.alive)) if x not in named and not self.gone[x]]
        certain = all(high[x] < low[chosen] for x in others)
        close: set[int] = set()
        for leader, _, shown in self.near:
            if leader == chosen:
                close = set(np.flatnonzero(shown).tolist())
        self._check_p_value(chosen, others if len(named) == 1 else [])
        # Everybody dropped: an event of probability at most delta, and any answer will do.
        return OnTable(left or [chosen], tied and len(left) > 1, certain, close)

    def _check_p_value(self, chosen: int, others: list[int]) -> None:
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


def _log_sum(logs: np.ndarray, axes: int) -> np.ndarray:
    """log Σ exp over the last so many axes."""
    flat = logs.reshape(*logs.shape[: logs.ndim - axes], -1)
    top = flat.max(axis=-1, keepdims=True)
    return np.log(np.exp(flat - top).sum(axis=-1)) + top[..., 0]


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
        far = sorted(set(left) - found.close - {chosen})
        check.demand(
            check.epsilon > 0 and not far,
            f"candidate {far[0] if far else ''} may be more than epsilon better",
        )
        check.checked += len(left)
    check.certain = found.certain and kind != "none"

"""Bets on both sides of a baseline, on a table that could be filled in completely.

Of each option x there is capital against "x is not better than the baseline" and against "x is not
worse"; with epsilon also against "x is epsilon better, or more" and "epsilon worse, or more", the
smaller of which counts. A claim that nothing to come can change needs no capital. All claims
together by the steps of :mod:`surepick.verifier.rules.steps`, every statement with weight 1; or a
share of them by e-BH, with the capital that each had when it was claimed: who is decided meets no
further items.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.comparison import CLAIMS, Comparison, read_question
from surepick.verifier.rules.complete import STAKES, Table, log_sum, paid
from surepick.verifier.rules.steps import Steps

_PLENTY = 1e6  # in the place of capital, where nothing is left to chance


def verify(check: Check) -> Comparison:
    """What was shown about options, worked out again block by block."""
    asked = read_question(check)
    check.demand(check.settings.get("top", 1) == 1, "top is set, and not asked")
    check.risk += check.delta
    table = Table(check)
    check.demand(not table.turns, "options come and go, and are compared with a baseline")
    book = _Sides(check, table, asked)
    table.follow(book)
    return book.conclusion()


class _Sides:
    """Capital on both sides, and what was claimed."""

    def __init__(self, check: Check, table: Table, asked: Comparison) -> None:
        self.check, self.table, self.asked = check, table, asked
        K = len(check.arms)
        self.others = [x for x in range(K) if x != asked.baseline]
        self.level = 0.0
        if asked.threshold is not None:
            share = table.share(asked.threshold)
            check.demand(0 <= share <= 1, "the threshold is out of bounds")
            self.level = share * table.unit
        self.sides, self.closer = (np.tile(np.log(STAKES), (2, K, 1)) for _ in range(2))
        self.left = list(exact.mappings(check.evidence["claims"], "the claims"))
        self.claims: dict[int, str] = {}
        self.sure: dict[int, set[str]] = {x: set() for x in self.others}
        self.settled = 0

    def measured(self) -> list[int]:
        found = [x for x in self.others if x not in self.claims]
        return sorted(found if self.asked.baseline is None else [*found, self.asked.baseline])

    def settle(self, record: dict[str, Any], first: int, bets: bool, where: str) -> None:
        self.settled += 1
        table = self.table
        rows = [x for x in self.others if x not in self.claims]
        if bets:
            own = table.scores[:, : table.met]
            base = self.level if self.asked.baseline is None else own[self.asked.baseline]
            up = (own[rows] - base) / table.unit
            for side, leads in enumerate((up, -up)):
                for logs in paid(leads, first, table.items):
                    self.sides[side, rows] += logs
                if self.check.epsilon > 0:
                    for logs in paid(leads, first, table.items, table.slack / table.unit):
                        self.closer[side, rows] += logs
        for x in rows:
            self.sure[x] = self._certain(x)
        while self.left and self._block_of(self.left[0]) == self.settled:
            self._accept(self.left.pop(0), where)

    def _certain(self, x: int) -> set[str]:
        """What nothing that is to come can change about an option."""
        table = self.table
        own = table.scores[x].tolist()
        if self.asked.baseline is None:
            seen = [score for score in own if score >= 0]
            lead, less, more = 0.0, self.level, table.unit - self.level
            lead = sum(seen) - len(seen) * self.level
            left = table.items - len(seen)
            close = 1e-9 * max(1.0, self.level * table.items)
        else:
            base = table.scores[self.asked.baseline].tolist()
            gaps = [a - b for a, b in zip(own, base) if a >= 0 and b >= 0]
            lead, left, close = sum(gaps), table.items - len(gaps), 0.0
            less = more = table.unit
        low, high = lead - left * less, lead + left * more
        found = {"better"} if low > close else {"worse"} if high < -close else set()
        slack = table.slack + close
        if self.check.epsilon > 0 and low >= -slack and high <= slack:
            found.add("close")
        return found

    def _block_of(self, claim: dict[str, Any]) -> int:
        return exact.whole(claim["block"], "the block of a claim")

    def _kinds(self) -> tuple[str, ...]:
        return CLAIMS if self.check.epsilon > 0 else CLAIMS[:2]

    def _capital(self, kind: str, x: int) -> float:
        if kind == "close":
            return float(log_sum(self.closer[:, x]).min())
        return float(log_sum(self.sides[CLAIMS.index(kind), x]))

    def _counts(self, kind: str, x: int) -> float:
        return _PLENTY if kind in self.sure[x] else self._capital(kind, x)

    def _accept(self, claim: dict[str, Any], where: str) -> None:
        check = self.check
        x = exact.whole(claim["candidate"], "the candidate of a claim")
        kind = exact.text(claim["claim"], "what is claimed")
        known = x in self.sure and x not in self.claims and kind in self._kinds()
        check.demand(known, f"{where}: a claim about {x}")
        certain = claim["certain"]
        check.demand(
            type(certain) is bool and certain == (kind in self.sure[x]),
            f"{where}: whether {x} is {kind} for certain",
        )
        what = f"{where}: the log capital of {x} being {kind}"
        recorded = np.array([exact.number(claim["log_capital"], "the capital of a claim")])
        check.agree_all(recorded, np.array([self._capital(kind, x)]), lambda _: what, 1e-6)
        if self.asked.claims == "all":
            needed = self._needed(kind, x)
            check.demand(self._counts(kind, x) >= needed - 1e-6, f"{what} is below {needed:.6g}")
        self.claims[x] = kind
        check.checked += 1

    def _needed(self, kind: str, x: int) -> float:
        """Log capital that the next of claims takes which are all to be right."""
        logs = np.array([[self._counts(name, y) for y in self.others] for name in self._kinds()])
        goal = -math.log(self.check.delta)
        named = [self.claims.get(y) for y in self.others]
        made = [None if claim is None else CLAIMS.index(claim) for claim in named]
        steps = Steps.even(len(self.others), len(logs))
        place = self.others.index(x)
        return goal + steps.needed(logs - goal, made, CLAIMS.index(kind), place)

    def conclusion(self) -> Comparison:
        """What was shown when the last block was settled."""
        check = self.check
        check.demand(not self.left, "claims are not in the order of blocks")
        if self.asked.claims == "fdr" and self.claims:
            needed = math.log(2 * len(self.others) / len(self.claims) / check.delta)
            for x, kind in self.claims.items():
                enough = self._counts(kind, x) >= needed - 1e-6
                check.demand(enough, f"the capital of {x} being {kind} is below {needed:.6g}")
        shown = {
            name: sorted(x for x, kind in self.claims.items() if kind == name) for name in CLAIMS
        }
        rest = [x for x in self.others if x not in self.claims]
        ended = not (self.table.scores[self.measured()] < 0).any()  # who is left ties
        return self.asked._replace(shown=shown, open=[] if ended else rest)

"""Which option is the best on a table that could be filled in, or which m are?

Capital against each option is worked out place by place, and so is who cannot catch up. What is
bet, and when options come and go, is as where measurements are summed up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.blocks import Noted
from surepick.verifier.check import Check
from surepick.verifier.estimate import log_sum
from surepick.verifier.formulas import Closeness, NotAmong
from surepick.verifier.options import at_first, epsilon_at_first
from surepick.verifier.payoffs.table import STAKES, Question, Table, paid
from surepick.verifier.questions.answers import (
    Chosen,
    check_dropped,
    check_left,
    check_p_value,
    check_risk,
    conclude_chosen,
    read_top,
)
from surepick.verifier.statement import check_statement

_STEEP = 6.0


class OnTable(NamedTuple):
    """What was shown; options by their numbers."""

    left: list[int]  #: those that are in
    tied: bool  #: whether these all have the same total over all items
    certain: bool  #: whether nobody else can have as large a total as the answer
    close: dict[int, set[int]]  #: who was shown not to be ahead of these by more than epsilon


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
    check.risk += check.delta
    race = Race(check, Table(check), m)
    race.table.follow(race)
    return race.shown()


def conclude(check: Check, found: OnTable) -> None:
    """The claim must follow from who is left."""
    check_left(check, found.left, "pac", "eps-pac", "heuristic", "none")
    claim, left = check.claim, found.left
    chosen, kind = claim["candidate"], claim["guarantee"]
    named = exact.whole_numbers(claim.get("candidates", [chosen]), "those chosen").tolist()
    due = left if found.tied else [chosen]
    check.demand(named == due, "the answer is not all of those that tie")
    check_risk(check)
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
    check_statement(check, 1 if found.tied else len(left))


def conclude_top(check: Check, found: OnTable) -> None:
    """The claim of the m best must follow from what was shown."""
    check.certain = found.certain and check.claim["guarantee"] != "none"
    conclude_chosen(check, Chosen(check.top, found.left, found.close))


class Race(Question):
    """Capital, and who is in."""

    def __init__(self, check: Check, table: Table, m: int) -> None:
        self.check, self.table, self.m = check, table, m
        K, start = len(check.arms), np.log(STAKES)
        self.goal = math.log(m) - math.log(check.delta)
        self.n = at_first(check)
        self.alive = np.arange(K) < self.n
        self.gone = np.zeros(K, dtype=bool)
        self.epsilon, self.against = epsilon_at_first(check), NotAmong(K, start)
        self.close = Closeness(K, start, m, self.goal, self.epsilon)
        self.held = np.zeros(K)  # log capital when it was last looked at
        self.aside: list[int] = []  # tied for the last place, all items met

    def measured(self) -> list[int]:
        return np.flatnonzero(self.alive).tolist()

    def settle(self, note: Noted, first: int, where: str) -> None:
        alive = self.measured()
        peaks = self._bet(alive, first) if note.bets else None
        self._drop(note, np.array(alive), peaks, where)
        left = self.measured()
        if len(left) > self.m > 1 and self.table.whole(left):
            totals = self.table.totals()
            left.sort(key=lambda x: (-int(totals[x]), x))
            self.aside = left[self.m :]
            self.alive[self.aside] = False

    # -- bets ------------------------------------------------------------------------------
    def _bet(self, alive: list[int], first: int) -> np.ndarray:
        """Pay out a block; the most that was ever held against each of those that are in."""
        table, held = self.table, self.against
        own = table.scores[:, : table.met]
        before = own[:, :first].sum(axis=1)
        ranked = sorted(alive, key=lambda x: (-int(before[x]), x))
        leading = ranked[: self.m]
        stay = [one for one in held.sure if one in leading]
        held.change([*stay, *(one for one in leading if one not in stay)][: self.m - 1])
        rest = [x for x in alive if x not in held.sure]
        leads = [self._others(rest, ranked, first)]
        leads += [(own[one] - own[rest]) / table.unit for one in held.sure]
        near = self._closer(alive, leading, first) if self.epsilon > 0 else None
        bet_on = np.isin(alive, rest)
        peaks = np.where(bet_on, -math.inf, self.held[alive])
        for paid_now in paid(np.array(leads), first, table.items):
            for purses, one in zip((held.others, *held.sure.values()), paid_now, strict=True):
                purses.logs[rest] += one
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
        """Bets on "nobody is far ahead of those that lead", place by place."""
        table, some = self.table, np.array(alive)
        own, slack = table.scores[:, : table.met], table.slack
        purses = [self.close.to(one) for one in leading]
        gaps = own[leading][:, None, :] - own[alive]
        S = gaps[:, :, :first].sum(axis=2)
        all_paid = paid(gaps / table.unit, first, table.items, slack / table.unit)
        for t, paid_now in enumerate(all_paid, start=first):
            S = S + gaps[:, :, t]
            sure = S + slack > (table.items - t - 1) * table.unit
            held = self._total(some)
            for row, one in enumerate(leading):
                purses[row].logs[some] += paid_now[row]
                self.close.look(one, held, some)
                self.close.certain(one, some[sure[row]])
            yield

    def _total(self, arms: list[int] | np.ndarray) -> np.ndarray:
        """Log capital against these, less what is for closeness where that is asked for."""
        found = self.against.total(np.asarray(arms, dtype=np.int64))
        return found + self.close.shares.racing

    def _drop(self, note: Noted, alive: np.ndarray, peaks: np.ndarray | None, where: str) -> None:
        check = self.check
        (named, recorded), says = note.dropped, note.certain
        there = len(set(named.tolist())) == len(named) and np.isin(named, alive).all()
        check.demand(there, f"{where} drops an absent candidate")
        sure = self.behind(alive)
        rows = np.searchsorted(alive, named)
        check.demand(sure[rows].tolist() == says, f"{where}: who is behind for certain is another")
        kept = set(np.flatnonzero(sure)) <= set(rows)
        check.demand(kept, f"{where} keeps who is behind")
        capital = self.held[alive] if peaks is None else peaks
        enough = sure | ((peaks is not None) & (capital >= self.goal - 1e-6))
        check_dropped(check, named, recorded, capital[rows], enough[rows], 1e-6, where)
        if peaks is not None:
            self.held[alive] = self._total(alive)
            self.held[named] = capital[rows]
        self.held[alive[sure]] = math.inf
        self.alive[named] = False

    def behind(self, alive: np.ndarray) -> np.ndarray:
        """Who of these cannot be one of the m best any more, whatever is to come."""
        table = self.table
        scores = table.scores[alive, : table.met]
        there, totals = (scores >= 0).all(axis=1), scores.sum(axis=1)
        best = sorted(totals[there].tolist(), reverse=True)
        edge = best[self.m - 1] if len(best) >= self.m else 0
        return there & (edge - totals > (table.items - table.met) * table.unit)

    # -- options that come and go ----------------------------------------------------------
    def accept(self, epsilon: float) -> None:
        """From now on more is close enough, by what is met later."""
        self.epsilon = epsilon
        self.close.accept(self.against.total())
        self.held[self.alive] = self._total(self.measured())

    def enter(self, arms: np.ndarray) -> None:
        """Newcomers have no more against them than anybody who is left."""
        self.check.demand(self.m == 1, "options come, and more than one is asked for")
        self.close.shares.enter(arms, self.alive)
        for logs in (self.against.others.logs, *self.close.purses()):
            logs[arms] = min(0.0, float(log_sum(logs[self.alive]).min())) + np.log(STAKES)
        self.alive[arms] = True
        self.held[arms] = self._total(arms)
        self.n += len(arms)

    def leave(self, place: int) -> None:
        """Nobody has more against it than who goes; who can still be the best is back."""
        self.check.demand(self.m == 1, "options go, and more than one is asked for")
        self.gone[place] = True
        was_in, self.alive[place] = self.alive[place], False
        if not was_in:
            return
        known = np.arange(len(self.alive)) < self.n
        purses = self.against.others
        least = np.minimum(purses.total, purses.total[place])
        out = known & ~self.alive & ~self.gone
        purses.keep_at_most(least)
        purses.logs[out] = least[out][:, None] + purses.start
        low, high = self.table.reach()
        back = out & (high >= low[known & ~self.gone].max(initial=0))
        self.alive |= back
        self.held[out & ~back] = math.inf
        now = np.flatnonzero(self.alive)
        self.held[now] = self._total(now)
        self.close.leave(place)

    # -- the end ---------------------------------------------------------------------------
    def shown(self) -> OnTable:
        """What the record shows about the answer."""
        check, table, claim, left = self.check, self.table, self.check.claim, self.measured()
        everyone = np.arange(len(self.alive))
        named = [claim["candidate"]]
        if self.m > 1:
            named = exact.whole_numbers(claim["candidates"], "those that were chosen").tolist()
        check.demand(all(0 <= x < len(everyone) for x in named), "one that is chosen is none")
        totals = table.scores.sum(axis=1)
        tied = self.m == 1 and bool(left) and table.whole(left) and len({*totals[left]}) == 1
        named = left if tied else named
        low, high = table.reach()
        others = everyone[~self.gone & ~np.isin(everyone, [*named, *self.aside])]
        least = min((low[x] for x in named), default=0)
        certain = bool((high[others] < least).all())
        close = {a: set(np.flatnonzero(shown).tolist()) for a, shown in self.close.shown().items()}
        fine = "p_value" not in claim or (len(others) > 0 and len(named) == 1 and self.m == 1)
        check.demand(fine, "its p-value is of no comparison")
        check_p_value(check, others, self.held[others], 0.0)
        # Everybody dropped: an event of probability at most delta, and any answer will do.
        return OnTable(left or sorted(named), tied and len(left) > 1, certain, close)

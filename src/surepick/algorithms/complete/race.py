"""Which option has the largest total, or which m have?

Against every option x capital is bet on "a rival has the larger total", the rival being a weighted
average of those that are in (:func:`surepick.proof.payoffs.table.over_rivals`). x is out when the
capital reaches 1/delta, or when it cannot catch up any more. Where x has the largest total no bet
has a positive expectation, so that it is ruled out with probability at most delta, by Ville's
inequality: no union over options is paid, and neither weights nor rivals have to be known at the
start.

- Where m are asked for: :mod:`surepick.proof.several`. At the end options may tie for the last
  place: any of them is one of the m best.
- Options that come later begin with the least capital against anyone who is left (or 1, if that is
  less). When one that is in is retired, nobody has more capital against it than the retired one
  had, and who was ruled out is back, unless somebody who is there is ahead of it for certain.
  :mod:`surepick.algorithms.pooled.options` has the proof of both rules.
- With epsilon: :mod:`surepick.proof.closeness`, of leads on average over all items.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from surepick.algorithms.base import Claims
from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.settings import CompleteSettings
from surepick.algorithms.remembered import Remembered
from surepick.arrays.grid import reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.accepting import Shares
from surepick.proof.closeness import Closeness
from surepick.proof.payoffs.table import WEIGHTS, behind, over_rivals, walk
from surepick.proof.purses import longer, total
from surepick.proof.several import Several
from surepick.statistics.spending import each_of_the_best

_START = np.log(WEIGHTS)


class Race(Remembered):
    """Capital against every option, and who is in."""

    saved: ClassVar[tuple[str, ...]] = ("alive", "against", "chosen", "aside", "accepted")

    def __init__(self, config: CompleteSettings, problem: Problem, grid: Grid) -> None:
        self.config, self.grid, self.m = config, grid, config.top
        K = problem.n_arms
        self.purses = Several(K, self.m, WEIGHTS)
        self.alive: BoolArray = np.ones(K, dtype=bool)
        self.against: FloatArray = np.zeros(K)  # log capital against each, when it was last bet on
        self.shares = Shares(config.epsilon)
        self.near = Closeness(K, WEIGHTS, self.shares, self.m)  # with epsilon
        self.chosen: list[int] = list(range(min(self.m, K)))
        self.aside: list[int] = []  # that tie with the last of the m best, all items met
        self.accepted = False
        self.goal = -math.log(next(iter(self.spent().values())))

    def spent(self) -> dict[str, float]:
        """As that of :class:`surepick.algorithms.base.State`: as much for each of the m best."""
        return each_of_the_best(self.m, self.config.delta)

    def save(self) -> dict[str, Any]:
        own = {"sure": self.purses.sure, "purses": self.purses.logs, "near": self.near.save()}
        return super().save() | own | {"behind": self.shares.save()}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.purses.sure, self.purses.logs = memory["sure"], memory["purses"]
        self.near.load(memory["near"])
        self.shares.load(memory["behind"])

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items."""
        return np.flatnonzero(self.alive)

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        """Bets on the items from this one on, if these have met all; who is out, for the record."""
        grid = self.grid
        peaks = self._bet(arms, first) if bets else self.against[arms]
        there, totals = grid.there(arms), grid.totals(arms)
        edge = np.sort(totals[there])[::-1][self.m - 1] if there.sum() >= self.m else 0
        certain = there & behind(edge - totals, grid.left, grid.scale.unit)
        lost = certain | (reached(peaks, self.goal) if bets else np.zeros_like(certain))
        if bets:
            self.against[arms] = np.where(lost, peaks, self._log_capital(arms))
        self.against[arms[certain]] = math.inf
        self.alive[arms[lost]] = False
        self.look()
        if self.config.epsilon > 0:
            self._accept()
        return {
            "dropped": {
                "candidate": arms[lost].tolist(),
                "log_capital": peaks[lost].tolist(),
                "certain": certain[lost].tolist(),
            }
        }

    def _bet(self, arms: IntArray, first: int) -> FloatArray:
        """Item by item; the largest log capital against each of these options on the way."""
        grid, unit = self.grid, self.grid.scale.unit
        own = grid.scores[:, : grid.met]
        totals = own[arms, :first].sum(axis=1)
        leading = arms[np.lexsort((arms, -totals))][: self.m].tolist()
        self.purses.make_sure(leading)
        outside = ~np.isin(arms, self.purses.sure)
        rows = arms[outside]
        leads = [over_rivals(own[rows], first, unit)]
        leads += [(own[one] - own[rows]) / unit for one in self.purses.sure]
        near = self._near_to(leading, arms, first) if self.config.epsilon > 0 else None
        peaks = np.where(outside, -math.inf, self.against[arms])
        for _, paid in walk(np.stack(leads), first, grid.items):
            self.purses.logs[:, rows] += paid
            peaks[outside] = np.maximum(peaks[outside], self._log_capital(rows))
            if near is not None:
                next(near)
        return peaks

    def _near_to(self, leading: list[int], arms: IntArray, first: int) -> Iterator[None]:
        """Bets on "these are not far ahead of those that lead", item by item."""
        grid, unit = self.grid, self.grid.scale.unit
        places = [self.near.opened(one) for one in leading]
        own = grid.scores[:, : grid.met]
        leads = own[leading][:, None] - own[arms]  # (m, arms, places)
        slack = grid.scale.slack(self.config.epsilon, grid.items)
        ahead = leads[:, :, :first].sum(axis=2)
        for t, paid in walk(leads / unit, first, grid.items, slack / unit):
            self.near.logs[np.array(places)[:, None], arms] += paid
            ahead = ahead + leads[:, :, t]
            certain = behind(ahead, grid.items - t - 1, unit, slack)
            held, here = self._log_capital(), np.isin(np.arange(len(self.alive)), arms)
            for k, one in enumerate(leading):
                self.near.note(one, held, self.goal, here)
                self.near.close[places[k], arms] |= certain[k]
            yield

    def _held(self, arms: Any = slice(None)) -> FloatArray:
        purses = self.purses
        return total(purses.logs[0, arms]) if self.m == 1 else purses.against()[arms]

    def _log_capital(self, arms: Any = slice(None)) -> FloatArray:
        return self._held(arms) + self.shares.racing

    def look(self) -> None:
        """Who would be named now: the largest totals of those that are in."""
        grid, m = self.grid, self.m
        arms = np.flatnonzero(self.alive)
        if len(arms) > m > 1 and grid.whole(arms):
            ranked = arms[np.lexsort((arms, -grid.totals(arms)))]
            self.aside = ranked[m:].tolist()
            self.alive[self.aside] = False
            arms = np.sort(ranked[:m])
        if not len(arms) and m == 1:  # of probability delta: who led before is named
            self.alive[self.chosen] = True
            return
        there = arms[grid.there(arms)]
        ranked = there[np.lexsort((there, -grid.totals(there)))].tolist()
        others = [x for x in arms.tolist() if x not in ranked]
        if len(arms) < m:  # of probability delta: filled up with who led before
            others += [x for x in self.chosen if x not in arms]
            others += [x for x in range(len(self.alive)) if x not in (*arms, *self.chosen)]
        if m == 1 and not ranked and self.alive[self.chosen[0]]:
            return
        self.chosen = [*ranked, *others][:m]

    def _accept(self) -> None:
        """With epsilon: name those that lead where nobody who is in may be far ahead of them."""
        known = all(one in self.near.leaders for one in self.chosen)
        self.accepted = known and self.near.all_close(self.chosen, self.alive)

    def accept(self, config: CompleteSettings) -> None:
        """From now on accept what is close enough by this configuration."""
        self.config = config
        self.shares.accept(self._held())
        self.against[self.alive] = self._log_capital(np.flatnonzero(self.alive))
        self.near.forget()

    # -- options that come and go, where one is asked for ----------------------------------
    def enter(self, count: int) -> None:
        """More options."""
        arms = np.flatnonzero(self.alive)
        self.shares.enter(count, self.alive)
        purses, near = self.purses, self.near
        least = min(0.0, float(total(purses.logs[0, arms]).min()))
        begun = np.minimum(0.0, total(near.logs)[:, arms].min(axis=1, initial=math.inf))
        purses.logs = longer(purses.logs, count, (1,), _START + least)
        near.grow(count, _START + begun[:, None, None])
        self.alive = np.append(self.alive, np.ones(count, dtype=bool))
        self.against = np.append(self.against, np.zeros(count))
        self.against[-count:] = self._log_capital(np.arange(len(self.alive)))[-count:]

    def leave(self, arm: int, retired: BoolArray) -> None:
        """One is retired; the mask has all that are."""
        was_in = self.alive[arm]
        self.alive[arm] = False
        if not was_in:
            return
        self.shares.leave(arm)
        capital = self.purses.logs[0]
        held = total(capital)
        out = ~self.alive & ~retired
        capital += np.minimum(0.0, held[arm] - held)[:, None]
        capital[out] = _START + np.minimum(held, held[arm])[out, None]
        low, high = self.grid.reach()
        back = out & (high >= low[~retired].max(initial=0))
        self.alive |= back
        self.against[out & ~back] = math.inf
        self.against[self.alive] = self._log_capital(np.flatnonzero(self.alive))
        self.near.begin_anew()

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether as many are left as were asked for, or close enough, or all items were met."""
        arms = np.flatnonzero(self.alive)
        return self.accepted or len(arms) <= self.m or self.grid.whole(arms)

    @property
    def active(self) -> IntArray:
        """Options that are in; at the end all that tie."""
        arms = np.flatnonzero(self.alive)
        return arms if len(arms) else np.array(sorted(self.chosen))

    def left(self) -> int:
        """How many are not decided."""
        return len(self.active)

    def named(self) -> list[int]:
        """Best first; where one is asked for, all that tie in the end."""
        return (self.tied() if self.m == 1 else []) or self.chosen

    def tied(self) -> list[int]:
        """Those in the last place that is named, where several are and all items were met."""
        if self.m > 1:
            edge = self.grid.totals(np.array(self.chosen[-1:]))
            same = [x for x in self.chosen if self.grid.totals(np.array([x])) == edge]
            return sorted([*same, *self.aside]) if self.aside else []
        arms = np.flatnonzero(self.alive)
        if len(arms) < 2 or not self.finished or not self.grid.whole(arms):
            return []
        totals = self.grid.totals(arms)
        return arms[totals == totals.max()].tolist()

    def certain(self, retired: BoolArray) -> bool:
        """Whether nobody else can have as large a total as those that are named.

        Whoever ties with them is part of the answer, or could be.
        """
        low, high = self.grid.reach()
        others = ~retired
        others[[*self.named(), *self.aside]] = False
        least = low[self.named()].min()
        return self.finished and bool((high[others] < least).all())

    def p_value(self, retired: BoolArray) -> float | None:
        """Of "another one is the best"."""
        others = ~retired
        others[self.chosen] = False
        if self.m > 1 or len(self.named()) > 1 or not others.any():
            return None
        return float(self.p_values()[others].max())

    def p_values(self) -> FloatArray:
        """Of "this one is among the best"."""
        return np.exp(-np.maximum(self.against - math.log(self.m), 0.0))

    def progress(self, retired: BoolArray) -> FloatArray:
        """How much of the evidence that drops each is there."""
        share = np.clip(self.against / self.goal, 0.0, 1.0)
        return np.where(self.alive | retired, share, 1.0)

    def compared(self, retired: BoolArray) -> tuple[int, list[int], int]:
        """Whose lead over whom is looked at on new items, and out of how many such pairs."""
        n = len(self.alive)
        named = self.named()
        others = ~retired
        others[[*named, *self.aside]] = False
        one = self.chosen[0] if self.m == 1 else self.chosen[-1]
        return one, np.flatnonzero(others).tolist(), max(1, n * (n - 1) // 2)

    def claims(self) -> Claims | None:
        """None are made of each."""
        return None

    def evidence(self) -> dict[str, Any]:
        """What a certificate has to say beside the blocks."""
        return {} if self.m == 1 else {"question": {"top": self.m}}

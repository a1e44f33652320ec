"""Which option has the largest total, or which m have?

The question is that of measurements; the rival of an option is a weighted average of those that are
in (:func:`surepick.proof.payoffs.table.over_rivals`), and capital is looked at item by item. An
option is out, too, when it cannot catch up any more. At the end options may tie for the last place:
any of them is one of the m best.

Options that come later begin with the least capital against anyone who is left (or 1, if that is
less). When one that is in is retired, nobody has more capital against it than the retired one had,
and who was ruled out is back, unless somebody who is there is ahead of it for certain.
:mod:`surepick.algorithms.pooled.options` has the proof of both rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from surepick.algorithms.complete.grid import Grid
from surepick.algorithms.complete.question import OnTable, dropped
from surepick.algorithms.pooled.questions.top import TopM
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.arrays.grid import reached
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.payoffs.table import WEIGHTS, behind, over_rivals, walk
from surepick.proof.purses import longer, total

_START = np.log(WEIGHTS)
_SAVED = ("held", "aside")


class Race(OnTable, TopM):
    """Capital against every option, and who is in."""

    def __init__(self, config: BlockSettings, problem: Problem, grid: Grid) -> None:
        super().__init__(config, problem, grid)
        K = problem.n_arms
        self.held: FloatArray = np.zeros(K)  # log capital against each, when it was last bet on
        self.chosen = list(range(min(self.m, K)))
        self.aside: list[int] = []  # that tie with the last of the m best, all items met

    def save(self) -> dict[str, Any]:
        own = {name: getattr(self, name) for name in _SAVED} | {"behind": self.shares.save()}
        return super().save() | own

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        for name in _SAVED:
            setattr(self, name, memory[name])
        self.shares.load(memory["behind"])

    @property
    def alive(self) -> BoolArray:
        """Who is in."""
        return self.dropped_at == 0

    # -- bets ------------------------------------------------------------------------------
    def measured(self) -> IntArray:
        """Who meets the next items."""
        return np.flatnonzero(self.alive)

    def settle(self, arms: IntArray, first: int, bets: bool) -> dict[str, Any]:
        grid = self.grid
        peaks = self._bet(arms, first) if bets else self.held[arms]
        there, totals = grid.there(arms), grid.totals(arms)
        edge = np.sort(totals[there])[::-1][self.m - 1] if there.sum() >= self.m else 0
        certain = there & behind(edge - totals, grid.left, grid.scale.unit)
        lost = certain | (reached(peaks, self.goal) if bets else np.zeros_like(certain))
        if bets:
            self.held[arms] = np.where(lost, peaks, self.against()[arms])
        self.held[arms[certain]] = math.inf
        self._out(arms[lost])
        self.turned()
        if self.ground.config.epsilon > 0:
            self._accept()
        return dropped(arms[lost], peaks[lost], certain[lost])

    def _out(self, arms: Any) -> None:
        self.dropped_at[arms] = max(self.grid.met, 1)

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
        near = self._near_to(leading, arms, first) if self.ground.config.epsilon > 0 else None
        peaks = np.where(outside, -math.inf, self.held[arms])
        for _, paid in walk(np.stack(leads), first, grid.items):
            self.purses.logs[:, rows] += paid
            peaks[outside] = np.maximum(peaks[outside], self.against()[rows])
            if near is not None:
                next(near)
        return peaks

    def _near_to(self, leading: list[int], arms: IntArray, first: int) -> Iterator[None]:
        """Bets on "these are not far ahead of those that lead", item by item."""
        grid, unit = self.grid, self.grid.scale.unit
        places = [self.near.opened(one) for one in leading]
        own = grid.scores[:, : grid.met]
        leads = own[leading][:, None] - own[arms]  # (m, arms, places)
        slack = grid.scale.slack(self.ground.config.epsilon, grid.items)
        ahead = leads[:, :, :first].sum(axis=2)
        for t, paid in walk(leads / unit, first, grid.items, slack / unit):
            self.near.logs[np.array(places)[:, None], arms] += paid
            ahead = ahead + leads[:, :, t]
            certain = behind(ahead, grid.items - t - 1, unit, slack)
            held, here = self.against(), np.isin(np.arange(len(self.held)), arms)
            for k, one in enumerate(leading):
                self.near.note(one, held, self.goal, here)
                self.near.close[places[k], arms] |= certain[k]
            yield

    def turned(self) -> None:
        """See who would be named now: the largest totals of those that are in."""
        grid, m = self.grid, self.m
        arms = self.measured()
        if len(arms) > m > 1 and grid.whole(arms):
            ranked = arms[np.lexsort((arms, -grid.totals(arms)))]
            self.aside = ranked[m:].tolist()
            self._out(self.aside)
            arms = np.sort(ranked[:m])
        if not len(arms) and m == 1:  # of probability delta: who led before is named
            self.dropped_at[self.chosen] = 0
            return
        there = arms[grid.there(arms)]
        ranked = there[np.lexsort((there, -grid.totals(there)))].tolist()
        others = [x for x in arms.tolist() if x not in ranked]
        if len(arms) < m:  # of probability delta: filled up with who led before
            others += [x for x in self.chosen if x not in arms]
            others += [x for x in range(len(self.held)) if x not in (*arms, *self.chosen)]
        if m == 1 and not ranked and self.alive[self.chosen[0]]:
            return
        self.chosen = [*ranked, *others][:m]

    def _accept(self) -> None:
        """With epsilon: name those that lead where nobody who is in may be far ahead of them."""
        known = all(one in self.near.leaders for one in self.chosen)
        self.accepted = known and self.near.all_close(self.chosen, self.alive)

    def accept(self) -> None:
        self.shares.accept(self.purses.against())
        self.held[self.alive] = self.against()[self.alive]
        self.near.forget()

    # -- options that come and go, where one is asked for ----------------------------------
    def enter(self, count: int) -> None:
        """More options."""
        arms = self.measured()
        self.shares.enter(count, self.alive)
        purses, near = self.purses, self.near
        least = min(0.0, float(total(purses.logs[0, arms]).min()))
        begun = np.minimum(0.0, total(near.logs)[:, arms].min(axis=1, initial=math.inf))
        purses.logs = longer(purses.logs, count, (1,), _START + least)
        near.grow(count, _START + begun[:, None, None])
        self.dropped_at = np.append(self.dropped_at, np.zeros(count, dtype=np.int64))
        self.held = np.append(self.held, self.against()[-count:])

    def leave(self, arm: int) -> None:
        """One goes that the table says is retired."""
        was_in = self.alive[arm]
        self._out(arm)
        if not was_in:
            return
        self.shares.leave(arm)
        retired, capital = self.grid.retired, self.purses.logs[0]
        held = total(capital)
        out = ~self.alive & ~retired
        capital += np.minimum(0.0, held[arm] - held)[:, None]
        capital[out] = _START + np.minimum(held, held[arm])[out, None]
        low, high = self.grid.reach()
        back = out & (high >= low[~retired].max(initial=0))
        self.dropped_at[back] = 0
        self.held[out & ~back] = math.inf
        self.held[self.alive] = self.against()[self.alive]
        self.near.begin_anew()

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether that is so, or all items were met."""
        return super().finished or self.grid.whole(self.measured())

    def named(self) -> list[int]:
        """Best first; where one is asked for, all that tie in the end."""
        return (self.tied() if self.m == 1 else []) or self.chosen

    def tied(self) -> list[int]:
        """Those in the last place that is named, where several are and all items were met."""
        if self.m > 1:
            edge = self.grid.totals(np.array(self.chosen[-1:]))
            same = [x for x in self.chosen if self.grid.totals(np.array([x])) == edge]
            return sorted([*same, *self.aside]) if self.aside else []
        arms = self.measured()
        if len(arms) < 2 or not self.finished or not self.grid.whole(arms):
            return []
        totals = self.grid.totals(arms)
        return arms[totals == totals.max()].tolist()

    def _beside(self) -> BoolArray:
        """Who is there, and neither named nor tied with those that are."""
        found = ~self.grid.retired
        found[[*self.named(), *self.aside]] = False
        return found

    @property
    def certain(self) -> bool:
        """Whether nobody else can have as large a total as those that are named.

        Whoever ties with them is part of the answer, or could be.
        """
        low, high = self.grid.reach()
        least = low[self.named()].min()
        return self.finished and bool((high[self._beside()] < least).all())

    def p_value(self) -> float | None:
        others = self._beside()
        if len(self.named()) > 1 or not others.any():
            return None
        return float(self.p_values()[others].max())

    def p_values(self) -> FloatArray:
        """Of "this one is among the best"."""
        return np.exp(-np.maximum(self.held - math.log(self.m), 0.0))

    def progress(self) -> FloatArray:
        share = np.clip(self.held / self.goal, 0.0, 1.0)
        return np.where(self.alive | self.grid.retired, share, 1.0)

    def compared(self) -> tuple[int, list[int], int]:
        n, one = len(self.held), self.chosen[0] if self.m == 1 else self.chosen[-1]
        return one, np.flatnonzero(self._beside()).tolist(), max(1, n * (n - 1) // 2)

    def evidence(self) -> dict[str, Any]:
        return {} if self.m == 1 else super().evidence()

"""Which option has the largest total, or which m have?

Against every option x capital is bet on "a rival has the larger total", the rival being a weighted
average of those that are in (:func:`surepick.statistics.complete.over_rivals`). x is out when the
capital reaches 1/delta, or when it cannot catch up any more. Where x has the largest total no bet
has a positive expectation, so that it is ruled out with probability at most delta, by Ville's
inequality: no union over options is paid, and neither weights nor rivals have to be known at the
start.

- Where m are asked for, m − 1 that look best are *sure*; there are m capitals, of which the
  smallest counts, up to m/delta: :mod:`surepick.algorithms.pooled.questions.top` has the rule and
  its proof. At the end options may tie for the last place: any of them is one of the m best.
- Options that come later begin with the least capital against anyone who is left (or 1, if that is
  less). When one that is in is retired, nobody has more capital against it than the retired one
  had, and who was ruled out is back, unless somebody who is there is ahead of it for certain.
  :mod:`surepick.algorithms.pooled.options` has the proof of both rules.
- With epsilon, a share of the capital is for "x is not ahead of a by more than epsilon on average",
  for each a that looks like an answer; it is shown for everybody who is in before a is named, by
  that and the capital against x together (:mod:`surepick.statistics.accepting`). The first m of
  these have 1/(2m) of that share each, the next m 1/(6m), then 1/(12m), ... The share may also be
  moved there on the way, of what is held then; the bets on closeness begin anew at that moment.
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
from surepick.statistics.accepting import Shares, of_leader, together
from surepick.statistics.complete import STAKES, WEIGHTS, behind, log_sum, over_rivals, walk

_START = np.log(WEIGHTS)
_NOBODY = -1  # in the place of a leader whose bets on closeness count no more


class Race(Remembered):
    """Capital against every option, and who is in."""

    saved: ClassVar[tuple[str, ...]] = (
        *("capital", "sure", "alive", "against", "leaders", "near", "close", "chosen", "aside"),
        *("accepted", "behind"),
    )

    def __init__(self, config: CompleteSettings, problem: Problem, grid: Grid) -> None:
        self.config, self.grid, self.m = config, grid, config.top
        K = problem.n_arms
        #: logs, (m, K, stakes): on the others, and on each one that is sure
        self.capital: FloatArray = np.tile(_START, (self.m, K, 1))
        self.sure: list[int] = []
        self.alive: BoolArray = np.ones(K, dtype=bool)
        self.against: FloatArray = np.zeros(K)  # log capital against each, when it was last bet on
        self.leaders: list[int] = []  # with epsilon: all that ever looked like an answer
        self.near: FloatArray = np.zeros((0, K, STAKES))
        self.close: BoolArray = np.zeros((0, K), dtype=bool)
        self.chosen: list[int] = list(range(min(self.m, K)))
        self.aside: list[int] = []  # that tie with the last of the m best, all items met
        self.accepted = False
        self.shares = Shares(config.epsilon)
        self.goal = math.log(self.m / config.delta)

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
        self._make_sure(leading)
        outside = ~np.isin(arms, self.sure)
        rows = arms[outside]
        leads = [over_rivals(own[rows], first, unit)]
        leads += [(own[one] - own[rows]) / unit for one in self.sure]
        near = self._near_to(leading, arms, first) if self.config.epsilon > 0 else None
        peaks = np.where(outside, -math.inf, self.against[arms])
        for _, paid in walk(np.stack(leads), first, grid.items):
            self.capital[:, rows] += paid
            peaks[outside] = np.maximum(peaks[outside], self._log_capital(rows))
            if near is not None:
                next(near)
        return peaks

    def _near_to(self, leading: list[int], arms: IntArray, first: int) -> Iterator[None]:
        """Bets on "these are not far ahead of those that lead", item by item."""
        grid, unit = self.grid, self.grid.scale.unit
        places = [self._open_near(one) for one in leading]
        own = grid.scores[:, : grid.met]
        leads = own[leading][:, None] - own[arms]  # (m, arms, places)
        slack = grid.scale.slack(self.config.epsilon, grid.items)
        ahead = leads[:, :, :first].sum(axis=2)
        for t, paid in walk(leads / unit, first, grid.items, slack / unit):
            self.near[np.array(places)[:, None], arms] += paid
            ahead = ahead + leads[:, :, t]
            certain = behind(ahead, grid.items - t - 1, unit, slack)
            held = self._log_capital(arms)
            for k, place in enumerate(places):
                both = together(held, self._log_near(place)[arms], np)
                shown = reached(both, self.goal)
                self.close[place, arms] |= certain[k] | shown
            yield

    def _make_sure(self, leading: list[int]) -> None:
        """Before a block: let options take the places of those that no longer look good."""
        if not self.sure:
            self.sure = leading[: self.m - 1]
            return
        stay = [k for k, one in enumerate(self.sure) if one in leading]
        missing = self.m - 1 - len(stay)
        if not missing:
            return
        fresh = self._counted()[:, None] + _START
        kept = [self.sure[k] for k in stay]
        new = [one for one in leading if one not in kept][:missing]
        least = np.minimum.reduce([self._on(k) for k in range(self.m - 1) if k not in stay])
        rest = [self.capital[1 + k] for k in stay]
        rest = [own + np.minimum(least - log_sum(own), 0.0)[:, None] for own in rest]
        self.capital = np.stack([fresh, *rest, *([fresh] * missing)])
        self.sure = kept + new

    def _on(self, k: int) -> FloatArray:
        """Log capital bet on the k-th sure one, against each other one."""
        total = log_sum(self.capital[1 + k])
        total[self.sure[k]] = math.inf  # nobody is its own rival
        return total

    def _counted(self) -> FloatArray:
        """Log capital against each option: the smallest of all that is bet on rivals of it."""
        on_sure = [self._on(k) for k in range(len(self.sure))]
        return np.minimum.reduce([log_sum(self.capital[0]), *on_sure])

    @property
    def behind(self) -> list[Any]:
        """What rules options out, and what is behind closeness."""
        return self.shares.save()

    @behind.setter
    def behind(self, saved: list[Any]) -> None:
        self.shares.load(saved)

    def _held(self, arms: Any = slice(None)) -> FloatArray:
        return log_sum(self.capital[0, arms]) if self.m == 1 else self._counted()[arms]

    def _log_capital(self, arms: IntArray) -> FloatArray:
        return self._held(arms) + self.shares.racing

    def _open_near(self, leader: int) -> int:
        """The accounts on closeness to this one; new ones where it has not led before."""
        if leader not in self.leaders:
            self.leaders.append(leader)
            self.near = np.concatenate([self.near, np.tile(_START, (1, len(self.alive), 1))])
            self.close = np.concatenate([self.close, np.zeros((1, len(self.alive)), dtype=bool)])
        return self.leaders.index(leader)

    def _log_near(self, near: int) -> FloatArray:
        return log_sum(self.near[near]) + of_leader(near, self.m) + self.shares.behind

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
        self.accepted = all(one in self.leaders for one in self.chosen) and all(
            self.close[self.leaders.index(one)][x]
            for one in self.chosen
            for x in np.flatnonzero(self.alive)
            if x not in self.chosen
        )

    def accept(self, config: CompleteSettings) -> None:
        """From now on accept what is close enough by this configuration."""
        self.config = config
        self.shares.accept(self._held())
        self.against[self.alive] = self._log_capital(np.flatnonzero(self.alive))
        self.leaders, self.near, self.close = [], self.near[:0], self.close[:0]

    # -- options that come and go, where one is asked for ----------------------------------
    def enter(self, count: int) -> None:
        """More options."""
        arms = np.flatnonzero(self.alive)
        self.shares.enter(count, self.alive)
        least = min(0.0, float(log_sum(self.capital[0, arms]).min()))
        own = np.tile(_START + least, (1, count, 1))
        begun = np.minimum(0.0, log_sum(self.near)[:, arms].min(axis=1, initial=math.inf))
        on_closeness = np.tile(_START + begun[:, None, None], (1, count, 1))
        self.capital = np.concatenate([self.capital, own], axis=1)
        self.near = np.concatenate([self.near, on_closeness], axis=1)
        self.close = np.hstack([self.close, np.zeros((len(self.close), count), dtype=bool)])
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
        capital = self.capital[0]
        held = log_sum(capital)
        out = ~self.alive & ~retired
        capital += np.minimum(0.0, held[arm] - held)[:, None]
        capital[out] = _START + np.minimum(held, held[arm])[out, None]
        low, high = self.grid.reach()
        back = out & (high >= low[~retired].max(initial=0))
        self.alive |= back
        self.against[out & ~back] = math.inf
        self.against[self.alive] = self._log_capital(np.flatnonzero(self.alive))
        self.leaders = [_NOBODY] * len(self.leaders)
        self.close[:] = False

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

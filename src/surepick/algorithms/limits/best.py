"""The best of those that keep limits: who is ruled out, and when it is decided.

:mod:`surepick.algorithms.limits.capital` has the guarantee, with its proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.limits.capital import Capital, Paid, Surest
from surepick.algorithms.limits.decision import Decision, Ground, finite
from surepick.algorithms.limits.histories import Histories
from surepick.algorithms.limits.measured import Bets
from surepick.algorithms.limits.plan import Goals, Seems, counts_of, seems, surest
from surepick.algorithms.limits.question import Keeping, KeepingCheapest, KeepingTop
from surepick.arrays.grid import level, reached
from surepick.arrays.types import BoolArray, FloatArray
from surepick.promise import Promise
from surepick.proof.accepting import ACCEPTING, RACING
from surepick.proof.led import NOBODY
from surepick.statistics.spending import each_of_the_best


class BestThatKeeps(Decision):
    """Capital against each option, and who is left."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        K, config = ground.problem.n_arms, ground.config
        self.m = ground.asked.count
        self.loose = config.epsilon > 0 or ground.asked.loose
        self.histories = Histories(self._accounts, np.ones(K, dtype=bool))
        self.chosen = list(range(min(self.m, K)))
        self.taken: int | None = None  # who is accepted, where that is enough
        self._seems: tuple[Seems, Surest] | None = None

    def _accounts(self, there: BoolArray) -> Capital:
        epsilon = self.ground.config.epsilon / self.ground.problem.unit
        return Capital(self.ground.marks, epsilon, self.loose, there, self.m)

    @property
    def capital(self) -> Capital:
        """All accounts of the youngest epoch, the only one unless options were retired."""
        return self.histories.last.capital

    @property
    def alive(self) -> BoolArray:
        """Who is not ruled out, and was not retired."""
        return self.histories.there & ~reached(self.histories.against(), self.goals.racing)

    @property
    def shown(self) -> bool:
        """Whether somebody was shown to keep the limits."""
        return bool(reached(self.histories.against_nobody(), self.goals.racing))

    @property
    def goals(self) -> Goals:
        """Log capital that decides."""
        racing, *others = self.spent().values()
        return Goals(-math.log(racing), -math.log(others[0]) if self.loose else math.inf)

    def spent(self) -> dict[str, float]:
        """Ruling options out, and accepting each of them."""
        delta, K = self.ground.config.delta, self.ground.problem.n_arms
        if self.m > 1:
            return each_of_the_best(self.m, delta)
        if not self.loose:
            return {"ruling out": delta}
        accepting = {f"accepting {i + 1}": ACCEPTING * delta / K for i in range(K)}
        return {"ruling out": RACING * delta} | accepting

    def save(self) -> dict[str, Any]:
        return {"chosen": self.chosen, "taken": self.taken, "histories": self.histories.save()}

    def load(self, memory: dict[str, Any]) -> None:
        self.chosen, self.taken = memory["chosen"], memory["taken"]
        self.best = self.chosen[0]
        self.histories.load(memory["histories"])
        self._seems = None

    def turn(self, there: BoolArray) -> None:
        """Other options than before, new ones behind the others: see ``histories``."""
        goal, histories, known = self.goals.racing, self.histories, len(self.histories.there)
        if len(there) > known:
            histories.enter(len(there) - known, goal)
        for option in np.flatnonzero(histories.there & ~there):
            histories.leave(int(option), goal)
        self._seems = None
        if not there[self.best]:
            self.best = int(np.flatnonzero(self.open if self.open.any() else there)[0])
            self.chosen = [self.best]

    # -- bets ------------------------------------------------------------------------------
    def outlook(self) -> tuple[Seems, Surest]:
        """By all settled blocks: how options stand to limits, and what to bet on."""
        if self._seems is None:
            known = seems(self.ground.marks, self.ground.measured)
            self._seems = known, self._surest(known)
        return self._seems

    def _surest(self, known: Seems) -> Surest:
        """What purses bet on in the next block."""
        own = self.ground.measured[0], known, self.alive, self.capital.somebody, self.m
        return surest(self.ground.marks, *own)

    def _paid(self, measured: Sequence[Bets]) -> Paid:
        """What a block pays."""
        return Paid.of(self.ground.marks, measured, self.capital.epsilon, self.loose)

    def _rivals(self, bet_on: Surest) -> list[int]:
        """Whom purses were on, for the record."""
        return [one for one in (bet_on.first, bet_on.second) if one != NOBODY]

    def _leading(self) -> list[int]:
        """Who would be named."""
        return self.outlook()[1].places

    def settle(self, measured: Sequence[Bets], number: int) -> dict[str, Any]:
        before, (_, bet_on) = self.alive, self.outlook()
        self.histories.settle(self._paid(measured), bet_on)
        rivals = self._rivals(bet_on)
        sure = {"sure": bet_on.places[:-1]} if self.m > 1 else {}
        return {"rivals": rivals, **sure, "dropped": self._decide(before)}

    def _decide(self, before: BoolArray) -> list[dict[str, Any]]:
        """Rule out, accept; who of those who were in was ruled out, for the record."""
        goals, logs = self.goals, self.histories.against()
        lost = np.flatnonzero(before & ~self.alive)
        if self.loose and self.alive.any():
            spare = self.capital.accepted(self.alive, goals.accepting)
            fine = np.flatnonzero(reached(spare + goals.accepting, goals.accepting))
            if len(fine):
                self.taken = int(fine[np.argmax(level(self.ground.measured[0].means[fine]))])
        return [{"candidate": int(x), "log_capital": finite(logs[x])} for x in lost]

    def look(self) -> None:
        self._seems = None
        places = sorted(self._leading())
        if self.taken is not None:
            self.chosen = [self.taken]
        elif places:
            means = level(self.ground.measured[0].means)
            self.chosen = sorted(places, key=lambda one: -float(means[one]))
        self.best = self.chosen[0]

    def missing(self, prices: FloatArray) -> FloatArray:
        last, goals = self.histories.last, self.goals
        goals = goals._replace(racing=goals.racing - last.nobody)
        own = (last.capital, self.ground.measured[0], *self.outlook(), self.alive, goals)
        return counts_of(*own, prices, self.loose)

    def on_limits(self) -> FloatArray:
        first = self.histories.epochs[0].capital  # which knows all blocks
        return np.array([first.all_keep(), first.all_break()])

    def evidence(self) -> dict[str, Any]:
        return {"question": {"top": self.m}} if self.m > 1 else {}

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        left = self.left()
        return left == 0 or self.taken is not None or (left <= self.m and self.shown)

    @property
    def open(self) -> BoolArray:
        return self.alive

    def named(self) -> list[int]:
        return self.chosen

    def promise(self) -> Promise | None:
        config, asked = self.ground.config, self.ground.asked
        assert isinstance(asked, Keeping | KeepingTop | KeepingCheapest)
        if not self.finished:
            return None
        if not self.alive.any():
            what = asked.nobody
        elif isinstance(asked, KeepingTop):
            what = asked.promised(None, self.ground.problem.noise_kind)
            what = asked.fewer(self.left()) if self.left() < self.m else what
        else:
            near = None if self.taken is None else config.epsilon
            what = asked.promised(near, self.ground.problem.noise_kind)
        return Promise(config.delta, what, f"{config.theorem}{asked.union}")

    def progress(self) -> FloatArray:
        share = np.clip(self.histories.against() / self.goals.racing, 0.0, 1.0)
        return np.where(self.alive, share, 1.0)

    def p_values(self) -> FloatArray:
        return np.exp(-np.maximum(self.histories.against() - math.log(self.m), 0.0))

    def doubts(self) -> FloatArray:
        """Of "this one is the best that keeps the limits", and of "nobody keeps them"."""
        against = np.where(self.alive, self.histories.against(), np.inf)
        nobody = np.inf if self.shown else self.histories.now(self.goals.racing)[1]
        price = 1.0 / RACING if self.loose else float(self.m)
        p_value = price * np.exp(-np.maximum(np.minimum(against, nobody), 0.0))
        return np.clip(p_value, self.ground.config.delta, 1.0)

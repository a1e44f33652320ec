"""The best of those that keep limits: who is ruled out, and when it is decided.

:mod:`surepick.algorithms.limits.capital` has the guarantee, with its proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from surepick.algorithms.limits.capital import NOBODY, Capital, Surest
from surepick.algorithms.limits.decision import Decision, Ground, finite
from surepick.algorithms.limits.measured import Bets
from surepick.algorithms.limits.plan import Goals, Seems, counts_of, seems, surest
from surepick.algorithms.limits.question import Keeping
from surepick.arrays.grid import level, reached
from surepick.arrays.types import BoolArray, FloatArray
from surepick.promise import Promise


class BestThatKeeps(Decision):
    """Capital against each option, and who is left."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        K, config = ground.problem.n_arms, ground.config
        self.loose = config.epsilon > 0 or ground.asked.loose
        epsilon = config.epsilon / ground.problem.unit
        self.capital = Capital(K, ground.marks, epsilon, self.loose)
        self.alive: BoolArray = np.ones(K, dtype=bool)
        self.against: FloatArray = np.zeros(K)  # log capital, at the most
        self.shown = False  # whether somebody was shown to keep the limits
        self.taken: int | None = None  # who is accepted, where that is enough
        self._seems: tuple[Seems, Surest] | None = None

    @property
    def goals(self) -> Goals:
        """Log capital that decides."""
        delta, K = self.ground.config.delta, self.ground.problem.n_arms
        if not self.loose:
            return Goals(-math.log(delta), math.inf)
        return Goals(math.log(2.0 / delta), math.log(2.0 * K / delta))

    def save(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in ("alive", "against", "shown", "taken")}
        return found | {"best": self.best, "capital": self.capital.save()}

    def load(self, memory: dict[str, Any]) -> None:
        for name in ("alive", "against", "shown", "taken", "best"):
            setattr(self, name, memory[name])
        self.capital.load(memory["capital"])
        self._seems = None

    # -- bets ------------------------------------------------------------------------------
    def outlook(self) -> tuple[Seems, Surest]:
        """By all settled blocks: how options stand to limits, and what to bet on."""
        if self._seems is None:
            measured, marks = self.ground.measured, self.ground.marks
            known = seems(marks, measured)
            self._seems = known, surest(marks, measured[0], known, self.alive)
        return self._seems

    def settle(self, measured: Sequence[Bets], number: int) -> dict[str, Any]:
        _, bet_on = self.outlook()
        self.capital.settle(measured, bet_on)
        rivals = [r for r in bet_on[:2] if r != NOBODY]
        return {"rivals": rivals, "dropped": self._decide()}

    def _decide(self) -> list[dict[str, Any]]:
        """Rule out, accept; who was ruled out, for the record."""
        goals, logs = self.goals, self.capital.against()
        lost = np.flatnonzero(self.alive & reached(logs, goals.racing))
        self.against = np.where(self.alive, np.maximum(self.against, logs), self.against)
        self.alive[lost] = False
        if reached(self.capital.somebody_keeps(), goals.racing):
            self.shown = True
        if self.loose and self.alive.any():
            spare = self.capital.accepted(self.alive, goals.accepting)
            fine = np.flatnonzero(reached(spare + goals.accepting, goals.accepting))
            if len(fine):
                self.taken = int(fine[np.argmax(level(self.ground.measured[0].means[fine]))])
        return [{"candidate": int(x), "log_capital": finite(logs[x])} for x in lost]

    def look(self) -> None:
        self._seems = None
        if self.taken is not None:
            self.best = self.taken
        elif self.alive.any():
            self.best = self.outlook()[1].first

    def missing(self, prices: FloatArray) -> FloatArray:
        own = (self.capital, self.ground.measured[0], *self.outlook(), self.alive, self.goals)
        return counts_of(*own, prices, self.loose)

    def on_limits(self) -> FloatArray:
        return np.array([self.capital.all_keep(), self.capital.all_break()])

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        left = self.left()
        return left == 0 or self.taken is not None or (left == 1 and self.shown)

    @property
    def open(self) -> BoolArray:
        return self.alive

    def promise(self) -> Promise | None:
        config, asked = self.ground.config, self.ground.asked
        assert isinstance(asked, Keeping)
        if not self.finished:
            return None
        if not self.alive.any():
            what = asked.nobody
        else:
            near = None if self.taken is None else config.epsilon
            what = asked.promised(near, self.ground.problem.noise_kind)
        return Promise(config.delta, what, config.theorem)

    def progress(self) -> FloatArray:
        share = np.clip(self.against / self.goals.racing, 0.0, 1.0)
        return np.where(self.alive, share, 1.0)

    def p_values(self) -> FloatArray:
        return np.exp(-np.maximum(self.against, 0.0))

    def doubts(self) -> FloatArray:
        """Of "this one is the best that keeps the limits", and of "nobody keeps them"."""
        against = np.where(self.alive, self.against, np.inf)
        nobody = np.inf if self.shown else self.capital.somebody_keeps()
        price = 2.0 if self.loose else 1.0
        p_value = price * np.exp(-np.maximum(np.minimum(against, nobody), 0.0))
        return np.clip(p_value, self.ground.config.delta, 1.0)

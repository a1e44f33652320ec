"""A look at rewards as they come in: who mistyped one should hear of it at once."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from surepick.arrays.types import IntArray
from surepick.errors import InvalidInputError, SurepickError
from surepick.problem import Problem
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary
from surepick.storage.contract import Storage
from surepick.storage.records import Rewards, StudyProgress, StudyRecord
from surepick.study.checks import typed
from surepick.study.checks.typed import FEWEST, KEPT, Expected, Readings
from surepick.study.pulls import Reward, Told

_log = logging.getLogger(__name__)
_AGAIN, _MORE = 1.2, 10  # the first batch is looked at again after so many times, and more rewards


class WatchedDesk(Protocol):
    """What is needed of a desk."""

    storage: Storage
    record: StudyRecord

    @property
    def problem(self) -> Problem: ...
    @property
    def standing(self) -> tuple[int, int] | None: ...
    def load(self) -> tuple[Run, StudyProgress]: ...
    def arms_of(self, pulls: Sequence[int]) -> dict[int, int]: ...


class Look:
    """Compares rewards with what complete batches say, or the first batch so far."""

    def __init__(self, desk: WatchedDesk) -> None:
        self._desk = desk
        self._tells = 0
        self._forget()

    def _forget(self) -> None:
        """Nothing is known yet beside the run that stands."""
        self._standing = self._desk.standing
        self._expected: Expected | None = None
        self._until = 0.0  # so many tells that is good for, as others tell, too
        self._recent: Rewards | None = None  # the last readings: read, and those told here since
        self._recent_until = 0.0

    def _notice_changes(self) -> None:
        if self._standing is None or self._standing != self._desk.standing:
            self._desk.load()
            self._forget()

    def noted(self, told: Sequence[Told], rewards: Sequence[Reward]) -> list[Told]:
        """What was told of these, with a question where an accepted number is far from others."""
        self._tells += len(told)
        new = {x.pull for x in told if x.value is not None and _is_new(x)}
        fresh = [one for one in rewards if one.pull in new]
        found = self._or_none(self._asked, fresh)
        self._remember(fresh)
        return [
            replace(x, warning=found[x.pull]) if _is_new(x) and x.pull in found else x for x in told
        ]

    def flagged(self, rewards: Sequence[Reward]) -> dict[int, str]:
        """What is far from all that complete batches say, and why.

        The batch that is open has no say: which of its readings are far must be fixed before it.
        """
        if not self._desk.load()[0].samples:
            return {}
        return self._or_none(self._unusual, {reward.pull: reward.value for reward in rewards})

    def refuse(self, rewards: Sequence[Reward]) -> None:
        """Raise where a reward is far from all before; nothing is recorded."""
        found = self._asked(rewards)
        if found:
            raise InvalidInputError(
                f"{' '.join(found.values())} Nothing was recorded, because strict is set. Check "
                "the reading; if it is right, tell it without strict"
            )

    def _or_none(self, look: Callable[[Any], dict[int, str]], rewards: Any) -> dict[int, str]:
        """What was found; nothing where that cannot be said: they are recorded anyway."""
        try:
            return look(rewards)
        except (SurepickError, ArithmeticError, ValueError) as error:
            name = self._desk.record.name
            _log.warning("study %r: numbers could not be checked for typos (%s)", name, error)
            return {}

    def _asked(self, rewards: Sequence[Reward]) -> dict[int, str]:
        """What to ask about, number by number; where an option is new, by what is predicted."""
        self._notice_changes()
        problem = self._desk.problem
        kind = problem.noise_kind
        if not rewards or kind.of_pairs:
            return {}
        pulls = [one.pull for one in rewards]
        arms, recent = self._desk.arms_of(pulls), self._readings(pulls)
        labels = {arm: problem.labels[arm] for arm in set(arms.values())}
        places = np.array([arms[pull] for pull in pulls], dtype=np.int64)
        found: dict[int, str] = {}
        if not kind.successes:
            known = Readings(recent.pulls, recent.arms, recent.values)
            new = Readings(np.array(pulls), places, np.array([float(one.value) for one in rewards]))
            found = typed.questions(known, new, labels)
            few = {pull for pull in pulls if (recent.arms == arms[pull]).sum() < FEWEST}
            predicted = {one.pull: one.value for one in rewards if one.pull in few - found.keys()}
            found = self._unusual(predicted) | found
        for name, one in problem.numbers.items():
            if not one.successes:
                own = self._of_number(name, recent, rewards, places)
                found = typed.questions(*own, labels, name) | found
        return found

    def _of_number(
        self, name: str, recent: Rewards, rewards: Sequence[Reward], places: IntArray
    ) -> tuple[Readings, Readings]:
        """A further number of what was told before, and is told now."""
        told = [json.loads(text) for text in recent.numbers or ()]
        there = np.array([name in one for one in told], dtype=bool)
        before = np.array([one[name] for one in told if name in one], dtype=np.float64)
        own = [dict(one.numbers or {}) for one in rewards]
        now = np.array([name in one for one in own], dtype=bool)
        values = np.array([float(one[name]) for one in own if name in one])
        pulls = np.array([one.pull for one in rewards])
        if not len(told):
            there = np.zeros(len(recent.pulls), dtype=bool)
        known = Readings(recent.pulls[there], recent.arms[there], before)
        return known, Readings(pulls[now], places[now], values)

    def _readings(self, but: list[int]) -> Rewards:
        """The last readings there are, but not those of these pulls."""
        desk = self._desk
        self._notice_changes()
        if self._recent is None or self._tells > self._recent_until:
            last = desk.load()[1].last
            self._recent = desk.storage.read(
                lambda tx: tx.rewards(desk.record.id, max(0, last - KEPT), last)
            )
            self._recent_until = _AGAIN * self._tells + _MORE
        return self._recent.part(~np.isin(self._recent.pulls, but))

    def _remember(self, rewards: Sequence[Reward]) -> None:
        """What was told here counts among the last readings at once."""
        known = self._recent
        if known is None or not rewards:
            return
        arms = self._desk.arms_of([one.pull for one in rewards])
        own = [one.numbers for one in rewards]
        told = [json.dumps(dict(numbers)) for numbers in own if numbers is not None]
        if len(told) not in (0, len(own)) or bool(told) != bool(known.numbers):
            self._recent = None  # all of a study have further numbers, or none: look again
            return
        more = known.numbers and known.numbers + told
        self._recent = Rewards(
            np.r_[known.pulls, [one.pull for one in rewards]][-KEPT:],
            np.r_[known.arms, [arms[one.pull] for one in rewards]][-KEPT:],
            np.r_[known.values, [float(one.value) for one in rewards]][-KEPT:],
            np.r_[known.times, np.zeros(len(rewards))][-KEPT:],
            numbers=more and more[-KEPT:],
        )

    def _unusual(self, rewards: dict[int, float]) -> dict[int, str]:
        expected = self._expectation(list(rewards))
        if not expected.says_something or not rewards:
            return {}
        arms = self._desk.arms_of(list(rewards))
        found = {pull: expected.complaint(pull, arm, rewards[pull]) for pull, arm in arms.items()}
        return {pull: text for pull, text in found.items() if text is not None}

    def _expectation(self, but: list[int]) -> Expected:
        """From all rewards so far, but those of these pulls."""
        desk = self._desk
        self._notice_changes()
        if self._expected is None or self._tells > self._until:
            run, at = desk.load()
            if run.samples:
                self._expected, self._until = Expected(run.problem, typed.measured(run)), math.inf
            else:
                last = at.last
                told = desk.storage.read(lambda tx: tx.rewards(desk.record.id, 0, last))
                kept = ~np.isin(told.pulls, but)
                K = run.problem.n_arms
                summary = ArmSummary.of(K, told.arms[kept], told.values[kept])
                self._expected = Expected(run.problem, summary)
                self._until = _AGAIN * self._tells + _MORE
        return self._expected


def _is_new(told: Told) -> bool:
    return told.status == "accepted"

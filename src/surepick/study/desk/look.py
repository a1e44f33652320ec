"""A look at rewards as they come in: who mistyped one should hear of it at once."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from surepick.errors import InvalidInputError, SurepickError
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary
from surepick.storage.contract import Storage
from surepick.storage.records import StudyProgress, StudyRecord
from surepick.study.checks.unusual import Expected
from surepick.study.pulls import Reward, Told

_log = logging.getLogger(__name__)
_AGAIN, _MORE = 1.2, 10  # the first batch is looked at again after so many times, and more rewards


class WatchedDesk(Protocol):
    """What is needed of a desk."""

    storage: Storage
    record: StudyRecord

    @property
    def standing(self) -> tuple[int, int] | None: ...
    def load(self) -> tuple[Run, StudyProgress]: ...
    def arms_of(self, pulls: Sequence[int]) -> dict[int, int]: ...


class Look:
    """Compares rewards with what complete batches say, or the first batch so far."""

    def __init__(self, desk: WatchedDesk) -> None:
        self._desk = desk
        self._expected: Expected | None = None
        self._standing: tuple[int, int] | None = None  # of the run that this is from
        self._tells, self._until = 0, 0.0  # so far, and how many it is good for

    def noted(self, told: Sequence[Told]) -> list[Told]:
        """What was told, with a warning where an accepted reward is far from all earlier ones."""
        self._tells += len(told)
        new = {x.pull: x.value for x in told if x.value is not None and _is_new(x)}
        found = self._unusual_or_none(new)
        return [
            replace(x, warning=found[x.pull]) if _is_new(x) and x.pull in found else x for x in told
        ]

    def flagged(self, rewards: Sequence[Reward]) -> dict[int, str]:
        """What is far from all that complete batches say, and why.

        The batch that is open has no say: which of its readings are far must be fixed before it.
        """
        if not self._desk.load()[0].samples:
            return {}
        return self._unusual_or_none({reward.pull: reward.value for reward in rewards})

    def refuse(self, rewards: Sequence[Reward]) -> None:
        """Raise where a reward is far from all before; nothing is recorded."""
        found = self._unusual({reward.pull: reward.value for reward in rewards})
        if found:
            raise InvalidInputError(
                f"{'; '.join(found.values())}; nothing was recorded, because strict is set. Check "
                "the reading; if it is right, tell it without strict"
            )

    def _unusual_or_none(self, rewards: dict[int, float]) -> dict[int, str]:
        """What is unusual; nothing where that cannot be said: they are recorded anyway."""
        try:
            return self._unusual(rewards)
        except (SurepickError, ArithmeticError, ValueError) as error:
            name = self._desk.record.name
            _log.warning("study %r: rewards could not be checked for outliers (%s)", name, error)
            return {}

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
        same = self._expected is not None and self._standing == desk.standing
        if self._expected is None or not same or self._tells > self._until:
            run, at = desk.load()
            if run.samples:
                self._expected, self._until = Expected.of_run(run), math.inf
            else:
                last = at.last
                told = desk.storage.read(lambda tx: tx.rewards(desk.record.id, 0, last))
                kept = ~np.isin(told.pulls, but)
                K = run.problem.n_arms
                summary = ArmSummary.of(K, told.arms[kept], told.values[kept])
                self._expected = Expected(run.problem, summary)
                self._until = _AGAIN * self._tells + _MORE
            self._standing = desk.standing
        return self._expected


def _is_new(told: Told) -> bool:
    return told.status == "accepted"

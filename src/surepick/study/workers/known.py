"""Scores that are known before a study needs them: from a table, instead of another call."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.errors import InvalidInputError, MeasurementError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.tables.cells import as_floats, is_numeric, require_complete
from surepick.problem.tables.read import read
from surepick.study.workers.measure import Measure, Measurement

_ITEM = "item"


def known_scores(source: Any, problem: Problem, items: int) -> dict[tuple[int, int], float]:
    """Scores by option and item, from a table with the columns label, item and reward."""
    table = read(source)
    require_complete(table, "label")
    for name in (_ITEM, "reward"):
        if not is_numeric(table, name):
            raise InvalidInputError(
                f"{table.at(0, name)}: {table.column(name)[0]!r:.80} is not a number; a table of "
                "known scores has the columns label, item (a number from 0 on) and reward"
            )
    numbers, rewards = as_floats(table, _ITEM), as_floats(table, "reward")
    wrong = np.flatnonzero((numbers != np.rint(numbers)) | (numbers < 0) | (numbers >= items))
    if len(wrong):
        at = table.at(int(wrong[0]), _ITEM)
        raise InvalidInputError(
            f"{at}: {numbers[wrong[0]]:.12g} is no item; they are numbered from 0 to {items - 1}"
        )
    bad = problem.noise_kind.impossible(rewards)
    if len(bad):
        at, rule = table.at(int(bad[0]), "reward"), problem.noise_kind.rule
        raise InvalidInputError(f"{at}: {rewards[bad[0]]:.12g}, but {rule}")
    arm = {text: k for k, text in enumerate(problem.labels)}
    found: dict[tuple[int, int], float] = {}
    for row, label in enumerate(map(str, table.column("label"))):
        if label not in arm:
            raise UnknownNameError.among(
                f"option at {table.rows[row]} of {table.where}:", label, arm
            )
        cell, reward = (arm[label], int(numbers[row])), float(rewards[row])
        if found.setdefault(cell, reward) != reward:
            raise InvalidInputError(
                f"{table.at(row, 'reward')}: {label!r:.80} has another score on item {cell[1]}, "
                f"{found[cell]:.12g}, in a row before; each may have one"
            )
    return found


class Known(Measure):
    """What is known comes from a table; what is not is measured in another way."""

    def __init__(self, scores: dict[tuple[int, int], float], otherwise: Measure) -> None:
        self._scores, self._otherwise = scores, otherwise
        self.timeout = otherwise.timeout

    @property
    def cancels(self) -> bool:
        return self._otherwise.cancels

    def stop(self) -> None:
        self._otherwise.stop()

    def calls_for(self, arm: int, item: int | None) -> bool:
        return (arm, item) not in self._scores

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float | dict[str, float]:
        if task.item is None or self.calls_for(task.arm, task.item):
            return self._otherwise.reward_of(task, record)
        record["known"] = True
        return self._scores[task.arm, task.item]


class Nothing(Measure):
    """Where all there is is a table."""

    timeout = 60.0

    def reward_of(self, task: Measurement, record: dict[str, Any]) -> float | dict[str, float]:
        raise MeasurementError(
            f"the score of {task.label!r:.80} on item {task.item} is not in the table of known "
            "scores; say how to measure it (--exec or --call)"
        )

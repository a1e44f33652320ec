"""Further numbers handed in with the rewards of a batch: checked, and summed up by rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers
from surepick.errors import InvalidInputError, InvalidTypeError, listed
from surepick.problem import Problem
from surepick.problem.noise import REWARD
from surepick.run.rewards import spread_of, sums_of

_LARGEST = 1e100  # of a number: sums of their squares are finite
SINGLY = "sums: where a measurement has further numbers, give every single one (rewards=…)"
_AGAIN = "nothing was recorded: tell it again"


def separated(rewards: Any, numbers: Any) -> tuple[Any, Any]:
    """Rewards, and further numbers by their names, where each measurement may be a dict of all."""
    if isinstance(rewards, np.ndarray) or not isinstance(rewards, list | tuple):
        return rewards, numbers
    if not any(isinstance(one, Mapping) for one in rewards):
        return rewards, numbers
    if numbers is not None:
        raise InvalidInputError("numbers: rewards have them already; leave one of them out")
    for place, one in enumerate(rewards):
        if not isinstance(one, Mapping):
            raise InvalidTypeError(
                f"rewards[{place}] is {one!r:.80}, and others are dicts of a reward and further "
                f"numbers; {_AGAIN}"
            )
        if REWARD not in one:
            raise InvalidInputError(
                f"rewards[{place}] has no {REWARD!r}, only {listed(map(repr, one))}; {_AGAIN}"
            )
    names = list(dict.fromkeys(name for one in rewards for name in one if name != REWARD))
    for name in names:
        missing = [place for place, one in enumerate(rewards) if name not in one]
        if missing:
            raise InvalidInputError(f"rewards[{missing[0]}] has no {name!r}; {_AGAIN}")
    return [one[REWARD] for one in rewards], {n: [one[n] for one in rewards] for n in names}


def check_numbers(
    problem: Problem, state: State, size: int, arms: IntArray, numbers: Any
) -> dict[str, FloatArray]:
    """Further numbers of each pull, of these arms, or an error that names the first wrong one."""
    given = {} if numbers is None else numbers
    if not isinstance(given, Mapping):
        raise InvalidTypeError(
            f"numbers must have one value per pull for each name; got {numbers!r:.80}"
        )
    for name in given:
        if name not in problem.numbers:
            known = listed(map(repr, problem.numbers), repr(name)) or "none"
            raise InvalidInputError(
                f"numbers: no further number is called {name!r:.80}; there is {known}"
            )
    found = dict[str, FloatArray]()
    for name, values in given.items():
        found[name] = _checked(problem, size, arms, name, values)
    for one in state.further:
        if one.number not in found:
            raise InvalidInputError(
                f"numbers: {one.number!r} is missing, and options have to keep a limit on it; tell "
                f"it with every reward ({{{REWARD!r}: …, {one.number!r}: …}})"
            )
    return found


def _checked(problem: Problem, size: int, arms: IntArray, name: str, given: Any) -> FloatArray:
    values, kind = as_numbers(given, name), problem.numbers[name]
    if len(values) != size:
        raise InvalidInputError(
            f"{name} must have one entry per pull: {size} expected, {len(values)} given"
        )
    bad = np.flatnonzero(~(np.abs(values) < _LARGEST))
    rule = "it must be a number"
    if not len(bad):
        bad, rule = kind.impossible(values), kind.rule
    if len(bad):
        arm = int(arms[bad[0]])
        raise InvalidInputError(
            f"{name} of {problem.labels[arm]!r} is {values[bad[0]]:g}, but {rule}; {_AGAIN}"
        )
    return kind.cut(values)


def further_sums(
    state: State, pulls: Pulls, numbers: dict[str, FloatArray] | None
) -> dict[str, list[Any]] | None:
    """Sums, and spreads where they count, for each row of the pulls, as they are recorded."""
    if not state.further or numbers is None:
        return None
    found = dict[str, list[Any]]()
    for one in state.further:
        values = one.read(numbers[one.number])
        spread = spread_of(pulls, values) if one.spread else None
        found[one.name] = [sums_of(pulls, values), spread]
    return found


def check_sums(pulls: Pulls, numbers: dict[str, list[Any]]) -> None:
    """Refuse recorded sums of further numbers that no numbers which may be told add up to."""
    for name, (sums, spreads) in numbers.items():
        fine = np.abs(sums) < _LARGEST * pulls.counts
        if spreads is not None:
            fine &= np.asarray(spreads) < _LARGEST**2 * pulls.counts
        if not fine.all():
            raise InvalidInputError(f"{name}: its numbers are too large, {_LARGEST:g} or more each")

"""Measurements that were made before a run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.base import State, ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.run.rewards import check_numbers, check_past_size


@dataclass(frozen=True, eq=False)
class Past:
    """What a run was told of the past."""

    evidence: bool  #: whether it counts; otherwise it only guides what is measured
    measurements: int
    batches: list[dict[str, Any]]  #: as the algorithm took it in


def check_past(
    problem: Problem, arms: Any, rewards: Any, chosen_in_advance: Any
) -> tuple[IntArray, FloatArray]:
    """Arms and rewards of past measurements, or an error that names what is wrong with them."""
    if not isinstance(chosen_in_advance, bool | np.bool_):
        raise InvalidTypeError(
            f"chosen_in_advance must be true or false; got {chosen_in_advance!r:.80}"
        )
    values = as_numbers(rewards, "rewards")
    numbers = as_numbers(arms, "arms")
    if len(numbers) != len(values) or not len(values):
        raise InvalidInputError(
            "past: give one arm for each reward, and at least one measurement; got "
            f"{len(numbers)} arms and {len(values)} rewards"
        )
    known = (numbers == np.floor(numbers)) & (numbers >= 0) & (numbers < problem.n_arms)
    if not known.all():
        i = int(np.argmin(known))
        raise InvalidInputError(
            f"past: arms[{i}] is {numbers[i]:g}; arms are numbered from 0 to {problem.n_arms - 1}"
        )
    kind, why = problem.noise_kind, "; rewards must be finite"
    bad = np.flatnonzero(~np.isfinite(values))
    if not len(bad):
        bad, why = kind.impossible(values), f", but {kind.rule}"
    if len(bad):
        raise InvalidInputError(f"past: rewards[{bad[0]}] is {values[bad[0]]:g}{why}")
    return numbers.astype(np.int64), kind.cut(values)


def split_past(
    problem: Problem,
    state: State,
    arms: Any,
    rewards: Any,
    chosen_in_advance: bool,
    numbers: Any = None,
) -> tuple[list[ToldPulls], int]:
    """Past measurements as the algorithm takes them in, and how many they are."""
    places, values = check_past(problem, arms, rewards, chosen_in_advance)
    check_past_size(problem, places, values)
    told = check_numbers(problem, state, len(places), places, numbers)
    # Numbers that nothing is bet on are let be.
    more = [one.read(told[one.number]) for one in state.further]
    order = in_order(problem, places, values, more)
    places, values, more = places[order], values[order] + 0.0, [own[order] for own in more]
    split = state.split_past(places, values, chosen_in_advance)
    if not state.needs_spread:
        split = [part._replace(spreads=None) for part in split]
    if state.further:
        # Which measurements are in a block hangs on their arms, not on what was measured.
        own = [state.split_past(places, column, chosen_in_advance) for column in more]
        split = [
            part._replace(numbers=_further(state, [one[i] for one in own]))
            for i, part in enumerate(split)
        ]
    return split, len(places)


def _further(state: State, parts: list[ToldPulls]) -> dict[str, list[Any]]:
    return {
        one.name: [part.sums, part.spreads if one.spread else None]
        for one, part in zip(state.further, parts, strict=True)
    }


def in_order(
    problem: Problem,
    arms: IntArray,
    rewards: FloatArray,
    more: Sequence[FloatArray] = (),
) -> IntArray:
    """The order in which past measurements are dealt into blocks: the places of the rows.

    Tables are often sorted, perhaps by reward. A shuffle that is the same for every table would
    tie blocks to ranks: of a table sorted by option and reward, the same ranks of each option
    would come into the same block every time, and rewards of one block would no longer be
    independent of those before. So rows are brought into an order of their own, by arm, reward
    and further numbers (``more``), and shuffled by a seed that is a hash of that very table:
    nobody can choose it, and it has nothing to do with ranks.
    """
    # The same order, whichever way is better; -0.0 is no other reward than 0.0.
    seen = [problem.sign * rewards + 0.0, *(column + 0.0 for column in more)]
    order = np.lexsort((*reversed(seen), arms))
    seed = _seed(arms[order], [column[order] for column in seen])
    return order[np.random.Generator(np.random.PCG64(seed)).permutation(len(arms))]


def _seed(arms: IntArray, columns: list[FloatArray]) -> int:
    """A hash of the sorted table, the same on every machine."""
    found = hashlib.sha256(arms.astype("<i8").tobytes())
    for column in columns:
        found.update(column.astype("<f8").tobytes())
    return int.from_bytes(found.digest(), "little")

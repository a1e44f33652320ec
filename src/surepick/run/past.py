"""Measurements that were made before a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.algorithms.base import State, Told
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_numbers
from surepick.errors import InvalidInputError, InvalidTypeError, RunStateError
from surepick.problem import Problem
from surepick.run.dealing import deal
from surepick.run.rewards import check_size, logged

#: the condition of a guarantee that rests on past measurements, too
PROVIDED = "provided that what was measured in the past did not depend on rewards"


@dataclass(frozen=True, eq=False)
class Past:
    """What a run was told of the past."""

    evidence: bool  #: whether it counts; otherwise it only guides what is measured
    measurements: int
    batches: list[dict[str, Any]]  #: as the algorithm took it in


class PastRun:
    """The part of a run that is about measurements made before it."""

    problem: Problem
    state: State
    batches: int
    _sums: FloatArray
    _past: dict[str, Any] | None
    _open: Any

    @property
    def past(self) -> Past | None:
        """Measurements made before the run, if any were told."""
        return None if self._past is None else Past(**self._past)

    def tell_past(
        self, arms: Any, rewards: Any, *, chosen_in_advance: bool, dealing: str = "hashed"
    ) -> None:
        """Hand in measurements that were made before the run; only before the first :meth:`ask`.

        They cost nothing: they are not among ``pulls`` and ``samples``.

        Parameters
        ----------
        arms, rewards
            Arm and reward of each measurement.
        chosen_in_advance
            Whether what was measured, and how often, was decided without looking at rewards. Then
            they count as evidence, and the guarantee rests on this. Otherwise their averages
            are biased: they only guide what is measured first.
        dealing
            How they are dealt into blocks: by a hash of all of them, in whatever order they come;
            ``"fixed"`` as version 0.1.0 did, for studies that were created by it.
        """
        if self._past is not None or self.batches or self._open is not None:
            raise RunStateError("past measurements can be told once, before the first ask")
        numbers, values = check_past(self.problem, arms, rewards, chosen_in_advance)
        every = np.arange(self.problem.n_arms)
        with np.errstate(over="ignore"):
            sums = np.bincount(numbers, values, self.problem.n_arms).astype(np.float64)
            check_size(self.problem, every, sums, self._sums)
        numbers, values = deal(self.problem, numbers, values, bool(chosen_in_advance), dealing)
        split = self.state.split_past(numbers, values, chosen_in_advance)
        if not self.state.needs_spread:
            split = [told._replace(spreads=None) for told in split]
        self.take_past(split, bool(chosen_in_advance), len(numbers))

    def take_past(self, split: list[Told], evidence: bool, measurements: int) -> None:
        """Past measurements as they were dealt into blocks; for :meth:`tell_past` and replays."""
        batches = [logged(*told) for told in split]
        self._past = {"evidence": evidence, "measurements": measurements, "batches": batches}
        self.state.observe_past([self._standardised(told) for told in split], evidence)

    def _standardised(self, told: Told) -> Told:
        units = self.problem.noise_kind.units(told.pulls.arms)
        spreads = None if told.spreads is None else told.spreads / units**2
        return Told(told.pulls, told.sums / units, spreads)


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
            f"past: one arm is needed for each reward, and one measurement at least; got "
            f"{len(numbers)} arms and {len(values)} rewards"
        )
    known = (numbers == np.floor(numbers)) & (numbers >= 0) & (numbers < problem.n_arms)
    if not known.all():
        i = int(np.argmin(known))
        raise InvalidInputError(
            f"past: arms[{i}] is {numbers[i]:g}; arms are numbered from 0 to {problem.n_arms - 1}"
        )
    if not np.isfinite(values).all():
        i = int(np.argmin(np.isfinite(values)))
        raise InvalidInputError(f"past: rewards[{i}] is {values[i]}; rewards must be finite")
    bad = problem.noise_kind.impossible(values)
    if len(bad):
        raise InvalidInputError(
            f"past: rewards[{bad[0]}] is {values[bad[0]]:g}, but {problem.noise_kind.rule}"
        )
    return numbers.astype(np.int64), values

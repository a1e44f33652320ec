"""The part of a run that is about measurements made before it."""

from __future__ import annotations

from typing import Any

from surepick.algorithms.base import State, Told
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.run.batch import Batch
from surepick.run.dealing import deal
from surepick.run.past import Past, check_past
from surepick.run.rewards import check_past_size, logged, standardised


class PastRun:
    """What it needs of a run, and what it does with it."""

    problem: Problem
    state: State
    batches: int
    _past: dict[str, Any] | None
    _open: Batch | None

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
        check_past_size(self.problem, numbers, values)
        numbers, values = deal(self.problem, numbers, values, bool(chosen_in_advance), dealing)
        split = self.state.split_past(numbers, values, chosen_in_advance)
        if not self.state.needs_spread:
            split = [told._replace(spreads=None) for told in split]
        self.take_past(split, bool(chosen_in_advance), len(numbers))

    def take_past(self, split: list[Told], evidence: bool, measurements: int) -> None:
        """Past measurements as they were dealt into blocks; for :meth:`tell_past` and replays."""
        batches = [logged(*told) for told in split]
        self._past = {"evidence": evidence, "measurements": measurements, "batches": batches}
        self.state.observe_past([standardised(self.problem, told) for told in split], evidence)

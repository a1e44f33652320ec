"""What was told in a run: pulls and sums of each arm, and every batch where they are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.base import ToldPulls
from surepick.arrays.types import FloatArray, IntArray
from surepick.run.rewards import in_total, logged, unlogged


class Record:
    """All that was told since the run began."""

    def __init__(self, n_arms: int) -> None:
        self.pulls: IntArray = np.zeros(n_arms, dtype=np.int64)  #: of each arm
        self.sums: FloatArray = np.zeros(n_arms)  #: of the rewards of each arm
        self.samples = 0  #: all pulls: adding up ten million arms takes time
        self.log: list[dict[str, Any]] = []  #: batches, as certificates list them

    @property
    def in_strata(self) -> bool:
        """Whether rewards belong to days, plates, …"""
        return bool(self.log) and "stratum" in self.log[-1]

    def add(self, told: ToldPulls) -> None:
        """Count what was told."""
        self.samples += told.pulls.total
        np.add.at(self.pulls, told.pulls.arms, told.pulls.counts)
        np.add.at(self.sums, told.pulls.arms, told.sums)

    def add_totals(self, pulls: IntArray, sums: FloatArray) -> int:
        """Count pulls and sums of every arm; how many pulls these are."""
        made = int(pulls.sum())
        self.pulls += pulls
        self.sums += sums
        self.samples += made
        return made

    def keep(self, told: ToldPulls, after: int | None, stratum: str | None = None) -> None:
        """Keep a batch, or what was told of one stratum, asked for ``after`` so many were told."""
        said = {} if stratum is None else {"stratum": stratum}
        self.log.append(logged(*told, after) | said)

    def told(self, first: int = 0) -> list[ToldPulls]:
        """What was told batch by batch, from this number on."""
        return [unlogged(batch) for batch in self.log[first:]]

    def with_past(self, batches: list[dict[str, Any]]) -> tuple[IntArray, FloatArray]:
        """Pulls and sums of each arm, together with those of batches from before the run."""
        counts, sums = self.pulls.copy(), self.sums.copy()
        for batch in batches:
            np.add.at(counts, batch["arms"], batch["counts"])
            np.add.at(sums, batch["arms"], batch["sums"])
        return counts, sums

    def as_one(self) -> list[dict[str, Any]]:
        """All pulls as one batch of a log."""
        return in_total(self.pulls, self.sums)

    def grow(self, count: int) -> None:
        """So many arms more."""
        self.pulls = np.append(self.pulls, np.zeros(count, dtype=np.int64))
        self.sums = np.append(self.sums, np.zeros(count))

    def load(self, pulls: IntArray, sums: FloatArray, log: list[dict[str, Any]]) -> None:
        """Take on what was saved."""
        self.pulls, self.sums, self.log, self.samples = pulls, sums, log, int(pulls.sum())

"""Where the pulls of a block go: what every planner shares.

There are two: :mod:`surepick.algorithms.pooled.compiled.planner` and, for very many arms,
:mod:`surepick.algorithms.pooled.large.planner`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Pulls
from surepick.algorithms.pooled.fit import Scales
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.parts import Parts, dealt
from surepick.arrays.grid import coarse
from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


class BlockDesign(NamedTuple):
    """A design, and the directions that it was made for."""

    weights: Any  #: shares of what is spent, (K,); of very many arms only those that are not 0
    value: float  #: worst variance of a direction per pull; with leads: what seems to be missing
    directions: FloatArray  #: by which ways to round it are compared, (n, d)
    shares: FloatArray  #: how much each of these matters
    nats: FloatArray  #: log capital that each of these lacks


class Planner(ABC):
    """Designs for one problem, and whole pulls from them."""

    def __init__(self, problem: Problem, points: Any) -> None:
        self.problem, self._points = problem, points
        self._arms: Any = problem.features  # each per standard deviation of its rewards
        self._variance = 1.0  # of a reward of these

    @property
    def measured(self) -> Problem:
        """The options that weights are about."""
        return self.problem

    def weigh(self, scales: Scales) -> None:
        """Say how much rewards vary: later designs take it into account."""
        self._variance = coarse(scales.variance)
        if scales.by_arm is not None:
            self._arms = self.problem.features / np.sqrt(coarse(scales.by_arm))[:, None]

    def gaps(self) -> list[float]:
        """Certified gaps of the designs so far, where they have one."""
        return []

    @abstractmethod
    def first_shares(self) -> FloatArray:
        """What each candidate's direction matters before anything is known, (M,)."""

    @abstractmethod
    def first(self) -> BlockDesign:
        """The design of the first block: for the candidates around their centre."""

    @abstractmethod
    def next(
        self, leader: int, missing: Lacking, weights: FloatArray, shares: FloatArray
    ) -> BlockDesign:
        """The design for the leads that lack evidence.

        Parameters
        ----------
        leader
            The candidate that leads.
        missing
            What its lead over each candidate lacks, or what the leads of several lack.
        weights
            The last design, or zeros.
        shares
            How much each direction mattered in it; updated in place.
        """

    def by_arm(self, weights: FloatArray) -> FloatArray:
        """Weights as a column with a row for each arm of the run."""
        return weights

    def pulls(self, weights: FloatArray, n: int, judges: BlockDesign, parts: Parts) -> Pulls:
        """A block in about these proportions, dealt into parts where bets are made part by part."""
        if parts == "same":
            return Pulls.in_parts(*self.pulls_in_parts(weights, n, judges))
        return dealt(self.whole_pulls(weights, n, judges, must_span=False), parts)

    @abstractmethod
    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        """``n`` pulls in about these proportions that tell most about the judges' directions."""

    @abstractmethod
    def pulls_in_parts(
        self, weights: FloatArray, n: int, judges: BlockDesign
    ) -> tuple[IntArray, int]:
        """Whole pulls and a number of parts: every arm that is pulled has a pull in each part.

        More parts make more of a clear lead, as no part pays more than log 2; but fewer arms can
        then be pulled.
        """

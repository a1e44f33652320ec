"""Where the pulls of a block go: what every planner shares.

There are two: :mod:`surepick.algorithms.pooled.compiled.planner` and, for very many arms,
:mod:`surepick.algorithms.pooled.large.planner`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


class BlockDesign(NamedTuple):
    """A design, and the directions that it was made for."""

    weights: FloatArray  #: (K,)
    value: float  #: worst variance of a direction per pull; with leads: the pulls that seem missing
    directions: FloatArray  #: by which ways to round it are compared, (n, d)
    shares: FloatArray  #: how much each of these matters


class Planner(ABC):
    """Designs for one problem, and whole pulls from them."""

    def __init__(self, problem: Problem, points: Any) -> None:
        self.problem, self._points = problem, points

    @abstractmethod
    def first_shares(self) -> FloatArray:
        """What each candidate's direction matters before anything is known, (M,)."""

    @abstractmethod
    def first(self) -> BlockDesign:
        """The design of the first block: for the candidates around their centre."""

    @abstractmethod
    def next(self, leader: int, pulls: Any, weights: FloatArray, shares: FloatArray) -> BlockDesign:
        """The design for the leads that lack evidence.

        Parameters
        ----------
        leader
            The candidate that leads.
        pulls
            Pulls, for a variance of one per pull, that its lead over each candidate lacks, (M,).
        weights
            The last design, or zeros.
        shares
            How much each direction mattered in it; updated in place.
        """

    @abstractmethod
    def whole_pulls(
        self, weights: FloatArray, n: int, judges: BlockDesign, must_span: bool
    ) -> IntArray:
        """``n`` pulls in about these proportions that tell most about the judges' directions."""

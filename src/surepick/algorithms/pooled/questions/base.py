"""What a question is to the state of a run.

The state makes blocks and reads them; a question says what is bet on them, when there is an answer,
and what lacks evidence until then. Candidates are numbered by their place among the distinct ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from surepick.algorithms.base import Claims, Known
from surepick.algorithms.pooled.lacking import Lacking
from surepick.algorithms.pooled.leads import Interval
from surepick.algorithms.pooled.ledger import Rows
from surepick.algorithms.pooled.market import Market
from surepick.algorithms.pooled.settings import BlockSettings
from surepick.algorithms.remembered import Remembered
from surepick.arrays.backend import Backend
from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.statistics.spending import Spent

NOT_ON_THE_WAY = "this question cannot accept what is close enough from some moment on"


class Ground(NamedTuple):
    """What a question is asked about, and with which means."""

    config: BlockSettings
    problem: Problem
    backend: Backend  #: where arrays with an entry for each candidate live
    ways: Any  #: how blocks are read: Evidence, or item by item
    candidates: int  #: how many different ones there are


class Question(Remembered, ABC):
    """One question, with the bets that answer it so far."""

    finished: Any  #: whether it is answered
    #: the candidate that leads are measured from; None: the one that looks best
    about: Any = None
    meets_all: ClassVar[bool] = False  #: whether bets on those who are in need who is out, too
    decides_each = False  #: whether something is claimed of every candidate in the end

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.best = 0  #: the candidate that would be named now

    @property
    def epsilon(self) -> float:
        """What is close enough, in the state's unit."""
        return self.ground.config.epsilon / self.ground.problem.unit

    def guided(self) -> None:
        """Measurements that only guide come in with the first block."""

    @abstractmethod
    def bet(self, market: Market, blocks: list[Any], pulls: int) -> dict[str, Any]:
        """Pay out the bets on a block, after so many pulls; what the record is to say of it."""

    def conclude(self, market: Any) -> None:
        """See whether it is answered; ``market()`` is the market after the last block."""
        self.look(market().means)

    @abstractmethod
    def lacking(self, market: Market, pulls: int) -> Lacking:
        """What leads still lack, after so many pulls."""

    @abstractmethod
    def look(self, means: Any) -> None:
        """Note who looks best by these estimates, while a block is under way."""

    @abstractmethod
    def open(self) -> IntArray:
        """Candidates that are not decided; when all are, the one that would be named."""

    def left(self) -> int:
        """How many candidates are not decided."""
        return len(self.open())

    def progress(self) -> FloatArray:
        """How much of the evidence that decides each candidate is there (1: decided)."""
        return np.where(np.isin(np.arange(self.ground.candidates), self.open()), 0.0, 1.0)

    def begin(self, rows: Rows) -> None:
        """Take in a block on which nothing is bet."""

    def spent(self) -> dict[str, float]:
        """As that of :class:`surepick.algorithms.base.State`."""
        return {}

    def risks(self) -> list[Spent]:
        """As that of :class:`surepick.algorithms.base.State`."""
        return []

    def known(self) -> Known | None:
        """What is known of every candidate, where the question says it by itself."""
        return None

    def first_extra(self) -> tuple[int, float]:
        """An arm that the first block pulls more often, and what share of its pulls that adds."""
        return 0, 0.0

    def offered(self) -> BoolArray | None:
        """Who can be named, as a mask; None: everybody."""
        return None

    def rivals(self) -> BoolArray | None:
        """Who can be bet on, as a mask; None: everybody."""
        return self.offered()

    def accept(self) -> None:
        """From now on accept what is close enough, as the ground's configuration says by now."""
        raise InvalidInputError(f"epsilon: {NOT_ON_THE_WAY}")

    def reconsider(self, market: Any) -> None:
        """Options came or went: see where that leaves the question (None: nothing is known)."""
        raise InvalidInputError(
            "options can be added and retired only if the question is which option is best"
        )

    def named(self) -> list[int]:
        """The candidates that would be named now, best first."""
        return [self.best]

    def evidence(self) -> dict[str, Any]:
        """What a certificate has to say beside the blocks."""
        return {}

    def p_values(self) -> FloatArray:
        """Of "this one is the best", or of what else is being refuted; valid at any time, (M,)."""
        return np.ones(self.ground.candidates)

    def doubts(self) -> FloatArray:
        """Of what still speaks against naming the one that would be named now, the same.

        At least delta, which is what a candidate keeps that is decided.
        """
        return self.ground.config.delta ** self.progress()

    def leads(self) -> Interval | None:
        """Leads of all candidates over the one that would be named, in the state's unit."""
        return None

    def claims(self) -> Claims | None:
        """What is claimed about candidates compared with a baseline, if they are."""
        return None

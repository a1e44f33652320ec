"""No-regret learners over arms: exponential weights and AdaHedge, interchangeable values.

A learner is a frozen description; ``start(K)`` gives its state, with ``weights()`` and
``update(gains)``. The state is one flat array that the compiled loops use as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import positive

EXPONENTIAL, ADAHEDGE = 0, 1


@dataclass(frozen=True)
class Learner:
    """What all learners share; use one of its children.

    Examples
    --------
    >>> isinstance(AdaHedge(), Learner)
    True
    """

    code: ClassVar[int]

    @property
    def parameters(self) -> tuple[float, float]:
        """(rate, rounds already played): what the compiled rule needs to know."""
        return 1.0, 0.0

    def start(self, K: int) -> LearnerState:
        """A fresh learner over ``K`` experts."""
        return LearnerState(self, np.zeros(K + 2))


@dataclass(frozen=True)
class ExponentialWeights(Learner):
    """Weights proportional to exp(eta_t · total gain), eta_t = rate · sqrt(8 log K / t).

    ``offset`` rounds count as already played when t starts.

    Examples
    --------
    >>> state = ExponentialWeights(rate=1.0).start(2)
    >>> state.update(np.array([1.0, 0.0]))
    >>> bool(state.weights()[0] > 0.5)
    True
    """

    rate: float = 1.0
    offset: int = 0
    code: ClassVar[int] = EXPONENTIAL

    def __post_init__(self) -> None:
        positive(self.rate, "rate")

    @property
    def parameters(self) -> tuple[float, float]:
        return self.rate, float(self.offset)


@dataclass(frozen=True)
class AdaHedge(Learner):
    """Exponential weights whose rate is log K over the mixability gap so far.

    Needs neither the range of the gains nor the number of rounds (de Rooij, van Erven,
    Grünwald, Koolen 2014).

    Examples
    --------
    >>> AdaHedge().start(4).weights().tolist()
    [0.25, 0.25, 0.25, 0.25]
    """

    code: ClassVar[int] = ADAHEDGE


class LearnerState:
    """A learner at work: total gain per expert, rounds played, mixability gap."""

    def __init__(self, learner: Learner, memory: FloatArray) -> None:
        self.learner = learner
        self.memory = memory  # K total gains, then rounds played, then the mixability gap

    def weights(self) -> FloatArray:
        """The distribution to play next."""
        from surepick.research.game.kernels import learner_weights

        out = np.empty(len(self.memory) - 2)
        learner_weights(self.learner.code, *self.learner.parameters, self.memory, out)
        return out

    def update(self, gains: FloatArray) -> None:
        """Take in the gain of each expert in the round just played."""
        from surepick.research.game.kernels import learner_update

        learner_update(
            self.learner.code,
            *self.learner.parameters,
            self.memory,
            self.weights(),
            np.asarray(gains, dtype=float),
        )

"""PooledPeleg: every measurement counts, at the price of a one-dimensional test. Our own.

Guarantee: delta-PAC for every rule that chooses pulls, rivals and stakes from the past, whatever
the number of blocks and the stopping time (``docs/pooled-peleg.md`` has the proof, in short:)

- Pulls come in blocks that are fixed before their rewards are seen. Least squares on block l
  alone estimates any difference y = x' − x with a sub-Gaussian error of known variance s_l²(y).
- Against each candidate x some capital, 1 at first, is bet on "a rival beats x". The rival
  and the stakes of block l depend on earlier blocks only. While x is the best, yᵀθ* <= 0 and no
  bet has a positive expectation: the capital is a nonnegative supermartingale.
- x is dropped when the capital against it reaches 1/delta. The answer is wrong only if the best
  candidate was dropped, which by Ville's inequality has probability at most delta. There is no
  union bound over candidates, rivals, dimensions or time.

Known in advance: the noise scale only.

Where it comes from: phased elimination (PELEG) forgets what earlier phases measured, because a
design that depends on data voids fixed-design widths for pooled least squares. Bets on one
difference at a time pool the evidence of all blocks without that. Rivals are the candidates that
lead or nearly lead after the earlier blocks; stakes are their estimated leads (pooled least squares
on all data: fine for a stake, since any stake will do) under two prior precisions; the pulls of a
block are a min-max design for the leads that still lack evidence. The number of pulls is measured,
not bounded by a theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.algorithms.pooled.evidence import ways_of
from surepick.algorithms.pooled.state import PooledState
from surepick.algorithms.pooled.strata import levels_cancel
from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem


@dataclass(frozen=True)
class PooledPeleg(Algorithm):
    """Elimination by bets that pool the evidence of all blocks.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    batch_growth
        Largest block of pulls decided at once, as a fraction of the pulls so far. Small
        values adapt more often and compute more.
    min_batch
        Pulls in a batch at least.
    max_batch
        Pulls in a batch at most, such as the places on a plate. Blocks that are larger are asked
        for in pieces, and filled up to whole pieces.
    items
        Measure options on items, such as test questions, of which there are so many: every block
        draws some, with replacement, and ``batch.items`` says which pull is for which. The best is
        then the one with the largest mean over all items; how hard an item is cancels.

    Examples
    --------
    >>> PooledPeleg(delta=0.05).batch_growth
    0.4
    """

    batch_growth: float = field(default=0.4, kw_only=True)
    min_batch: int = field(default=1, kw_only=True)
    max_batch: int | None = field(default=None, kw_only=True)
    items: int | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "pooled-peleg"
    any_backend: ClassVar[bool] = True
    follows: ClassVar[str] = "pulls"
    needs_scale: ClassVar[bool] = False
    trusts_features: ClassVar[bool] = False
    theorem: ClassVar[str] = (
        "the capital bet against the best candidate is a supermartingale; Ville's inequality"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.batch_growth, "batch_growth")
        whole(self.min_batch, "min_batch", least=1)
        if self.items is not None:
            whole(self.items, "items", least=1)
        if self.max_batch is not None:
            whole(self.max_batch, "max_batch", least=1)
            if self.max_batch < self.min_batch:
                raise InvalidInputError(
                    f"max_batch must be at least min_batch = {self.min_batch}; got {self.max_batch}"
                )

    @property
    def any_pulls(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether it takes in other pulls than it asked for: not where blocks come in pieces."""
        return self.max_batch is None

    def levels_cancel(self, problem: Problem) -> bool:
        """Blocks are compared within themselves; without an intercept features see a level.

        With ``max_batch`` a block may come in several batches, each with a level of its own.
        """
        if self.items is not None:
            return True
        return self.max_batch is None and levels_cancel(problem, ways_of(problem))

    def takes_strata(self, problem: Problem) -> bool:
        """A stratum is a block of its own, also where batches are small."""
        return self.items is None and levels_cancel(problem, ways_of(problem))

    def check_problem(self, problem: Problem) -> None:
        """Options on items are compared one by one, by what they show on the same ones."""
        super().check_problem(problem)
        if self.items is None:
            return
        if problem.transductive or not problem.backend.plain:
            raise InvalidInputError(
                "items: only options that are measured themselves, in memory, can be compared on "
                "items; leave candidates and backend out"
            )
        if problem.noise_kind.kind in ("known", "equal"):
            raise InvalidInputError(
                "items: what rewards differ by from item to item is not noise of one scale; leave "
                "noise out, or say noise='yes-no' or its bounds"
            )

    def begin(self, problem: Problem, rng: np.random.Generator) -> PooledState:
        """A fresh state; nothing is drawn at random but items."""
        return PooledState(self, problem, 0 if self.items is None else int(rng.integers(2**62)))

"""Blocks of comparisons of two: who is shown with whom, in which order, on which item.

Comparisons come in blocks that are fixed before any of their results is seen, so that several
judges can work at once: ``block`` of them, or a tenth of all so far, whichever is more. Blocks may
overlap: one more is planned by what is known while others are being judged.

Items: each comparison is made on an item of its own, drawn with replacement once the pair is
chosen. So results of a block are independent given all before, also where two of them happened to
draw the same item, and their factors multiply; the mean is one over all items. (Several comparisons
on one item that was drawn for all of them would share its whims: of those only the average is a
fair factor, and that is worth less than as many items.)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Protocol

import numpy as np

from surepick.algorithms.base import Pulls, State
from surepick.algorithms.findings import Known
from surepick.algorithms.items import by_words
from surepick.algorithms.pairs.purses import Comparisons, Record
from surepick.arrays.types import FloatArray, IntArray
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.problem.pairs import features_of
from surepick.statistics.strengths import Strengths, fit_strengths

_GROWTH = 0.1  # of all comparisons so far: the next block
_BLIND, _FAR = 16.0, 1.0  # most that may be out: blocks at the start, and beside what is known
ORDER, OPPONENT, PLAN, ITEM = 0, 1, 2, 3  # streams of random numbers


class BlocksOf(Protocol):
    """What is read of an algorithm's settings."""

    @property
    def block(self) -> int: ...
    @property
    def items(self) -> int | None: ...


class Comparing(State):
    """What was compared, and what comes next; what is bet on it is up to those who derive."""

    singly = True
    noise_factor = 0.5  # no result varies more
    saved: ClassVar[tuple[str, ...]] = ("blocks", "samples")
    at_rest = True  # a block is one batch
    serves = False  #: whether an opponent is drawn, and a comparison is about one of the two

    def __init__(self, config: BlocksOf, problem: Problem) -> None:
        assert problem.pairing is not None
        self._blocks_of, self.problem, self.pairing = config, problem, problem.pairing
        self.record = Record(self.pairing.options)
        self.features = features_of(problem.candidates)
        self.blocks: list[int] = []  # numbers of the batches that were taken in
        self._recorded: list[int] | None = None  # the same, as a certificate has them
        self.samples = 0
        self._fitted: Strengths | None = None

    # -- what is asked of it ---------------------------------------------------------------
    @property
    def least(self) -> int:
        """Comparisons in the first block: everybody is met."""
        return max(self._blocks_of.block, self.pairing.options)

    @abstractmethod
    def pairs(self, size: int, out: int) -> tuple[IntArray, IntArray]:
        """Two options for each of so many comparisons, while so many are out."""

    @abstractmethod
    def settle(self, block: Comparisons) -> None:
        """Bet on a block, by what was known before it."""

    @abstractmethod
    def concluded(self) -> None:
        """Note what follows, once a block was settled."""

    @abstractmethod
    def p_values(self) -> FloatArray:
        """Of what is refuted of each option."""

    def scores(self) -> FloatArray:
        """How good options seem to be."""
        return self.fitted.scores()

    def served(
        self,
        first: IntArray,
        second: IntArray,
        parts: IntArray | None,
        order: IntArray,
        number: int,
    ) -> IntArray:
        """Whom each comparison is about, where it is about one of the two."""
        return first

    @property
    def fitted(self) -> Strengths:
        """Strengths by a Bradley–Terry model: a guide."""
        if self._fitted is None:
            self._fitted = fit_strengths(self.record.counts, self.record.sums, self.features)
        return self._fitted

    # -- blocks ----------------------------------------------------------------------------
    def propose(self, budget: int) -> Pulls:
        return self._propose(budget, 0)

    def propose_ahead(self, budget: int, out: int) -> Pulls | None:
        far = max(_BLIND * self.least, _FAR * self.samples)
        return None if out > far else self._propose(budget, out)

    def _propose(self, budget: int, out: int) -> Pulls:
        """The next block, while so many comparisons are out."""
        if self.draws is None:
            raise RunStateError("pairs: the order of two options needs the seed of the run")
        size = max(self._blocks_of.block, math.ceil(_GROWTH * (self.samples + out)))
        size = min(size if self.samples else max(size, self.least), budget)
        one, other = self.pairs(size, out)
        # The coin is looked at last: who is compared must not depend on who is shown first.
        second = (self.draws.words(ORDER, len(one)) >> np.uint64(63)).astype(bool)
        first, after = np.where(second, other, one), np.where(second, one, other)
        return self._pulls(self.pairing.arms(first, after))

    def _pulls(self, arms: IntArray) -> Pulls:
        """One row for each comparison, numbered as they were planned."""
        order = np.argsort(arms, kind="stable")
        return Pulls(arms[order], np.ones(len(arms), dtype=np.int64), order.astype(np.int64))

    def items_of(self, pulls: Pulls, later: int = 0) -> IntArray | None:
        items = self._blocks_of.items
        if items is None or pulls.parts is None or self.draws is None:
            return None
        words = self.draws.of(self.draws.batch + later).words(ITEM, int(pulls.parts.max()) + 1)
        return by_words(words, items)[pulls.parts]

    def observe(self, pulls: Pulls, sums: FloatArray) -> None:
        parts, number = pulls.parts, self._number()
        order = np.arange(len(sums)) if parts is None else np.argsort(parts, kind="stable")
        arms, results = pulls.arms[order], sums[order]
        first, second = self.pairing.firsts(arms), self.pairing.seconds(arms)
        served = self.served(first, second, parts, order, number)
        block = Comparisons(first, second, results, served)
        self.settle(block)
        self.record.add(block)
        self._fitted = None
        self.samples += len(results)
        self.blocks.append(number)
        self.concluded()

    def _number(self) -> int:
        """The number of the batch that is told."""
        if self._recorded is not None and len(self.blocks) < len(self._recorded):
            return self._recorded[len(self.blocks)]
        return -1 if self.draws is None else self.draws.batch

    def as_recorded(self, evidence: dict[str, Any]) -> None:
        blocks = evidence.get("blocks")
        if isinstance(blocks, list):
            self._recorded = [int(number) for number in blocks]

    def fewer(self, pulls: Pulls, counts: IntArray) -> Pulls:
        rows, seen = list[int](), np.zeros_like(counts)
        whole_ = np.bincount(pulls.arms, minlength=len(counts))
        if self.serves and (whole_[counts < whole_] > 1).any():
            raise RunStateError(
                "pairs: which of two equal comparisons was withdrawn is not known, and with "
                "'wins most' it matters; correct its result instead"
            )
        for row, arm in enumerate(pulls.arms.tolist()):
            if seen[arm] < counts[arm]:
                rows.append(row)
                seen[arm] += 1
        kept = np.array(rows, dtype=np.int64)
        assert pulls.parts is not None
        return Pulls(pulls.arms[kept], pulls.counts[kept], pulls.parts[kept])

    # -- what is said of it ----------------------------------------------------------------
    def won(self) -> FloatArray:
        leader, met = self.leader(), self.record.met
        nothing = np.full(len(met), math.nan)
        return np.divide(self.record.won[leader], met[leader], out=nothing, where=met[leader] > 0)

    def now(self) -> Known | None:
        if not self.samples:
            return None
        scores, fitted = self.scores(), self.fitted
        K, leader = len(scores), self.leader()
        slopes = fitted.preferred()
        slopes = slopes * (1.0 - slopes) / (K - 1)
        np.fill_diagonal(slopes, 0.0)
        directions = np.diag(slopes.sum(axis=1)) - slopes  # of the scores, by strengths
        apart = directions[leader] - directions
        error = np.sqrt(np.maximum(((apart @ fitted.covariance) * apart).sum(axis=1), 0.0))
        ends = np.full(K, math.inf)
        behind = scores[leader] - scores
        return Known(scores, behind, error, -ends, ends, self.p_values())

    # -- saving ----------------------------------------------------------------------------
    def save(self) -> dict[str, Any]:
        return super().save() | {"counts": self.record.counts, "sums": self.record.sums}

    def load(self, memory: dict[str, Any]) -> None:
        super().load(memory)
        self.record.counts, self.record.sums = memory["counts"], memory["sums"]
        self._fitted = None

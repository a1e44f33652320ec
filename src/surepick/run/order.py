"""In which order the pulls of a batch are handed out, and which of an option's pulls is which.

An algorithm only says how often each arm is pulled in a batch. Handing out all pulls of one arm
before the next would mix up arms with the time of day: a machine that warms up, a cache that fills
or a first call that is slow would speak for one arm. So the pulls of a batch are dealt at random,
by a seed of the run: drawn afresh for every run, and kept with it, so that everybody who works on
the run sees the same order and anybody can work it out again.

Pulls have numbers, too: an algorithm may sum up an arm's pulls in parts, the first few of its
numbers in one part and the next ones in another. Which number is measured when is dealt as well.
(Were an arm's first pulls in time in its first part, parts of two arms would differ by who came
first, and who comes first tends to stay ahead: with a drift that is large beside the noise all
parts have the same sign far too often.) Of two arms with the same pulls in a part, each is then as
likely to have the moments of the other, whatever all moments have in common: a level that
depends on the moment alone speaks for neither.

A batch is cut into blocks of about a thousand pulls, each with its share of every row of the
batch, and each block is shuffled. All of this is done with whole numbers, is the same on every
machine, and can be worked out block by block: batches may be huge.

Where an algorithm needs more pulls than a batch may have, all of them are dealt first, in the same
way, and batches are cut from that deal (:func:`piece`). Filled up arm by arm, batches would differ
in their arms, and what changes from one batch to the next would speak for some of these.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surepick.algorithms.base import Algorithm, Pulls
from surepick.algorithms.items import SEEDS, for_options, mixed
from surepick.arrays.grid import scrambled
from surepick.arrays.types import IntArray
from surepick.errors import FormatError
from surepick.problem import Problem
from surepick.run.codec import dumps

#: what certificates call this rule
RULE = "shuffled"
_BLOCK = 1024  # pulls in a block, about


def fresh_seed() -> int:
    """A seed that nobody knew before."""
    return secrets.randbelow(SEEDS)


def seed_after(given: Any, *known: str | bytes) -> int:
    """A fresh seed of an order of items; or the one that this comes to after all that is known.

    It is drawn once all that it could have to do with is there (:mod:`surepick.algorithms.items`
    says why): options, known scores, and the code of what measures, which stands for what options
    mean (:mod:`surepick.calls.versions`).
    """
    return fresh_seed() if given is None else mixed(seed_of(given), *known)


def seed_of(given: Any) -> int:
    """The seed of an order, from what a run is seeded with; drawn afresh where that is nothing.

    A whole number is its own seed. A generator is not drawn from: only its state is looked at.

    Examples
    --------
    >>> seed_of(7), seed_of(np.random.default_rng(7)) == seed_of(np.random.default_rng(7))
    (7, True)
    >>> seed_of(None) == seed_of(None)
    False
    """
    if given is None:
        return fresh_seed()
    if isinstance(given, int | np.integer) and 0 <= int(given) < SEEDS:
        return int(given)
    state = dumps(np.random.default_rng(given).bit_generator.state)
    return int.from_bytes(hashlib.sha256(state.encode()).digest()[:8], "little") % SEEDS


def seed_for(algorithm: Algorithm, problem: Problem, given: Any) -> int:
    """The seed of a run; where options are measured on items, for these options and no others."""
    seed = seed_of(given)
    return seed if algorithm.measured_on() is None else for_options(seed, problem)


def as_seed(saved: Any) -> int | None:
    """The seed of an order as files have it; None: of visitors, who come in no order."""
    if saved is None or (type(saved) is int and 0 <= saved < SEEDS):
        return saved
    raise FormatError(f"the seed of an order must be a whole number below 2**53; got {saved!r:.80}")


class Order:
    """The pulls of a batch in the order in which they are handed out."""

    _first = 0  # of the streams of random numbers that are used

    def __init__(self, batch: int, pulls: Pulls, seed: int) -> None:
        streams = _streams(seed, batch)[self._first :]
        self._keys, self._offsets, self._again = streams[:3]
        self._pulls = pulls
        self.size = pulls.total
        self._blocks = max(1, self.size // _BLOCK)
        self._firsts = np.cumsum(pulls.counts) - pulls.counts  # number of each row's first pull
        self._known = (0, 0, np.empty(0, dtype=np.int64))  # first and last place, numbers
        # Staggered, so that rows with few pulls do not all wait for the same block.
        rows = np.arange(len(pulls.arms))
        self._offset = _below(self._blocks, scrambled(self._offsets + rows.astype(np.uint64)))

    def arms(self, first: int, last: int) -> IntArray:
        """The arms of the pulls from place ``first`` up to but not including ``last``."""
        return self.arms_of(self._numbers(first, last))

    def numbers(self, first: int, last: int) -> IntArray:
        """The numbers of the pulls in these places, as the rows of the batch list them."""
        return self._numbers(first, last)

    def whole(self) -> IntArray:
        """The numbers of all pulls, in the order in which they are handed out."""
        numbers = np.arange(self.size)
        keys = self._keys_of(numbers)
        if self._blocks == 1:
            return np.argsort(keys, kind="stable")
        rows = np.repeat(np.arange(len(self._firsts)), self._pulls.counts)
        own = (numbers - self._firsts[rows]) * self._blocks + self._blocks - 1 - self._offset[rows]
        return np.lexsort((keys, own // self._pulls.counts[rows]))

    def numbering(self, numbers: IntArray) -> IntArray:
        """These pulls in an order of their own, by arm; where only some of a batch are dealt on."""
        keys = scrambled(self._again + numbers.astype(np.uint64))
        return np.lexsort((keys, self.arms_of(numbers)))

    def arms_of(self, numbers: IntArray) -> IntArray:
        return self._pulls.arms[self.rows_of(numbers)]

    def rows_of(self, numbers: IntArray) -> IntArray:
        return np.searchsorted(self._firsts, numbers, side="right") - 1

    def _numbers(self, first: int, last: int) -> IntArray:
        parts = []
        while first < last:
            start, end, numbers = self._block_of(first)
            parts.append(numbers[first - start : last - start])
            first = end
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _block_of(self, place: int) -> tuple[int, int, IntArray]:
        if not self._known[0] <= place < self._known[1]:
            low, high = 0, self._blocks  # the last block that starts at or before this place
            while high - low > 1:
                middle = (low + high) // 2
                if self._pulls_before(middle).sum() <= place:
                    low = middle
                else:
                    high = middle
            before, after = self._pulls_before(low), self._pulls_before(low + 1)
            counts = after - before
            numbers = np.repeat(self._firsts + before - (np.cumsum(counts) - counts), counts)
            numbers += np.arange(len(numbers))
            numbers = numbers[np.argsort(self._keys_of(numbers), kind="stable")]
            self._known = (int(before.sum()), int(after.sum()), numbers)
        return self._known

    def _keys_of(self, numbers: IntArray) -> NDArray[np.uint64]:
        return scrambled(self._keys + numbers.astype(np.uint64))

    def _pulls_before(self, block: int) -> IntArray:
        """Pulls of each row in the blocks before this one."""
        each, left = np.divmod(self._pulls.counts, self._blocks)
        return each * block + (left * block + self._offset) // self._blocks


class _Deal(Order):
    """The pulls of several batches in the order in which they are dealt into these."""

    _first = 3


def piece(number: int, pulls: Pulls, first: int, last: int, *, seed: int) -> Pulls:
    """The pulls of one of the batches that a block of an algorithm is cut into.

    Parameters
    ----------
    number
        Number of the block.
    pulls
        All that it asks for.
    first, last
        How many of them were in earlier batches, and how many will have been with this one.
    seed
        The seed of the run's orders.
    """
    if (first, last) == (0, pulls.total):
        return pulls
    deal = _Deal(number, pulls, seed)
    rows = deal.rows_of(deal.numbers(first, last))
    counts = np.bincount(rows, minlength=len(pulls.arms))
    here = counts > 0
    parts = None if pulls.parts is None else pulls.parts[here]
    return Pulls(pulls.arms[here], counts[here], parts)


@dataclass(frozen=True)
class Draws:
    """Random numbers of one batch, for an algorithm that draws: by the seed of the run's orders.

    Whoever has the certificate can work them out again; before the batch is asked for, nobody who
    plans it looks at them.
    """

    seed: int
    batch: int  #: its number

    def words(self, stream: int, count: int) -> NDArray[np.uint64]:
        """So many random numbers below 2**64, from one of four streams: 0, 1, 2 or 3."""
        start = _streams(self.seed, self.batch)[_DRAWN + stream]
        return scrambled(start + np.arange(count, dtype=np.uint64))

    def of(self, batch: int) -> Draws:
        return Draws(self.seed, batch)


_DRAWN = 6  # the first stream that is neither of an order nor of a deal


def _streams(seed: int, batch: int) -> NDArray[np.uint64]:
    """Where the streams of random numbers of a batch start: there are ten of them."""
    start = scrambled(np.array([seed])) + np.array([batch], dtype=np.uint64)
    return scrambled(scrambled(start) + np.arange(10, dtype=np.uint64))


def _below(n: int, numbers: NDArray[np.uint64]) -> IntArray:
    return (numbers % np.uint64(n)).astype(np.int64)

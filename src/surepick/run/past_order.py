"""In which order past measurements are dealt into blocks.

Tables are often sorted, perhaps by reward. A shuffle that is the same for every table would tie
blocks to ranks: of a table sorted by option and reward, the same ranks of each option would come
into the same block every time, and rewards of one block would no longer be independent of those
before. So rows are brought into an order of their own, by arm and reward, whatever order they
came in, and shuffled by a seed that is a hash of that very table: nobody can choose it, and it has
nothing to do with ranks. (Rows that were drawn independently of each other are then dealt as if
by chance. Rows that were not, no shuffle makes independent.)
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.problem import Problem


def in_order(
    problem: Problem,
    arms: IntArray,
    rewards: FloatArray,
    more: Sequence[FloatArray] = (),
) -> IntArray:
    """The order in which past measurements are dealt into blocks: the places of the rows.

    ``more`` are further numbers of each measurement.
    """
    # The same order, whichever way is better; -0.0 is no other reward than 0.0.
    seen = [problem.sign * rewards + 0.0, *(column + 0.0 for column in more)]
    order = np.lexsort((*reversed(seen), arms))
    seed = _seed(arms[order], [column[order] for column in seen])
    return order[np.random.Generator(np.random.PCG64(seed)).permutation(len(arms))]


def _seed(arms: IntArray, columns: list[FloatArray]) -> int:
    """A hash of the sorted table, the same on every machine."""
    found = hashlib.sha256(arms.astype("<i8").tobytes())
    for column in columns:
        found.update(column.astype("<f8").tobytes())
    return int.from_bytes(found.digest(), "little")

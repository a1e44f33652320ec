"""In which order items are met: drawn once what is compared is known, and by nothing before that.

Let every option have a score on every item, fixed before the order is drawn; some may be known, and
options may have been made by looking at these. An order drawn afresh, each as likely as any other,
has nothing to do with them. So bets on it from its first item on are bets, whoever has seen what:
given the items so far, the next is any of those left. (Items on which every option is known may be
counted beforehand, without bets. Where options are compared on the rest, their order is as fresh.)

An order that is met again is another matter. Its first items are those that were met before, and an
option that was made by looking at them is at its best there. So a seed that is used again comes to
another order where anything else is compared, or anything more is known: it is mixed with options
and known scores (:func:`mixed`). What no program can see is an option that was changed under its
old name: that is part of what the promise says.

This is the one place where orders of items are drawn.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.grid import shuffled
from surepick.arrays.types import IntArray

if TYPE_CHECKING:
    from surepick.problem import Problem

SEEDS = 2**53  #: seeds are below this: a number that every reader of JSON keeps exactly
#: what every promise about items takes
UNKNOWN_ORDER = "nobody who made an option knew in which order items would come"

#: and where they come up again and again
MEASURED_AGAIN = "each measurement is made anew or a score is the same whenever it is measured"


def mixed(seed: int, *known: str | bytes) -> int:
    """The seed that another one comes to where these things are known: for others, another.

    Examples
    --------
    >>> mixed(0, "a", "b") == mixed(0, "a", "b"), mixed(0, "a", "b") == mixed(0, "ab")
    (True, False)
    """
    found = hashlib.sha256(str(seed).encode())
    for one in known:
        text = one.encode("utf-8", "backslashreplace") if isinstance(one, str) else one
        found.update(hashlib.sha256(text).digest())  # each as long as the others: no two alike
    return int.from_bytes(found.digest()[:8], "little") % SEEDS


def for_options(seed: int, problem: Problem) -> int:
    """The seed of the order in which these options meet items."""
    return mixed(seed, *problem.digests, *problem.candidate_labels)


def in_order(items: IntArray, seed: int) -> IntArray:
    """These items, each once."""
    return shuffled(items, seed)


def by_words(words: NDArray[np.uint64], items: int) -> IntArray:
    """An item for each of these random words."""
    return (words % np.uint64(items)).astype(np.int64)


def drawn(items: int, seed: int, block: int, count: int) -> IntArray:
    """So many of 0 … items − 1, each as likely at every place, for a block of measurements."""
    return np.random.default_rng([seed, block]).integers(0, items, count)

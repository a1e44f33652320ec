"""What a running algorithm can say about its candidates before it ends."""

from __future__ import annotations

from typing import NamedTuple

from surepick.arrays.types import FloatArray, IntArray


class Claims(NamedTuple):
    """What is said about candidates compared with a baseline; candidates by their number."""

    baseline: str  #: in words: the option's label in quotes, or the number
    better: IntArray
    worse: IntArray
    close: IntArray  #: within epsilon of the baseline
    undecided: IntArray  #: neither better nor worse, those that are close among them
    lift: FloatArray  #: estimated lead of every candidate over the baseline, (M,)
    low: FloatArray  #: it lies between these, each at all times with probability 1 - delta
    high: FloatArray
    open: int  #: different candidates about which nothing is claimed


class Known(NamedTuple):
    """What is known about each candidate now, in units of the reward; arrays (M,)."""

    estimates: FloatArray
    behind: FloatArray  #: how far each seems to be behind the one that would be named now
    error: FloatArray  #: standard error of that
    low: FloatArray  #: it lies between these at all times, each with probability 1 - delta
    high: FloatArray
    p_value: FloatArray | None  #: of "this one is the best", at any time; None: not known

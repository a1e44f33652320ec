"""Whom to compare next: a guide, from which no proof takes anything.

Leader and challenger are drawn from the fit's uncertainty (top two: Russo, COLT 2016), and half of
the time the challenger is another one: whoever seems to beat the leader most clearly, ruled out or
not, as in a cycle nobody else can rule the leader out; now and then whoever has been ruled out and
may beat the leader all the same, as far as the two have met (who is beaten by many, and beats the
leaders, looks weak to a fit); or any other option that is in. Once one is left that is to be shown
to beat everyone, it meets whom it has not been shown to beat, the one against whom least is shown
most often. Where nobody is left, the arrows of the likeliest cycle are looked at.

Random numbers come from the run's seed, in a stream of their own: whoever plans does not see the
coins that decide who is shown first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.statistics.strengths import Strengths

Pairs = tuple[IntArray, IntArray]
_FEARED = 0.55  # p̂ from which on somebody seems to beat the leader
_DOUBTS = 1 / 16  # of all comparisons: with one that may, though it was ruled out
_DOUBT = 1.64  # standard errors that its share may lie higher


def first_pairs(K: int, size: int, out: int = 0) -> Pairs:
    """Every option with its neighbours: all of them are connected, and meet equally often.

    So many comparisons are out already.
    """
    place = out + np.arange(size)
    step = 1 + place // K % (K - 1)
    return place % K, (place + step) % K


def top_two(
    fitted: Strengths,
    preferred: FloatArray,
    refuters: IntArray,
    inside: BoolArray,
    size: int,
    words: NDArray[np.uint64],
) -> Pairs:
    """So many pairs; takes ``words_for(K, size)`` random numbers.

    ``preferred`` has p̂ of "the row is preferred to the column", by their own comparisons, too;
    ``refuters`` whom each should meet now and then, -1 for nobody.
    """
    K, there = len(inside), np.flatnonzero(inside)
    normal, uniform = _normal(words[: 4 * K * size]), _uniform(words[4 * K * size :])
    root = _root(fitted.covariance)
    drawn = fitted.values + normal.reshape(2, size, K) @ root.T
    drawn[:, :, ~inside] = -math.inf
    leader = drawn[0].argmax(axis=1)
    drawn[1, np.arange(size), leader] = -math.inf
    challenger = drawn[1].argmax(axis=1)
    at_random = uniform[:size] < 0.5
    place = np.floor(uniform[size:] * (len(there) - 1)).astype(np.int64)
    others = there[place + (place >= np.searchsorted(there, leader))]
    # Rounded, so that no last digit decides between two who did equally well.
    rounded = np.round(preferred, 9)
    np.fill_diagonal(rounded, 0.0)
    worst = rounded.argmax(axis=0)  # whom each has most to fear from
    fears = (uniform[:size] < 0.25) & (rounded.max(axis=0) > _FEARED)[leader]
    others = np.where(fears, worst[leader], others)
    doubts = (uniform[:size] >= 0.5 - _DOUBTS) & (refuters[leader] >= 0)
    others = np.where(doubts, refuters[leader], others)
    return leader, np.where(at_random, others, challenger)


def refuters_of(met: FloatArray, won: FloatArray, out: BoolArray) -> IntArray:
    """Of those ruled out, for each option the one that may beat it most clearly; -1: nobody may.

    That is by their own comparisons alone (how often two met, and the row won), on which they get
    the benefit of the doubt: so whoever has hardly met it comes first.

    Examples
    --------
    >>> met = np.array([[0.0, 9, 3], [9, 0, 9], [3, 9, 0]])
    >>> won = np.array([[0.0, 9, 2], [0, 0, 5], [1, 4, 0]])
    >>> refuters_of(met, won, np.array([False, True, True])).tolist()
    [2, 2, 1]
    """
    share = (won + 1.0) / (met + 2.0)
    may = share + _DOUBT * np.sqrt(share * (1.0 - share) / (met + 3.0))
    may = np.where(out[:, None] & ~np.eye(len(out), dtype=bool), np.round(may, 9), 0.0)
    return np.where(may.max(axis=0) > _FEARED, may.argmax(axis=0), -1)


def words_for(K: int, size: int) -> int:
    """How many random numbers so many pairs take."""
    return 4 * K * size + 2 * size


def against_all(x: int, shown: FloatArray, enough: float, size: int) -> Pairs:
    """x against those whom it has not been shown to beat; half of it against the hardest."""
    rivals = np.flatnonzero((shown < enough) & (np.arange(len(shown)) != x))
    rivals = rivals[np.argsort(shown[rivals], kind="stable")]
    place = np.arange(size)
    others = np.where(place % 2 == 0, rivals[0], rivals[(place // 2) % len(rivals)])
    return np.full(size, x), others


def along_cycle(
    preferred: FloatArray, shown: FloatArray, start: int, enough: float, size: int
) -> Pairs:
    """The arrows of the likeliest cycle that are not shown.

    ``preferred`` has p̂ of "the row is preferred to the column", which follows what is seen, where
    the evidence ``shown[x, r]`` that r beats x never falls: luck would lead astray for ever.
    """
    path = likely_cycle(preferred, start)
    arrows = [(path[i], path[(i + 1) % len(path)]) for i in range(len(path))]
    open_ = [(x, r) for x, r in arrows if shown[x, r] < enough] or arrows
    chosen = [open_[i % len(open_)] for i in range(size)]
    one, other = zip(*chosen)
    return np.array(one), np.array(other)


def likely_cycle(preferred: FloatArray, start: int) -> list[int]:
    """From an option to who seems to beat it most clearly, and so on, until one comes again.

    Each of those named is beaten by the next one, and the last by the first.
    """
    beaters = np.round(preferred, 9)
    np.fill_diagonal(beaters, -1.0)
    path, now = list[int](), start
    while now not in path:
        path.append(now)
        now = int(beaters[:, now].argmax())
    return path[path.index(now) :]


def shortest_cycle(beats: BoolArray) -> list[int]:
    """Options each of which beats the next one, and the last the first: as few as can be; or none.

    ``beats[a, b]``: a beats b. Of several, the one with the lowest number first.

    Examples
    --------
    >>> arrows = np.zeros((4, 4), dtype=bool)
    >>> arrows[[3, 0, 1, 2], [0, 1, 2, 0]] = True  # 3 beats 0, and is in no cycle
    >>> shortest_cycle(arrows)
    [0, 1, 2]
    """
    found: list[int] = []
    for start in range(len(beats)):
        before, reached = dict[int, int](), [start]
        for now in reached:
            for other in np.flatnonzero(beats[now]).tolist():
                if other == start:
                    path = [now]
                    while path[0] != start:
                        path.insert(0, before[path[0]])
                    if not found or len(path) < len(found):
                        found = path
                    break
                if other not in before:
                    before[other] = now
                    reached.append(other)
            else:
                continue
            break
    return found


def _root(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    # Of a symmetric matrix this root does not depend on the signs of eigenvectors.
    return (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T


def _uniform(words: NDArray[np.uint64]) -> FloatArray:
    """Between 0 and 1, neither of them."""
    return ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def _normal(words: NDArray[np.uint64]) -> FloatArray:
    """Standard normal, one from two words (Box and Muller)."""
    u = _uniform(words)
    half = len(u) // 2
    return np.sqrt(-2.0 * np.log(u[:half])) * np.cos(2.0 * math.pi * u[half:])

"""Rules of other people that the library does not have, for ``benchmarks.rivals`` only.

Elimination (A. Tirinzoni and R. Degenne, "On elimination strategies for bandit fixed-confidence
identification", NeurIPS 2022): a rival that the generalised likelihood ratio has ruled out once
stays out. *Selective*: pieces of the leader's alternative only, candidates that are worse than the
one that leads now. *Full*: worse than any other one. The run stops once one candidate is left; with
"sampling", the sampling rule also forgets who is out. The proven thresholds hold at all times and
for all directions at once, so that nobody who is out can be the best on the event on which the
plain stop is right: what was proven stays proven. Who is out is looked at whenever the pulls have
grown by 0.5 %, and the plain stop at every pull.

The sampling rules are those of the library, LinGame, Frank-Wolfe sampling and Lazy Track-and-Stop;
LinGapE is here with the same stop (the greedy rule of its paper's plots), and LεBAI (M. Jourdan and
R. Degenne, "Choosing answers in ε-best-answer identification for linear bandits", ICML 2022):
LinGame's game against the alternatives to the *furthest* answer, the one among those within ε of
the best estimate whose alternatives are hardest to confuse with it, and a stop on that answer.

Thresholds: the proven one of the library, log((1 + log t)/δ) of most plots, and log((1 + t)/δ),
which the programs of Tirinzoni and Degenne use; the last two have no theorem.
"""

# numba compiles these functions: their types are what the callers pass.
# pyright: reportArgumentType=false, reportCallIssue=false

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit

import surepick as sp
from surepick.arrays.kernels import back_substitute, whiten
from surepick.research import fws_kernels, lazy_ts_kernels, lingame_kernels
from surepick.research.glr_kernels import (
    LEADER,
    READY,
    TIME,
    evidence_suffices,
    products,
    refresh_levels,
    rival_variances,
    stands,
)
from surepick.research.sequential import NEED, STOP
from surepick.simulate import Instance

NEVER, SELECTIVE, FULL = 0, 1, 2
HOW, SAMPLING, SLOW, FURTHEST, DUE = 0, 1, 2, 3, 4  # entries of `kind`
OUT = 1e150  # a gap that no other can match: nobody confuses such a rival with the leader


@njit(cache=True)
def width(core, i, j):
    """The square of the lead of ``i`` over ``j`` at which the stop rules out ``j``."""
    white, y, u, levels = core.white, core.y, core.u, core.levels
    a, spread, least = 0.0, 0.0, np.inf
    for c in range(y.shape[0]):
        y[c] = white[c, i] - white[c, j]
        a += y[c] * y[c]
    if levels[0, 0] > 0.0:
        back_substitute(core.lower, y, u)
        for c in range(u.shape[0]):
            spread += u[c] * u[c]
    for row in range(levels.shape[0]):
        least = min(least, 2.0 * levels[row, 1] * (a + levels[row, 0] * spread))
    return least


@njit(cache=True)
def beaten(core, i, j):
    """Whether the stop rules out ``j`` in favour of ``i``, over ``core.white``."""
    gaps = core.gaps
    gap = gaps[j] - gaps[i] + core.epsilon[0]
    if gap <= 0.0:
        return False
    return gap * gap > width(core, i, j)


@njit(cache=True)
def eliminate(core, left, kind):
    """Strike out whom the stop rules out, and have it looked at again 0.5 % later."""
    leader, M, t = core.place[LEADER], left.shape[0], core.place[TIME]
    kind[DUE] = t + max(1, t // 200)
    refresh_levels(core)
    if kind[HOW] == SELECTIVE:
        for m in range(M):
            if left[m] and m != leader and not stands(core, m, core.epsilon[0]):
                left[m] = False
    else:
        whiten(core.lower, core.columns, core.white)
        for m in range(M):
            if not left[m]:
                continue
            if m != leader and beaten(core, leader, m):
                left[m] = False
                continue
            for i in range(M):
                if i != leader and i != m and core.gaps[i] < core.gaps[m] and beaten(core, i, m):
                    left[m] = False
                    break


@njit(cache=True)
def forget(core, left, kind):
    """Let the sampling rule forget who is out, where it should; how many are left."""
    count = 0
    for m in range(left.shape[0]):
        count += left[m]
        if kind[SAMPLING] and not left[m] and m != core.place[LEADER]:
            core.gaps[m] = OUT
    return count


@njit(cache=True)
def furthest_answer(core):
    """Lead by the candidate, within ε of the best estimate, that is furthest from its rivals."""
    gaps, columns, epsilon = core.gaps, core.columns, core.epsilon[0]
    whiten(core.lower, columns, core.white)
    white, M = core.white, gaps.shape[0]
    best, most = core.place[LEADER], -1.0
    for i in range(M):
        if gaps[i] > epsilon:
            continue
        least = np.inf
        for j in range(M):
            if j == i:
                continue
            a = 0.0
            for c in range(white.shape[0]):
                apart = white[c, i] - white[c, j]
                a += apart * apart
            lead = gaps[j] - gaps[i] + epsilon
            least = min(least, lead * lead / a)
            if least <= most:
                break
        if least > most:
            best, most = i, least
    core.place[LEADER] = best
    own = gaps[best]
    for m in range(M):
        gaps[m] -= own


@njit(cache=True)
def choose_by_gap(memory):
    """LinGapE: the arm that most sharpens the leader's lead over its likeliest challenger."""
    core = memory.core
    t = core.place[TIME]
    if t < core.first.shape[0]:
        return core.first[t]
    if evidence_suffices(core):
        return STOP
    refresh_levels(core)
    rival_variances(core, core.lower)
    leader, challenger, highest = core.place[LEADER], -1, -np.inf
    for m in range(core.gaps.shape[0]):
        if m == leader:
            continue
        bound = math.sqrt(width(core, leader, m)) - core.gaps[m]
        if bound > highest:
            challenger, highest = m, bound
    for c in range(core.y.shape[0]):
        core.y[c] = core.white[c, leader] - core.white[c, challenger]
    back_substitute(core.lower, core.y, core.u)  # V⁻¹y
    products(core.arms, core.u, memory.along)
    best, most = 0, -1.0
    for k in range(memory.along.shape[0]):
        gain = memory.along[k] * memory.along[k] / (1.0 + memory.norms[k])
        if gain > most:
            best, most = k, gain
    return best


@njit(inline="always")
def loop(update, choose, memory, left, kind, risk, arm, means, noise):
    """Pull, update, eliminate, choose, until the noise runs out or the rule says STOP or NEED."""
    core = memory.core
    for t in range(noise.shape[0]):
        update(memory, arm, means[arm] + noise[t])
        if kind[SLOW]:  # levels are parameters[0] + log(1 + log t): make log((1 + t)/δ) of it
            pulls = core.place[TIME]
            core.parameters[0] = risk + math.log(1.0 + pulls) - math.log(1.0 + math.log(pulls))
        if core.place[READY]:
            if kind[FURTHEST]:
                furthest_answer(core)
            if kind[HOW]:
                if core.place[TIME] >= kind[DUE]:
                    eliminate(core, left, kind)
                if forget(core, left, kind) <= 1:
                    return STOP, t + 1
        arm = choose(memory)
        if arm < 0:
            return arm, t + 1
    return arm, noise.shape[0]


@njit(cache=True)
def many_lingame(memory, left, kind, risk, arm, means, noise):
    update, choose = lingame_kernels.update, lingame_kernels.choose
    return loop(update, choose, memory, left, kind, risk, arm, means, noise)


@njit(cache=True)
def many_lingape(memory, left, kind, risk, arm, means, noise):
    update = lingame_kernels.update
    return loop(update, choose_by_gap, memory, left, kind, risk, arm, means, noise)


@njit(cache=True)
def many_fws(memory, left, kind, risk, arm, means, noise):
    update, choose = fws_kernels.update, fws_kernels.choose
    return loop(update, choose, memory, left, kind, risk, arm, means, noise)


@njit(cache=True)
def many_lazy(memory, left, kind, risk, arm, means, noise):
    update, choose = lazy_ts_kernels.update, lazy_ts_kernels.choose
    return loop(update, choose, memory, left, kind, risk, arm, means, noise)


RULES: dict[str, tuple[str, Any]] = {
    "LinGame": ("lingame", many_lingame),
    "FWS": ("fws", many_fws),
    "LazyTS": ("lazy-ts", many_lazy),
    "LinGapE": ("lingame", many_lingape),
}
THRESHOLDS = ("proven", "log log t", "log t")


class Ended(NamedTuple):
    """How a run ended."""

    pulls: int
    answer: int
    stopped: bool  #: by its own rule, and not by the limit of pulls
    out: Any = frozenset()  #: who was ruled out on the way


def run_glr(
    instance: Instance,
    delta: float,
    rng: np.random.Generator,
    most: int,
    rule: str,
    threshold: str,
    eliminates: int = NEVER,
    sampling: bool = False,
    epsilon: float = 0.0,
    furthest: bool = False,
) -> Ended:
    """One run on simulated rewards, N(0, 1) around the means."""
    name, many = RULES[rule]
    settings = {} if threshold == "proven" else {"threshold": "heuristic"}
    if threshold == "proven" and rule == "LazyTS":
        settings = {"threshold": "self-normalised"}  # its own one is larger
    algorithm = sp.algorithms.get(name, delta=delta, epsilon=epsilon)
    algorithm = type(algorithm)(delta, epsilon=epsilon, **settings)
    state: Any = algorithm.begin(instance.problem, rng)
    if rule == "LinGapE":
        state.choose = choose_by_gap
    left = np.ones(len(instance.problem.distinct), dtype=np.bool_)
    kind = np.array([eliminates, sampling, threshold == "log t", furthest, 0], dtype=np.int64)
    if rule == "LazyTS" and sampling:
        state._plug_in = _plug_in_of_those_left(state, left)
    means, risk, pulls = instance.means, math.log(1.0 / delta), 0
    while not state.finished and pulls < most:
        noise = rng.standard_normal(min(4096, most - pulls))
        used = 0
        while used < len(noise) and not state.finished:
            arm, n = many(state.memory, left, kind, risk, state.arm, means, noise[used:])
            used += n
            if arm == NEED:
                state.decide()
            else:
                state.arm, state.finished = int(arm), arm == STOP
        pulls += used
    found = np.flatnonzero(left)
    stopped_by_elimination = eliminates != NEVER and len(found) == 1
    place = int(found[0]) if stopped_by_elimination else int(state.memory.core.place[LEADER])
    out = {int(i) for i in instance.problem.distinct[~left]}
    return Ended(pulls, int(instance.problem.distinct[place]), bool(state.finished), out)


def _plug_in_of_those_left(state: Any, left: Any) -> Any:
    """Weights of Lazy Track-and-Stop against the rivals that are not out."""
    whole = type(state)._plug_in

    def weights() -> Any:
        core = state.memory.core
        leader = int(core.place[LEADER])
        keep = left.copy()
        keep[leader] = True
        if keep.sum() < 2:
            return state.memory.weights.copy()
        chosen = np.flatnonzero(keep)
        place = core.place.copy()
        place[LEADER] = int(np.searchsorted(chosen, leader))
        columns = np.ascontiguousarray(core.columns[:, chosen])
        few = core._replace(gaps=core.gaps[chosen], columns=columns, place=place)
        return whole(_With(state.memory._replace(core=few)))

    return weights


class _With:
    """A state of which only the memory is looked at."""

    def __init__(self, memory: Any) -> None:
        self.memory = memory


# -- options without features ----------------------------------------------------------------------
@njit(cache=True)
def kn(means, noise, slack, rounds, zone, alpha):
    """KN++ (S.-H. Kim and B. Nelson 2006), independent normal rewards, one round at a time.

    i is out once some l leads it by more than the triangle max(0, (zone/2)(h²S²/zone² − r)) in the
    sum over r rounds, where S² is the variance of their difference, from all rewards so far.
    """
    K = means.shape[0]
    beta = 1.0 - (1.0 - alpha) ** (1.0 / (K - 1))
    h2 = -2.0 * math.log(2.0 * beta)
    left = np.ones(K, dtype=np.bool_)
    sums, squares = np.zeros(K), np.zeros((K, K))
    pulls, last, best = 0, np.zeros(K), 0
    for r in range(1, rounds + 1):
        for k in range(K):
            if left[k]:
                last[k] = means[k] + noise[r - 1, k]
                sums[k] += last[k]
                pulls += 1
        for i in range(K):
            for j in range(i):
                if left[i] and left[j]:
                    apart = last[i] - last[j]
                    squares[i, j] += apart * apart
        if r < slack:
            continue
        out = np.zeros(K, dtype=np.bool_)
        for i in range(K):
            for j in range(i):
                if left[i] and left[j]:
                    apart = sums[i] - sums[j]
                    variance = (squares[i, j] - apart * apart / r) / (r - 1)
                    width = max(0.0, 0.5 * zone * (h2 * variance / (zone * zone) - r))
                    if apart < -width:
                        out[i] = True
                    elif apart > width:
                        out[j] = True
        count, best = 0, -1
        for k in range(K):
            if left[k] and (best < 0 or sums[k] > sums[best]):
                best = k
        for k in range(K):
            if left[k] and out[k] and k != best:
                left[k] = False
            count += left[k]
        if count == 1:
            return pulls, best, True
    return pulls, best, False


@njit(cache=True)
def survivors(means, noise, rounds, alpha):
    """PASS-like (after L. Pei, B. Nelson and S. Hunter 2022): each one against a moving standard.

    The standard is the mean of the survivors; i is out once the sum of its rewards falls below it
    by more than sqrt((c + log(r + 1))(r + 1)), which a Brownian motion without drift ever does
    with probability at most ``alpha``, c = −2 log(2·alpha). The best is never below a standard that
    is known; here it is estimated, σ = 1 is known, and no theorem is claimed.
    """
    K = means.shape[0]
    left, sums = np.ones(K, dtype=np.bool_), np.zeros(K)
    pulls, c = 0, -2.0 * math.log(2.0 * alpha)
    for r in range(1, rounds + 1):
        total, count = 0.0, 0
        for k in range(K):
            if left[k]:
                sums[k] += means[k] + noise[r - 1, k]
                pulls += 1
                total += sums[k]
                count += 1
        width = math.sqrt((c + math.log(r + 1.0)) * (r + 1.0))
        remaining, last = 0, -1
        for k in range(K):
            if left[k] and sums[k] - total / count < -width:
                left[k] = False
            if left[k]:
                remaining += 1
                last = k
        if remaining == 1:
            return pulls, last, True
    return pulls, int(np.argmax(np.where(left, sums, -np.inf))), False

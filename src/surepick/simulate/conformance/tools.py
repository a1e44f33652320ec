"""What the checks share: demands, tiny instances, and rewards that can be played again."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from surepick.algorithms.base import Algorithm, Pulls
from surepick.algorithms.findings import PROVEN
from surepick.arrays.types import FloatArray
from surepick.errors import RunStateError
from surepick.problem import Problem
from surepick.run import Answer, Run, verify
from surepick.simulate.instance import Instance

#: builds the algorithm under test: make(delta, **settings)
Make = Callable[..., Algorithm]
#: the batches of a run, each as (arms, counts)
Asks = list[tuple[tuple[int, ...], tuple[int, ...]]]

DELTA = 0.05
MOST_BATCHES = 20_000  # more, on an instance as easy as these, counts as not stopping
MOST_PULLS = 20_000_000
KINDS = (*PROVEN, "heuristic", "none")


class ConformanceCheck(Protocol):
    """A check: called with ``make``, returns what it measured."""

    __name__: str

    def __call__(self, make: Make) -> dict[str, Any]: ...


def demand(holds: Any, complaint: str | Callable[[], str]) -> None:
    """Raise ``AssertionError`` unless ``holds`` (also under ``python -O``)."""
    if not holds:
        raise AssertionError(complaint if isinstance(complaint, str) else complaint())


def chance(n: int, rate: float) -> int:
    """Of ``n`` trials that fail at this rate, more than so many fail once in a thousand times."""
    from scipy.stats import binom

    return int(binom.ppf(0.999, n, rate))


def failures(fails: Callable[[int], Any], n: int, most: int) -> int:
    """How many of ``n`` trials fail, counted until it is clear whether more than ``most`` do.

    ``fails(i)`` runs trial i. It ends as soon as too many have failed, or too few are left: then
    the verdict is that of all trials. It also ends where so few have failed that a rate which half
    of such tests would catch, (most + 1) / n = r, is out of the question: capital bet against r
    has grown a thousandfold. It is multiplied by q / r where a trial fails, otherwise by
    (1 - q) / (1 - r), with q = r / 8. While trials fail at the rate r or more often, that has mean
    1 at most, so it ever grows a thousandfold with probability 1/1000 at most (Ville): what all
    trials would catch is caught as often, up to that. Where hardly any trial fails, two thirds of
    them are spared.
    """
    rate = (most + 1) / n
    lost, won = math.log(1 / 8), math.log((1 - rate / 8) / max(1 - rate, 1e-300))
    failed, capital = 0, 0.0
    for done in range(n):
        if failed > most or failed + n - done <= most or capital > math.log(1000):
            break
        fails_now = bool(fails(done))
        failed += fails_now
        capital += lost if fails_now else won
    return failed


def configure(make: Make, instance: Instance, delta: float = DELTA, **settings: Any) -> Algorithm:
    """The algorithm under test; an oracle is told the truth."""
    if "theta" in inspect.signature(make).parameters:
        settings["theta"] = instance.theta
    algorithm = make(delta, **settings)
    demand(isinstance(algorithm, Algorithm), f"make gave {algorithm!r:.80}, not an Algorithm")
    demand(algorithm.delta == delta, f"asked for delta {delta}, got {algorithm.delta}")
    return algorithm


def tiny(
    arms: ArrayLike, theta: ArrayLike, noise: float = 1.0, candidates: Any = None, name: str = ""
) -> Instance:
    """An instance written out."""
    return Instance(Problem(arms, candidates, noise), theta, name=name or "tiny")


# No two arms, gaps or lengths are alike here, so nothing depends on how ties are broken.
_GENERIC = [
    [0.9, 0.2, -0.1],
    [0.3, 0.8, 0.4],
    [-0.5, 0.6, 0.7],
    [0.1, -0.7, 0.6],
    [0.6, 0.5, -0.8],
]


@cache
def generic(noise: float = 0.25) -> Instance:
    """Five arms in three dimensions; gaps 0.4, 0.47, 0.61, 1.26."""
    return tiny(_GENERIC, [0.9, -0.2, 0.1], noise, name=f"generic, noise {noise:g}")


@cache
def basis(gap: float = 0.8, noise: float = 0.5) -> Instance:
    """Three arms along the axes."""
    return tiny(np.eye(3), [0.0, gap, 0.0], noise, name="standard basis")


@cache
def nearby(noise: float = 0.5) -> Instance:
    """Two axes and an arm close to the better one."""
    arms = [[1.0, 0.0], [0.0, 1.0], [np.cos(0.8), np.sin(0.8)]]
    return tiny(arms, [1.0, 0.0], noise, name="confounding arm")


class Tape:
    """Rewards by arm: the n-th pull of an arm is worth the same in every run on this tape.

    ``order[i]`` says which arm of ``instance`` arm i of the run is, ``scale`` multiplies rewards.
    """

    def __init__(
        self, instance: Instance, seed: int, order: ArrayLike | None = None, scale: float = 1.0
    ) -> None:
        k = instance.problem.n_arms
        self._order = np.arange(k) if order is None else np.asarray(order)
        self._means = scale * instance.means
        self._noise = scale * instance.problem.unit
        self._draws = [np.random.default_rng([seed, arm]) for arm in range(k)]

    def sums(self, pulls: Pulls) -> FloatArray:
        """Reward sums of these pulls, one entry per arm of the run."""
        sums = np.zeros(len(self._order))
        for arm, count in zip(pulls.arms, pulls.counts, strict=True):
            own = self._order[arm]
            noise = self._draws[own].standard_normal(count).sum()
            sums[arm] = count * self._means[own] + self._noise * noise
        return sums


def step(run: Run, tape: Tape, asks: Asks) -> None:
    """One batch, checked, recorded and told."""
    batch = run.ask()
    check_batch(run, batch.pulls)
    asks.append((tuple(batch.pulls.arms.tolist()), tuple(batch.pulls.counts.tolist())))
    run.tell(batch, sums=tape.sums(batch.pulls))


def play(run: Run, tape: Tape) -> Asks:
    """Take a run to its stop; what it asked for."""
    asks: Asks = []
    while not run.stopped:
        demand(
            len(asks) < MOST_BATCHES and run.samples < MOST_PULLS,
            f"did not stop within {run.samples:,} pulls in {len(asks):,} batches",
        )
        step(run, tape, asks)
    return asks


class Played(NamedTuple):
    """A run that has stopped, for checks that only look at it."""

    run: Run
    asks: Asks


@lru_cache(maxsize=32)  # the checks of one algorithm follow each other
def played(make: Make, instance: Instance, seed: int, epsilon: float = 0.0) -> Played:
    """The run of an algorithm on one of the instances here, with rewards of this seed.

    It is made once, however many checks look at it.
    """
    settings = {"epsilon": epsilon} if epsilon else {}
    run = configure(make, instance, **settings).start(instance.problem, seed=seed)
    return Played(run, play(run, Tape(instance, seed)))


def check_batch(run: Run, pulls: Pulls) -> None:
    """The pulls asked for exist, come in order, and are at least one."""
    arms, counts, parts = pulls
    k = run.problem.n_arms
    # Every batch comes here: a message is only written where it is needed.
    demand(
        len(arms) == len(counts) and len(arms) > 0, lambda: f"asked for {arms!r} times {counts!r}"
    )
    for what, values in (("arms", arms), ("counts", counts)):
        whole = np.issubdtype(np.asarray(values).dtype, np.integer)
        demand(whole, lambda w=what, v=values: f"{w} are {v!r}, not whole")
    there = min(arms) >= 0 and max(arms) < k
    demand(there, lambda: f"asked for arms {arms.tolist()}, there are {k}")
    rows = list(zip(arms, arms * 0 if parts is None else parts))
    in_order = all(first < second for first, second in pairwise(rows))
    demand(in_order, lambda: f"arms must be ascending, each once or in parts; got {arms.tolist()}")
    demand(min(counts) >= 1, lambda: f"asked for {counts.tolist()} pulls")


def check_answer(run: Run, instance: Instance) -> Answer:
    """The answer of a stopped run, after checking that it hangs together."""
    answer, problem = run.answer, instance.problem
    demand(
        0 <= answer.arm < problem.n_candidates,
        f"answered {answer.arm}, there are {problem.n_candidates} candidates",
    )
    demand(isinstance(answer.arm, int), f"the answer is a {type(answer.arm).__name__}, not an int")
    demand(answer.label == problem.candidate_labels[answer.arm], "the label is another candidate's")
    demand(answer.arm in answer.survivors, "the answer is not among the survivors")
    demand(
        set(answer.survivors) <= set(range(problem.n_candidates)),
        f"survivors {answer.survivors} are not all candidates",
    )
    demand(
        answer.samples == answer.pulls.sum() == run.samples,
        f"{answer.samples} pulls claimed, {answer.pulls.sum()} counted",
    )
    kind = answer.guarantee.kind
    demand(kind in KINDS, f"unknown kind of guarantee {kind!r}")
    try:
        run.ask()
    except RunStateError:
        return answer
    raise AssertionError("a stopped run can still be asked")


def solve(
    make: Make, instance: Instance, delta: float = DELTA, seed: int = 0, **settings: Any
) -> Answer:
    """One whole run by ask and tell; it must stop by its own rule, with an answer that verifies."""
    run = configure(make, instance, delta, **settings).start(instance.problem, seed=seed)
    play(run, Tape(instance, seed))
    return check_solved(run, instance)


def check_solved(run: Run, instance: Instance) -> Answer:
    """The answer of a run that must have stopped by its own rule; it verifies."""
    answer = check_answer(run, instance)
    demand(answer.guarantee.kind != "none", f"{instance.name}: gave up, {answer.guarantee}")
    verify(answer.certificate())
    return answer

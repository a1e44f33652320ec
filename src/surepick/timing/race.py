"""Runs in random order, until one is shown to be the fastest, or not slower than another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np

from surepick.algorithms import get
from surepick.algorithms.items import in_order
from surepick.arrays.types import IntArray
from surepick.arrays.validate import positive, real, risk, whole
from surepick.calls.afresh import CARRIED
from surepick.errors import InvalidInputError, MeasurementError
from surepick.problem import Problem
from surepick.promise import Promised
from surepick.proof.accepting import ACCEPTING, RACING
from surepick.run import Answer, Run
from surepick.run.measuring import Enough, Measuring
from surepick.timing.carried import Sequence
from surepick.timing.clock import Function, Hung, Timed, several_calls
from surepick.timing.result import Beside, Fastest, Row

#: runs of each on average, unless more or fewer are allowed
MOST_EACH = 500
#: a run is ended that takes longer than this many times the slowest so far, or so many seconds if
#: that is more; before any has ended, these seconds are tried first, and more if all take longer
_TIMES, _LEAST, _LONGER = 20.0, 10.0, 4.0
_ENOUGH = 20  # runs of each, before the medians say that the rest is a matter of epsilon
_WITHIN = Promised("the fastest, or close to it", wrong="name one that is neither", kind="eps-pac")
#: told after each round: the runs so far, and the names of those that are still in
Progress = Callable[[int, tuple[str, ...]], None]
Options = Mapping[str, Callable[[], Any]] | Iterable[Timed]
#: what a run counts as that was ended
Hanging = Literal["slowest", "failed"]


def fastest(
    options: Options,
    *,
    epsilon: float = 0.0,
    quantile: float | None = None,
    delta: float = 0.05,
    max_runs: int | None = None,
    max_seconds: float | None = None,
    timeout: float | None = None,
    hung: Hanging = "slowest",
    warmup: int = 1,
    seed: Any = None,
    progress: Progress | None = None,
) -> Fastest:
    """Time several functions until it is clear which one usually is the fastest.

    Parameters
    ----------
    options
        Functions by name, each called without arguments; or anything that can be timed
        (:class:`Command`, or a :class:`Timed` of your own).
    epsilon
        How much slower than the fastest, as a share, is quick enough: with 0.02 it also ends when
        one is shown to be within two per cent of all others that may be the fastest.
    quantile
        Find the one with the shortest quantile of its times instead, such as 0.95: the time within
        which 95 of 100 runs end. That rests on a machine that stays as it is while they run.
    delta
        Probability of naming one that is not the fastest (nor quick enough), at most.
    max_runs
        Runs of all together after which it ends undecided; by default 500 for each.
    max_seconds
        And the time after which it does, also in the middle of a command.
    timeout
        Seconds after which a command is ended, with all that it has started. By default 20 times
        the slowest run so far, and 10 at least. Functions cannot be ended.
    hung
        What a run counts as that was ended: ``"slowest"``, as slower than all that end by
        themselves; or ``"failed"``, an error that ends it all.
    warmup
        Runs of each, before the others, that do not count.
    seed
        Of the random order.
    progress
        Called after each round.

    Examples
    --------
    >>> import surepick as sp
    >>> found = sp.timing.fastest(
    ...     {"sum": lambda: sum(range(2000)), "one": lambda: 1}, seed=0, max_runs=2000
    ... )
    >>> found.label, found.decided
    ('one', True)
    """
    stage = _Stage(options, max_runs, max_seconds, timeout, hung, warmup, seed, progress)
    margin, delta = _margin(epsilon), risk(delta, "delta")
    if quantile is not None and margin:
        raise InvalidInputError("epsilon: with a quantile nothing but the best one is looked for")

    def alike(run: Run) -> bool:
        """Whether those left are so much alike that it is better to show that one is close."""
        left = [stage.times[stage.names[arm]] for arm in run.active]
        if min(map(len, left)) < _ENOUGH:
            return False
        medians = [float(np.median(own)) for own in left]
        return max(medians) <= (1.0 + 0.5 * margin) * min(medians)

    # With a margin there are two ways to an answer, each with a share of the risk.
    own, until = (RACING * delta, alike) if margin else (delta, None)
    run = stage.raced(own, until=until, quantile=quantile)
    answer, within = stage.answer(run), 0.0
    promise = replace(answer.guarantee.promise, delta=delta)
    if not answer.guarantee and margin and run.ended and len(run.active) > 1:
        leader, left = answer.label, [stage.names[arm] for arm in run.active]
        longer = {name: 1.0 + margin for name in left if name != leader}
        near = ACCEPTING * delta
        close = stage.answer(stage.raced(near, among=left, baseline=leader, longer=longer))
        if close.guarantee and set(close.worse) == set(longer):
            within = margin
            promise = replace(close.guarantee.promise, delta=delta, what=_WITHIN)
    rows = stage.rows(answer.wins, set(answer.survivors))
    # Each beats the next one, as measured: then nobody is the fastest, whoever is named.
    decided = within > 0 or (bool(answer.guarantee) and not answer.circle)
    found = (rows, answer, stage.taken(), stage.hung)
    return Fastest(*found, answer.label, decided, within, delta, promise)


def not_slower(
    options: Options,
    than: str,
    *,
    epsilon: float = 0.05,
    delta: float = 0.05,
    max_runs: int | None = None,
    max_seconds: float | None = None,
    timeout: float | None = None,
    hung: Hanging = "slowest",
    warmup: int = 1,
    seed: Any = None,
    progress: Progress | None = None,
) -> Beside:
    """Time several functions until it is clear which are slower than one of them, and which not.

    Slower means: by more than ``epsilon``, 0.05 for five per cent. A run of each is compared with
    a run of ``than`` that took so much longer; who usually wins is not slower, who usually loses
    is.

    Parameters
    ----------
    options
        Functions by name, or anything that can be timed, as for :func:`fastest`.
    than
        The name of the one that the others are compared with.
    epsilon
        How much slower, as a share, is not slower yet.
    delta, max_runs, max_seconds, timeout, hung, warmup, seed, progress
        As for :func:`fastest`; ``delta`` is for all claims together.
    """
    stage = _Stage(options, max_runs, max_seconds, timeout, hung, warmup, seed, progress)
    if than not in stage.names:
        names = ", ".join(stage.names)
        raise InvalidInputError(f"than: there is no {than!r:.80}; there are {names}")
    margin = _margin(epsilon)
    answer = stage.answer(stage.raced(delta, baseline=than, longer={than: 1.0 + margin}))
    said = (answer.better, answer.worse, answer.undecided)
    if not answer.guarantee:
        said = (), (), tuple(name for name in stage.names if name != than)
    return Beside(stage.rows({}, set()), answer, stage.taken(), stage.hung, than, margin, *said)


def _margin(epsilon: Any) -> float:
    found = real(epsilon, "epsilon")
    if found < 0:
        raise InvalidInputError(f"epsilon must not be below 0; got {epsilon!r:.80}")
    return found


class _Stage:
    """What is timed, and the runs so far."""

    def __init__(
        self,
        options: Options,
        max_runs: int | None,
        max_seconds: float | None,
        timeout: float | None,
        hung: Hanging,
        warmup: int,
        seed: Any,
        progress: Progress | None,
    ) -> None:
        self._timed = _several(options)
        self._timeout = None if timeout is None else positive(timeout, "timeout")
        if hung not in get_args(Hanging):
            raise InvalidInputError(f"hung must be 'slowest' or 'failed'; got {hung!r:.80}")
        self._fails = hung == "failed"
        self._end = np.inf if max_seconds is None else time.monotonic() + max_seconds
        self._slowest = 0.0  # of the runs that ended
        self.hung: dict[str, int] = {}  #: runs that were ended, by name
        self._now = ""  # what is running, or did last
        self.names = [one.name for one in self._timed]
        self.times: dict[str, list[float]] = {name: [] for name in self.names}
        most = MOST_EACH * len(self.names) if max_runs is None else max_runs
        self._left = whole(most, "max_runs", least=1)
        self._draw, self._progress = np.random.default_rng(seed), progress
        first = np.repeat(np.arange(len(self.names)), whole(warmup, "warmup", least=0))
        order = in_order(first, int(self._draw.integers(2**31)))
        self._warm_up([self._timed[arm] for arm in order.tolist()])
        several_calls(self._timed)
        self._sequence = Sequence()

    # -- single runs -----------------------------------------------------------------------
    def _limit(self) -> float:
        """Seconds that a run may take; the same for all runs of a block, by those before it."""
        if self._timeout is not None:
            return self._timeout
        return max(_LEAST, _TIMES * self._slowest) if self._slowest else np.inf

    def _once(self, one: Timed, limit: float) -> float | None:
        """Run it; the seconds that took, or None where it was ended after ``limit``."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise Enough
        self._now = one.name
        one.most = min(limit, left)
        try:
            seconds = one.once()
        except Hung:
            if left < limit:
                raise Enough from None
            if self._fails:
                raise
            return None
        self._slowest = max(seconds, self._slowest)
        return seconds

    def _warm_up(self, left: list[Timed]) -> None:
        """Runs that do not count; they say what is to be taken for hanging."""
        limit = _LEAST if self._timeout is None else self._timeout
        fails, self._fails = self._fails, False
        try:
            while left:
                slow = [one for one in left if self._once(one, limit) is None]
                # Where none has ended all may just be slow; else who takes far longer hangs.
                before, limit = limit, self._limit() if self._slowest else _LONGER * limit
                left = slow if self._timeout is None and limit > before else []
        except Enough:
            pass
        finally:
            self._fails = fails

    def raced(
        self,
        delta: float,
        *,
        among: list[str] | None = None,
        baseline: str | None = None,
        longer: Mapping[str, float] | None = None,
        until: Callable[[Run], bool] | None = None,
        quantile: float | None = None,
    ) -> Run:
        """A race to its end, or until something holds; the times of some count as longer."""
        names = among or self.names
        by_name = {one.name: one for one in self._timed}
        factors = np.array([(longer or {}).get(name, 1.0) for name in names])
        problem = Problem.unstructured(names, noise="any", minimise=True)
        asked: dict[str, Any] = {} if baseline is None else {"baseline": baseline}
        asked |= {} if quantile is None else {"quantile": quantile}
        algorithm = get("pooled-peleg", delta=delta, max_samples=max(self._left, 1), **asked)
        run = algorithm.start(problem, int(self._draw.integers(2**31)))

        def timed(arms: IntArray, _: Any) -> np.ndarray:
            limit, own = self._limit(), [names[arm] for arm in arms]
            taken = [self._once(by_name[name], limit) for name in own]
            ended = np.array([one is None for one in taken])
            seconds = np.array([limit if one is None else one for one in taken])
            for name, one, late in zip(own, seconds.tolist(), ended.tolist()):
                self.times[name].append(one)
                if late:
                    self.hung[name] = self.hung.get(name, 0) + 1
            self._sequence.add(np.array([self.names.index(name) for name in own]), seconds)
            self._left -= len(seconds)
            # Who was ended is slower than all that were not, and as slow as all others that were.
            longest = 2.0 * limit * float(factors.max()) if ended.any() else 0.0
            return np.where(ended, longest, seconds * factors[arms])

        def enough() -> bool:
            over = time.monotonic() >= self._end or self._left <= 0
            return over or (until is not None and until(run))

        def told() -> None:
            if self._progress is not None:
                self._progress(run.samples, tuple(names[arm] for arm in run.active))

        Measuring(run, lambda answer: answer).go(timed, until=enough, told=told)
        run.end()
        return run

    def answer(self, run: Run) -> Answer:
        """What a race came to; it rests on runs that do not change the next one."""
        if self._now and not any(self.times.values()):
            raise MeasurementError(
                f"the time that all of it may take was over before there was a run of each; "
                f"{self._now!r} was running then. Give it more time (max_seconds), or less to each "
                "run (timeout)"
            )
        run.rest_on("apart")
        if self.hung:
            run.rest_on("hung", runs=sum(self.hung.values()))
        if self._sequence.carries():
            run.doubts.told.append(CARRIED)
        return run.answer

    def taken(self) -> dict[str, np.ndarray]:
        """Seconds of every run, by name."""
        return {name: np.array(own) for name, own in self.times.items()}

    def rows(self, wins: Mapping[str, float], left: set[int]) -> tuple[Row, ...]:
        """What is said of each, the shortest median first."""
        rows = []
        for number, name in enumerate(self.names):
            own = np.array(self.times[name] or [np.nan])
            middle, late = np.quantile(own, [0.5, 0.95]).tolist()
            times, runs = (middle, late, float(own.min())), len(self.times[name])
            rows.append(Row(name, runs, *times, wins.get(name), number in left))
        return tuple(sorted(rows, key=lambda row: row.median))


def _several(options: Any) -> list[Timed]:
    found: list[Timed] = []
    if isinstance(options, Mapping):
        found = [Function(str(name), function) for name, function in options.items()]
    else:
        found = list(options)
        for one in found:
            if not isinstance(one, Timed):
                raise InvalidInputError(f"options: {one!r:.80} cannot be timed")
    if len(found) < 2:
        raise InvalidInputError(f"options: there must be two at least; got {len(found)}")
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise InvalidInputError(f"options: two of them are called {name!r}; give them names")
    return found

"""How much longer will a run take? Copies of it go on, on truths that are likely now.

Each copy starts with all that the run has: capital, counts, the batch that is open. Eight of ten
copies end within the interval. A copy ends after so many times
what was measured so far, and all of them after some seconds: what was cut off took more than that,
and where too much was, the end of the interval is not known. That is said.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from surepick.ahead.feed import TooSlowError, feed
from surepick.ahead.judges import Judge, Likely
from surepick.ahead.kinds import DRAWINGS
from surepick.ahead.posterior import Posterior
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray
from surepick.run import Run
from surepick.run.changes import ACCEPTED
from surepick.run.forecast import FORECAST_SECONDS, PERIODS, Ahead
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing

Truth = tuple[FloatArray, FloatArray]  # mean rewards of the arms, and the scales of their noise

COPIES = 40
_FURTHER = 30  # times what was measured so far after which a copy is cut off
_FEWEST = 10  # copies without which nothing is said
_LARGEST = 500  # options: more take too long
# Shares of the copies that take no more than the ends of the interval: eight of ten lie between.
# Not 0.1 and 0.9: a study that is looked at when a quarter of it is done is more often one of the
# short ones, as the long ones spend most of their time further on (benchmarks/forecasts.py).
_ENDS = (0.05, 0.85)


def ahead(
    run: Run, seed: int = 0, copies: int = COPIES, seconds: float = FORECAST_SECONDS
) -> Ahead:
    """The forecast for a run that has not stopped."""
    if run.stopped:
        return Ahead(0, 0, 0, 0)
    if run.problem.pairing is not None:
        return _of_pairs(run, seed, copies, seconds)
    why = _cannot(run)
    if why:
        return Ahead(None, None, None, 0, why)
    noise = DRAWINGS.of(run.problem.noise_kind).ahead(run)
    most = run.samples + _FURTHER * max(int(run.totals()[0].sum()), 1)

    def measured(copy: Run, truth: Truth, rng: np.random.Generator, deadline: float) -> float:
        feed(copy, truth[0], noise, truth[1], rng, deadline, most)
        return copy.samples - run.samples

    posterior = Posterior(run)
    return _interval(_copies(run, posterior.draw, measured, seed, copies, seconds), "measurements")


def _of_pairs(run: Run, seed: int, copies: int, seconds: float) -> Ahead:
    """How many more comparisons of two options: by judges that are likely, by the fit."""
    if not run.samples:
        return Ahead(None, None, None, 0, "the first batch is not complete yet")
    if _turning(run):
        return Ahead(None, None, None, 0, "options come or go with the next batch")
    most = run.samples * (1 + _FURTHER)
    judge = Likely(run)

    def judged(copy: Run, truth: Judge, rng: np.random.Generator, deadline: float) -> float:
        pairing = copy.problem.pairing
        assert pairing is not None
        while not copy.stopped:
            if copy.samples > most or time.process_time() > deadline:
                raise TooSlowError(copy.samples)
            batch = copy.ask()
            first, second = pairing.firsts(batch.arms), pairing.seconds(batch.arms)
            copy.tell(batch, truth.many(first, second))
        return copy.samples - run.samples

    return _interval(_copies(run, judge.draw, judged, seed, copies, seconds), "measurements")


def periods_ahead(
    run: Run,
    sharing: Sharing,
    shares: FloatArray | None,
    visits: Sequence[int],
    seed: int = 0,
    copies: int = COPIES,
    seconds: float = FORECAST_SECONDS,
) -> Ahead:
    """The forecast for a traffic study, in periods with as many visits as one of ``visits``.

    ``shares`` are those of the last period that was reported.
    """
    if run.stopped:
        return Ahead(0, 0, 0, 0, unit=PERIODS)
    drawing = DRAWINGS.of(run.problem.noise_kind)
    why = drawing.no_reports or _cannot(run)
    if not run.batches:
        why = "nothing was reported yet"
    if _turning(run):
        why = "options come or go with the next period"
    if why:
        return Ahead(None, None, None, 0, why, PERIODS)
    noise, most = drawing.ahead(run), _FURTHER * max(run.batches, 1)

    def reported(copy: Run, truth: Truth, rng: np.random.Generator, deadline: float) -> float:
        last = shares
        for period in range(1, most + 1):
            if time.process_time() > deadline:
                break
            last = sharing.shares(copy, last)
            counts = rng.multinomial(int(rng.choice(visits)), last)
            arms = np.flatnonzero(counts)
            drawn = (rng, truth[0][arms], counts[arms], truth[1][arms])
            sums, spreads = noise.totals(*drawn)
            if not run.state.demands_spread:
                spreads = None
            tell_report(copy, ToldPulls(Pulls(arms, counts[arms]), sums, spreads))
            if copy.stopped:
                return period
        raise TooSlowError(copy.samples)

    posterior = Posterior(run)
    return _interval(_copies(run, posterior.draw, reported, seed, copies, seconds), PERIODS)


def _copies(
    run: Run,
    draw: Callable[[np.random.Generator], Any],
    go_on: Callable[[Run, Any, np.random.Generator, float], float],
    seed: int,
    copies: int,
    seconds: float,
) -> list[float]:
    """What copies of a run take, each on a truth of its own; infinite for those cut off."""
    text = run.to_json()
    deadline, taken = time.process_time() + seconds, []
    for i in range(copies):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(run.batches, i)))
        truth = draw(rng)
        try:
            taken.append(float(go_on(Run.from_json(text, run.problem), truth, rng, deadline)))
        except TooSlowError:
            if time.process_time() > deadline:
                break
            taken.append(math.inf)
    return taken


def _interval(taken: list[float], unit: str) -> Ahead:
    n = len(taken)
    if n < _FEWEST:
        why = "simulating studies like this one takes too long"
        return Ahead(None, None, None, n, why, unit, slow=True)
    low, middle, high = np.quantile(taken, (_ENDS[0], 0.5, _ENDS[1]), method="higher")
    if math.isinf(low):
        return Ahead(None, None, None, n, "it may take very many", unit)
    middle, high = (None if math.isinf(one) else math.ceil(one) for one in (middle, high))
    return Ahead(math.ceil(low), middle, high, n, unit=unit)


def _turning(run: Run) -> bool:
    return any(one["change"] != ACCEPTED for one in run.waiting)


def _cannot(run: Run) -> str:
    """Why nothing can be simulated; empty where it can."""
    problem = run.problem
    if run.state.further:
        return "further numbers may depend on rewards in any way, so that it cannot be simulated"
    items = run.algorithm.measured_on()
    if items is not None and run.algorithm.each_once:
        left = list(run.active)
        cells = len(left) * items - int(run.pulls[left].sum())
        return f"at most {cells:,}, which is all that is left of the table for those still in"
    if items is not None:
        return "answers on the same items depend on each other in an unknown way"
    if run.in_strata:
        return (
            "it is not known how many days, plates, … will follow, and which options are measured "
            "on each"
        )
    if problem.transductive:
        return "the candidates differ from the measured arms"
    if problem.large or problem.n_arms > _LARGEST:
        return f"simulating studies of more than {_LARGEST} options takes too long"
    scaled = DRAWINGS.of(problem.noise_kind).by_scale
    if not run.totals()[0].any() or (scaled and run.state.reward_scale() is None):
        return "the first batch is not complete yet"
    return ""

"""How many measurements will it take? Simulation on problems like the one at hand.

All algorithms and all scenarios of a trial share the drawn truth: halving the gap halves the same
effects. Beside them stand two tests with fixed numbers of measurements and, where noise is
Gaussian, the lower bound.

Nothing may hang a forecast: a run ends after so many pulls, and an algorithm whose runs have taken
its time together gets no more. What was cut off this way counts with the pulls it had made, so that
means are too small, and is marked.
"""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from surepick.ahead.feed import TooSlowError
from surepick.ahead.kinds import DRAWINGS
from surepick.arrays.types import FloatArray
from surepick.bench.compare.run import warm_up
from surepick.bench.forecast.fixed import AB_TEST, LARGEST
from surepick.bench.forecast.lead import ASKED, LeadToFind
from surepick.design import complexity
from surepick.engines import engine
from surepick.errors import InvalidInputError, SurepickError
from surepick.simulate.table import Table
from surepick.simulate.trials import trial as run_trial

LOWER_BOUND = "lower bound"


@dataclass(frozen=True)
class _Task:
    question: LeadToFind
    contender: int
    scenario: str
    trial: int
    seconds: float  #: processor time that is left to this algorithm


def _simulate(task: _Task) -> tuple[dict[str, Any], float]:
    """One simulated run, as a row, and the seconds that it took."""
    question = task.question
    contender = question.simulated[task.contender]
    instance = question.instance(task.scenario, task.trial)
    row = {"method": contender.text, "scenario": task.scenario, "trial": task.trial}
    row |= {"pulls": 0, "correct": False, "failed": "", "gave_up": False}
    # The seed depends on the run alone, not on what else is compared. Scenarios share the noise, so
    # that their ratios vary less than the pulls themselves.
    key = zlib.crc32(contender.text.encode())
    seeds = np.random.SeedSequence(question.seed, spawn_key=(task.trial, key))
    started = time.process_time()
    try:
        algorithm = contender.configure(
            instance,
            question.scenarios[task.scenario][1],
            max_samples=question.sample_limit(task.scenario),
        )
        warm_up(contender.text, algorithm, instance)
        started = time.process_time()
        result = run_trial(algorithm, instance, seeds, question.family, task.seconds)
        row |= {"pulls": result["samples"], "correct": result["correct"]}
        row["gave_up"] = result["guarantee"] == "none"
    except TooSlowError as cut:
        row |= {"pulls": cut.samples, "correct": True, "gave_up": True}  # nothing is wrong yet
    except SurepickError as error:
        row["failed"] = str(error)
    return row, time.process_time() - started


class _Budget:
    """Hands out runs as long as their algorithm has time left."""

    def __init__(self, question: LeadToFind) -> None:
        self.question = question
        self.left = {one.text: question.seconds for one in question.simulated}
        self.skipped = dict.fromkeys(self.left, 0)

    def tasks(self) -> Iterator[_Task]:
        question = self.question
        for trial in range(question.trials):
            for scenario in question.scenarios:
                for number, contender in enumerate(question.simulated):
                    left = self.left[contender.text]
                    if left > 0:
                        yield _Task(question, number, scenario, trial, left)
                    else:
                        self.skipped[contender.text] += 1

    def spend(self, method: str, seconds: float) -> None:
        self.left[method] -= seconds


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the simulations answer."""

    question: LeadToFind
    runs: Table  #: method, scenario, trial; pulls, correct, failed (why), gave_up
    summary: Table  #: a row per method and scenario
    notes: tuple[str, ...]

    def cell(self, method: str, scenario: str) -> dict[str, Any]:
        """One row of the summary."""
        for row in self.summary.rows():
            if (row["method"], row["scenario"]) == (method, scenario):
                return row
        raise InvalidInputError(f"no {method!r} in scenario {scenario!r}")

    @property
    def methods(self) -> list[str]:
        """Algorithms, then tests, then the lower bound, if there is one."""
        return list(dict.fromkeys(self.summary["method"].tolist()))

    @property
    def bound(self) -> float:
        """The lower bound, as asked; 0 where there is none."""
        known = LOWER_BOUND in self.methods
        return self.cell(LOWER_BOUND, ASKED)["mean"] if known else 0.0


def forecast(
    question: LeadToFind, jobs: int = 1, progress: Callable[[int], None] | None = None
) -> Forecast:
    """Simulate everything; the result does not depend on ``jobs``, but for what is cut off.

    Parameters
    ----------
    question
        What is asked, and of which algorithms.
    jobs
        Processes.
    progress
        Called with the number of runs that are finished, or not to be made.

    Returns
    -------
    Forecast
        Its summary has the columns method, scenario, gap, delta, kind (``"simulated"``,
        ``"formula"`` or ``"bound"``); mean of the pulls with a 95 % interval low .. high, the
        quantiles q10, q50, q90 over runs; trials, wrong (answers), gave_up (runs cut off by pulls
        or time: the mean is then too small), skipped (runs not made, as time was up), failed
        (runs that ended in an error).
    """
    budget, rows = _Budget(question), []
    for _, (row, seconds) in engine("processes", jobs=jobs).run(_simulate, budget.tasks()):
        rows.append(row)
        budget.spend(row["method"], seconds)
        if progress is not None:
            progress(len(rows) + sum(budget.skipped.values()))
    if progress is not None and sum(budget.skipped.values()):
        progress(question.size)  # the last ones may not have been made
    rows.sort(key=lambda row: row["trial"])
    runs = Table.from_rows(rows)
    notes = _notes(question, runs, budget)
    summary = [
        _simulated(question, runs, contender.text, scenario)
        for contender in question.simulated
        for scenario in question.scenarios
    ]
    for method in (AB_TEST, LARGEST):
        for scenario in question.scenarios:
            pulls = question.fixed_sample(scenario)[method]
            summary.append(_exact(question, method, scenario, "formula", float(pulls)))
    for scenario, bound in _bounds(question).items():
        summary.append(_exact(question, LOWER_BOUND, scenario, "bound", bound))
    return Forecast(question, runs, Table.from_rows(summary), notes)


def _bounds(question: LeadToFind) -> dict[str, float]:
    """Mean over the drawn truths of the pulls that no method can average fewer than.

    That is for Gaussian noise, which a method for unknown scales must cope with too. For yes/no and
    other bounded rewards there is no such formula.
    """
    problem = question.problem
    drawing = DRAWINGS.of(problem.noise_kind)
    if not drawing.gaussian:
        return {}
    if not drawing.told_scale:
        problem = problem.with_noise(question.deviation)
    found, deadline = [], time.process_time() + question.seconds
    for i in range(question.trials):
        found.append(complexity(problem, question.instance(ASKED, i).theta, tol=1e-3))
        if time.process_time() > deadline:
            break  # the mean over fewer truths
    # Effects half as large make everything four times as hard.
    return {
        scenario: float(np.mean([c.lower_bound(delta) for c in found])) * (question.lead / gap) ** 2
        for scenario, (gap, delta) in question.scenarios.items()
    }


def _simulated(question: LeadToFind, runs: Table, method: str, scenario: str) -> dict[str, Any]:
    from scipy.special import stdtrit

    here = (runs["method"] == method) & (runs["scenario"] == scenario)
    done = here & (runs["failed"] == "")
    pulls: FloatArray = runs["pulls"][done].astype(float)
    n = len(pulls)
    mean = float(pulls.mean()) if n else math.nan
    half = math.nan
    if n > 1:
        half = float(stdtrit(n - 1, 0.975)) * float(pulls.std(ddof=1)) / math.sqrt(n)
    q10, q50, q90 = np.quantile(pulls, (0.1, 0.5, 0.9)).tolist() if n else (math.nan,) * 3
    return _row(question, method, scenario, "simulated") | {
        "mean": mean,
        "low": max(mean - half, 0.0) if n > 1 else math.nan,
        "high": mean + half,
        "q10": q10,
        "q50": q50,
        "q90": q90,
        "trials": n,
        "wrong": int((~runs["correct"][done]).sum()),
        "gave_up": int(runs["gave_up"][done].sum()),
        "skipped": question.trials - int(here.sum()),
        "failed": int(here.sum()) - n,
    }


def _exact(
    question: LeadToFind, method: str, scenario: str, kind: str, pulls: float
) -> dict[str, Any]:
    same = dict.fromkeys(("mean", "low", "high", "q10", "q50", "q90"), pulls)
    none = dict.fromkeys(("trials", "wrong", "gave_up", "skipped", "failed"), 0)
    return _row(question, method, scenario, kind) | same | none


def _row(question: LeadToFind, method: str, scenario: str, kind: str) -> dict[str, Any]:
    gap, delta = question.scenarios[scenario]
    return {"method": method, "scenario": scenario, "gap": gap, "delta": delta, "kind": kind}


def _notes(question: LeadToFind, runs: Table, budget: _Budget) -> tuple[str, ...]:
    notes = [f"{name} is not simulated: {why}" for name, why in question.left_out.items()]
    problem = question.problem
    if not problem.misfit and problem.rank < problem.n_arms and not problem.transductive:
        notes.append(
            "Features are trusted here, as in a study with --trust-features. Studies do not trust "
            "them by default; for a forecast of that, leave out --trust-features and --misfit."
        )
    if question.without_features:
        notes.append(
            "Some options have the same features and may still differ, so the forecast is made "
            "without features. As a guide they may save some measurements."
        )
    if question.family is not None and question.noise is None:
        notes.append(
            "No noise was given, so measurements of one option are assumed to differ by about "
            f"{question.deviation:g} (standard deviation). Twice that takes four times as many "
            "measurements."
        )
    failed = dict(zip(runs["method"][runs["failed"] != ""], runs["failed"][runs["failed"] != ""]))
    notes += [f"{method} could not be simulated: {why}" for method, why in failed.items()]
    for method in dict.fromkeys(runs["method"][runs["gave_up"]].tolist()):
        notes.append(f"{method} gave up in some runs, so its true numbers are larger.")
    for method, skipped in budget.skipped.items():
        if skipped:
            notes.append(
                f"{method} was cut off after {question.seconds:g} s of computing: {skipped} of "
                f"{len(question.scenarios) * question.trials} runs were not made."
            )
    examples = [question.instance(ASKED, i) for i in range(min(question.trials, 20))]
    for contender in question.simulated:
        if contender.needs_theta:
            notes.append(f"{contender.text} uses the truth: a yardstick, not a rival.")
        bound = getattr(contender.configure(examples[0], question.delta), "norm_bound", None)
        longest = max(float(np.linalg.norm(e.theta)) for e in examples) / question.problem.unit
        if bound is not None and bound < longest:
            notes.append(
                f"{contender.text} assumes effects no longer than {bound:g} (in units of the "
                f"noise), but some drawn here are up to {longest:.3g}, so nothing is guaranteed "
                "there."
            )
    return tuple(notes)

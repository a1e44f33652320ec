"""How many measurements will it take? Simulation on problems like the one at hand.

Nobody knows the truth before measuring, so it is drawn. For each trial an effect vector comes
from a normal distribution in which all directions of the (whitened) features are alike, however
they are coded, and is scaled so that the best candidate leads the second best by exactly the gap
that was asked about. All algorithms and all scenarios of a trial share the drawing: halving the
gap halves the same effects.

Beside them stand two tests with a number of measurements fixed in advance, which measure every
one of the K options n times and use no features:

- A/B/n test: an option wins if it beats every other one at the Bonferroni-corrected one-sided
  level delta/(K − 1); a wrong winner must beat the best one, so it appears with probability at most
  delta whatever the truth. For the best to win with probability 1 − delta when it leads by the
  gap, each of the K − 1 comparisons may fail with probability delta/(K − 1), which takes

      n = 2 sigma² (z + z)² / gap²,   z the normal quantile of 1 − delta/(K − 1).

- Largest average: pick the option with the largest average. It takes a quarter,
  n = 2 sigma² z² / gap², but is right only if the lead is known to be at least the gap.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from surepick.algorithms.registry import DEFAULT
from surepick.arrays.types import FloatArray
from surepick.arrays.validate import positive, probability, whole
from surepick.bench.compare.plan import Contender
from surepick.design import complexity
from surepick.engines import engine
from surepick.errors import InvalidInputError, InvalidTypeError, SurepickError
from surepick.problem import Problem
from surepick.simulate.instance import Instance
from surepick.simulate.noise import Gaussian
from surepick.simulate.table import Table
from surepick.simulate.trials import trial as run_trial

#: what is compared unless the caller says otherwise: guarantees, and nothing to know in advance
ALGORITHMS = (DEFAULT, "peleg", "rage", "uniform")
ASKED, HALF_GAP, HALF_DELTA = "as asked", "half the gap", "half of delta"
LOWER_BOUND, AB_TEST, LARGEST = "lower bound", "A/B/n test", "largest average"


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked: how many measurements will it take to find a lead of this size?

    Parameters
    ----------
    problem
        The options.
    gap
        Lead of the best candidate over the second best that should be found out, in the units of
        the reward.
    delta
        Error probability.
    algorithms
        Names, with settings if any, as in :class:`surepick.bench.Plan`.
    trials, seed
        Simulated runs of each algorithm in each scenario, and the seed of them all.
    max_samples
        Pulls at which a simulated run gives up.
    """

    problem: Problem
    gap: float
    delta: float = 0.05
    algorithms: Sequence[str] = ALGORITHMS
    trials: int = field(default=30, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    max_samples: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.problem, Problem):
            raise InvalidTypeError(f"problem must be a surepick.Problem; got {self.problem!r:.80}")
        if len(self.problem.distinct) < 2:
            raise InvalidInputError("there is nothing to plan: all options are the same")
        positive(self.gap, "gap")
        probability(self.delta, "delta")
        whole(self.trials, "trials", least=2)
        whole(self.seed, "seed")
        if not self.algorithms:
            raise InvalidInputError("algorithms must name at least one")
        example = self.instance(ASKED, 0)
        texts = [contender.text for contender in self.contenders]
        for i, contender in enumerate(self.contenders):
            contender.configure(example, self.delta)
            if contender.text in texts[:i]:
                raise InvalidInputError(f"algorithms: {contender.text!r} is there twice")

    @cached_property
    def contenders(self) -> list[Contender]:
        """The algorithms, configured but for what depends on the instance."""
        return [Contender.named(text) for text in self.algorithms]

    @property
    def scenarios(self) -> dict[str, tuple[float, float]]:
        """Gap and delta of each scenario."""
        return {
            ASKED: (self.gap, self.delta),
            HALF_GAP: (self.gap / 2, self.delta),
            HALF_DELTA: (self.gap, self.delta / 2),
        }

    @property
    def size(self) -> int:
        """Simulated runs in all."""
        return len(self.contenders) * len(self.scenarios) * self.trials

    def instance(self, scenario: str, trial: int) -> Instance:
        """The problem of one trial, with its drawn truth."""
        seeds = np.random.SeedSequence(self.seed, spawn_key=(trial,))
        return draw(self.problem, self.scenarios[scenario][0], np.random.default_rng(seeds))


def draw(problem: Problem, gap: float, rng: np.random.Generator) -> Instance:
    """The problem with random effects, the best candidate leading by exactly ``gap``.

    Examples
    --------
    >>> instance = draw(Problem(np.eye(3)), 0.5, np.random.default_rng(0))
    >>> round(float(np.sort(instance.gaps)[1]), 9)
    0.5
    """
    while True:
        means = problem.features @ rng.standard_normal(problem.rank)
        theta = np.linalg.lstsq(problem.arms, means, rcond=None)[0]
        values = np.sort(problem.candidates[problem.distinct] @ theta)
        lead = float(values[-1] - values[-2])
        if lead > 1e-9 * float(np.ptp(values)):  # nearly always; ties are drawn again
            return Instance(problem, theta * (gap / lead), name=f"gap {gap:g}")


def fixed_sample(problem: Problem, gap: float, delta: float) -> dict[str, int]:
    """Measurements that the two tests with fixed numbers take in all.

    Examples
    --------
    >>> fixed_sample(Problem(np.eye(2)), gap=1.0, delta=0.05)
    {'A/B/n test': 44, 'largest average': 12}
    """
    from scipy.special import ndtri

    k = len(problem.distinct)
    z = max(-float(ndtri(delta / (k - 1))), 0.0)
    each = 2 * (problem.unit * z / gap) ** 2
    return {AB_TEST: k * max(math.ceil(4 * each), 1), LARGEST: k * max(math.ceil(each), 1)}


@dataclass(frozen=True)
class _Task:
    question: Question
    contender: int
    scenario: str
    trial: int


def _simulate(task: _Task) -> dict[str, Any]:
    """One simulated run, as a row."""
    question = task.question
    contender = question.contenders[task.contender]
    instance = question.instance(task.scenario, task.trial)
    row = {"method": contender.text, "scenario": task.scenario, "trial": task.trial}
    # The seed depends on the run alone, not on what else is compared. Scenarios share the noise, so
    # that their ratios vary less than the pulls themselves.
    key = zlib.crc32(contender.text.encode())
    seeds = np.random.SeedSequence(question.seed, spawn_key=(task.trial, key))
    try:
        algorithm = contender.configure(
            instance, question.scenarios[task.scenario][1], max_samples=question.max_samples
        )
        result = run_trial(algorithm, instance, seeds, Gaussian())
    except SurepickError as error:
        return row | {"pulls": 0, "correct": False, "failed": f"{error}", "gave_up": False}
    return row | {
        "pulls": result["samples"],
        "correct": result["correct"],
        "failed": "",
        "gave_up": result["guarantee"] == "none",
    }


@dataclass(frozen=True, eq=False)
class Forecast:
    """What the simulations answer."""

    question: Question
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
        """Algorithms, then tests, then the lower bound."""
        return list(dict.fromkeys(self.summary["method"].tolist()))


def forecast(
    question: Question, jobs: int = 1, progress: Callable[[int], None] | None = None
) -> Forecast:
    """Simulate everything; the result does not depend on ``jobs``.

    Parameters
    ----------
    question
        What is asked, and of which algorithms.
    jobs
        Processes.
    progress
        Called with the number of finished runs.

    Returns
    -------
    Forecast
        Its summary has the columns method, scenario, gap, delta, kind (``"simulated"``,
        ``"formula"`` or ``"bound"``); mean of the pulls with a 95 % interval low .. high, the
        quantiles q10, q50, q90 over runs; trials, wrong (answers), failed (runs without one).
    """
    tasks = [
        _Task(question, contender, scenario, trial)
        for trial in range(question.trials)
        for scenario in question.scenarios
        for contender in range(len(question.contenders))
    ]
    rows = []
    for _, row in engine("processes", jobs=jobs).run(_simulate, tasks):
        rows.append(row)
        if progress is not None:
            progress(len(rows))
    rows.sort(key=lambda row: row["trial"])
    runs = Table.from_rows(rows)
    bounds = _bounds(question)
    summary = [
        _simulated(question, runs, contender.text, scenario)
        for contender in question.contenders
        for scenario in question.scenarios
    ]
    for method in (AB_TEST, LARGEST):
        for scenario, (gap, delta) in question.scenarios.items():
            pulls = fixed_sample(question.problem, gap, delta)[method]
            summary.append(_exact(question, method, scenario, "formula", float(pulls)))
    for scenario in question.scenarios:
        summary.append(_exact(question, LOWER_BOUND, scenario, "bound", bounds[scenario]))
    return Forecast(question, runs, Table.from_rows(summary), _notes(question, runs))


def _bounds(question: Question) -> dict[str, float]:
    """Mean over the drawn truths of the pulls that no method can average fewer than."""
    found = [
        complexity(question.problem, question.instance(ASKED, i).theta, tol=1e-3)
        for i in range(question.trials)
    ]
    # Effects half as large make everything four times as hard.
    return {
        scenario: float(np.mean([c.lower_bound(delta) for c in found])) * (question.gap / gap) ** 2
        for scenario, (gap, delta) in question.scenarios.items()
    }


def _simulated(question: Question, runs: Table, method: str, scenario: str) -> dict[str, Any]:
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
        "failed": int(here.sum()) - n,
    }


def _exact(
    question: Question, method: str, scenario: str, kind: str, pulls: float
) -> dict[str, Any]:
    same = dict.fromkeys(("mean", "low", "high", "q10", "q50", "q90"), pulls)
    none = dict.fromkeys(("trials", "wrong", "gave_up", "failed"), 0)
    return _row(question, method, scenario, kind) | same | none


def _row(question: Question, method: str, scenario: str, kind: str) -> dict[str, Any]:
    gap, delta = question.scenarios[scenario]
    return {"method": method, "scenario": scenario, "gap": gap, "delta": delta, "kind": kind}


def _notes(question: Question, runs: Table) -> tuple[str, ...]:
    notes = []
    failed = dict(zip(runs["method"][runs["failed"] != ""], runs["failed"][runs["failed"] != ""]))
    notes += [f"{method} could not be simulated: {why}" for method, why in failed.items()]
    for method in dict.fromkeys(runs["method"][runs["gave_up"]].tolist()):
        notes.append(f"{method} gave up in some runs: its true numbers are larger.")
    examples = [question.instance(ASKED, i) for i in range(min(question.trials, 20))]
    for contender in question.contenders:
        if contender.needs_theta:
            notes.append(f"{contender.text} is told the truth: a yardstick, not a rival.")
        bound = getattr(contender.configure(examples[0], question.delta), "norm_bound", None)
        longest = max(float(np.linalg.norm(e.theta)) for e in examples) / question.problem.unit
        if bound is not None and bound < longest:
            notes.append(
                f"{contender.text} assumes effects no longer than {bound:g} (in units of the "
                f"noise), but some drawn here are up to {longest:.3g}: nothing is guaranteed there."
            )
    return tuple(notes)

"""What it costs to trust features, more or less: the same study simulated in several ways.

All ways see the same truths, linear in the features: if they are not, whoever trusts them gets a
wrong answer, not a dear one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.registry import DEFAULT, get
from surepick.bench.compare.run import warm_up
from surepick.bench.forecast.question import ASKED, Question
from surepick.errors import SurepickError
from surepick.problem import Problem
from surepick.problem.noise import Between
from surepick.simulate.trials import TooSlowError
from surepick.simulate.trials import trial as run_trial

_LARGEST = 200  # options: more take too long for somebody who waits
_YES = {"base_rate": 0.2, "lift": 0.5}


class TrustCosts:
    """Measurements of simulated studies that take features to be right to within so much.

    The best option leads by as much as repeated measurements of one option differ; where rewards
    have bounds, by an eighth of the range; where they are yes or no, with 30 % over 20 %.

    Examples
    --------
    >>> rows = np.c_[np.ones(9), np.arange(9) % 3, np.arange(9) // 3]
    >>> costs = TrustCosts(Problem(rows), delta=0.1)
    >>> trusted, guided = (costs.of(misfit, trials=2) for misfit in (0.0, math.inf))
    >>> trusted < guided
    True
    """

    def __init__(self, problem: Problem, delta: float, scale: float = 1.0) -> None:
        self._problem, self._delta = problem, delta
        kind = problem.noise_kind
        self._asked: dict[str, Any] = {"gap": scale}
        if kind.kind == "yes-no":
            self._asked = dict(_YES)
        elif isinstance(kind, Between):
            self._asked = {"gap": (kind.high - kind.low) / 8}
        elif kind.kind == "known":
            self._asked = {"gap": float(np.max(kind.units(np.arange(problem.n_arms))))}
        else:
            self._asked["noise"] = scale

    @property
    def possible(self) -> bool:
        """Whether it takes no longer than somebody waits."""
        return not self._problem.large and self._problem.n_arms <= _LARGEST

    @property
    def lead(self) -> float:
        """Of the best option, in units of the reward."""
        return Question(self._problem, trials=2, **self._asked).lead

    @property
    def words(self) -> str:
        """What was simulated."""
        kind = self._problem.noise_kind
        if kind.kind == "yes-no":
            return "the best says yes 30 % of the time, and the others 20 % at most"
        if isinstance(kind, Between):
            return f"the best leads by {self.lead:g}"
        return "the best leads by as much as repeated measurements of one option differ"

    def of(self, misfit: float, trials: int = 3, seconds: float = 2.0) -> float | None:
        """The mean over some studies; None where that takes too long, or cannot be."""
        problem = Problem(
            self._problem.arms,
            noise=self._problem.noise_kind.given,
            labels=self._problem.labels,
            misfit=misfit,
        )
        try:
            question = Question(problem, delta=self._delta, trials=max(trials, 2), **self._asked)
            algorithm = get(DEFAULT, delta=self._delta, max_samples=question.sample_limit(ASKED))
            warm_up(DEFAULT, algorithm, question.instance(ASKED, 0))
            found = []
            for i in range(trials):
                seeds = np.random.SeedSequence(0, spawn_key=(i,))
                drawn = question.instance(ASKED, i)
                row = run_trial(algorithm, drawn, seeds, question.family, seconds / trials)
                found.append(row["samples"])
        except (TooSlowError, SurepickError):
            return None
        return float(np.mean(found))

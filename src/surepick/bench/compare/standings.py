"""Who needs the fewest pulls: the trials of a suite ranked, and one algorithm held against all.

An algorithm's score on an instance at a delta is its mean number of pulls over the lower bound.
Scores are combined by geometric means. Where an algorithm has no score (too slow, or it does not
apply), its mean is over the others; to rank it fairly all the same, the ranking goes by how many
times the fewest pulls of any proven algorithm it takes, over the cells where it has a score.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from surepick.bench.compare.run import TOO_SLOW
from surepick.bench.compare.suites import Group, group
from surepick.bench.summary import summarise
from surepick.simulate.table import Table

_T = TypeVar("_T")


@dataclass(frozen=True)
class Score:
    """One algorithm on one instance at one delta."""

    algorithm: str
    instance: str
    delta: float
    mean: float  #: pulls; nan where there is no score
    error: float  #: standard error of the mean
    bound: float  #: lower bound on the mean
    capped: bool  #: some trials gave up: the true mean is larger
    trials: int
    finished: int  #: trials that stopped by their own rule, the only ones that promise anything
    wrong: int  #: of the finished ones
    missing: str  #: why there is no score

    @property
    def ratio(self) -> float:
        """Mean pulls over the lower bound."""
        return self.mean / self.bound if self.bound > 0 else math.nan

    def __str__(self) -> str:
        if self.missing:
            return TOO_SLOW if self.missing.startswith(TOO_SLOW) else "n/a"
        if not math.isfinite(self.ratio):
            return "–"
        return f"{'> ' if self.capped else ''}{self.ratio:.{1 if self.ratio >= 10 else 2}f}"


@dataclass(frozen=True)
class Place:
    """One algorithm's place in a ranking."""

    algorithm: str
    by_delta: dict[float, float]  #: geometric mean of its ratios at each delta
    ratio: float  #: geometric mean of its ratios
    times_fewest: float  #: geometric mean of its pulls over the fewest in each cell
    scored: int  #: cells with a score
    capped: int  #: of these, the ones where trials gave up: all means are then too small
    finished: int  #: trials that stopped by their own rule
    wrong: int  #: of the finished ones


@dataclass(frozen=True)
class Defeat:
    """A cell where a rival took fewer pulls on average."""

    score: Score
    rival: Score

    @property
    def excess(self) -> float:
        """Pulls more than the rival's, as a fraction of the rival's."""
        return self.score.mean / self.rival.mean - 1.0

    @property
    def sigmas(self) -> float:
        """The difference of the means in units of its standard error."""
        error = math.hypot(self.score.error, self.rival.error)
        return (self.score.mean - self.rival.mean) / error if error > 0 else math.nan


class Standings:
    """The scores of a comparison, in the order of its plan.

    Examples
    --------
    >>> from surepick.bench import Plan, run_plan
    >>> plan = Plan(["rage", "pooled-peleg"], ["standard:gap=1"], trials=5)
    >>> [place.algorithm for place in Standings(run_plan(plan)).ranking("proven")]
    ['pooled-peleg', 'rage']
    """

    def __init__(self, trials: Table) -> None:
        self.scores = _scores(trials)
        self.algorithms = _unique(s.algorithm for s in self.scores)
        self.instances = _unique(s.instance for s in self.scores)
        self.deltas = _unique(s.delta for s in self.scores)
        self._at = {(s.algorithm, s.instance, s.delta): s for s in self.scores}

    def score(self, algorithm: str, instance: str, delta: float) -> Score:
        """One cell."""
        return self._at[algorithm, instance, delta]

    def members(self, which: Group) -> list[str]:
        """The algorithms of one group."""
        return [name for name in self.algorithms if group(name) == which]

    def ranking(self, which: Group) -> list[Place]:
        """The algorithms of one group, best first; those without any score come last."""
        places = [self._place(name) for name in self.members(which)]
        return sorted(places, key=lambda p: (not p.scored, p.times_fewest))

    def fewest(self, instance: str, delta: float) -> float:
        """The fewest mean pulls of any proven algorithm (of any at all, if none is proven)."""
        here = [self._at[name, instance, delta] for name in self.algorithms]
        proven = [s.mean for s in here if group(s.algorithm) == "proven" and not s.missing]
        return min(proven or [s.mean for s in here if not s.missing], default=math.nan)

    def defeats(self, algorithm: str) -> list[Defeat]:
        """Where other proven algorithms took fewer pulls on average, worst first.

        A rival whose trials gave up would have taken more: it defeats nobody.
        """
        found = []
        for mine in (s for s in self.scores if s.algorithm == algorithm and not s.missing):
            for name in self.members("proven"):
                rival = self._at[name, mine.instance, mine.delta]
                if rival.missing or rival.capped:
                    continue
                if name != algorithm and rival.mean < mine.mean:
                    found.append(Defeat(mine, rival))
        return sorted(found, key=lambda defeat: -defeat.excess)

    def missing(self) -> list[tuple[str, str, str]]:
        """Algorithm, instance and reason of what has no score, with the deltas if not at all."""
        found: dict[tuple[str, str], list[Score]] = {}
        for score in (s for s in self.scores if s.missing):
            found.setdefault((score.algorithm, score.instance), []).append(score)
        out = []
        for (algorithm, instance), scores in found.items():
            why = scores[0].missing
            if len(scores) < len(self.deltas):
                why += f" (only at δ = {', '.join(f'{s.delta:g}' for s in scores)})"
            out.append((algorithm, instance, why))
        return out

    def _place(self, algorithm: str) -> Place:
        mine = [s for s in self.scores if s.algorithm == algorithm and not s.missing]
        return Place(
            algorithm=algorithm,
            by_delta={
                delta: _geometric([s.ratio for s in mine if s.delta == delta])
                for delta in self.deltas
            },
            ratio=_geometric([s.ratio for s in mine]),
            times_fewest=_geometric([s.mean / self.fewest(s.instance, s.delta) for s in mine]),
            scored=len(mine),
            capped=sum(s.capped for s in mine),
            finished=sum(s.finished for s in mine),
            wrong=sum(s.wrong for s in mine),
        )


def _scores(trials: Table) -> list[Score]:
    reasons: dict[tuple[str, str, float], str] = {}
    bounds: dict[tuple[str, str, float], list[float]] = {}
    wrong: dict[tuple[str, str, float], int] = {}
    for row in trials.rows():
        key = (row["algorithm"], row["instance"], row["delta"])
        bounds.setdefault(key, []).append(row["lower_bound"])
        if row["failed"]:
            reasons.setdefault(key, row["failed"])
        elif row["guarantee"] != "none" and not row["correct"]:
            wrong[key] = wrong.get(key, 0) + 1
    found = []
    for cell in summarise(trials).rows():
        key = (cell["algorithm"], cell["instance"], cell["delta"])
        # No score where trials are missing: those that finished are the short ones, so that their
        # mean would be too low.
        missing = reasons.get(key, "")
        n = cell["trials"]
        found.append(
            Score(
                *key,
                mean=math.nan if missing else cell["mean"],
                error=math.nan if missing or n < 2 else cell["sd"] / math.sqrt(n),
                bound=float(np.mean(bounds[key])),
                capped=cell["stopped_early"] > 0,
                trials=n,
                finished=n - cell["stopped_early"],
                wrong=wrong.get(key, 0),
                missing=missing,
            )
        )
    return found


def _geometric(values: Sequence[float]) -> float:
    """The geometric mean of those that are numbers above 0."""
    usable = [v for v in values if math.isfinite(v) and v > 0]
    return float(np.exp(np.mean(np.log(usable)))) if usable else math.nan


def _unique(values: Iterable[_T]) -> list[_T]:
    return list(dict.fromkeys(values))

"""How much may be measured: limits of pulls and of money, which can be changed on the way.

Neither matters to a guarantee: what was dropped was dropped rightly, whenever a run ends. But the
last block before a limit is cut to what is left, so a run that is made again has to know which
limits held when. A change therefore says how many batches had been asked for by then; it holds for
all that were asked for later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from surepick.algorithms.base import Algorithm
from surepick.arrays.types import IntArray
from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.promise import Words
from surepick.text import plural

NONE = "none"  #: in the place of a limit: there is to be none


class Limits(NamedTuple):
    """The most that may be measured, and that it may cost; None: no limit."""

    max_samples: int | None
    budget: float | None

    @classmethod
    def of(cls, change: dict[str, Any]) -> Limits:
        """Those of a change."""
        return cls(change["max_samples"], change["budget"])

    def but(self, max_samples: Any, budget: Any) -> Limits:
        """These, but for what is given; ``"none"`` or infinity takes a limit away."""
        return Limits(
            _given(max_samples, self.max_samples, lambda n: whole(n, "max_samples", least=1)),
            _given(budget, self.budget, lambda money: positive(money, "budget")),
        )


def _given(new: Any, old: Any, check: Any) -> Any:
    if new is None:
        return old
    return None if new == NONE or new == math.inf else check(new)


def dearest(problem: Problem) -> float:
    """What a pull costs at most."""
    return 1.0 if problem.costs is None else float(problem.costs.max())


def check_budget(problem: Problem, budget: float | None) -> None:
    """Refuse a budget that does not even pay for one pull of each arm alone."""
    if budget is None or budget >= dearest(problem):
        return
    if problem.costs is None:
        raise InvalidInputError(f"budget must cover at least one measurement; got {budget:g}")
    label = problem.labels[int(problem.costs.argmax())]
    raise InvalidInputError(
        f"budget: one measurement of {label!r} costs {dearest(problem):g}, more than the budget "
        f"of {budget:g}; give a larger budget, or leave that option out"
    )


class LimitChanges:
    """Every change of the limits of a run, in order, as certificates list them."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []

    def at(self, asked: int, first: Limits) -> Limits:
        """The limits that hold once so many batches were asked for; at first it was these."""
        for change in reversed(self.made):
            if change["asked"] <= asked:  # in replays all changes are known in advance
                return Limits.of(change)
        return first

    def certified(self, skipped: Sequence[int]) -> list[dict[str, Any]]:
        """The changes, by batches that say something: those that do not have no number."""
        return [
            change | {"asked": change["asked"] - sum(n < change["asked"] for n in skipped)}
            for change in self.made
        ]


class Remaining(NamedTuple):
    """What limits leave, beside pulls that were made or are out."""

    limits: Limits
    problem: Problem
    counts: IntArray  #: these pulls, of each arm
    samples: int  #: how many they are

    @property
    def funds(self) -> float:
        """What pulls may still cost."""
        if self.limits.budget is None:
            return math.inf
        return self.limits.budget - self.problem.cost_of(self.counts)

    def pulls(self, tied_after: int, minds_costs: bool) -> int:
        """How many pulls there may still be; 0: the run has to stop.

        Where there is no limit of pulls, options are called tied after so many. An algorithm that
        minds costs keeps to its funds by itself.
        """
        left = max(0, (self.limits.max_samples or tied_after) - self.samples)
        if self.limits.budget is None:
            return left
        money, one = self.funds, dearest(self.problem)
        if money < one:
            return 0
        if self.problem.costs is not None and minds_costs:
            one = float(self.problem.costs.min())
        return min(left, int(money // one))

    def check(self, out: bool) -> None:
        """Refuse limits below what was asked for; with nothing out, one more pull must be left."""
        check_budget(self.problem, self.limits.budget)
        most, budget = self.limits
        cost = self.problem.cost_of(self.counts)
        stop = "allow more, or end the study now (stop)"
        if most is not None and most < self.samples + (not out):
            raise InvalidInputError(
                f"max_samples: {self.samples:,} measurements have been asked for already; {stop}"
            )
        room = 0.0 if out else dearest(self.problem)
        if budget is not None and budget < cost + room:
            raise InvalidInputError(
                f"budget: the measurements asked for so far cost {cost:,.12g}, and one more "
                f"measurement up to {dearest(self.problem):,.12g}; {stop}"
            )


def why_stopped(
    problem: Problem, pulls: IntArray, first: Algorithm, changes: Sequence[dict[str, Any]]
) -> Words:
    """Which limit a run has reached that was not decided."""
    limits = Limits.of(changes[-1]) if changes else Limits(first.max_samples, first.budget)
    most, budget = limits
    if budget is not None and (most is None or int(pulls.sum()) < most):
        return stopped_by("budget", budget)
    return stopped_by("tied" if most is None else "max_samples", most)


def stopped_by(what: str, most: float | None = None) -> Words:
    """What ended a run before its question was answered: a person, a limit, or a tie."""
    if what == "budget":
        return Words(f"by budget={most:.12g}", f"because its budget of {most:,.12g} was spent,")
    if what == "max_samples":
        said = f"after {plural(int(most or 0), 'measurement')}, the most it was allowed,"
        return Words(f"by max_samples={most}", said)
    return Words("as they look tied" if what == "tied" else what)

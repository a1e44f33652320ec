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

from surepick.algorithms.base import Algorithm, State
from surepick.arrays.types import IntArray
from surepick.arrays.validate import positive, whole
from surepick.errors import InvalidInputError, RunStateError
from surepick.problem import Problem
from surepick.run.ahead import Ahead
from surepick.run.batch import Batch

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


class LimitedRun:
    """The part of a run that is about how much may be measured."""

    algorithm: Algorithm
    problem: Problem
    state: State
    pulls: IntArray
    _made: int
    batches: int
    ended: bool
    skipped: list[int]
    waiting: list[dict[str, Any]]
    _open: Batch | None
    _ahead: Ahead

    def __init__(self) -> None:
        self.limit_changes: list[dict[str, Any]] = []  # in order, as certificates list them

    @property
    def asked(self) -> int:
        """How many batches have been asked for, told ones too."""
        return self.batches + (self._open is not None) + len(self._ahead)

    @property
    def limits(self) -> Limits:
        """Those that hold now."""
        asked = self.asked
        for change in reversed(self.limit_changes):
            if change["asked"] <= asked:  # in replays all changes are known in advance
                return Limits.of(change)
        return Limits(self.algorithm.max_samples, self.algorithm.budget)

    @property
    def spent(self) -> float:
        """What all pulls cost that were told: their number, where they cost the same."""
        return self.problem.cost_of(self.pulls)

    def _out(self) -> IntArray:
        """Pulls of each arm that are asked for and not told."""
        found = self.pulls * 0
        for batch in self._ahead.with_open(self._open):
            found[: batch.n_arms] += batch.counts
        return found

    def _pulls_left(self, limits: Limits, out: IntArray | None = None) -> int:
        """How many pulls there may still be, beside those that are out; 0: it has to stop."""
        most = limits.max_samples or self.algorithm.tied_after()
        left = max(0, most - self._made - (0 if out is None else int(out.sum())))
        if limits.budget is None:
            return left
        made = self.pulls if out is None else self.pulls + out
        money, one = limits.budget - self.problem.cost_of(made), dearest(self.problem)
        if money < one:
            return 0
        if self.problem.costs is not None and self.state.minds_costs:
            one = float(self.problem.costs.min())
        return min(left, int(money // one))

    def _funds(self, limits: Limits, out: IntArray | None = None) -> float:
        """What pulls may still cost, beside those that are out."""
        made = self.pulls if out is None else self.pulls + out
        return math.inf if limits.budget is None else limits.budget - self.problem.cost_of(made)

    def limit(
        self,
        *,
        max_samples: int | float | str | None = None,
        budget: float | str | None = None,
        reason: str = "",
        **who: Any,
    ) -> Limits:
        """Change how much may be measured; it holds for all batches asked for from now on.

        A run that has ended because a limit was reached goes on where the new one allows it.

        Parameters
        ----------
        max_samples, budget
            The most that may be measured, and what it may cost, in all. None leaves a limit as it
            is, ``"none"`` (or infinity) takes it away.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        The limits that hold now.

        Examples
        --------
        >>> import surepick as sp
        >>> algorithm = sp.algorithms.PooledPeleg(0.05, max_samples=100)
        >>> run = algorithm.start(sp.Problem([[1.0], [2.0]]))
        >>> run.limit(budget=250, max_samples="none")
        Limits(max_samples=None, budget=250.0)
        """
        new = self.limits.but(max_samples, budget)
        self._check_limits(new)
        said = {"reason": reason, "by": who.get("by"), "at": who.get("at")}
        self.limit_changes.append({"asked": self.asked, **new._asdict(), **said})
        return new

    def _check_limits(self, new: Limits) -> None:
        if self.ended:
            raise RunStateError("it was stopped for good and cannot continue: start a new study")
        if self.state.finished and not self.waiting:  # other options may have it go on
            raise RunStateError("it has its answer and needs no more measurements")
        if new == self.limits:
            raise InvalidInputError("max_samples, budget: the study already has these limits")
        check_budget(self.problem, new.budget)
        out = self._out()
        made = self.pulls + out
        asked, cost = int(made.sum()), self.problem.cost_of(made)
        stop = "allow more, or end the study now (stop)"
        if new.max_samples is not None and new.max_samples < asked + (not out.any()):
            raise InvalidInputError(
                f"max_samples: {asked:,} measurements have been asked for already; {stop}"
            )
        room = 0.0 if out.any() else dearest(self.problem)
        if new.budget is not None and new.budget < cost + room:
            raise InvalidInputError(
                f"budget: the measurements asked for so far cost {cost:,.12g}, and one more "
                f"measurement up to {dearest(self.problem):,.12g}; {stop}"
            )

    def limits_certified(self) -> list[dict[str, Any]]:
        """The changes, by batches that say something: those that do not have no number."""
        return [
            change | {"asked": change["asked"] - sum(n < change["asked"] for n in self.skipped)}
            for change in self.limit_changes
        ]


def why_stopped(
    problem: Problem, pulls: IntArray, first: Algorithm, changes: Sequence[dict[str, Any]]
) -> str:
    """Which limit a run has reached that was not decided."""
    limits = Limits.of(changes[-1]) if changes else Limits(first.max_samples, first.budget)
    most, budget = limits
    if budget is not None and (most is None or int(pulls.sum()) < most):
        return f"by budget={budget:.12g}"
    return "as they look tied" if most is None else f"by max_samples={most}"

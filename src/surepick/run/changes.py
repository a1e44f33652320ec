"""What changes while a run is under way: options, what is accepted, how much may be measured.

A change of options takes effect between two blocks: what is open is finished first. Until then it
waits. Limits of pulls and of money do not matter to a guarantee: what was dropped was dropped
rightly, whenever a run ends. But the last block before a limit is cut to what is left, so a run
that is made again has to know which limits held when. Such a change says how many batches had been
asked for by then; it holds for all that were asked for later.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import Algorithm
from surepick.arrays.types import BoolArray, IntArray
from surepick.arrays.validate import as_labels, as_matrix, as_numbers, positive, whole
from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.grown import first_of, with_more
from surepick.promise import Words
from surepick.text import plural

ADDED, RETIRED, ACCEPTED = "added", "retired", "accepted"


class Options(NamedTuple):
    """The options of a run at some moment."""

    problem: Problem
    retired: frozenset[int]

    def after(self, changes: list[dict[str, Any]]) -> Options:
        problem, gone = self.problem, set(self.retired)
        for change in changes:
            if change["change"] == ADDED:
                problem = _grown(problem, change)
            elif change["change"] == RETIRED:
                gone.add(problem.option_labels.index(change["label"]))
        return Options(problem, frozenset(gone))


def take_effect(
    change: dict[str, Any], before: Problem, gone: BoolArray, told: int
) -> tuple[Problem, BoolArray, dict[str, Any]]:
    """What there is once options came or went after so many batches, and the change as listed."""
    problem = before
    if change["change"] == ADDED:
        problem = _grown(before, change)
        arms = list(range(len(before.option_labels), len(problem.option_labels)))
        gone = np.append(gone, np.zeros(len(arms), dtype=bool))
    else:
        arms, gone = [before.option_labels.index(change["label"])], gone.copy()
        gone[arms] = True
    listed = {name: change[name] for name in ("change", "reason", "by", "at")}
    listed |= {"arms": arms, "batch": told, "features": [before.n_features, problem.n_features]}
    return problem, gone, listed


def addition(
    rows: Any, labels: Any, noise: Any, costs: Any, *, paired: bool = False
) -> dict[str, Any]:
    """Options to be added, as what they need to be: rows of numbers, and a name for each.

    Those that are compared two at a time have no rows: features only guide there.
    """
    new = np.zeros((0, 0)) if paired and rows is None else as_matrix(rows, "options")
    if paired and len(new):
        raise InvalidInputError(
            "options: where options are compared two at a time new ones have labels only; give "
            "None in the place of their features"
        )
    count = len(labels) if paired and isinstance(labels, Sized) else len(new)
    names = list(as_labels(labels, count, "labels"))
    scales = None if noise is None else as_numbers(noise, "noise").tolist()
    prices = None if costs is None else as_numbers(costs, "costs").tolist()
    change = {"change": ADDED, "rows": new.tolist(), "labels": names, "noise": scales}
    return change | ({} if prices is None else {"costs": prices})


def retirement(label: str, now: Problem, ahead: Options) -> dict[str, Any]:
    """An option to be retired, or an error; ``ahead`` are the options once all that waits is in."""
    if label not in now.option_labels:
        if label in ahead.problem.option_labels:
            raise RunStateError(
                f"label: {label!r} was added while a batch was open and joins with the next "
                "batch; retire it then"
            )
        every = ahead.problem.option_labels
        left = [name for i, name in enumerate(every) if i not in ahead.retired]
        raise UnknownNameError.among("option", label, left)
    if ahead.problem.option_labels.index(label) in ahead.retired:
        raise InvalidInputError(f"label: {label!r} was already retired; nothing was changed")
    left = len(ahead.problem.option_labels) - len(ahead.retired)
    if left == 2 and now.pairing is not None:
        raise InvalidInputError(
            f"label: {label!r} is one of the last two options, and nothing could be compared; add "
            "another one first, or stop the study"
        )
    if left == 1:
        raise InvalidInputError(
            f"label: {label!r} is the only option left; add another one first, or stop the study"
        )
    return {"change": RETIRED, "label": label}


def check_added(before: Problem, after: Problem) -> None:
    """Refuse options that cannot be told apart, or that do not fit the others."""
    if after.pairing is not None:  # they have numbers of their own
        return
    for new in range(before.n_arms, after.n_arms):
        same = int(after.same_as[new])
        if same < new:
            raise InvalidInputError(
                f"options: {after.labels[new]!r} has the same features as "
                f"{after.labels[same]!r}. Features are trusted here, so the two cannot be "
                "told apart; add a feature in which they differ"
            )
    if before.has_level and not after.has_level and not after.misfit:
        raise InvalidInputError(
            "options: the existing features have an intercept, and the new ones do not fit "
            "it; give the new options the same constant column"
        )


def said(reason: str, who: dict[str, Any]) -> dict[str, Any]:
    """Who changed something, when and why, as certificates have it."""
    return {"reason": reason, "by": who.get("by"), "at": who.get("at")}


def before_changes(problem: Problem, changes: list[dict[str, Any]]) -> Problem:
    """The problem as it was before these changes of a certificate."""
    added = [change for change in changes if change["change"] == ADDED]
    if not added:
        return problem
    return first_of(problem, added[0]["arms"][0], added[0]["features"][0])


def _grown(problem: Problem, change: dict[str, Any]) -> Problem:
    known = set(problem.option_labels)
    for label in change["labels"]:
        if label in known:
            raise InvalidInputError(
                f"options: an option {label!r} already exists; give the new one another label"
            )
    own = (change["noise"], change.get("costs"))
    return with_more(problem, change["rows"], change["labels"], *own)


NONE = "none"  #: in the place of a limit: there is to be none


class Limits(NamedTuple):
    """The most that may be measured, and that it may cost; None: no limit."""

    max_samples: int | None
    budget: float | None

    @classmethod
    def of(cls, change: dict[str, Any]) -> Limits:
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


class Remaining(NamedTuple):
    """What limits leave, beside pulls that were made or are out."""

    limits: Limits
    problem: Problem
    counts: IntArray  #: these pulls, of each arm
    samples: int  #: how many they are

    @property
    def funds(self) -> float:
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

"""Options that come and go while a run is under way.

A change takes effect between two blocks: what is open is finished first. Until then it waits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import BoolArray
from surepick.arrays.validate import as_labels, as_matrix, as_numbers
from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.grown import first_of, with_more

ADDED, RETIRED = "added", "retired"


class Options(NamedTuple):
    """The options of a run at some moment."""

    problem: Problem
    retired: frozenset[int]

    def after(self, changes: list[dict[str, Any]]) -> Options:
        """These, once such changes are in effect."""
        problem, gone = self.problem, set(self.retired)
        for change in changes:
            if change["change"] == ADDED:
                problem = _grown(problem, change)
            else:
                gone.add(problem.labels.index(change["label"]))
        return Options(problem, frozenset(gone))


class OptionChanges:
    """The changes of a run: those in effect, and those that wait for the end of a block."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []  # as certificates list them
        self.waiting: list[dict[str, Any]] = []

    def take_effect(
        self, problem: Problem, gone: BoolArray, told: int
    ) -> tuple[Problem, BoolArray]:
        """Let the first that waits take effect, after so many batches; what there is then."""
        change, before = self.waiting.pop(0), problem
        if change["change"] == ADDED:
            problem = _grown(before, change)
            arms = list(range(before.n_arms, problem.n_arms))
            gone = np.append(gone, np.zeros(len(arms), dtype=bool))
        else:
            arms, gone = [before.labels.index(change["label"])], gone.copy()
            gone[arms] = True
        self.made.append(
            {name: change[name] for name in ("change", "reason", "by", "at")}
            | {"arms": arms, "batch": told}
            | {"features": [before.n_features, problem.n_features]}
        )
        return problem, gone


def addition(rows: Any, labels: Any, noise: Any, costs: Any) -> dict[str, Any]:
    """Options to be added, as what they need to be: rows of numbers, and a name for each."""
    new = as_matrix(rows, "options")
    names = list(as_labels(labels, len(new), "labels"))
    scales = None if noise is None else as_numbers(noise, "noise").tolist()
    prices = None if costs is None else as_numbers(costs, "costs").tolist()
    change = {"change": ADDED, "rows": new.tolist(), "labels": names, "noise": scales}
    return change | ({} if prices is None else {"costs": prices})


def retirement(label: str, now: Problem, ahead: Options) -> dict[str, Any]:
    """An option to be retired, or an error; ``ahead`` are the options once all that waits is in."""
    if label not in now.labels:
        if label in ahead.problem.labels:
            raise RunStateError(
                f"label: {label!r} was added while a batch was open and joins with the next "
                "batch; retire it then"
            )
        left = [name for i, name in enumerate(ahead.problem.labels) if i not in ahead.retired]
        raise UnknownNameError.among("option", label, left)
    if ahead.problem.labels.index(label) in ahead.retired:
        raise InvalidInputError(f"label: {label!r} was already retired; nothing was changed")
    if len(ahead.retired) + 1 == ahead.problem.n_arms:
        raise InvalidInputError(
            f"label: {label!r} is the only option left; add another one first, or stop the study"
        )
    return {"change": RETIRED, "label": label}


def check_added(before: Problem, after: Problem) -> None:
    """Refuse options that cannot be told apart, or that do not fit the others."""
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
    known = set(problem.labels)
    for label in change["labels"]:
        if label in known:
            raise InvalidInputError(
                f"options: an option {label!r} already exists; give the new one another label"
            )
    own = (change["noise"], change.get("costs"))
    return with_more(problem, change["rows"], change["labels"], *own)

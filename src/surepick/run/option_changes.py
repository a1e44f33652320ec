"""Options that come and go while a run is under way, and what is accepted from some moment on.

A change takes effect between two blocks: what is open is finished first. Until then it waits.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, NamedTuple

import numpy as np

from surepick.arrays.types import BoolArray
from surepick.arrays.validate import as_labels, as_matrix, as_numbers
from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.grown import first_of, with_more

ADDED, RETIRED, ACCEPTED = "added", "retired", "accepted"


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
            elif change["change"] == RETIRED:
                gone.add(problem.option_labels.index(change["label"]))
        return Options(problem, frozenset(gone))


class OptionChanges:
    """The changes of a run: those in effect, and those that wait for the end of a block."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []  # as certificates list them
        #: what is close enough, named on the way, after so many batches and changes of options
        self.accepted: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []

    def due(self, told: int) -> bool:
        """Whether one waits that may take effect after so many batches."""
        return bool(self.waiting) and self.waiting[0].get("after", 0) <= told

    def accept(self, before: float, told: int) -> float:
        """Let the first that waits take effect, which names an epsilon in the place of this."""
        change = self.waiting.pop(0)
        self.accepted.append(
            {name: change[name] for name in ("reason", "by", "at")}
            | {"epsilon": [before, change["epsilon"]], "batch": told, "changes": len(self.made)}
        )
        return change["epsilon"]

    def take_effect(
        self, problem: Problem, gone: BoolArray, told: int
    ) -> tuple[Problem, BoolArray]:
        """Let the first that waits take effect, after so many batches; what there is then."""
        change, before = self.waiting.pop(0), problem
        if change["change"] == ADDED:
            problem = _grown(before, change)
            arms = list(range(len(before.option_labels), len(problem.option_labels)))
            gone = np.append(gone, np.zeros(len(arms), dtype=bool))
        else:
            arms, gone = [before.option_labels.index(change["label"])], gone.copy()
            gone[arms] = True
        self.made.append(
            {name: change[name] for name in ("change", "reason", "by", "at")}
            | {"arms": arms, "batch": told}
            | {"features": [before.n_features, problem.n_features]}
        )
        return problem, gone


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

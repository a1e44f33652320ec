"""Options that come and go while a run is under way.

A change takes effect between two blocks: what is open is finished first. Until then it waits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.base import Algorithm, State
from surepick.arrays.types import FloatArray, IntArray
from surepick.arrays.validate import as_labels, as_matrix, as_numbers
from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.problem.grown import first_of, with_more
from surepick.run.ahead import Ahead
from surepick.run.batch import Batch

ADDED, RETIRED = "added", "retired"


class TurningRun:
    """The part of a run that is about options that come and go."""

    algorithm: Algorithm
    problem: Problem
    state: State
    pulls: IntArray
    ended: bool
    _sums: FloatArray
    _log: list[dict[str, Any]]
    _open: Batch | None
    _ahead: Ahead

    @property
    def _spent_out(self) -> bool:
        raise NotImplementedError

    def __init__(self) -> None:
        self.turns: list[dict[str, Any]] = []  # changes in effect, as certificates list them
        self.waiting: list[dict[str, Any]] = []  # changes that wait for the end of the block
        self.goes_on = False  # in replays: options will come, or go

    @property
    def retired(self) -> tuple[int, ...]:
        """Options that were retired."""
        gone = self.state.retired
        return () if gone is None else tuple(int(arm) for arm in np.flatnonzero(gone))

    @property
    def problem_ahead(self) -> Problem:
        """The problem as it is once all that waits is in effect."""
        return self._once_in_effect()[0]

    # -- add, retire -----------------------------------------------------------------------
    def add(
        self,
        rows: Any,
        labels: Any,
        *,
        noise: Any = None,
        costs: Any = None,
        reason: str = "",
        **who: Any,
    ) -> bool:
        """Add options; the answer is then the best of all that were not retired.

        Parameters
        ----------
        rows
            One row of features for each, in the order of the problem's own. Further features
            behind those are new ones, which are 0 for all options so far.
        labels
            What they are called.
        noise
            Their noise scales, where the problem has one for each option.
        costs
            What a measurement of each costs, where options cost different amounts.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        Whether they are there already: not while a block is under way, which is finished first.

        Examples
        --------
        >>> import surepick as sp
        >>> run = sp.algorithms.PooledPeleg(0.05).start(sp.Problem([[1.0], [2.0]]))
        >>> run.add([[3.0]], ["new"])
        True
        >>> run.problem.labels
        ('0', '1', 'new')
        """
        new = as_matrix(rows, "options")
        names = list(as_labels(labels, len(new), "labels"))
        scales = None if noise is None else as_numbers(noise, "noise").tolist()
        prices = None if costs is None else as_numbers(costs, "costs").tolist()
        change = {"change": ADDED, "rows": new.tolist(), "labels": names, "noise": scales}
        change |= {} if prices is None else {"costs": prices}
        self._check_open(self.problem)
        ahead, _ = self._once_in_effect()
        self._check_added(ahead, _grown(ahead, change))
        return self._take_turn(change | _said(reason, who))

    def retire(self, label: str, *, reason: str = "", **who: Any) -> bool:
        """Retire an option: it is not measured any more, and cannot be the answer.

        Options that had been ruled out may be the best of those that are left, so all of them are
        back in the race, unless the retired one had been ruled out itself.

        Parameters
        ----------
        label
            Which one.
        reason
            Why; it is kept, and part of the certificate.

        Returns
        -------
        Whether it is gone already: not while a block is under way, which is finished first.
        """
        self._check_open(self.problem)
        ahead, gone = self._once_in_effect()
        if label not in self.problem.labels:
            if label in ahead.labels:
                raise RunStateError(
                    f"label: {label!r} was added while a batch was open and joins with the next "
                    "batch; retire it then"
                )
            left = [name for i, name in enumerate(ahead.labels) if i not in gone]
            raise UnknownNameError.among("option", label, left)
        if ahead.labels.index(label) in gone:
            raise InvalidInputError(f"label: {label!r} was already retired; nothing was changed")
        if len(gone) + 1 == ahead.n_arms:
            raise InvalidInputError(
                f"label: {label!r} is the only option left; add another one first, or stop the "
                f"study"
            )
        return self._take_turn({"change": RETIRED, "label": label} | _said(reason, who))

    def _once_in_effect(self) -> tuple[Problem, set[int]]:
        """The problem, and who is retired, once all that waits is in effect."""
        problem, gone = self.problem, set(self.retired)
        for change in self.waiting:
            if change["change"] == ADDED:
                problem = _grown(problem, change)
            else:
                gone.add(problem.labels.index(change["label"]))
        return problem, gone

    def _check_open(self, problem: Problem) -> None:
        why = self.algorithm.refuses_options(problem)
        if why:
            raise InvalidInputError(f"options cannot be added or retired here: {why}")
        if self.ended:
            raise RunStateError("it was stopped for good: start a new study with these options")
        if self._spent_out and not self.goes_on:  # in replays: it was done before the last batch
            raise RunStateError("the limit of measurements is reached: allow more first (limit)")

    def _check_added(self, before: Problem, after: Problem) -> None:
        self._check_open(after)
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

    # -- taking effect ---------------------------------------------------------------------
    def _take_turn(self, change: dict[str, Any]) -> bool:
        self.waiting.append(change)
        self._turn()
        return not self.waiting

    def _turn(self) -> None:
        """Let changes that wait take effect, if nothing is open."""
        while self.waiting and self._open is None and not self._ahead and self.state.at_rest:
            self._apply(self.waiting.pop(0))

    def _apply(self, change: dict[str, Any]) -> None:
        before, gone = self.problem, self.state.retired
        assert gone is not None
        if change["change"] == ADDED:
            self.problem = _grown(before, change)
            count = self.problem.n_arms - before.n_arms
            arms = list(range(before.n_arms, self.problem.n_arms))
            self.pulls = np.append(self.pulls, np.zeros(count, dtype=np.int64))
            self._sums = np.append(self._sums, np.zeros(count))
            gone = np.append(gone, np.zeros(count, dtype=bool))
        else:
            arms, gone = [before.labels.index(change["label"])], gone.copy()
            gone[arms] = True
        self.state.turn(self.problem, gone)
        self.turns.append(
            {name: change[name] for name in ("change", "reason", "by", "at")}
            | {"arms": arms, "batch": len(self._log)}
            | {"features": [before.n_features, self.problem.n_features]}
        )

    def take_due(self, turns: list[dict[str, Any]], told: int, problem: Problem) -> None:
        """Changes of a certificate after so many batches, of what came to be this problem.

        For replays. They are taken off the list; what was asked for before the others is told.
        """
        while turns and turns[0]["batch"] == told:
            change, self.goes_on = turns.pop(0), True
            said = {name: change[name] for name in ("reason", "by", "at")}
            if change["change"] == ADDED:
                arms, width = change["arms"], change["features"][1]
                scales = problem.noise_kind.scales
                own = None if scales is None else scales[arms]
                names = [problem.labels[arm] for arm in arms]
                prices = None if problem.costs is None else problem.costs[arms]
                rows = problem.arms[arms, :width]
                self.add(rows, names, noise=own, costs=prices, **said)
            else:
                self.retire(problem.labels[change["arms"][0]], **said)
        self.goes_on = bool(turns)


def before_turns(problem: Problem, turns: list[dict[str, Any]]) -> Problem:
    """The problem as it was before these changes of a certificate."""
    added = [change for change in turns if change["change"] == ADDED]
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


def _said(reason: str, who: dict[str, Any]) -> dict[str, Any]:
    return {"reason": reason, "by": who.get("by"), "at": who.get("at")}

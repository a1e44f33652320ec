"""Options that came or went while it was measured, and what was accepted, as a certificate says.

A change is made between two blocks. What it does to the capital is the affair of each question: a
newcomer begins with no more than the least against anyone who is left, and once somebody is retired
nobody has more against it than the retired one had. Then the capital against whoever is the best at
the time is a supermartingale, whatever the changes react to. What is close enough, somebody may
name on the way, too: half of what is held goes to showing that from then on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from surepick.verifier.check import Check
from surepick.verifier.record import Accepted, Batch, Turn

_QUANTILE = {"quantile"}  # the only other question with which they can
#: rules in which something can be accepted, and what else may be asked there
_ACCEPTING = {"pooled": {"top"}, "complete": {"top"}, "pairs": {"top"}}


def check_options(check: Check) -> None:
    """The list must make sense, and nothing may be measured that was not there."""
    turns, paired = check.record.options, check.rule == "pairs"
    check.demand(
        check.rule in ("pooled", "complete", "keeping", "pairs")
        and (paired or (check.items is None and not check.separate))
        and not check.refers
        and set(check.evidence.get("question", _QUANTILE)) == _QUANTILE,
        "options cannot come and go here",
    )
    there = np.zeros(_options(check), dtype=bool)
    for turn in turns:
        known = turn.arms and all(0 <= arm < len(there) for arm in turn.arms)
        check.demand(known, "a change of unknown options")
        check.demand(turn.change in ("added", "retired"), f"options cannot be {turn.change!r:.80}")
        fine = len(turn.features) == 2 and turn.features[0] >= 1
        check.demand(fine, "a change does not say how many features")
    there[: at_first(check)] = True
    check.demand(there.any(), "it begins without an option")
    width, last, came = turns[0].features[0], 0, int(there.sum())
    for number, turn in enumerate(turns):
        where, (before, after) = f"change {number} of its options", turn.features
        check.demand(last <= turn.batch <= len(check.batches), f"{where} is at no time of this run")
        _check_there(check, check.batches[last : turn.batch], there)
        last = turn.batch
        if turn.added:
            next_in_line = list(range(came, came + len(turn.arms)))
            check.demand(turn.arms == next_in_line, f"{where} adds what is not next in line")
            check.demand(
                before == width <= after
                and (not paired or before == after)
                and not check.raw_arms[np.arange(came)][:, before:after].any(),
                f"{where} changes the features of earlier options",
            )
            came += len(turn.arms)
            there[turn.arms], width = True, after
            if check.misfit == 0:
                fresh = np.isin(turn.arms, check.distinct()).all()
                check.demand(fresh, f"{where} adds an option that nothing can tell from another")
        else:
            check.demand(
                len(turn.arms) == 1 and there[turn.arms].all(), f"{where}: nobody to retire"
            )
            check.demand(before == after == width, f"{where} changes features")
            there[turn.arms] = False
            check.demand(there.sum() > paired, f"{where} leaves no option")
    _check_there(check, check.batches[last:], there)
    check.demand(came == len(there), "some of its options come from nowhere")
    check.demand(width == check.raw_arms.shape[1], "some of its features come from nowhere")


def _check_there(check: Check, batches: Sequence[Batch], there: np.ndarray) -> None:
    for batch in batches:
        found = batch.arms
        if check.rule == "pairs":
            found = np.array([pair_of(arm) for arm in found.tolist()], dtype=np.int64).ravel()
        check.demand(there[found].all(), "an option is measured that is not there")


def pair_of(arm: int) -> tuple[int, int]:
    """Which two options an arm compares, the first of them first; see ``payoffs/pairs.py``."""
    late = (1 + math.isqrt(4 * arm + 1)) // 2
    early, turned = divmod(arm - late * (late - 1), 2)
    return (late, early) if turned else (early, late)


def _options(check: Check) -> int:
    """How many options there ever were."""
    return len(check.candidates if check.rule == "pairs" else check.arms)


def at_first(check: Check) -> int:
    """How many options there were at the beginning."""
    added = (turn.arms[0] for turn in check.record.options if turn.added)
    return next(added, _options(check))


def epsilon_at_first(check: Check) -> float:
    """What was close enough at the start."""
    return next((one.epsilon[0] for one in check.record.accepted), check.epsilon)


def check_accepted(check: Check) -> None:
    """The list must make sense, and end with what the certificate says is close enough."""
    found, turns = check.record.accepted, check.record.options
    asked = set(check.evidence.get("question", ()))
    fits = check.rule in _ACCEPTING and asked <= _ACCEPTING[check.rule]
    check.demand(fits, "what is close enough cannot be named on the way here")
    two = all(len(one.epsilon) == 2 for one in found)
    check.demand(two, "what it accepts is not before and after")
    check.demand(found[0].epsilon[0] >= 0, "epsilon must be at least 0")
    for one, after in zip(found, [*(two.epsilon[0] for two in found[1:]), check.epsilon]):
        check.demand(one.epsilon[0] < one.epsilon[1], "what is accepted is no more than before")
        check.demand(one.epsilon[1] == after, "what is accepted is another epsilon")
    times = [(one.batch, one.changes) for one in found]
    made = [turn.batch for turn in turns]
    check.demand(times == sorted(times), "what is accepted is not in order")
    for batch, changes in times:
        inside = 0 <= batch <= len(check.batches) and 0 <= changes <= len(made)
        ends = [*made[: max(changes, 0)], batch, *made[max(changes, 0) :]]
        fine = inside and ends == sorted(ends)
        check.demand(fine, "something is accepted at no time of this run")


class Turns:
    """The changes, and what was accepted on the way, in order, each at its time."""

    def __init__(self, check: Check) -> None:
        turns = check.record.options
        self._check, self._left, self.any = check, list[Turn | Accepted](turns), bool(turns)
        for one in reversed(check.record.accepted):
            self._left.insert(one.changes, one)

    def due(self, told: int) -> bool:
        """Whether a change comes after so many batches."""
        return bool(self._left) and self._left[0].batch == told

    def at(self, told: int) -> Iterator[Turn | Accepted]:
        """Those that come after so many batches."""
        while self.due(told):
            yield self._left.pop(0)
        early = bool(self._left) and self._left[0].batch <= told
        self._check.demand(not early, "options change within a block")

    def end(self) -> None:
        self._check.demand(not self._left, "options change after its end")


class Living(Protocol):
    """What is held against options, some of which come or go."""

    def accept(self, epsilon: float) -> None: ...
    def enter(self, places: np.ndarray) -> None: ...
    def leave(self, place: int) -> None: ...


class Offer:
    """Which candidates are there, block after block; places are those among the distinct ones."""

    def __init__(self, check: Check, candidates: np.ndarray) -> None:
        self._check, self._candidates, self._turns = check, candidates, Turns(check)
        self.changes = 0  # so far
        self._n = at_first(check)
        self._retired: set[int] = set()
        # Without changes candidates may be others than the arms: all are there.
        self.there = candidates < self._n if self._turns.any else candidates >= 0

    @property
    def rank(self) -> int:
        """Dimensions that all options so far span."""
        if not self._turns.any:
            return self._check.whiten.shape[1]
        return self._rank(np.arange(self._n))

    def opens(self, measured: np.ndarray) -> bool:
        """Whether some option cannot be told from what was measured: then nothing is bet."""
        if not self._turns.any:
            return False
        offered = np.setdiff1d(np.arange(self._n), list(self._retired))
        return self._rank(np.union1d(measured, offered)) > self._rank(measured)

    def _rank(self, arms: np.ndarray) -> int:
        rows = self._check.arms[arms] @ self._check.whiten
        return int(np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else 0

    def due(self, told: int) -> bool:
        return self._turns.due(told)

    def take(self, told: int, held: Living) -> None:
        """Let options come and go that did so after so many batches."""
        for turn in self._turns.at(told):
            if isinstance(turn, Accepted):
                held.accept(turn.epsilon[1])
                continue
            self.changes += 1
            if turn.added:
                self._n += len(turn.arms)
                places = np.flatnonzero(np.isin(self._candidates, turn.arms))
                held.enter(places)
                self.there[places] = True
                continue
            self._retired.add(turn.arms[0])
            first = self._check.first_like(turn.arms[0])
            like = self._check.alike([first])
            if self._retired.issuperset(like[like < self._n].tolist()):
                place = int(np.flatnonzero(self._candidates == first)[0])
                self.there[place] = False
                held.leave(place)

    def end(self) -> None:
        self._turns.end()

"""Options that were added or retired while it was measured, as a certificate lists them.

A change is made between two blocks. What it does to the capital is the affair of each question: a
newcomer begins with no more than the least against anyone who is left, and once somebody is retired
nobody has more against it than the retired one had. Then the capital against whoever is the best at
the time is a supermartingale, whatever the changes react to.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from surepick.verifier import exact
from surepick.verifier.accepting import Accepted, accepted
from surepick.verifier.check import Check

_FIELDS = {"change", "arms", "batch", "features"}
_QUANTILE = {"quantile"}  # the only other question with which they can


class Turn(NamedTuple):
    """One change."""

    batch: int  #: batches before it
    added: bool  #: or retired
    arms: list[int]


def check_options(check: Check) -> None:
    """The list must make sense, and nothing may be measured that was not there."""
    if "options" not in check.body:
        return
    problem, paired = check.body["problem"], check.rule == "pairs"
    check.demand(
        (check.rule in ("pooled", "complete", "keeping") or paired)
        and (check.items is None or paired)
        and (problem["candidates"] is None or paired)
        and not isinstance(problem["arms"], dict)
        and set(check.evidence.get("question", _QUANTILE)) == _QUANTILE,
        "options cannot come and go here",
    )
    turns = turns_of(check)
    check.demand(turns, "its list of options that came and went is empty")
    there = np.zeros(_options(check), dtype=bool)
    there[: _at_first(turns, len(there))] = True
    check.demand(there.any(), "it begins without an option")
    width, last, came = _widths(check)[0][0], 0, int(there.sum())
    for number, (turn, (before, after)) in enumerate(zip(turns, _widths(check), strict=True)):
        where = f"change {number} of its options"
        exact.event(check.body["options"][number], where, _FIELDS)
        check.demand(last <= turn.batch <= len(check.batches), f"{where} is at no time of this run")
        _check_there(check, check.batches[last : turn.batch], there)
        last = turn.batch
        if turn.added:
            known = int(turn.arms[0])
            check.demand(
                known == came and turn.arms == list(range(known, known + len(turn.arms))),
                f"{where} adds what is not next in line",
            )
            came += len(turn.arms)
            check.demand(
                before == width <= after
                and (not paired or before == after)
                and not check.raw_arms[np.arange(known)][:, before:after].any(),
                f"{where} changes the features of earlier options",
            )
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
    check.gone = frozenset(arm for turn in turns if not turn.added for arm in turn.arms)


def _check_there(check: Check, batches: list[dict[str, Any]], there: np.ndarray) -> None:
    for batch in batches:
        found = np.array(batch["arms"], dtype=np.int64)
        if check.rule == "pairs":
            found = np.array([pair_of(arm) for arm in batch["arms"]], dtype=np.int64).ravel()
        check.demand(there[found].all(), "an option is measured that is not there")


def pair_of(arm: int) -> tuple[int, int]:
    """Which two options an arm compares, the first of them first; see ``rules/pairs.py``."""
    late = (1 + math.isqrt(4 * arm + 1)) // 2
    early, turned = divmod(arm - late * (late - 1), 2)
    return (late, early) if turned else (early, late)


def _options(check: Check) -> int:
    """How many options there ever were."""
    return len(check.candidates if check.rule == "pairs" else check.arms)


def turns_of(check: Check) -> list[Turn]:
    """All changes in order."""
    found = []
    for entry in exact.mappings(check.body.get("options", []), "its options"):
        arms = exact.whole_numbers(entry["arms"], "the options of a change").tolist()
        check.demand(
            arms and all(0 <= arm < _options(check) for arm in arms), "a change of unknown options"
        )
        change = exact.text(entry["change"], "a change of options")
        check.demand(change in ("added", "retired"), f"options cannot be {change!r:.80}")
        batch = exact.whole(entry["batch"], "the time of a change")
        found.append(Turn(batch, change == "added", arms))
    return found


def at_first(check: Check) -> int:
    """How many options there were at the beginning."""
    return _at_first(turns_of(check), _options(check))


def _at_first(turns: list[Turn], everyone: int) -> int:
    return next((turn.arms[0] for turn in turns if turn.added), everyone)


def _widths(check: Check) -> list[tuple[int, int]]:
    found = []
    for entry in check.body["options"]:
        pair = exact.whole_numbers(entry["features"], "the features of a change").tolist()
        check.demand(len(pair) == 2 and pair[0] >= 1, "a change does not say how many features")
        found.append((pair[0], pair[1]))
    return found


class Turns:
    """The changes, and what was accepted on the way, in order, each at its time."""

    def __init__(self, check: Check) -> None:
        turns = turns_of(check)
        self._check, self._left, self.any = check, list[Turn | Accepted](turns), bool(turns)
        for one in reversed(accepted(check)):
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
        """Nothing may be left over."""
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
        """Whether a change comes after so many batches."""
        return self._turns.due(told)

    def take(self, told: int, held: Living) -> None:
        """Let options come and go that did so after so many batches."""
        for turn in self._turns.at(told):
            if isinstance(turn, Accepted):
                held.accept(turn.epsilon)
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
        """Nothing may be left over."""
        self._turns.end()

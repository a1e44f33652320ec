"""What algorithms fix before anything is measured: levels, widths, thresholds, by their names.

A proof needs them fixed. Whoever could choose them after the rewards are known could give all of
delta to the luckiest phase, so a certificate chooses none of them: they are worked out here from
the algorithm that it names, and what it says of them must be the same. An algorithm of somebody
else's may use any of the published rules, one and the same from beginning to end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.record import Algorithm

_SAME = 1e-9  # relative difference of a level that rounding may make
#: names of algorithms -> the rule by which they drop candidates
RULES = {
    "peleg": "phases",
    "peleg-paper": "phases",
    "peleg-adahedge": "phases",
    "rage": "phases",
    "xy-adaptive": "phases",
    "pooled-peleg": "pooled",
    "pairs": "pairs",
    "xy-static": "static",
    "xy-oracle": "static",
    "alba": "alba",
    "lucb": "intervals",
    "lingape": "ellipsoid",
    "lingape-greedy": "ellipsoid",
    "glucb": "ellipsoid",
    "lingame": "glr",
    "lingame-c": "glr",
    "lazy-ts": "glr",
    "fws": "glr",
    "top-two": "glr",
    "uniform": "glr",
    "od-linbai": "budget",
    "gse": "budget",
    "checked-fit": "checked-fit",
}
HEURISTIC = "-heuristic"  # ending of the names of those that stop by a heuristic threshold
#: thresholds of the GLR stop where nothing else was set
_THRESHOLDS = {"lazy-ts": "determinant", "top-two": "pairwise", "uniform": "round-robin"}
_STARTS_WITH_ALL = ("fws", "uniform")  # those that pull every arm first
REGULARISATION = 1.0  # where nothing else was set; another one is part of the statement
_NORM_BOUND = 1.0


def check_name(check: Check) -> None:
    """The rule must be that of the algorithm named."""
    known = RULES.get(check.algorithm.removesuffix(HEURISTIC))
    if known == "pooled" and check.table is not None:
        known = "complete"
    if known == "pooled" and check.settings.get("keep") is not None:
        known = "keeping"
    check.demand(
        known in (None, check.rule), f"{check.algorithm} does not decide by the rule {check.rule!r}"
    )


def is_own(check: Check) -> bool:
    """Whether the algorithm is one of those known here."""
    return check.algorithm.removesuffix(HEURISTIC) in RULES


def inner_algorithm(check: Check, settings: dict[str, Any] | None = None) -> Algorithm:
    """The algorithm inside of one that is around another, set like this."""
    settings = check.settings if settings is None else settings
    name = exact.text(settings.get("inner", "pooled-peleg"), "the algorithm inside")
    options = exact.mapping(settings.get("options", {}), "its options")
    own = {"delta": check.delta, "epsilon": check.epsilon}
    return Algorithm(name, options | own)


def _level(check: Check) -> str:
    """Whose constants they are: as printed in a paper, of a program, or the tight ones."""
    return exact.text(check.settings.get("constants", "tight"), "the constants")


# -- phases --------------------------------------------------------------------------------
class Phase(NamedTuple):
    """What is known before a phase begins."""

    number: int  #: 1 for the first
    active: int  #: candidates that are left
    everyone: int  #: candidates at the beginning
    pulls: int
    last: bool


Terms = tuple[float, float | None]  # the level of each comparison; the width, where one is fixed


def _tight(delta: float, phase: Phase) -> Terms:
    m = phase.number
    return delta / (m * (m + 1)) / max(phase.active - 1, 1), None


def _printed(delta: float, phase: Phase) -> Terms:
    """Of PELEG and of RAGE."""
    return delta / phase.number**2 / phase.everyone**2, 2.0 ** -(phase.number + 2)


def _rage_program(delta: float, phase: Phase) -> Terms:
    return delta / phase.number**2 / phase.everyone**2 / 2, None


def _xy_program(delta: float, phase: Phase) -> Terms:
    return 3 * delta / (math.pi**2 * phase.everyone**2 * phase.number**2), None


def _xy_printed(delta: float, phase: Phase) -> Terms:
    return (math.pi**2 * delta / (6 * phase.pulls**2 * phase.everyone**2)) ** 4, None


_BY_LEVEL: dict[tuple[str, str], Callable[[float, Phase], Terms]] = {
    ("rage", "printed"): _printed,
    ("rage", "program"): _rage_program,
    ("xy-adaptive", "printed"): _xy_printed,
    ("xy-adaptive", "program"): _xy_program,
}


class PhaseTerms:
    """Levels and widths of all phases, by one of the published sequences."""

    def __init__(self, check: Check) -> None:
        name, level = check.algorithm, _level(check)
        self._check = check
        self._left: list[Callable[[float, Phase], Terms]]
        if name in ("peleg-paper", "peleg-adahedge") or (name, level) == ("peleg", "printed"):
            self._left = [_printed]
        elif is_own(check):
            self._left = [_BY_LEVEL.get((name, level), _tight)]
        else:
            self._left = [_tight, *_BY_LEVEL.values()]

    def demand(self, level: float, threshold: float | None, phase: Phase) -> None:
        """Level and threshold of the next phase must be the published ones."""

        def fits(sequence: Callable[[float, Phase], Terms]) -> bool:
            due, width = sequence(self._check.delta, phase)
            # A budget may cut the last phase short; its level is that of the phase as planned.
            lower = sequence is _xy_printed and phase.last
            return threshold == width and (same(level, due) or (lower and level <= due))

        left = [sequence for sequence in self._left if fits(sequence)]
        due = self._left[0](self._check.delta, phase)[0]
        self._check.demand(
            left,
            f"phase {phase.number}: level {level:.6g} and threshold {threshold} were not fixed in "
            f"advance; the published level is {due:.6g}",
        )
        self._left = left or self._left


# -- other rules ---------------------------------------------------------------------------
def demand_level(check: Check, level: float, *published: float) -> None:
    """A level must be one that was fixed in advance."""
    due = " or ".join(f"{value:.9g}" for value in published)
    check.demand(
        any(same(level, value) for value in published),
        f"level {level:.9g} was not fixed in advance; the published one, for all widths, is {due}",
    )


def demand_test(check: Check, level: str, power: int | None) -> None:
    """The test of an allocation that is fixed in advance must be that of the algorithm."""
    if is_own(check):
        check.demand(level == _level(check), "its test is not that of the algorithm")
        due = {"xy-static": 2, "xy-oracle": 1}[check.algorithm]
        check.demand(power in (None, due), "its union is not that of the algorithm")


def look_growth(check: Check, power: int) -> float:
    """The factor of the program of such an allocation: before look j it draws ⌈factor^j⌉ pulls."""
    return {2: 1.35, 1: 1.1}[power]


def ellipsoid_levels(check: Check, everyone: int) -> list[float]:
    """Levels that an ellipsoid may have."""
    union = check.delta / everyone**2
    if is_own(check):
        return [check.delta if _level(check) == "tight" else union]
    return [check.delta, union]


def demand_bounds(check: Check) -> None:
    """The bound on theta*, and lambda, must be those that the algorithm was set to."""
    default = {"norm_bound": _NORM_BOUND, "regularisation": REGULARISATION}
    for name in default.keys() & check.evidence.keys():
        value = exact.number(check.evidence[name], name)
        check.demand(value > 0, f"{name} must be above 0")
        if is_own(check):
            set_to = exact.number(check.settings.get(name, default[name]), f"the setting {name}")
            check.demand(
                value == set_to,
                f"{name} is not what the algorithm was set to: widths and thresholds are others",
            )


def demand_threshold(check: Check, threshold: str) -> None:
    """The threshold of the GLR stop must be that of the algorithm."""
    if is_own(check):
        name = check.algorithm.removesuffix(HEURISTIC)
        due = "heuristic" if name != check.algorithm else _THRESHOLDS.get(name, "self-normalised")
        check.demand(
            threshold == check.settings.get("threshold", due),
            f"the threshold {threshold!r} is not that of the algorithm",
        )


def first_arms(check: Check) -> tuple[bool, bool]:
    """Whether the first pulls may be of all arms, and whether of arms that span."""
    if is_own(check):
        every = check.algorithm in _STARTS_WITH_ALL
        return every, not every
    return True, True


class StageTerms:
    """ALBA's rounds: the level of each stage, its first sample, its fixed width."""

    def __init__(self, check: Check, everyone: int) -> None:
        self._check = check
        self._everyone = everyone
        self._rank = check.whiten.shape[1]
        self.constants = _level(check)
        self.paper = self.constants != "tight"
        goals = [self._rank >> r for r in range(self._rank.bit_length())]
        if not self.paper and 2 not in goals and len(goals) > 1:
            goals = [*goals[:-1], 2, 1]
        self._goals = goals
        self._round = self._step = 0

    def demand(self, stage: dict[str, Any], active: int, where: str) -> None:
        """Level, first sample and threshold of the next stage must be the published ones."""
        check = self._check
        while active <= self._goals[self._round]:
            self._round, self._step = self._round + 1, 0
        level = exact.number(stage["level"], f"the level of {where}")
        if not self.paper:
            rounds = sum(goal < self._everyone for goal in self._goals)
            demand_level(check, level, check.delta / rounds / (active - 1))
            first = exact.whole(stage["first"], f"the first sample of {where}")
            check.demand(first == 4 * self._rank, f"the first sample of {where} is {first}")
            check.demand(stage["threshold"] is None, f"{where} has a threshold")
            return
        self._step += 1
        share = 6 / (math.pi**2 * (self._round + 1) ** 2) * 6 / (math.pi**2 * self._step**2)
        demand_level(check, level, 2 * check.delta * share / (5 * active**2))
        due = 2.0**-self._step if self.constants == "printed" else 0.0
        check.demand(stage["threshold"] == due, f"the threshold of {where} is another one")


def same(value: float, due: float) -> bool:
    """Whether two levels differ by rounding only."""
    return abs(value - due) <= _SAME * due

"""What is asked of a study of traffic when it is created."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from surepick.algorithms import combinations
from surepick.algorithms.limits.limit import parse_limits
from surepick.algorithms.questions import Asked
from surepick.algorithms.registry import DEFAULT
from surepick.arrays.validate import real
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    RunStateError,
    StudyDamagedError,
    UnknownNameError,
)
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.run.sharing import Sharing
from surepick.run.waiting import Waiting
from surepick.storage.records import StudyRecord
from surepick.study.settings import Prepared
from surepick.study.traffic.kinds import REPORTS

_COLUMNS = ("label", "bucket", "segment", "visits", "sum", "successes", "squares", "period")
_COLUMNS += ("share",)
_CONTROL = "control"  # in limits: the option that was said to be it, unless one is called that
KEY = "traffic"  # where the meta of a study keeps them
DEAL = "deal_seed"  # and where the seed by which the first report is dealt
BUCKETS = 16  # groups of visitors in reports of rewards whose scale nobody knows
_ANSWERED = ("best", "top", "baseline", "cheapest")  # what shares and counts can answer
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}


@dataclass(frozen=True)
class TrafficRules:
    """How visitors are shared out, and when their responses are complete.

    Examples
    --------
    >>> rules = TrafficRules.of({"at_least": "5%", "window": "7d"})
    >>> rules.at_least, rules.window
    (0.05, 604800.0)
    """

    at_least: float = 0.0  #: share of every option that is still in
    control: str | None = None  #: label of the option that is never taken off the site
    control_share: float | None = None  #: its share, at least; None: as if all had the same
    window: float = 0.0  #: seconds that visitors have to respond, from the end of their period on
    lasts: float = 0.0  #: seconds that it takes at least, from the first shares on

    @classmethod
    def of(cls, given: Any) -> TrafficRules | None:
        """The rules meant by True (none in particular), a dict, or rules."""
        if given is None or given is False:
            return None
        if isinstance(given, TrafficRules):
            return given
        if given is True:
            return cls()
        if not isinstance(given, Mapping):
            raise InvalidTypeError(
                f"traffic must be True or a dict of its rules; got {given!r:.80}"
            )
        known = [f.name for f in fields(cls)]
        for name in given:
            if name not in known:
                raise UnknownNameError.among("rule of traffic", name, known)
        share = given.get("control_share")
        least, lasts = _at_least(given.get("at_least", 0.0))
        if "lasts" in given:
            lasts = as_time(given["lasts"], "lasts")
        return cls(
            least,
            given.get("control"),
            None if share is None else as_share(share, "control_share"),
            as_time(given.get("window", 0.0), "window"),
            lasts,
        )

    def sharing(self, problem: Problem) -> Sharing:
        """The rules for the options of a problem, or an error where they cannot be kept."""
        if self.control is None:
            if self.control_share is not None:
                raise InvalidInputError(
                    "control_share: name the option that is the control (control=…)"
                )
            return Sharing(self.at_least)
        if self.control not in problem.labels:
            raise UnknownNameError.among("control", self.control, problem.labels)
        share = 1.0 / problem.n_arms if self.control_share is None else self.control_share
        return Sharing(self.at_least, problem.labels.index(self.control), share)

    def check(self, problem: Problem, asked: Asked) -> None:
        """Refuse problems whose options cannot be compared by their own visitors."""
        if problem.transductive or not (math.isinf(problem.misfit) or free(problem)):
            raise InvalidInputError(
                "misfit: a traffic study compares options by their own visitors and does not "
                "trust features; leave misfit (--trust-features) out"
            )
        if problem.costs is not None and asked.within is None:
            raise InvalidInputError(
                "costs: a traffic study sends visitors whatever options cost; leave costs out, or "
                "ask for the cheapest that is good enough (cheapest=True, within=…)"
            )
        if problem.noise_kind.cuts:
            high = problem.noise_kind.bounds[1] if problem.noise_kind.bounds else 0.0
            raise InvalidInputError(
                "cap: a traffic study sees sums of rewards, which cannot be cut; cut single "
                "rewards before they are summed up, and say --rewards "
                f"0..{high:g} (noise=(0, {high:g}))"
            )
        REPORTS.of(problem.noise_kind).check(problem.noise_kind)
        for name, kind in problem.numbers.items():
            _check_number(name, kind)
        self.sharing(problem)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)


def _check_number(name: str, kind: NoiseKind) -> None:
    """Refuse further numbers of which reports cannot have sums."""
    if name in _COLUMNS:
        raise InvalidInputError(
            f"numbers: {name!r} is a column that reports have anyway; call the number otherwise"
        )
    reports = REPORTS.of(kind)
    if reports.cannot or reports.by_bucket:
        raise InvalidInputError(
            f"numbers: a report has only the sum of {name!r} over the visits of an option, of "
            f"which nothing can be shown if it can be any number. Say that it is yes or no "
            f"({name!r}: 'yes-no', --number {name}=yes-no) or lies between bounds (--number "
            f"{name}=0..100)"
        )
    reports.check(kind)


def guarded(keep: Sequence[str] | None, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Further numbers, with those that are only named in limits: counts of visits."""
    found = dict(numbers)
    for limit in parse_limits(keep) if keep else ():
        if limit.quantile is not None:
            raise InvalidInputError(
                f"keep: {limit.text!r}: a traffic study sees sums, which say nothing about "
                "quantiles. Count the visits that are too slow, for example, and limit their rate"
            )
        found.setdefault(limit.number, "yes-no")
    return found


def check_method(
    name: str,
    settings: Mapping[str, Any],
    check_fit: Any,
    strata: Any,
    guess: bool,
    asked: Asked,
) -> None:
    """Refuse algorithms and questions that do not work by shares and counts."""
    if name != DEFAULT or settings or check_fit is not None:
        what = "check_fit" if check_fit is not None else "algorithm"
        raise InvalidInputError(
            f"{what}: a traffic study always uses {DEFAULT} with its default settings; leave it out"
        )
    if strata is not None:
        raise InvalidInputError(
            "strata: a traffic study already compares options within each period; leave it out"
        )
    combinations.check("guess" if guess else asked.name, "counts")
    if asked.name not in _ANSWERED:
        raise InvalidInputError(
            f"{asked.name}: a traffic study sees how many came and what came of them in all. It "
            "finds the best option, the top ones, those that are better than a baseline, or the "
            f"cheapest that is good enough; leave {asked.name} out"
        )


def allowed(rules: TrafficRules, made: Prepared) -> Prepared:
    """Refuse problems for which the rules cannot be followed."""
    rules.check(made.problem, made.algorithm.asked)
    asked, labels = made.algorithm.asked, made.problem.labels
    limits = getattr(asked, "limits", ())
    if rules.control is None or _CONTROL in labels or not limits:
        return made
    named = [replace(one, than=rules.control) if one.than == _CONTROL else one for one in limits]
    algorithm = replace(made.algorithm, keep=tuple(one.text for one in named))
    return replace(made, algorithm=algorithm)


def free(problem: Problem) -> bool:
    """Whether every option has a feature of its own."""
    return problem.rank == problem.n_arms


def rules_of(study: StudyRecord) -> TrafficRules | None:
    """The rules of a study; None: it is not one of traffic."""
    found = json.loads(study.meta).get(KEY)
    if not isinstance(found, dict):
        return None
    named = set(found) == {f.name for f in fields(TrafficRules)}
    return TrafficRules(**found) if named else None


def waiting_of(study: StudyRecord) -> Waiting | None:
    """What the answer of a study waits for; None: it is not one of traffic."""
    rules = rules_of(study)
    return None if rules is None else Waiting(rules.lasts)


def deal_seed(study: StudyRecord) -> str:
    """The seed by which the first report is dealt into two.

    It was drawn when the study was created, and its chain begins with it: nobody could choose it by
    what the report says.
    """
    found = json.loads(study.meta).get(DEAL)
    if not isinstance(found, str):
        raise StudyDamagedError(f"study {study.name!r} was changed: it lacks the seed of its deals")
    return found


def sends_traffic(study: StudyRecord) -> bool:
    """Whether a study sends visitors by shares and takes reports, instead of handing out pulls."""
    return rules_of(study) is not None


def demanded_rules(study: StudyRecord) -> TrafficRules:
    """The rules of a study of traffic, or an error where it is none."""
    rules = rules_of(study)
    if rules is None:
        raise RunStateError(
            f"study {study.name!r} hands out single pulls (ask, tell); only a traffic study "
            "(--traffic) takes reports"
        )
    return rules


def as_share(given: Any, name: str) -> float:
    """A share between 0 and 1, also as a text such as 5%."""
    value = given
    if isinstance(given, str):
        number = given.strip().removesuffix("%").strip()
        try:
            value = float(number) / (100.0 if "%" in given else 1.0)
        except ValueError:
            hint = " (or a time such as 7d)" if name == "at_least" else ""
            raise InvalidInputError(
                f"{name} must be a share such as 5%{hint}; got {given!r}"
            ) from None
    share = real(value, name)
    if not 0.0 <= share < 1.0:
        hint = f"; did you mean {given:g}%?" if isinstance(given, int | float) else ""
        raise InvalidInputError(
            f"{name} must be at least 0 and below 1 (100%); got {given!r}{hint}"
        )
    return share


def _at_least(given: Any) -> tuple[float, float]:
    """The least share of an option, and the least time of a study: 5%, 7d, or both in a list."""
    share = lasts = 0.0
    for one in given if isinstance(given, list | tuple) else [given]:
        if isinstance(one, str) and one.strip()[-1:] in _SECONDS:
            lasts = as_time(one, "at_least")
        else:
            share = as_share(one, "at_least")
    return share, lasts


def as_time(given: Any, name: str) -> float:
    """Seconds, also from a text such as 7d or 12h."""
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", given)
        if found is None:
            raise InvalidInputError(
                f"{name} must be a time such as 7d, 12h or 30m; got {given!r:.80}"
            )
        return float(found[1]) * _SECONDS[found[2]]
    seconds = real(given, name)
    if seconds < 0.0:
        raise InvalidInputError(f"{name} must be at least 0 seconds; got {given!r}")
    return seconds

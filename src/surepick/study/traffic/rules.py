"""What is asked of a study of traffic when it is created."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from surepick.algorithms.registry import DEFAULT
from surepick.arrays.validate import real
from surepick.errors import InvalidInputError, InvalidTypeError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.run.sharing import Sharing
from surepick.storage.records import StudyRecord
from surepick.study.prepared import Prepared
from surepick.study.traffic.kinds import REPORTS

KEY = "traffic"  # where the meta of a study keeps them
BUCKETS = 16  # groups of visitors in reports of rewards whose scale nobody knows
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
        return cls(
            as_share(given.get("at_least", 0.0), "at_least"),
            given.get("control"),
            None if share is None else as_share(share, "control_share"),
            as_window(given.get("window", 0.0)),
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

    def check(self, problem: Problem) -> None:
        """Refuse problems whose options cannot be compared by their own visitors."""
        if problem.transductive or not (math.isinf(problem.misfit) or free(problem)):
            raise InvalidInputError(
                "misfit: a traffic study compares options by their own visitors and does not "
                "trust features; leave misfit (--trust-features) out"
            )
        if problem.costs is not None:
            raise InvalidInputError(
                "costs: in a traffic study all visitors cost the same; leave costs out"
            )
        if problem.noise_kind.cuts:
            high = problem.noise_kind.bounds[1] if problem.noise_kind.bounds else 0.0
            raise InvalidInputError(
                "cap: a traffic study sees sums of rewards, which cannot be cut; cut single "
                "rewards before they are summed up, and say --rewards "
                f"0..{high:g} (noise=(0, {high:g}))"
            )
        REPORTS.of(problem.noise_kind).check(problem.noise_kind)
        self.sharing(problem)

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)


def check_method(
    name: str,
    settings: Mapping[str, Any],
    check_fit: Any,
    strata: Any,
    asked: Mapping[str, bool],
) -> None:
    """Refuse algorithms that do not work by shares and counts."""
    if name != DEFAULT or settings or check_fit is not None:
        what = "check_fit" if check_fit is not None else "algorithm"
        raise InvalidInputError(
            f"{what}: a traffic study always uses {DEFAULT} with its default settings; leave it out"
        )
    if strata is not None:
        raise InvalidInputError(
            "strata: a traffic study already compares options within each period; leave it out"
        )
    for what in asked:
        if asked[what]:
            raise InvalidInputError(
                f"{what}: a traffic study looks for the best option; leave {what} out"
            )


def allowed(rules: TrafficRules, made: Prepared) -> Prepared:
    """Refuse problems for which the rules cannot be followed."""
    rules.check(made.problem)
    return made


def free(problem: Problem) -> bool:
    """Whether every option has a feature of its own."""
    return problem.rank == problem.n_arms


def rules_of(study: StudyRecord) -> TrafficRules | None:
    """The rules of a study; None: it is not one of traffic."""
    kept = json.loads(study.meta).get(KEY)
    named = isinstance(kept, dict) and set(kept) == {f.name for f in fields(TrafficRules)}
    return TrafficRules(**kept) if named else None


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
            raise InvalidInputError(f"{name} must be a share such as 5%; got {given!r}") from None
    share = real(value, name)
    if not 0.0 <= share < 1.0:
        hint = f"; did you mean {given:g}%?" if isinstance(given, int | float) else ""
        raise InvalidInputError(
            f"{name} must be at least 0 and below 1 (100%); got {given!r}{hint}"
        )
    return share


def as_window(given: Any) -> float:
    """Seconds, also from a text such as 7d or 12h."""
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", given)
        if found is None:
            raise InvalidInputError(
                f"window must be a time such as 7d, 12h or 30m; got {given!r:.80}"
            )
        return float(found[1]) * _SECONDS[found[2]]
    seconds = real(given, "window")
    if seconds < 0.0:
        raise InvalidInputError(f"window must be at least 0 seconds; got {given!r}")
    return seconds

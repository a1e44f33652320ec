"""The questions: which option is the best of those that keep limits, or which are better and do?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from surepick.algorithms import combinations
from surepick.algorithms.limits.limit import Limit, parse_limits
from surepick.algorithms.pooled.evidence import ways_of
from surepick.algorithms.pooled.kinds import READINGS
from surepick.algorithms.questions import Against, Asked, Best, Cheapest, Top
from surepick.arrays import cutoffs
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import NOBODY, Condition, Promised


class Further(NamedTuple):
    """What is recorded of a further number."""

    name: str  #: in records
    number: str  #: as it is told
    kind: NoiseKind
    read: Callable[[FloatArray], FloatArray]  #: what is recorded, from what is told
    spread: bool  #: whether Σ (value − mean)² is, too


class Limited(Asked):
    """A question in which options have to keep limits, given as ``keep``."""

    ranks = False
    keep: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "keep", tuple(str(one) for one in parse_limits(self.keep)))

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The limits."""
        return parse_limits(self.keep)

    def settings(self) -> dict[str, Any]:
        return {"keep": self.keep}

    def text(self) -> str:
        return self.name

    @property
    def count(self) -> int:
        """How many are asked for."""
        return 1

    @property
    def nobody(self) -> Promised:
        """What is shown where no option keeps the limits."""
        found = f"no option keeps {self._exactly}"
        return Promised(
            found, "No option keeps the limits.", wrong="are wrong about that", kind=NOBODY
        )

    @property
    def all_limits(self) -> str:
        """All limits in one line."""
        return " and ".join(limit.text for limit in self.limits)

    @property
    def _limits_in_words(self) -> str:
        return " and ".join(limit.said() for limit in self.limits)

    def asks(self, problem: Problem) -> str:
        said = " and ".join(limit.said_of(problem) for limit in self.limits)
        return self.words.removesuffix(self._limits_in_words) + said

    @property
    def levels_cancel(self) -> bool:
        """A limit that is a number does not move with the level of a day."""
        return super().levels_cancel and all(limit.than is not None for limit in self.limits)

    @property
    def overlaps(self) -> bool:
        return False

    @property
    def limited(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(limit.number for limit in self.limits))

    def further(self, problem: Problem) -> tuple[Further, ...]:
        """What is recorded beside rewards; two limits on one number share it."""
        found: dict[str, Further] = {}
        for limit in self.limits:
            kind = limit.kind(problem)
            spread = READINGS.of(kind).demands_spread
            one = Further(limit.column, limit.number, kind, limit.read, spread)
            found.setdefault(limit.column, one)
        return tuple(found.values())

    @property
    def loose(self) -> bool:
        """Whether a limit may be missed by a tolerance."""
        return any(limit.tolerance for limit in self.limits)

    @property
    def _exactly(self) -> str:
        return " and ".join(limit.text.partition(" ± ")[0] for limit in self.limits)

    def check_problem(self, problem: Problem, items: bool) -> None:
        super().check_problem(problem, items)
        for limit in self.limits:
            limit.check(problem)
        if items:
            combinations.check("keep", "items")
        if problem.transductive or not problem.backend.plain or problem.large:
            raise InvalidInputError(
                "keep: options keep limits by their own measurements: without separate candidates "
                "and without a backend; leave both out"
            )
        if ways_of(problem) != ("direct",):
            combinations.check("keep", "features")
        if problem.noise_kind.scales is not None:
            raise InvalidInputError(
                "keep: limits cannot be combined with a noise of its own for each option for now; "
                "give one for all, or none"
            )
        if problem.n_arms > cutoffs.LIMITED_OPTIONS:
            raise InvalidInputError(
                f"keep: {problem.n_arms:,} options are too many to compare each with every other; "
                f"at most {cutoffs.LIMITED_OPTIONS}"
            )
        singly = READINGS.of(problem.noise_kind).singly
        for one in self.further(problem):
            if singly and READINGS.of(one.kind).in_parts:
                raise InvalidInputError(
                    f"keep: {one.number!r} is symmetric and rewards are of any kind, which cannot "
                    "be bet on together for now; say what rewards are (noise=…), give "
                    f"{one.number!r} bounds, or limit its median ('median of {one.number} <= …')"
                )

    def rests_on(self, problem: Problem) -> list[Condition]:
        """What has to be true of further numbers."""
        found = []
        for one in self.further(problem):
            if one.kind.provided is not None and one.kind.provided.plain:
                exact, plain = (
                    f"for {one.name}: {said}"
                    for said in (one.kind.provided, one.kind.provided.plain)
                )
                found.append(Condition(exact, plain))
        return found


@dataclass(frozen=True)
class Keeping(Limited, Best):
    """Which option is the best of those that keep these limits?"""

    keep: tuple[str, ...]

    @property
    def best(self) -> str:
        return f"{self._kept}, if there are any,"

    @property
    def _kept(self) -> str:
        return f"the best of those that keep {self.all_limits}"

    @property
    def words(self) -> str:
        return f"which option is the best of those that keep {self._limits_in_words}"

    @property
    def refuses_options(self) -> str:
        if self.loose:
            return (
                "a limit has a tolerance, and the accounts for that know no options that come or "
                "go; leave tolerances out"
            )
        return ""

    def refuses_retirement(self, label: str) -> str:
        for limit in self.limits:
            if limit.than == label:
                return f"others are compared with it ({limit.text}), so it has to stay"
        return ""

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        if epsilon is None:
            return Promised(self._kept, "{It} is the best of those that keep the limits.")
        kept = "keeps the limits up to their tolerance" if self.loose else "keeps the limits"
        near, plain = f" by more than {epsilon:.12g}" if epsilon else "", kind.apart(epsilon)
        entirely = " entirely" if self.loose else ""
        by = f" by more than {plain}" if epsilon else ""
        return Promised(
            f"an option that {kept} and that no option with {self._exactly} beats{near},",
            f"{{It}} {kept}, and no option that keeps them{entirely} beats it{by}.",
            wrong="name one of which that is not true",
            close=f"within {plain} of the best that keeps the limits, and keeps them itself",
            others=f"at most {plain} better, or may break a limit",
            kind="eps-pac",
        )

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        return [*super().may_promise(epsilon, kind, items), self.nobody]


@dataclass(frozen=True)
class KeepingTop(Limited, Top):
    """Which m options are the best of those that keep these limits?"""

    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Limited.__post_init__(self)
        Top.__post_init__(self)

    def settings(self) -> dict[str, Any]:
        return Top.settings(self) | Limited.settings(self)

    @property
    def count(self) -> int:
        return self.m

    @property
    def best(self) -> str:
        return f"the {self.m} best, or all there are, of those that keep {self.all_limits}"

    @property
    def words(self) -> str:
        return f"which {self.m} options are the best of those that keep {self._limits_in_words}"

    def check_epsilon(self, epsilon: float) -> None:
        """Refuse what has no bets."""
        if epsilon > 0 or self.loose:
            raise InvalidInputError(
                f"{'epsilon' if epsilon > 0 else 'keep'}: of the {self.m} best that keep limits "
                "nothing is accepted that is only close for now; leave epsilon and tolerances out, "
                "or ask for the best one"
            )

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        found = f"the {self.m} best of those that keep {self.all_limits}"
        return Promised(
            found,
            f"They are the {self.m} best of the options that keep the limits.",
            wrong=f"are wrong about the {self.m} best",
        )

    def fewer(self, left: int) -> Promised:
        """What is shown where not so many keep the limits."""
        only = "the only option that keeps" if left == 1 else "the only options that keep"
        return Promised(
            f"{only} {self.all_limits}",
            f"{{It}} is {only} the limits." if left == 1 else f"They are {only} the limits.",
            wrong="are wrong about that",
        )

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        found = [self.fewer(left) for left in range(1, self.m)]
        return [self.promised(None, kind, items), *found, self.nobody]


@dataclass(frozen=True)
class KeepingCheapest(Limited, Cheapest):
    """Which is the cheapest option that keeps these limits and is good enough?

    Good enough compared with the best option that keeps the limits.
    """

    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Limited.__post_init__(self)
        Cheapest.__post_init__(self)

    def settings(self) -> dict[str, Any]:
        return Cheapest.settings(self) | Limited.settings(self)

    @property
    def words(self) -> str:
        near = f"within {self.enough:g} of the best"
        return f"which option is the cheapest {near}, of those that keep {self._limits_in_words}"

    @property
    def best(self) -> str:
        near = f"within {self.enough:.12g} of the best"
        return f"of those that keep {self.all_limits}, if there are any, the cheapest {near}"

    def check_epsilon(self, epsilon: float) -> None:
        """Refuse what has no bets."""
        if epsilon > 0 or self.loose:
            raise InvalidInputError(
                f"{'epsilon' if epsilon > 0 else 'keep'}: the cheapest option that keeps limits is "
                "found exactly, for now; leave epsilon and tolerances out"
            )

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        cheapest = f"the cheapest {kind.good(self.enough)}"
        return Promised(
            f"of those that keep {self.all_limits}, {cheapest}",
            f"{{It}} is, of the options that keep the limits, {cheapest}.",
        )

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        return [self.promised(None, kind, items), self.nobody]


@dataclass(frozen=True)
class KeepingAgainst(Limited, Against):
    """Which options are better than a baseline, or a number, and keep these limits?

    What is shown of an option is that it is and does, or that it is not better or breaks a limit.
    """

    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Limited.__post_init__(self)
        Against.__post_init__(self)

    def settings(self) -> dict[str, Any]:
        return Against.settings(self) | Limited.settings(self)

    @property
    def words(self) -> str:
        other = f"{self.threshold:g}" if self.baseline is None else str(self.baseline)
        return f"which options are better than {other} and keep {self._limits_in_words}"

    def check_epsilon(self, epsilon: float) -> None:
        """Refuse what would accept options that are as good as the baseline."""
        if epsilon > 0:
            raise InvalidInputError(
                "epsilon: with limits, options are shown to be better than the baseline, not as "
                "good; leave out epsilon or keep"
            )

    def claims_against(self, baseline: str) -> str:
        return f"claims about which options are better than {baseline} and keep {self.all_limits}"

    def said_of_claims(self, baseline: str) -> str:
        return (
            f"Better options are better than {baseline} and keep the limits. Those that are ruled "
            "out are not better, or break a limit."
        )

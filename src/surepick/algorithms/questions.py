"""What can be asked of candidates: which is the best, which m are, which beat a baseline.

A question is a frozen value, like an algorithm: it knows what it needs of a problem, what an answer
to it promises, and what people call it. What is bet to answer it is declared under its name in
:mod:`surepick.algorithms.pooled.questions`, how a certificate of it is checked in
:mod:`surepick.verifier.questions`.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from surepick import plugins
from surepick.algorithms import combinations
from surepick.arrays import cutoffs
from surepick.arrays.validate import in_reach, probability, real, whole
from surepick.errors import InvalidInputError, InvalidTypeError, UnknownNameError, listed
from surepick.problem import Problem
from surepick.problem.noise import NoiseKind
from surepick.promise import ON_AVERAGE, Condition, Promise, Promised
from surepick.text import parse, write

_BEST = "the best"


@dataclass(frozen=True)
class Asked(ABC):
    """One question."""

    name: ClassVar[str]  #: in files, and in what is known of a study
    compares: ClassVar[bool] = False  #: whether claims are made of each candidate
    several: ClassVar[bool] = False  #: whether more than one candidate is named
    ranks: ClassVar[bool] = True  #: whether who is ruled out is worse than who is named
    #: in which shapes what is close enough may be said on the way
    accepts_later: ClassVar[tuple[str, ...]] = ()

    @property
    def words(self) -> str:
        """What people ask, where it is not which option is the best."""
        return ""

    @property
    def best(self) -> str:
        """What is looked for."""
        return _BEST

    @property
    def number(self) -> float | None:
        """A number that candidates are compared with, which does not vary from day to day."""
        return None

    @property
    def quantile(self) -> float | None:
        """Which quantile of measurements makes an option good; None: what the noise says."""
        return None

    @property
    def within(self) -> float | None:
        """How far below the best is good enough, where the cheapest such option is looked for."""
        return None

    @property
    def meaning(self) -> Condition | None:
        """What better means, where the question says it and not the kind of noise."""
        return None

    @property
    def levels_cancel(self) -> bool:
        """Whether a level that all measurements of a block share has no part in it."""
        return self.number is None

    @property
    def limited(self) -> tuple[str, ...]:
        """Further numbers that every measurement must have, as options have to keep limits."""
        return ()

    @property
    def overlaps(self) -> bool:
        """Whether it can be answered from blocks that overlap."""
        return True

    @property
    def refuses_options(self) -> str:
        """Why options cannot come and go while it is asked; empty where they can."""
        return ""

    def refuses_retirement(self, label: str) -> str:
        """Why this option cannot be retired; empty where it can."""
        return ""

    @property
    def union(self) -> str:
        """Over what the error probability is shared, for the theorem."""
        return ""

    def asks(self, problem: Problem) -> str:
        """What is asked of this problem, in words; empty for the usual question."""
        return self.words

    def settings(self) -> dict[str, Any]:
        """The settings of an algorithm that ask it."""
        return {"question": self.text()}

    def text(self) -> str:
        """As people write it, and files: its name, and its fields."""
        return write(self.name, ((one.name, getattr(self, one.name)) for one in fields(self)))

    def check_problem(self, problem: Problem, items: bool) -> None:  # noqa: B027
        """Refuse a problem about which it cannot be asked; ``items``: measured on items."""

    def rests_on(self, problem: Problem) -> list[Condition]:
        """What else has to be true."""
        return []

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        """What an answer is promised to be; up to epsilon, if that was used."""
        if epsilon is None:
            return Promised(self.best, "" if self.best == _BEST else f"{{It}} is {self.best}.")
        return kind.near(self.best, epsilon, items)

    def may_promise(self, epsilon: float, kind: NoiseKind, items: bool) -> list[Promised]:
        """All that an answer may be promised to be."""
        return [self.promised(one, kind, items) for one in (None, epsilon)]

    def among(self, left: int, several: bool) -> Promised:
        """What is promised of those that are left where it was stopped by hand."""
        best = f"{self.best} {'are' if several else 'is'} among those {left}"
        wrong = f"rule {'one of them' if several else 'it'} out"
        return Promised(best, f"{best[:1].upper()}{best[1:]}", wrong)

    def promise_of_claims(self, delta: float, baseline: str) -> Promise:
        """What claims against a baseline promise; only asked where it compares."""
        raise InvalidInputError(f"baseline: {self.name!r} does not compare with one")

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True)
class Best(Asked):
    """Which candidate is the best?"""

    name = "best"
    accepts_later = ("pulls", "table")

    def settings(self) -> dict[str, Any]:
        return {"top": 1}


@dataclass(frozen=True)
class Top(Asked):
    """Which m candidates are the best, in any order?"""

    name = "top"
    several = True
    accepts_later = ("pulls", "table")
    m: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", whole(self.m, "m", least=2))

    def settings(self) -> dict[str, Any]:
        return {"top": self.m}

    @property
    def best(self) -> str:
        return f"the {self.m} best"

    @property
    def words(self) -> str:
        return f"which {self.m} options are the best"

    @property
    def refuses_options(self) -> str:
        return f"the study asks for the {self.m} best; ask for the best alone"

    @property
    def union(self) -> str:
        return f", union over {self.m}"

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        if epsilon is None:
            return Promised(self.best, wrong=f"are wrong about {self.best}")
        return kind.near_several(self.m, epsilon)

    def check_problem(self, problem: Problem, items: bool) -> None:
        n, m = len(problem.distinct), self.m
        if problem.large or not problem.backend.plain:
            raise InvalidInputError(
                f"top: {problem.n_candidates:,} options of {problem.n_features:,} features are "
                "too many to find more than the best one; ask for the best alone, or leave "
                "options out"
            )
        if n < problem.n_candidates:
            labels = problem.candidate_labels
            twin = int(np.flatnonzero(problem.same_as != np.arange(problem.n_candidates))[0])
            raise InvalidInputError(
                f"top: {labels[twin]!r} has the same features as "
                f"{labels[problem.same_as[twin]]!r}, so the two cannot be told apart; leave one "
                "of them out, or do not trust features (misfit=math.inf)"
            )
        if n <= m:
            raise InvalidInputError(
                f"top: there are {n} options, so the {m} best are all of them; ask for fewer"
            )


@dataclass(frozen=True)
class Against(Asked):
    """Which candidates are better than a baseline, or a number, and which are worse?"""

    name = "baseline"
    compares = True
    baseline: str | int | None = None
    threshold: float | None = None
    claims: str = "all"  #: how sure these are: "all" of them, or "fdr", a share of them

    def __post_init__(self) -> None:
        if self.threshold is not None:
            number = in_reach(real(self.threshold, "threshold"), "threshold")
            object.__setattr__(self, "threshold", number)
            if self.baseline is not None:
                raise InvalidInputError(
                    "threshold: options can be compared with a baseline or with a number, not "
                    "with both; leave one of them out"
                )
        elif not isinstance(self.baseline, str):
            object.__setattr__(self, "baseline", whole(self.baseline, "baseline"))

    def settings(self) -> dict[str, Any]:
        return {"baseline": self.baseline, "threshold": self.threshold, "claims": self.claims}

    @property
    def number(self) -> float | None:
        return self.threshold

    @property
    def refuses_options(self) -> str:
        return "the options are compared with a baseline; ask which is best instead"

    @property
    def overlaps(self) -> bool:
        return self.claims == "all"

    @property
    def words(self) -> str:
        other = f"{self.threshold:g}" if self.baseline is None else str(self.baseline)
        return f"which options are better than {other}, and which are worse"

    def check_problem(self, problem: Problem, items: bool) -> None:
        if self.baseline is not None:
            candidate_of(problem, self.baseline)
        if problem.large or not problem.backend.plain:
            raise InvalidInputError(
                f"baseline: {problem.n_candidates:,} options of {problem.n_features:,} features "
                f"are too many to compare with one of them; ask which is best, or leave options out"
            )
        if items and self.threshold is not None:
            combinations.check("threshold", "items")

    def claims_against(self, baseline: str) -> str:
        """What its claims are called."""
        return f"claims against {baseline}"

    def said_of_claims(self, baseline: str) -> str:
        """A sentence that says what claims mean; empty where their names say it."""
        return ""

    def promise_of_claims(self, delta: float, baseline: str) -> Promise:
        name, plain = self.claims_against(baseline), self.said_of_claims(baseline)
        bets = "capital bet against what is true is a supermartingale"
        if self.claims == "fdr":
            share = f"of all {name}, a share of at most {delta:.12g} is wrong"
            wrong = "the claims are wrong"
            what = Promised(share, plain, wrong=wrong, kind="fdr", chance=ON_AVERAGE)
            return Promise(delta, what, f"{bets}; e-BH", compares=True)
        what = Promised(f"all {name} are right", plain, wrong="make a wrong claim", kind="claims")
        theorem = f"{bets}; Ville's inequality, closed testing"
        return Promise(delta, what, theorem, compares=True)


@dataclass(frozen=True)
class BestQuantile(Asked):
    """Which option has the best p-quantile, such as the best median or 95th percentile?

    The p-quantile is the least number that a measurement does not exceed with a probability of at
    least p.
    """

    name = "quantile"
    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", probability(self.p, "quantile"))

    def settings(self) -> dict[str, Any]:
        return {"quantile": self.p}

    @property
    def quantile(self) -> float | None:
        return self.p

    @property
    def levels_cancel(self) -> bool:
        return False

    @property
    def words(self) -> str:
        return f"which option has the best {percentile(self.p)}"

    @property
    def meaning(self) -> Condition:
        return Condition(
            f"where better means a better {self.p:.12g}-quantile, the least number that a "
            f"measurement does not exceed with a probability of at least {self.p:.12g}, which does "
            "not change over time",
            "if measurements of an option vary in the same way all the time, whatever that way is",
            meaning=f"Better means here: a better {percentile(self.p)}.",
        )

    def check_problem(self, problem: Problem, items: bool) -> None:
        if items:
            combinations.check("quantile", "items")


@dataclass(frozen=True)
class Cheapest(Asked):
    """Which is the cheapest option of those within so much of the best, by costs that are known?"""

    name = "cheapest"
    ranks = False
    enough: float

    def __post_init__(self) -> None:
        enough = in_reach(real(self.enough, "within"), "within")
        if not enough > 0:
            raise InvalidInputError(
                f"within must be above 0: how far below the best is good enough; got {enough:g}"
            )
        object.__setattr__(self, "enough", enough)

    def settings(self) -> dict[str, Any]:
        return {"cheapest": True, "within": self.enough}

    @property
    def within(self) -> float | None:
        return self.enough

    @property
    def words(self) -> str:
        return f"which option is the cheapest of those within {self.enough:g} of the best"

    @property
    def best(self) -> str:
        return f"the cheapest option within {self.enough:.12g} of the best"

    @property
    def refuses_options(self) -> str:
        return "the study looks for the cheapest that is good enough; ask for the best alone"

    def promised(self, epsilon: float | None, kind: NoiseKind, items: bool = False) -> Promised:
        cheapest = f"the cheapest option {kind.good(self.enough)}"
        if epsilon is None:
            return Promised(cheapest, f"{{It}} is {cheapest}.")
        own = kind.good(self.enough + epsilon)
        said = f"no dearer than {cheapest}, and itself one {own}"
        return Promised(
            f"{said},",
            f"{{It}} is {said}.",
            wrong="name one of which that is not true",
            close=own,
            others="dearer, or may not be good enough",
            kind="eps-pac",
        )

    def check_problem(self, problem: Problem, items: bool) -> None:
        if problem.costs is None:
            raise InvalidInputError(
                "cheapest: say what each option costs (costs=… of the problem; --cost COLUMN)"
            )
        costs = np.broadcast_to(np.asarray(problem.costs, dtype=np.float64), problem.n_arms)
        if (costs == costs[0]).all() and problem.n_arms > 1:
            raise InvalidInputError(
                f"cheapest: all options cost {costs[0]:g}; ask for the best one, and accept what "
                "is close to it (epsilon)"
            )
        if problem.transductive or problem.large or not problem.backend.plain:
            raise InvalidInputError(
                "cheapest: costs are those of options that are measured themselves: without "
                "separate candidates and without a backend; leave these out"
            )
        if len(problem.distinct) < problem.n_candidates:
            labels = problem.candidate_labels
            twin = int(np.flatnonzero(problem.same_as != np.arange(problem.n_candidates))[0])
            raise InvalidInputError(
                f"cheapest: {labels[twin]!r} has the same features as "
                f"{labels[problem.same_as[twin]]!r}, so the two cannot be told apart; leave one "
                "of them out, or do not trust features (misfit=math.inf)"
            )
        if problem.n_arms > cutoffs.LIMITED_OPTIONS:
            raise InvalidInputError(
                f"cheapest: {problem.n_arms:,} options are too many to compare each with every "
                f"other; at most {cutoffs.LIMITED_OPTIONS}"
            )
        if problem.noise_kind.wins and not self.enough < 0.5:
            raise InvalidInputError(
                "within: with numbers of any kind it is a share of direct comparisons, below 0.5 "
                f"(0.05: no other option wins more than 55 % of them); got {self.enough:g}"
            )


def percentile(p: float) -> str:
    """The p-quantile as people call it.

    Examples
    --------
    >>> percentile(0.5), percentile(0.95), percentile(0.01), percentile(0.999)
    ('median', '95th percentile', '1st percentile', '99.9th percentile')
    """
    if p == 0.5:
        return "median"
    number = f"{100.0 * p:.10g}"
    whole_number = int(number) if number.isdecimal() else 0
    teens = 10 < whole_number % 100 < 20
    ending = "th" if teens else {1: "st", 2: "nd", 3: "rd"}.get(whole_number % 10, "th")
    return f"{number}{ending} percentile"


_OWN = (Best, Top, Against, BestQuantile, Cheapest)
#: by name
QUESTIONS: dict[str, type[Asked]] = {one.name: one for one in _OWN}


def register(question: type[Asked]) -> None:
    """Make a question of another package known."""
    if question.name in QUESTIONS:
        raise InvalidInputError(f"question: there is one called {question.name!r} already")
    QUESTIONS[question.name] = question


def named(name: str) -> type[Asked]:
    """The question of this name."""
    if name not in QUESTIONS:
        plugins.load()
        if name not in QUESTIONS:
            raise UnknownNameError.among("question", name, QUESTIONS)
    return QUESTIONS[name]


def others() -> bool:
    """Whether there are questions of other packages."""
    plugins.load()
    return len(QUESTIONS) > len(_OWN)


def compares(name: str) -> bool:
    """Whether the question of this name makes claims about each candidate."""
    return named(name).compares


def read(given: Any) -> Asked:
    """The question that a text means, such as ``top:m=3``, or the one handed in."""
    if isinstance(given, Asked):
        return given
    if not isinstance(given, str):
        raise InvalidTypeError(f"question must be a question or its name; got {given!r:.80}")
    name, settings = parse(given, "question")
    try:
        return named(name)(**settings)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise InvalidInputError(f"question {given!r}: {error}") from None


def asked_by(
    question: Any,
    baseline: Any,
    threshold: Any,
    claims: Any,
    top: Any,
    quantile: Any = None,
    cheapest: Any = False,
    within: Any = None,
) -> Asked:
    """The question that settings ask, but for limits that are to be kept."""
    if claims not in ("all", "fdr"):
        raise InvalidInputError(f"claims must be 'all' or 'fdr'; got {claims!r:.80}")
    against, top = baseline is not None or threshold is not None, whole(top, "top", least=1)
    if question is not None and (against or top > 1 or quantile is not None):
        raise InvalidInputError(
            "question: it says what is asked; leave out top, baseline, threshold and quantile"
        )
    if quantile is not None and (against or top > 1):
        raise InvalidInputError(
            "quantile: the option with the best quantile is looked for; leave out top, baseline "
            "and threshold, or quantile"
        )
    if not against and claims != "all":
        raise InvalidInputError(
            "claims are made against a baseline: give baseline=… or threshold=…"
        )
    if cheapest:
        if question is not None or quantile is not None or against or top > 1:
            raise InvalidInputError(
                "cheapest: the cheapest option that is good enough is looked for; leave out top, "
                "quantile, baseline, threshold and question, or cheapest"
            )
        if within is None:
            raise InvalidInputError(
                "cheapest: say how far below the best is good enough, with within=… (--within 1%)"
            )
        return Cheapest(within)
    if within is not None:
        raise InvalidInputError(
            "within says which options are good enough for the cheapest of them (cheapest=True, "
            "--cheapest); to accept any option that close to the best, use epsilon"
        )
    if question is not None:
        return read(question)
    if quantile is not None:
        return BestQuantile(quantile)
    if not against:
        return Best() if top == 1 else Top(top)
    found = Against(baseline, threshold, claims)
    if top > 1:
        raise InvalidInputError(
            "top: ask either for the best ones or for a comparison with a baseline; leave one "
            "of them out"
        )
    return found


def candidate_of(problem: Any, baseline: Any) -> int:
    """The number of the candidate that is the baseline: given as that, or by its label."""
    labels = problem.candidate_labels
    if isinstance(baseline, str):
        if baseline not in labels:
            raise InvalidInputError(
                f"baseline: no option is called {baseline!r:.80}; there are "
                f"{listed(map(repr, labels), repr(baseline))}"
            )
        return list(labels).index(baseline)
    if not 0 <= baseline < len(labels):
        raise InvalidInputError(
            f"baseline: there are options 0 to {len(labels) - 1}, not {baseline}"
        )
    return int(baseline)


def place_of(problem: Any, baseline: Any) -> int:
    """Its place among those that differ."""
    first = problem.same_as[candidate_of(problem, baseline)]
    return int(np.searchsorted(problem.distinct, first))

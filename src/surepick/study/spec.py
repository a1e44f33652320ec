"""Everything that defines a study before it is stored: said once, checked once, here.

The library, the command line, the client and the service all make a :class:`StudySpec` and hand
it to :func:`surepick.study.manage.store`. One more thing that defines studies is one more field
here. The options of ``surepick new``, what the service takes, the page's form and the reference
come from the :class:`surepick.study.settings.Setting` that the field carries.

It is one file because all of this is said once and checked once.
"""

# ruff: noqa: RUF009 (a setting makes the field that carries it)

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar

from surepick.algorithms.base import Algorithm
from surepick.algorithms.limits.limit import parse_limits
from surepick.algorithms.questions import others, read
from surepick.algorithms.registry import DEFAULT, OF_PAIRS, get
from surepick.algorithms.wrappers.checked_fit import CheckedFit
from surepick.arrays.validate import SEEDS, positive, risk, whole
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.labels import look_alikes
from surepick.problem.noise import (
    NoiseKind,
    as_further,
    as_given,
    capped,
    noise_kind,
    read_numbers,
    usual,
)
from surepick.problem.problem import as_misfit, read_misfit
from surepick.problem.tables.past import PastTable
from surepick.run.codec import encode, loads
from surepick.run.identify import BEST, OF_PAIRS_TOO, compares, configure, of_pairs, unusual
from surepick.study.again import SETTING as AGAIN
from surepick.study.canaries import SETTING as CANARIES
from surepick.study.failed import SETTING as FAILED
from surepick.study.hedge import SETTING as HEDGE
from surepick.study.overlap import SETTING as OVERLAP
from surepick.study.past import as_past, measurements
from surepick.study.pulls import as_name
from surepick.study.segments import OF_SEGMENT, Segment
from surepick.study.segments import SETTING as SEGMENTS
from surepick.study.settings import Prepared, Setting, declares, find, from_outside, yes_or_no
from surepick.study.sheet import FEATURE_SETTINGS, OptionTable, Sheet
from surepick.study.shown import FILES_SETTING, SHOW_SETTING
from surepick.study.strata import SETTING as STRATA
from surepick.study.traffic import rules

_COMMON = ("delta", "epsilon", "max_samples", "budget")  # settings that all algorithms have
#: after so many pulls a study ends, unless it is told when: tied options would go on for ever
MOST_SAMPLES = 1_000_000
#: settings that say something of single measurements
_NOT_WITH_PAIRS = ("noise", "misfit", "check_fit", "strata", "past", "traffic", "again")
_NOT_WITH_PAIRS += ("minimise", "cap", "complete", "numbers", "keep")
_RESERVED = (".", "..")  # addresses that browsers and proxies rewrite

#: what can be said of the noise and of features, also of a problem
NOISE = (
    "What a measurement gives. 'yes-no': 0 or 1. Bounds: a number between them. 'symmetric': a "
    "reading that is as likely too high as too low by the same amount. 'equal': the same with "
    "normal noise, alike for all options. A number, or one per option: an upper bound on the "
    "standard deviation of its noise. 'any': anything else, such as a time, an amount of money, a "
    "count; the best option is then the one that usually wins a comparison of two measurements."
)
MISFIT = (
    "How far the mean of an option may lie from what its features predict, in units of the "
    "reward. 0: features are trusted. 'any': they only guide, and the guarantee depends on "
    "measurements alone."
)


def _named(name: Any) -> str:
    if as_name(name, "name") in _RESERVED:
        raise InvalidInputError(f"name: {name!r} cannot be part of an address")
    return name


def _below(value: Any, name: str, limit: int) -> int:
    number = whole(value, name, most=SEEDS)
    if number >= limit:
        raise InvalidInputError(f"{name} must be below 2**{limit.bit_length() - 1}; got {number}")
    return number


def as_numbers(given: Any) -> dict[str, Any]:
    """What further numbers are, as users give it, from what JSON may have, too."""
    if not isinstance(given, Mapping):
        as_further(given, 1)  # which says what is wrong
    meant = {name: tuple(one) if isinstance(one, list) else one for name, one in given.items()}
    return {name: as_further({name: as_given(one)}, 1)[name].given for name, one in meant.items()}


def problem_body(problem: Problem) -> dict[str, Any]:
    """A problem in plain lists."""
    body = {
        "arms": problem.arms.tolist(),
        "labels": list(problem.labels),
        "noise": problem.noise_kind.said,
    }
    body |= problem.written_more()
    if problem.transductive:
        body["candidates"] = problem.candidates.tolist()
        body["candidate_labels"] = list(problem.candidate_labels)
    return body


def problem_of(body: dict[str, Any]) -> Problem:
    """What :func:`problem_body` wrote."""
    return Problem(
        body.get("arms"),
        body.get("candidates"),
        as_given(body.get("noise")),
        body.get("labels"),
        read_misfit(body),
        body.get("costs"),
        candidate_labels=body.get("candidate_labels"),
        minimise=body.get("minimise", False),
        numbers=read_numbers(body, 1),
    )


def as_meta(meta: Any) -> dict[str, Any]:
    """What is kept with a study, or an error."""
    if not isinstance(meta, Mapping | None):
        raise InvalidTypeError(f"meta must be a dict; got {meta!r:.80}")
    try:
        return json.loads(json.dumps(dict(meta or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"meta must be what JSON can hold: {error}") from None


def kind_of(noise: Any) -> NoiseKind:
    """The kind that is meant; whether there is one scale per option shows with the table."""
    listed = isinstance(noise, list) or bool(getattr(noise, "shape", ()))
    return noise_kind(noise, len(noise) if listed else 1)


@declares
@dataclass(frozen=True, kw_only=True, eq=False)
class StudySpec:
    """What a study is to be.

    (settings)

    Examples
    --------
    >>> spec = StudySpec(name="layouts", problem=Problem([[1.0], [2.0]]), delta=0.1)
    >>> StudySpec.from_json(spec.to_json()).delta
    0.1
    """

    name: str = Setting(
        help="What the study is called in its database; it must not be taken.",
        schema={"type": "string", "minLength": 1, "maxLength": 200},
        default=MISSING,
        check=_named,
        flag=False,
    ).field()
    table: OptionTable | None = Setting(
        help="The options: a row of a table each.",
        schema={"$ref": "TableBody"},
        read=OptionTable.from_dict,
        write=OptionTable.to_dict,
        flag=False,
    ).field()
    problem: Problem | None = Setting(
        help="Instead of a table: what can be measured and chosen, as features.",
        schema={"$ref": "ProblemBody"},
        write=problem_body,
        flag=False,
    ).field()
    noise: Any = Setting(
        help=f"{NOISE} The default is 'any' where features are not trusted, and 'symmetric' where "
        "they are, and for traffic. A problem brings its own.",
        schema={
            "anyOf": [
                {"type": "number"},
                {"type": "string"},
                {"$ref": "Bounds"},
                {"type": "array", "items": {"type": "number"}},
            ]
        },
        write=lambda noise: kind_of(noise).said,
        flag=False,
    ).field()
    cap: float | None = Setting(
        help="Rewards above this number count as this number, and the best option is the one with "
        "the best mean of what is left. They are recorded as they are told. They must be at least "
        "0, or lie between the bounds of `noise`.",
        schema={"type": "number"},
        question="Cut numbers at",
        hint="For times, amounts of money and other numbers that are very large now and then, if "
        "the mean is what matters: larger ones count as this number. They must be at least 0, or "
        "lie between the bounds above. Empty: nothing is cut.",
        empty="nothing is cut",
        pairs=False,
    ).field()
    misfit: Any = Setting(
        help=f"{MISFIT} 'any' is the default of tables; a problem brings its own.",
        schema={"anyOf": [{"type": "number"}, {"type": "string"}]},
        write=lambda misfit: "any" if misfit == math.inf else misfit,
        flag=False,
    ).field()
    minimise: bool = Setting(
        help="Smaller is better: times, costs, errors. Rewards are told, and shown, as they are "
        "measured.",
        schema={"type": "boolean"},
        default=False,
        check=yes_or_no("minimise"),
        question="Which is better?",
        hint="Smaller, for times, costs or errors. All numbers are entered and shown as measured.",
        choices=((False, "Larger"), (True, "Smaller")),
        traffic=None,
        first=True,
        pairs=False,
    ).field()
    delta: float = Setting(
        help="Error probability, such as 0.05.",
        schema={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.5},
        default=0.05,
        unit="probability",
    ).field()
    epsilon: float = Setting(
        help="Accept any option this close to the best: in units of the reward, or, with numbers "
        "of any kind, the share of direct comparisons by which the best may be ahead of one half "
        "(0.05: it wins at most 55 %).",
        schema={"type": "number", "minimum": 0},
        default=0.0,
        unit="lead",
        question="Close enough ε",
        hint="Any option this close to the best is accepted: in units of a measurement, or, where "
        "the best is the option that usually wins, 0.05 for one that loses at most 55 % of direct "
        "comparisons. Without this, equal options can never be told apart.",
        traffic=None,
    ).field()
    top: int = Setting(
        help="How many of the best to find; with `pairs`, of those that win most (`borda`).",
        schema={"type": "integer", "minimum": 1},
        default=1,
        question="How many of the best",
        hint="With 3, for example, the study ends when it knows which three are the best, in any "
        "order; where they are judged two at a time, which three win most.",
        traffic=None,
    ).field()
    quantile: float | None = Setting(
        help="Find the option with the best quantile of its measurements: 0.5 for the best median, "
        "0.95 for the best 95th percentile. For numbers of any kind.",
        schema={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        unit="probability",
        question="Best quantile",
        hint="0.95, for example, looks for the option whose 95th percentile is the best, 0.5 for "
        "the best median. Empty: which option is the best in general.",
        empty="none",
        pairs=False,
    ).field()
    numbers: Mapping[str, Any] | None = Setting(
        help="Further numbers that a measurement gives beside its reward, by their names, and what "
        "each is, as for `noise`: {'latency': [0, 100], 'failed': 'yes-no'}.",
        schema={"type": "object"},
        check=as_numbers,
        write=lambda numbers: {name: kind_of(one).said for name, one in numbers.items()},
        flag=False,
    ).field()
    keep: Any = Setting(
        help="Limits that the answer has to keep, on further numbers (`numbers`): 'latency <= 50', "
        "'refunds <= control + 0.2%', 'p95 of latency <= 50'; with a tolerance: 'latency <= 50 ± "
        "2'. The study finds the best of those that keep all of them, and shows that it does; or "
        "with `baseline` or `threshold` all that are better and keep them.",
        schema={"type": "array", "items": {"type": "string"}},
        check=lambda keep: [str(one) for one in parse_limits(keep)],
        flag=False,
    ).field()
    cheapest: bool = Setting(
        help="Find the cheapest option of those that are good enough (`within`), by a column of "
        "costs.",
        schema={"type": "boolean"},
        default=False,
        check=yes_or_no("cheapest"),
        question="Which option is looked for?",
        hint="The cheapest, by the column of costs, of those that are as good as the best up to "
        "what you say next.",
        choices=((False, "The best"), (True, "The cheapest that is good enough")),
        pairs=False,
    ).field()
    within: float | None = Setting(
        help="With `cheapest`: how far below the best is good enough, in units of the reward; with "
        "numbers of any kind the share of direct comparisons by which another option may be ahead "
        "of one half.",
        schema={"type": "number", "exclusiveMinimum": 0},
        unit="lead",
        question="Good enough is within",
        hint="For the cheapest option that is good enough: so far below the best it may be.",
        empty="not asked",
        pairs=False,
    ).field()
    baseline: str | int | None = Setting(
        help="Which options are better, and which are worse, than this one (its label)? With "
        "`keep`: which are better and keep all limits?",
        schema={"type": "string"},
        question="Compare with",
        hint="The name of an option, such as the one you use today. The study then finds which "
        "others are better and which are worse; with limits, which are better and keep them all. "
        "Empty: it looks for the best.",
        empty="none",
        pairs=False,
        traffic=None,
    ).field()
    threshold: float | None = Setting(
        help="Compare with this number instead of an option.",
        schema={"type": "number"},
        unit="reward",
    ).field()
    claims: str = Setting(
        help="How sure such claims are. 'all': all of them are right with probability 1 - "
        "`delta`. 'fdr': on average at most a share `delta` of them is wrong, which takes fewer "
        "measurements.",
        schema={"type": "string", "enum": ["all", "fdr"]},
        default="all",
    ).field()
    max_samples: int | None = Setting(
        help="Stop after this many measurements.",
        schema={"type": "integer"},
        default=MOST_SAMPLES,
        question="Most measurements",
        hint="Stop after this many, without a guarantee. Empty: after a million.",
        empty="1,000,000",
    ).field()
    budget: float | None = Setting(
        help="Stop when measurements have cost this much; where options have no costs, each "
        "costs 1.",
        schema={"type": "number", "exclusiveMinimum": 0},
        question="Budget",
        hint="Stop when measurements have cost this much, without a guarantee. Without a column "
        "of costs, each costs 1.",
        empty="no limit",
    ).field()
    guess: bool = Setting(
        help="Spend all of `max_samples` or `budget` to make the best possible guess.",
        schema={"type": "boolean"},
        default=False,
        question="Spend everything",
        hint="Use the whole budget, or all the measurements allowed, for the best possible guess. "
        "The guess is proven only if the evidence is strong enough.",
        pairs=False,
    ).field()
    question: Any = Setting(
        help="What is asked, where no other setting asks it: a question of another package, by its "
        "name with its fields (name:field=value).",
        schema={"type": "string"},
        write=lambda question: read(question).text(),
        question="What is asked",
        hint="A question of a package that is installed: its name, with its fields as in "
        "name:field=value.",
        empty="which option is the best",
        shown=others,
        pairs=False,
    ).field()
    check_fit: float | None = Setting(
        help="Measure more, so that a misfit of the linear model of this size would probably be "
        "noticed; 1 is as large as the noise.",
        schema={"type": "number"},
    ).field()
    items: int | None = Setting(
        help="Number of items, such as test questions, to measure options on. Items are numbered "
        "from 0 and drawn at random, and options are compared on the same items.",
        schema={"type": "integer"},
    ).field()
    pairs: bool = Setting(
        help="Compare options two at a time: a measurement says which of two is better. The study "
        "finds the option that is preferred to every other one, and features only guide.",
        schema={"type": "boolean"},
        default=False,
        check=yes_or_no("pairs"),
        question="How are options judged?",
        hint="Two at a time: somebody, or a program, says which of two is better, or that neither "
        "is. No numbers are needed.",
        choices=((False, "Each on its own, by a number or yes or no"), (True, "Two at a time")),
        first=True,
    ).field()
    borda: bool = Setting(
        help="With `pairs`: find the option that wins most often against another one at random, "
        "instead of the one that beats every other.",
        schema={"type": "boolean"},
        default=False,
        check=yes_or_no("borda"),
        question="Which option is the best?",
        hint="One that beats every other is found with fewer comparisons, but need not exist. One "
        "that wins most always exists.",
        choices=((False, "The one that beats every other"), (True, "The one that wins most")),
        pairs=True,
    ).field()
    confirm: bool | None = Setting(
        help="With `pairs`: when one option is left, go on until it is shown that it beats every "
        "other one, or that none does. Otherwise the answer is only that no other one can be the "
        "best.",
        schema={"type": "boolean"},
        check=yes_or_no("confirm"),
        question="When one option is left",
        hint="The one left is the best if any option beats every other. Going on shows whether it "
        "does; without that the answer counts as not proven.",
        choices=(
            (None, "Go on until it is shown to beat every other"),
            (False, "Stop: it is the best if any option is"),
        ),
        empty="yes, unless it is asked which option wins most",
        pairs=True,
    ).field()
    show: Any = SHOW_SETTING.field()
    files: Any = FILES_SETTING.field()
    complete: int | None = Setting(
        help="Number of items, such as test questions, of a finite set: which option is the best "
        "on these items? Items are numbered from 0 and come in one random order, and no option is "
        "measured twice on an item.",
        schema={"type": "integer"},
        question="Test questions",
        hint="So many questions (or other items), each asked at most once: the answer is about "
        "exactly these.",
        empty="no set of questions",
        pairs=False,
    ).field()
    overlap: bool | None = OVERLAP.field()
    hedge: bool = HEDGE.field()
    again: bool = AGAIN.field()
    failed: str = FAILED.field()
    canaries: float = CANARIES.field()
    strata: str | None = STRATA.field()
    past: Any = Setting(
        help="Measurements made before: a table with the columns label (or arm, its number) and "
        "reward, and one for each further number that has a limit.",
        schema={"$ref": "SheetBody"},
        read=lambda saved: Sheet.from_dict(saved, "past"),
        write=Sheet.to_dict,
    ).field()
    past_chosen: str | None = Setting(
        help="How past measurements were chosen: 'in-advance', if what was measured did not "
        "depend on rewards (then they count as evidence), or 'by-results' (then they only guide "
        "what is measured first).",
        schema={"type": "string"},
    ).field()
    past_columns: Mapping[str, str] | None = Setting(
        help="The column names of label (or arm) and reward in the past measurements, if they "
        "differ.",
        schema={"type": "object", "additionalProperties": {"type": "string"}},
        flag=False,
    ).field()
    traffic: Any = Setting(
        help="For websites that split visitors by shares and report counts by period: true, or "
        "its rules: at_least (share of an option that is still in, such as '5%', or how long the "
        "test runs at least, such as '7d', or both in a list), control (a label) and "
        "control_share (what it always keeps), and window (time to respond, such as '7d').",
        schema={"anyOf": [{"$ref": "TrafficBody"}, {"type": "boolean"}]},
        apply=rules.allowed,
        write=rules.TrafficRules.to_dict,
        keep=rules.TrafficRules.to_dict,
        flag=False,
    ).field()
    segments: Any = SEGMENTS.field()
    segment: Any = OF_SEGMENT.field()
    algorithm: Algorithm | str = Setting(
        help="The registry name of an algorithm; in Python also a configured one, which brings "
        "its own settings.",
        schema={"type": "string"},
        default=DEFAULT,
        flag=False,
    ).field()
    settings: Mapping[str, Any] = Setting(
        help="Further settings of an algorithm that is given by name.",
        schema={"type": "object"},
        default={},
        read=lambda saved: loads(json.dumps(saved), "settings"),
        write=lambda settings: encode(dict(settings)),
        flag=False,
    ).field()
    seed: int | None = Setting(
        help="Seed of the order in which pulls are handed out, of algorithms that draw, and by "
        "which the first report of a website test is dealt. By default a new one is drawn, and "
        "kept with the study.",
        schema={"type": "integer", "minimum": 0, "exclusiveMaximum": 2**63},
        check=lambda seed: _below(seed, "seed", 2**63),
    ).field()
    meta: Mapping[str, Any] = Setting(
        help="Anything (as JSON) to be kept with the study.",
        schema={"type": "object"},
        default={},
        check=as_meta,
        flag=False,
    ).field()
    #: values of settings that packages from outside have registered, by their names
    added: Mapping[str, Any] = field(default_factory=dict)
    #: why the noise is what it is, where nothing was said; empty: because nothing has to be assumed
    because: ClassVar[str | None] = None

    @classmethod
    def of(cls, **given: Any) -> StudySpec:
        """From the values of all settings alike, also of those from outside."""
        added = from_outside(given)
        own = {name: value for name, value in given.items() if name not in added}
        return cls(**own, added=added) if added else cls(**own)

    def __post_init__(self) -> None:
        checked = {name: find(name).checked(value) for name, value in self.values.items()}
        self._set(added={name: checked.pop(name) for name in self.added})
        self._set(**checked)
        self._check_options()
        self._check_pairs()
        self._check_meta()
        self._check_noise()
        if self.traffic not in (None, False) and self.max_samples == MOST_SAMPLES:
            self._set(max_samples=None)  # nothing was said; a million visitors are few
        self._check_algorithm()
        if self.guess and self.max_samples == MOST_SAMPLES and self.budget is None:
            raise InvalidInputError(
                "guess: say how much you can spend, with max_samples (--max-samples) or budget"
            )
        self._check_misfit()
        self._check_traffic()
        self._take_usual_noise()
        past, chosen = as_past(self.past, self.past_chosen, self.past_columns, self._further)
        self._set(past=past, past_chosen=chosen, past_columns=None)
        if past is not None and self.keep is not None and self.traffic not in (None, False):
            raise InvalidInputError(
                "past: website tests whose versions have to keep limits cannot use past "
                "measurements for now; leave them out"
            )

    @property
    def values(self) -> dict[str, Any]:
        """Every setting by its name, those from outside last."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "added"}
        return own | dict(self.added)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_options(self) -> None:
        if self.problem is not None and not isinstance(self.problem, Problem):
            raise InvalidTypeError(f"problem must be a surepick.Problem; got {self.problem!r:.80}")
        if self.table is not None and not isinstance(self.table, OptionTable):
            raise InvalidTypeError(f"table must be an OptionTable; got {self.table!r:.80}")
        if (self.problem is None) == (self.table is None):
            raise InvalidInputError("give either a table or a problem")
        if self.problem is not None and not self.problem.backend.plain:
            # Any machine may go on with a study.
            self._set(problem=Problem.from_dict(self.problem.to_dict()))
        if self.problem is not None and self.numbers is not None:
            if self.problem.numbers:
                raise InvalidInputError(
                    "numbers: the problem already says what they are; leave them out here"
                )
            self._set(problem=self.problem.with_further(self.numbers), numbers=None)
        if self.problem is not None:  # either may say it
            self._set(minimise=self.minimise or self.problem.minimise)
            self._set(problem=self.problem.with_direction(self.minimise))

    def _check_pairs(self) -> None:
        """Options are compared two at a time where it is said, or the problem is of pairs."""
        made = self.problem is not None and self.problem.pairing is not None
        if made:
            self._set(pairs=True)
        if not self.pairs:
            for name in ("borda", "confirm"):
                if getattr(self, name) not in (None, False):
                    raise InvalidInputError(
                        f"{name}: only where options are compared two at a time; add pairs "
                        "(--pairs)"
                    )
            return
        if self.problem is not None and not made:
            raise InvalidInputError(
                "pairs: the problem is not one of pairs; make it with "
                "surepick.Problem.pairs(labels)"
            )
        for name in _NOT_WITH_PAIRS:
            value = getattr(self, name)
            if value not in (None, False):
                raise InvalidInputError(
                    f"{name}: not where options are compared two at a time (pairs), for now; leave "
                    "it out"
                )

    def _check_meta(self) -> None:
        """Settings are kept beside what people want to keep: one would be taken for the other."""
        for name in self.values:
            if name in self.meta and find(name).kept:
                raise InvalidInputError(
                    f"meta: the key {name!r} is reserved for the setting of that name; choose "
                    "another key"
                )

    def _check_traffic(self) -> None:
        self._set(traffic=rules.TrafficRules.of(self.traffic))
        if self.traffic is not None:
            if self.keep is not None:
                self._take_guardrails()
            given = (self.settings, self.check_fit, self.strata, self.guess)
            rules.check_method(str(self.algorithm), *given, self.configured.asked)

    def _take_guardrails(self) -> None:
        """Numbers that only limits name are counts of visits."""
        if self.problem is None:
            self._set(numbers=as_numbers(rules.guarded(self.keep, self.numbers or {})))
            return
        known = {name: kind.given for name, kind in self.problem.numbers.items()}
        self._set(problem=self.problem.with_further(rules.guarded(self.keep, known)))

    def _check_noise(self) -> None:
        if self.cap is not None:
            if self.problem is not None:
                raise InvalidInputError(
                    "cap: the problem already says what a measurement is, so leave it out here and "
                    "give it there (Problem(…, cap=…))"
                )
            capped(None, self.cap)  # or an error
        if self.noise is None:
            return
        if self.problem is not None:
            raise InvalidInputError(
                f"noise: the problem already has one, so leave it out here; got {self.noise!r:.80}"
            )
        self._set(noise=kind_of(as_given(self.noise)).given)
        capped(self.noise, self.cap)  # or an error

    def _take_usual_noise(self) -> None:
        """Where nothing was said; it is stored, so that a study stays what it was."""
        if self.noise is not None or self.problem is not None or self.pairs or self.cap is not None:
            return
        because = ""
        if self.traffic is not None:
            because = "a traffic study sees sums of rewards, which say nothing about who wins"
        elif self._trusting or (math.isfinite(self.misfit) and not self._featureless):
            because = "trusted features speak of means"
        self._set(noise=usual(trusted=bool(because)), because=because)

    @property
    def _trusting(self) -> bool:
        return self.configured.trusts_features or self.check_fit is not None

    def _check_misfit(self) -> None:
        """Whatever way it was given, it is a number from here on, or None with a problem."""
        if self.pairs:
            return  # features guide, and prove nothing
        if self.problem is not None:
            if self.misfit is not None:
                raise InvalidInputError(
                    "misfit: the problem already has one, so leave it out here; got "
                    f"{self.misfit!r}"
                )
            return
        given: Any = math.inf if self.misfit == "any" else self.misfit
        if given is None:
            # A check of the model is for those who trust it.
            given = 0.0 if self._trusting or self._featureless else math.inf
        misfit = as_misfit(given)
        self._set(misfit=misfit)
        if self._featureless and misfit:
            raise InvalidInputError(
                "misfit: there are no features that could be wrong; leave it out"
            )
        if misfit and self.configured.trusts_features:
            raise InvalidInputError(
                f"misfit: {self.algorithm} always trusts features; leave misfit out, or use "
                f"{DEFAULT}"
            )
        if math.isinf(misfit) and self.check_fit is not None:
            raise InvalidInputError(
                "check_fit: the features are not trusted here, so there is no model to check; "
                "leave check_fit out, or trust the features with misfit=0 (--trust-features)"
            )

    @property
    def _featureless(self) -> bool:
        return self.table is not None and self.table.featureless

    def _check_algorithm(self) -> None:
        """Whatever way it was given, the algorithm is a name and settings from here on."""
        given, settings = self.algorithm, dict(self.settings or {})
        if self.pairs:
            given, settings = self._paired(given, settings)
        if self.items is not None:  # a setting of the algorithm, from here on
            settings["items"] = whole(self.items, "items", least=1)
            self._set(items=None)
        if self.complete is not None:
            settings["complete"] = whole(self.complete, "complete", least=1)
            self._set(complete=None)
        if not isinstance(given, str) and self.max_samples == MOST_SAMPLES:
            self._set(max_samples=None)  # nothing was said: the algorithm brings its own
        common = {name: getattr(self, name) for name in _COMMON}
        asked: dict[str, Any] | None = {name: getattr(self, name) for name in BEST}
        if isinstance(given, str):
            if compares(given):  # others may have settings of the same names
                asked |= {name: settings.pop(name) for name in BEST if name in settings}
            if settings:
                given = get(given, **(common | settings | unusual(asked)))
                asked = None
        elif settings:
            raise InvalidInputError(
                "settings: the algorithm is configured already; leave settings out"
            )
        proper = configure(given, **common, question=asked)
        risk(proper.delta, "delta")
        own = proper.settings()
        self._set(**{name: getattr(proper, name) for name in _COMMON})
        said = set(_COMMON)
        if "baseline" in proper.questions:
            self._set(**{name: getattr(proper, name) for name in BEST})
            said |= BEST.keys()
        self._set(
            algorithm=proper.registered_name(),
            settings={name: value for name, value in own.items() if name not in said},
        )
        if self.max_samples is not None:
            _below(self.max_samples, "max_samples", 2**62)
        _ = self.configured

    def _paired(self, given: Any, settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """The algorithm that compares options two at a time, and its settings."""
        said = {"beats": "most"} if self.borda else {}
        said |= {} if self.confirm is None else {"confirm": self.confirm}
        asked = {name: getattr(self, name) for name in OF_PAIRS_TOO}
        said |= unusual(asked)
        if not isinstance(given, str):
            if said:
                name = {"beats": "borda"}.get(next(iter(said)), next(iter(said)))
                raise InvalidInputError(
                    f"{name}: the algorithm is configured already; set it there"
                )
            return given, settings
        of_pairs(given, {name: getattr(self, name) for name in BEST})
        for name in unusual(asked):  # a setting of the algorithm, from here on
            self._set(**{name: BEST[name]})
        return OF_PAIRS, settings | said

    @cached_property
    def configured(self) -> Algorithm:
        """The algorithm, with pulls that check the model where they are wanted."""
        common = {name: getattr(self, name) for name in _COMMON}
        asked = unusual({name: getattr(self, name) for name in BEST})
        algorithm = get(str(self.algorithm), **common, **asked, **self.settings)
        if self.check_fit is None:
            return algorithm
        positive(self.check_fit, "check_fit")
        given = {k: v for k, v in algorithm.settings().items() if k not in _COMMON}
        inner = algorithm.registered_name()
        return CheckedFit(inner=inner, options=given, size=self.check_fit, **common)

    # -- what becomes of it ----------------------------------------------------------------
    @cached_property
    def prepared(self) -> Prepared:
        """The problem, the algorithm, the past: tables are read and features made here."""
        made = self._begun()
        for name in self.kept:
            apply = find(name).apply
            made = made if apply is None else apply(self.values[name], made)
        if self.table is not None:
            made = replace(made, meta=made.meta | {"notes": list(made.notes)})
        return made

    @cached_property
    def each(self) -> tuple[StudySpec, ...]:
        """The studies of all segments, where each has an answer of its own; else none."""
        if not isinstance(self.segments, tuple):
            return ()
        whole = self.to_dict()
        del whole["segments"]
        parts = Segment.all_of(self.name, self.segments, self.delta)
        return tuple(
            StudySpec.from_dict(
                whole
                | {"name": one.studies[one.name], "delta": one.level, "segment": one.to_dict()}
            )
            for one in parts
        )

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What is kept in the meta of the study: settings that are not as they usually are."""
        kept = {name: find(name) for name in self.values if find(name).kept}
        values = {name: self.values[name] for name in kept}
        return {
            name: kept[name].as_kept(v) for name, v in values.items() if v != kept[name].default
        }

    def _begun(self) -> Prepared:
        """The study before its settings do what they do."""
        sends = self.traffic is not None
        if self.table is None:
            assert self.problem is not None
            past = self._past_of(self.problem)
            alike = look_alikes(self.problem.option_labels)
            notes = (*alike, *(() if past is None else past.notes))
            meta = {**self.meta, **self.kept}
            return Prepared(self.problem, self.configured, past, meta, (), notes, sends)
        misfit = 0.0 if self.pairs else self.misfit
        made = self.table.problem(capped(self.noise, self.cap), misfit, self.minimise)
        if self.numbers is not None:
            made = replace(made, problem=made.problem.with_further(self.numbers))
        if self.pairs:
            own = None if self._featureless else made.problem.arms
            costs = made.problem.costs
            made = replace(made, problem=Problem.pairs(made.problem.labels, own, costs))
        past = self._past_of(made.problem)
        alike = look_alikes(made.problem.option_labels)
        notes = (*made.notes, *alike, *(() if past is None else past.notes))
        meta = {
            **self.meta,
            "source": self.table.sheet.source,
            "columns": self.table.cells(made.problem.option_labels),
            "label_column": made.label,
            "how": self.table.how | ({"unstructured": True} if self.table.featureless else {}),
            **self.kept,
        }
        return Prepared(made.problem, self.configured, past, meta, made.columns, notes, sends)

    @property
    def _further(self) -> tuple[str, ...]:
        """Names of further numbers."""
        there = () if self.problem is None else self.problem.numbers
        return tuple({**dict.fromkeys(there), **dict.fromkeys(self.numbers or {})})

    def _past_of(self, problem: Problem) -> PastTable | None:
        if self.past is None:
            return None
        return measurements(problem, self.past, str(self.past_chosen))

    # -- as JSON -----------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values: the body of a request to the service."""
        given = {name: value for name, value in self.values.items() if value is not None}
        return {name: find(name).write(value) for name, value in given.items()}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> StudySpec:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise FormatError(f"a study must be described by an object; got {saved!r:.80}")
        own = {f.name for f in fields(cls)}
        unknown = saved.keys() - own - from_outside(saved).keys()
        if unknown:
            raise FormatError(f"a study has no {sorted(unknown)[0]!r}")
        if "name" not in saved:
            raise FormatError("name is missing: every study needs one")
        known = {name: find(name) for name in saved}
        given = {name: known[name].given(value) for name, value in saved.items()}
        if given.get("problem") is not None:
            body = dict(given["problem"])
            if "noise" not in body and given.get("noise") is not None:
                body["noise"] = given.pop("noise")
            given["problem"] = problem_of(body)
        given.setdefault("max_samples", None)  # as it is written where there is no limit
        return cls.of(**given)

    def to_json(self) -> str:
        """As JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> StudySpec:
        """What :meth:`to_json` wrote."""
        try:
            saved = json.loads(text)
        except ValueError as error:
            raise FormatError(f"a study cannot be read: {error}") from None
        return cls.from_dict(saved)


def described(
    name: str,
    problem: Problem | None,
    algorithm: Algorithm | str,
    table: Any,
    fields: dict[str, Any],
) -> StudySpec:
    """The spec of a study, from what ``create_study`` was given."""
    how = {key: fields.pop(key) for key in FEATURE_SETTINGS if key in fields}
    if how and (table is None or isinstance(table, OptionTable)):
        raise InvalidInputError(
            f"{', '.join(how)}: these settings describe a table, and no table was given; pass one "
            "as a file or a DataFrame (table=…)"
        )
    if table is not None and not isinstance(table, OptionTable):
        table = OptionTable.of(table, **how)
    return StudySpec.of(name=name, problem=problem, algorithm=algorithm, table=table, **fields)

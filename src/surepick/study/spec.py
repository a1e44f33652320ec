"""Everything that defines a study before it is stored: said once, checked once, here.

The library, the command line, the client and the service all make a :class:`StudySpec` and hand
it to :func:`surepick.study.manage.store`. One more thing that defines studies is one more field
here (with its check), one more option of ``surepick new`` and one more line in the service's
``NewStudy``.

It is one file because all of this is said once and checked once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from surepick.algorithms.base import Algorithm
from surepick.algorithms.registry import DEFAULT, get
from surepick.algorithms.wrappers.checked_fit import CheckedFit
from surepick.arrays.validate import positive, whole
from surepick.errors import FormatError, InvalidInputError, InvalidTypeError
from surepick.problem import Problem
from surepick.problem.contents import as_misfit
from surepick.problem.labels import look_alikes
from surepick.problem.noise import INSTEAD_OF_ESTIMATE, as_given
from surepick.problem.tables.past import PastTable
from surepick.run.codec import encode, loads
from surepick.run.identify import BEST, compares, configure, unusual
from surepick.study.again import again_noted, as_again
from surepick.study.hedge import as_hedge, hedge_noted
from surepick.study.options import OptionTable
from surepick.study.overlap import as_overlap, noted
from surepick.study.past import as_past, measurements
from surepick.study.pulls import as_name
from surepick.study.sheet import Sheet
from surepick.study.traffic import rules
from surepick.study.written import as_meta, kind_of, problem_body, problem_of

_COMMON = ("delta", "epsilon", "max_samples", "budget")  # settings that all algorithms have
#: after so many pulls a study ends, unless it is told when: tied options would go on for ever
MOST_SAMPLES = 1_000_000
_RESERVED = (".", "..")  # addresses that browsers and proxies rewrite


@dataclass(frozen=True)
class Prepared:
    """What a spec comes to: all that is stored, and what to say about it."""

    problem: Problem
    algorithm: Algorithm
    past: PastTable | None
    meta: dict[str, Any]
    columns: tuple[str, ...] = ()  #: names of the features that were made of a table
    notes: tuple[str, ...] = ()  #: what was dropped, merged or decided, as sentences
    traffic: bool = False  #: whether visitors are sent by shares, and reported


@dataclass(frozen=True, kw_only=True, eq=False)
class StudySpec:
    """What a study is to be.

    Parameters
    ----------
    name
        What the study is called in its database; it must not be taken.
    problem
        What can be measured and chosen.
    table
        Instead of a problem: an :class:`OptionTable`, whose rows are the options.
    algorithm
        A registry name, or a configured algorithm (which then brings its own settings).
    settings
        Further settings of an algorithm that is given by name.
    delta, epsilon, max_samples
        Error probability, acceptable distance to the best, and the most measurements (None: as many
        as it takes).
    budget
        The most that measurements may cost, where options have costs; else they cost 1 each.
    noise
        With a table: what is known about the noise of a measurement, as for
        :class:`surepick.Problem`; nothing, by default. As JSON, a pair of bounds is
        ``{"low": 0, "high": 10}``. A problem brings its own.
    misfit
        With a table: how far the mean reward of an option may lie from what its features say, as
        for :class:`surepick.Problem`. ``inf`` (``"any"`` as JSON), the default, where the algorithm
        can do so: features guide, and the guarantee rests on measurements alone. 0: features are
        trusted. A problem brings its own.
    baseline, threshold, control, top, guess
        What is asked, if it is not which option is the best: see :func:`surepick.identify`.
    check_fit
        Make extra measurements, so that a misfit of the linear model of this size (in units of
        the noise) would probably be noticed.
    strata
        What a level is common to, such as ``"day"``, ``"plate"`` or ``"operator"``: options are
        then compared within each. Days are stamped when a pull is handed out; others are named
        by whoever asks.
    items
        Measure options on items, such as test questions, of which there are so many: every pull
        says on which, and options are compared on the same ones.
    overlap
        Whether workers begin the next batch while the last measurements of the one before are
        still being made: True, False, or None (the default): wherever a worker of some name would
        otherwise have nothing to do. It takes more measurements and less time, and it rests on
        measurements that do not depend on each other.
    hedge
        Whether a worker of some name gets a pull that another one has had for long, where that one
        holds up others, or it would have to wait; the first reward counts. It rests on measurements
        that take as long whatever their reward is.
    again
        Whether a reading that is far from all before is set aside and measured again, and the
        second one counts: a rule for mistakes of measuring, see :mod:`surepick.study.again`.
    past
        Measurements made before: a CSV or Parquet file or a DataFrame with the columns label (or
        arm, its number) and reward, or what ``surepick.problem.tables.past_measurements`` returned.
    past_chosen
        ``"in advance"`` if what was measured did not depend on rewards: then they count as
        evidence. ``"by results"`` otherwise: they only guide what is measured first.
    past_columns
        Where its columns are called otherwise: ``{"label": "tea", "reward": "score"}``.
    traffic
        For sites that send visitors by shares and report them by period: True, or a dict of
        ``at_least`` (share of options still in), ``control`` (a label) and ``control_share`` (what
        it always keeps), and ``window`` (time to respond, such as ``"7d"``).
    seed
        Of the order in which pulls are handed out, and of algorithms that draw. By default that
        order is drawn afresh for every study, and kept with it.
    meta
        Anything (as JSON) to be kept with the study and found again as ``study.meta``.

    Examples
    --------
    >>> spec = StudySpec(name="layouts", problem=Problem([[1.0], [2.0]]), delta=0.1)
    >>> StudySpec.from_json(spec.to_json()).delta
    0.1
    """

    name: str
    problem: Problem | None = None
    table: OptionTable | None = None
    algorithm: Algorithm | str = DEFAULT
    settings: Mapping[str, Any] = field(default_factory=dict)
    delta: float = 0.05
    epsilon: float = 0.0
    max_samples: int | None = MOST_SAMPLES
    budget: float | None = None
    noise: Any = None
    misfit: Any = None
    baseline: str | int | None = None
    threshold: float | None = None
    control: str = "all"
    top: int = 1
    guess: bool = False
    check_fit: float | None = None
    strata: str | None = None
    items: int | None = None
    overlap: bool | None = None
    hedge: bool = False
    again: bool = False
    past: Any = None
    past_chosen: str | None = None
    past_columns: Mapping[str, str] | None = None
    traffic: Any = None
    seed: int | None = None
    meta: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        as_name(self.name, "name")
        if self.name in _RESERVED:
            raise InvalidInputError(f"name: {self.name!r} cannot be part of an address")
        self._check_options()
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
        past, chosen = as_past(self.past, self.past_chosen, self.past_columns)
        self._set(past=past, past_chosen=chosen, past_columns=None)
        self._set(meta=as_meta(self.meta))
        if self.seed is not None:
            self._set(seed=_below(self.seed, "seed", 2**63))
        self._set(overlap=as_overlap(self.overlap), hedge=as_hedge(self.hedge))
        self._set(again=as_again(self.again))
        if self.strata is not None:
            as_name(self.strata, "strata")

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

    def _check_traffic(self) -> None:
        self._set(traffic=rules.TrafficRules.of(self.traffic))
        if self.traffic is not None:
            asked = {"top": self.top > 1, "guess": self.guess}
            given = (self.settings, self.check_fit, self.strata, self.meta, asked)
            rules.check_method(str(self.algorithm), *given)

    def _check_noise(self) -> None:
        if self.noise is None:
            return
        if self.problem is not None:
            if isinstance(self.noise, str) and self.noise == "estimate":
                raise InvalidInputError(INSTEAD_OF_ESTIMATE)
            raise InvalidInputError(
                f"noise: the problem already has one, so leave it out here; got {self.noise!r:.80}"
            )
        self._set(noise=kind_of(as_given(self.noise)).given)

    def _check_misfit(self) -> None:
        """Whatever way it was given, it is a number from here on, or None with a problem."""
        if self.problem is not None:
            if self.misfit is not None:
                raise InvalidInputError(
                    "misfit: the problem already has one, so leave it out here; got "
                    f"{self.misfit!r}"
                )
            return
        trusting = self.configured.trusts_features or self.check_fit is not None
        given: Any = math.inf if self.misfit == "any" else self.misfit
        if given is None:
            # A check of the model is for those who trust it.
            given = 0.0 if trusting or self._featureless else math.inf
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
        if self.items is not None:  # a setting of the algorithm, from here on
            settings["items"] = whole(self.items, "items", least=1)
            self._set(items=None)
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
        if self.table is None:
            assert self.problem is not None
            past = self._past_of(self.problem)
            notes = (*look_alikes(self.problem.labels), *(() if past is None else past.notes))
            meta = dict(self.meta or {}) | self._notes_of(self.problem)
            meta, sends = rules.noted(self.traffic, self.problem, meta), self.traffic is not None
            return Prepared(self.problem, self.configured, past, meta, (), notes, sends)
        made = self.table.problem(self.noise, self.misfit)
        past = self._past_of(made.problem)
        alike = look_alikes(made.problem.labels)
        notes = (*made.notes, *alike, *(() if past is None else past.notes))
        meta = {
            **(self.meta or {}),
            "source": self.table.sheet.source,
            "notes": list(notes),
            "columns": self.table.cells(made.problem.labels),
            "label_column": made.label,
            "how": self.table.how | ({"unstructured": True} if self.table.featureless else {}),
            **self._notes_of(made.problem),
        }
        meta, sends = rules.noted(self.traffic, made.problem, meta), self.traffic is not None
        return Prepared(made.problem, self.configured, past, meta, made.columns, notes, sends)

    def _notes_of(self, problem: Problem) -> dict[str, Any]:
        """What a study notes of how it is measured."""
        overlapping = noted(self.overlap, self.configured, self.traffic is not None)
        twice = hedge_noted(self.hedge, self.strata, self.traffic is not None)
        set_aside = again_noted(self.again, problem, self.hedge, self.traffic is not None)
        return self._strata_of(problem) | overlapping | twice | set_aside

    def _strata_of(self, problem: Problem) -> dict[str, str]:
        if self.strata is None:
            return {}
        if not self.configured.takes_strata(problem):
            raise InvalidInputError(
                f"strata: {self.configured.registered_name()} cannot compare these options within "
                f"a {self.strata}; use {DEFAULT} without check_fit, and features with an intercept "
                f"or with misfit=inf"
            )
        return {"strata": self.strata}

    def _past_of(self, problem: Problem) -> PastTable | None:
        if self.past is None:
            return None
        return measurements(problem, self.past, str(self.past_chosen))

    # -- as JSON -----------------------------------------------------------------------------
    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values: the body of a request to the service."""
        written: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        written["settings"] = encode(dict(self.settings))
        written["noise"] = kind_of(self.noise).written
        if self.misfit == math.inf:
            written["misfit"] = "any"
        if self.problem is not None:
            written["problem"] = problem_body(self.problem)
        if self.table is not None:
            written["table"] = self.table.to_dict()
        if isinstance(self.past, Sheet):
            written["past"] = self.past.to_dict()
        if self.traffic is not None:
            written["traffic"] = self.traffic.to_dict()
        return {key: value for key, value in written.items() if value is not None}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> StudySpec:
        """What :meth:`to_dict` made."""
        if not isinstance(saved, Mapping):
            raise FormatError(f"a study must be described by an object; got {saved!r:.80}")
        given = dict(saved)
        unknown = given.keys() - {f.name for f in fields(cls)}
        if unknown:
            raise FormatError(f"a study has no {sorted(unknown)[0]!r}")
        if "name" not in given:
            raise FormatError("name is missing: every study needs one")
        if given.get("table") is not None:
            given["table"] = OptionTable.from_dict(given["table"])
        if given.get("problem") is not None:
            body = dict(given["problem"])
            if "noise" not in body and given.get("noise") is not None:
                body["noise"] = given.pop("noise")
            given["problem"] = problem_of(body)
        if given.get("past") is not None:
            given["past"] = Sheet.from_dict(given["past"], "past")
        given.setdefault("max_samples", None)  # as it is written where there is no limit
        given["settings"] = loads(json.dumps(given.get("settings") or {}), "settings")
        return cls(**given)

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


def _below(value: Any, name: str, limit: int) -> int:
    number = whole(value, name)
    if number >= limit:
        raise InvalidInputError(f"{name} must be below 2**{limit.bit_length() - 1}; got {number}")
    return number

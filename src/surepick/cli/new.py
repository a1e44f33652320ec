"""``surepick new``: a study from a table of options."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from surepick.algorithms.registry import DEFAULT
from surepick.cli.numbers import Rewards, in_rates
from surepick.cli.options import (
    FEATURES,
    FORMULA,
    LABEL,
    UNSTRUCTURED,
    argument,
    from_signature,
    option,
)
from surepick.cli.setting_options import in_numbers, setting_options
from surepick.cli.studies import ends_at, local_study_options, say, shown
from surepick.cli.trust import MISFIT_HELP, Misfit, described, trust, trusted
from surepick.errors import InvalidInputError
from surepick.problem.noise import REWARD
from surepick.text import plural, typed

if TYPE_CHECKING:
    from surepick.problem import Problem
    from surepick.study import SegmentStudies, Study, StudySpec

REWARDS_HELP = (
    "What a measurement gives. yes-no: 1 for yes, 0 for no. LO..HI: a number between two bounds, "
    "such as 0..10 or -1..1. symmetric: a reading that scatters evenly, as likely too high as too "
    "low by the same amount: a weight, a voltage. any: anything else, such as a time, an amount of "
    "money, a count; the best option is then the one that usually wins.  [default: any; symmetric "
    "where features are trusted, and with --traffic]"
)
NOISE_HELP = (
    "Instead, for readings of known or equal scatter. equal: noise is normal and the same for all "
    "options, which saves measurements. A number: how much measurements of the same option vary "
    "(their standard deviation); too small a number voids the guarantee. Several, with commas: one "
    "for each option."
)


_LARGE = 0.05  # of rates: an epsilon that some take for per cent


class _Rewards(Rewards):
    """What a measurement gives, as noise of a study says it."""

    def convert(self, value: Any, param: Any, ctx: Any) -> str | tuple[float, float]:
        from surepick.problem.noise import read_rewards

        return read_rewards(value) if isinstance(value, str) else value


class _Noise(click.ParamType):
    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The words that there are, for a help."""
        from surepick.problem.noise import words

        return "|".join([*words(), "NUMBER"])

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str | list[float]:
        if not isinstance(value, str):
            return value
        try:
            numbers = [float(one) for one in value.split(",")]
        except ValueError:
            from surepick.problem.noise import words

            if value in words():
                return value
            known = ", ".join(map(repr, words()))
            self.fail(f"{value!r} is neither {known} nor a number", param, ctx)
        return numbers if "," in value else numbers[0]


@click.command("new", short_help="Start a study: which of the options in a table is best?")
@local_study_options
@from_signature
@setting_options
def command(
    name: str,
    storage: str,
    as_json: bool,
    options: Path = argument(),
    features: str | None = FEATURES,
    formula: str | None = FORMULA,
    unstructured: bool = UNSTRUCTURED,
    label: str | None = LABEL,
    cost: str | None = option(
        None,
        "Column with the cost of measuring each option; the study then spends as little as "
        "possible.",
    ),
    algorithm: str = option(
        DEFAULT, f"Registry name, perhaps with settings: {DEFAULT}:max_batch=96."
    ),
    rewards: str | tuple[float, float] | None = option(None, REWARDS_HELP, _Rewards()),
    noise: float | str | list[float] | None = option(None, NOISE_HELP, _Noise()),
    misfit: float | None = option(None, MISFIT_HELP, Misfit()),
    trust_features: bool = option(
        False, "Take rewards to be exactly linear in the features: --misfit 0."
    ),
    numbers: tuple[str, ...] = option(
        (),
        "A further number of a measurement, and what it is: latency=0..100, failed=yes-no, "
        "time=any; may be repeated.",
        flag="--number",
    ),
    keep: tuple[str, ...] = option(
        (),
        "A limit that the answer has to keep, such as 'latency <= 50', 'refunds <= control + "
        "0.2%' or 'p95 of time <= 2'; with a tolerance: 'latency <= 50 ± 2'. May be repeated.",
    ),
    past_label: str | None = option(None, "Column of options in --past, if not label."),
    past_reward: str | None = option(None, "Column of rewards in --past, if not reward."),
    traffic: bool = option(
        False, "For websites: visitors are split by shares (split) and reported by period (record)."
    ),
    at_least: tuple[str, ...] = option(
        (),
        "With --traffic: how long the test runs at least, such as 7d (a full week is a good "
        "choice), or the smallest share of an option still in, such as 5%; may be repeated.",
    ),
    control: str | None = option(None, "With --traffic: the option that always keeps a share."),
    control_share: str | None = option(None, "The share it keeps, such as 20%."),
    window: str | None = option(
        None, "With --traffic: how long visitors may respond once their period is over, such as 7d."
    ),
    **fields: Any,
) -> None:
    """Start the study NAME: which of the OPTIONS in a table (CSV or Parquet) is best?

    Every row is an option, every column a feature of it; --features chooses columns. Columns of
    text are categories; C(size) makes a category of a column of numbers.

    Nothing is assumed about measurements unless you say what they are (--rewards, --noise): the
    best option is the one that usually wins, one measurement against another. If a measurement
    says yes or no, lies between two bounds, or is a reading that scatters evenly, say so: the best
    is then the one with the largest mean, and yes or no takes far fewer measurements.

    Features guide what is measured, but the guarantee rests on measurements alone: every option
    is measured itself. If you know that rewards are linear in the features, as
    in a model that was checked before, --trust-features needs far fewer measurements; if they
    are right to within 0.1, say, --misfit 0.1.

    Measurements made before (--past) count as evidence if what was measured, and how often, was
    decided without looking at rewards: --past-chosen in-advance. If somebody went on measuring what
    looked good, averages are biased; with by-results they only guide what is measured first,
    which is safe however wrong they are.

    With --traffic nobody measures one option at a time: surepick split says by which shares to
    send the visitors of a period, and surepick record takes what came of it.
    """
    from surepick.problem.noise import usual
    from surepick.study import OptionTable, SegmentStudies, StudySpec, store
    from surepick.study.manage import store_each
    from surepick.study.settings import find, known
    from surepick.text import parse

    if noise is not None and rewards not in (None, usual(trusted=True)):
        raise InvalidInputError(
            "noise: not needed for rewards that are yes or no or lie between bounds; leave it out"
        )
    given = rewards if noise is None else noise
    misfit = trusted(in_rates(misfit, "misfit", given), trust_features)
    asked = {"at_least": [*at_least] or None, "control": control, "control_share": control_share}
    asked = {k: v for k, v in (asked | {"window": window}).items() if v is not None}
    if asked and not traffic:
        raise InvalidInputError(f"{next(iter(asked))}: only for website tests; add --traffic")
    named = {"label": past_label, "reward": past_reward}
    named = {name: column for name, column in named.items() if column is not None}
    method, settings = parse(algorithm, "algorithm")
    spec = StudySpec.of(
        name=name,
        table=OptionTable.of(
            options,
            features=features,
            formula=formula,
            label=label,
            unstructured=unstructured,
            cost=cost,
        ),
        algorithm=method,
        settings=settings,
        noise=given,
        misfit=misfit,
        numbers=dict(map(_further, numbers)) or None,
        keep=list(keep) or None,
        traffic=asked if traffic else None,
        past_columns=named or None,
        **in_numbers(fields, given or usual(traffic or misfit not in (None, math.inf))),
    )
    test = SegmentStudies(store_each(spec, storage)) if spec.each else None
    study = store(spec, storage) if test is None else next(iter(test.studies.values()))
    made = (spec if test is None else spec.each[0]).prepared
    problem = made.problem
    batch = study.status()["batch"]["size"]
    content = {
        "study": name,
        "storage": study.storage.url,
        "algorithm": study.algorithm.registered_name(),
        "rewards": problem.noise_kind.words,
        "noise": problem.noise_kind.said,
        "minimise": problem.minimise,
        "misfit": problem.written_misfit().get("misfit", 0.0),
        **{one.name: spec.kept.get(one.name, one.default) for one in known().values() if one.kept},
        "overlap": study.desk.overlap,  # not every algorithm can
        "options": problem.n_arms if problem.pairing is None else problem.n_candidates,
        "features": list(made.columns),
        "first_batch": batch,
        "max_samples": study.algorithm.max_samples,
        "budget": study.algorithm.budget,
        "notes": list(made.notes),
    }
    if traffic:
        notes = [f"Note: {shown(note)}" for note in made.notes]
        *lines, following = _traffic_lines(name, spec.delta, problem, test)
        lines += [*_understood(study, problem), *_taken(spec), *notes]
        lines += _meant(problem, spec.epsilon)
        say(as_json, content, "\n".join([*lines, following]))
        return
    quantile = study.algorithm.asked.quantile  # says itself what the best is
    best = problem.noise_kind.best if quantile is None else ""
    paired = problem.pairing is not None
    call = "command {first} {second}" if paired else "command {label}"
    if study.algorithm.measured_on() is not None:
        call += " {item}"
    lines = [
        f"Study {name!r}: {described(problem)}; "
        f"{study.algorithm.registered_name()}, delta {study.algorithm.delta:g}.",
        f"A measurement gives {problem.noise_kind.measurement}."
        + (" Smaller is better." if problem.minimise else "")
        + f" {best}".rstrip(),
        *(_taken(spec) if quantile is None else []),
        *(
            trust(problem, study.algorithm.delta, study.algorithm.sample_limit())
            if not keep
            else ()
        ),
        *(shown(words(value)) for one, value in spec.kept.items() if (words := find(one).words)),
        ends_at(study.algorithm),
        *(f"Note: {shown(note)}" for note in made.notes),
        *_meant(problem, spec.epsilon),
        *(
            [f"Asked: {shown(asked_for)}."]
            if (asked_for := study.algorithm.asked.asks(problem))
            else []
        ),
        *_numbers(study),
        f"The past measurements are enough. Next: {typed('answer', name)}"
        if study.finished
        else f"The first batch has {plural(batch, 'measurement')}. Next: "
        f"{typed('run', name, '--exec', call)}, or {typed('ask', name)}",
    ]
    say(as_json, content, "\n".join(lines))


def _numbers(study: Study) -> list[str]:
    """How further numbers that have a limit are told."""
    numbers = study.algorithm.asked.limited
    if not numbers:
        return []
    options = " ".join(f"--number {shlex.quote(name)}=…" for name in numbers)
    printed = ", ".join(f"{json.dumps(name)}: …" for name in (REWARD, *numbers))
    return [
        f"Each measurement also gives {shown(' and '.join(numbers))}: surepick tell takes "
        f"{shown(options)}, and a command of surepick run prints {{{shown(printed)}}}."
    ]


def _taken(spec: StudySpec) -> list[str]:
    """Why that is what a measurement gives, where nothing was said."""
    if spec.because is None:
        return []
    if not spec.because:
        return [
            "For the best mean, say what a measurement is: --rewards yes-no, LO..HI or symmetric, "
            "or --noise."
        ]
    return [
        f"This was taken because nothing was said, and {spec.because}. Times, amounts of money and "
        "counts do not scatter evenly: give bounds for them (--rewards LO..HI)."
    ]


def _meant(problem: Problem, epsilon: float) -> list[str]:
    """What epsilon is: a share of comparisons, or of rates, if it is large for one."""
    if problem.noise_kind.wins and epsilon:
        share = f"{100 * (0.5 + epsilon):.4g} %"
        return [
            f"Close enough: an option that the best one beats in at most {share} of direct "
            f"comparisons is accepted (epsilon {epsilon:g})."
        ]
    if problem.noise_kind.bounds != (0.0, 1.0) or epsilon < _LARGE:
        return []
    points = f"{100 * epsilon:g} percentage points"
    return [
        f"Is that what you meant? Any option within {points} of the best is accepted (epsilon "
        f"{epsilon:g}). For {epsilon:g} percentage points write --epsilon {epsilon:g}%."
    ]


def _further(text: str) -> tuple[str, Any]:
    from surepick.problem.noise import read_rewards

    name, equals, what = text.partition("=")
    if not equals or not name.strip() or not what.strip():
        raise InvalidInputError(
            f"number: write it as NAME=WHAT, such as latency=0..100 or failed=yes-no; got {text!r}"
        )
    meant = read_rewards(what.strip())
    return name.strip(), "symmetric" if meant is None else meant


def _understood(study: Study, problem: Problem) -> list[str]:
    from surepick.study.traffic.words import duration

    rules, asked = study.traffic.desk.rules, study.algorithm.asked
    rates, epsilon = problem.noise_kind.bounds == (0.0, 1.0), study.algorithm.epsilon
    points = f"{100 * epsilon:.6g} percentage points" if rates else f"{epsilon:g}"
    asks = asked.asks(problem)
    lines = [f"Asked: {shown(asks)}."] if asks else []
    for limit in getattr(asked, "limits", ()):
        if limit.than is None:
            lines.append(
                f"{limit.said_of(problem)} compares with a number, so it is not protected against "
                "drift: if the whole site changes, all options do. A margin to an option "
                f"({limit.number} "
                f"{'>=' if limit.at_least else '<='} control + 0.2%) is."
            )
    for name, kind in problem.numbers.items():
        if kind.successes:
            lines.append(f"{name} are counted like successes: so many of the visits.")
    if problem.minimise:
        lines.append("Smaller is better.")
    if epsilon:
        lines.append(f"Close enough: within {points} of the best (epsilon).")
    if rules.control is not None:
        share = f"{100 * study.traffic.desk.sharing.control_share:.4g} %"
        lines.append(f"{shown(rules.control)} is the control: it keeps {share} of the visitors.")
    if rules.at_least:
        lines.append(f"Every option that is still in gets {100 * rules.at_least:.4g} % at least.")
    if rules.lasts:
        lines.append(f"It takes {duration(rules.lasts)} at least.")
    else:
        lines.append(
            "It may end within days. If weekends differ, or people click what is new to them, let "
            "it take a week: --at-least 7d."
        )
    if rules.window:
        lines.append(
            f"Visitors have {duration(rules.window)} to respond; periods are recorded after that."
        )
    return lines


def _traffic_lines(
    name: str, delta: float, problem: Problem, test: SegmentStudies | None
) -> list[str]:
    """What a study of traffic asks of a site, said once."""
    from surepick.study.traffic.report import columns_of

    columns = f"A report has the columns {', '.join(columns_of(problem))}."
    return [
        f"Study {name!r}: {problem.n_arms} options, delta {delta:g}; rewards are {problem.words}.",
        "Assign each visitor at random by the shares of the period. Count every visitor once, in "
        "the period of assignment, with the same time to respond.",
        "End a period at a set time or after a set number of visitors, never because of how it "
        "looks. Leave out bots and broken records by rules that you fixed beforehand.",
        *([columns] if test is None else _each_segment(test)),
        f"Next: {typed('split', name)}",
    ]


def _each_segment(test: SegmentStudies) -> list[str]:
    """What a new test asks of a site beside what every study of traffic does."""
    names = ", ".join(shown(one.name) for one in test.studies.values())
    return [
        shown(test.promise),
        f"A report has the columns {', '.join(test.columns)}.",
        f"Single segments are studies of their own, for whatever is done to one alone: {names}.",
    ]

"""Website tests: what visitors, days and versions do, and what people do to reports."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from benchmarks.sentences.cells import Outcome, cell, of_answer, said_by

import surepick as sp
from surepick.errors import CertificateError, SurepickError
from surepick.run import verify_segments
from surepick.storage.memory import MemoryStorage
from surepick.study import SegmentStudies

PAIR = ["v0", "v1"]
VERSIONS = ["v0", "v1", "v2", "v3"]
EDGE = 0.0005  # by which the first is the best

Report = Callable[[Any, int], Mapping[str, Any]]


def rates_with_best(level: float, labels: Sequence[str] = VERSIONS) -> dict[str, float]:
    """All alike, but that the first is better by a hair."""
    return {label: level + EDGE * (i == 0) for i, label in enumerate(labels)}


def shop(
    rng: np.random.Generator,
    delta: float,
    labels: Sequence[str],
    *,
    noise: Any = "yes-no",
    rules: Any = True,
    **more: Any,
) -> Any:
    """A website test in memory."""
    problem = sp.Problem.unstructured(list(labels), noise=noise)
    seed = int(rng.integers(2**62))
    return sp.create_study(
        "shop", problem, storage=MemoryStorage(), delta=delta, seed=seed, traffic=rules, **more
    )


def days(study: Any, report: Report, most: int, first: int = 0) -> Any:
    """Day after day until it is decided, or up to so many."""
    for day in range(first, most):
        if study.finished:
            break
        split = study.split()
        study.record(report(split, day), f"day {day}")
    return study


def of_site(study: Any, best: Any) -> Outcome:
    """What a website test came to."""
    if not study.finished:
        return Outcome(None, why="undecided")
    return of_answer(study.answer, best)


def visitors(rng: np.random.Generator, split: Any, n: int, rates: Mapping[str, float]) -> Any:
    """A plain report: visits and successes of each."""
    counts = rng.multinomial(n, list(split.shares.values())).tolist()
    return {
        label: (c, int(rng.binomial(c, rates[label]))) for label, c in zip(split.shares, counts)
    }


# -- as it should be -----------------------------------------------------------------------------
@cell("as it should be, equals", "a site, yes or no")
def _equals(rng: np.random.Generator, delta: float) -> Outcome:
    rates = rates_with_best(0.1)
    study = shop(rng, delta, PAIR)
    return of_site(days(study, lambda split, day: visitors(rng, split, 3000, rates), 40), "v0")


# -- a day is cut after looking -------------------------------------------------------------------
@cell(
    "a bad day is cut to its first 100 visitors after looking", "a site, yes or no", breaks="whole"
)
def _cut(rng: np.random.Generator, delta: float) -> Outcome:
    """Whoever likes v1 cuts days on which it looks bad."""
    rates = {"v0": 0.105, "v1": 0.1}
    study = shop(rng, delta, [*rates])

    def report(split: Any, day: int) -> Any:
        shares = np.array(list(split.shares.values()))
        who = rng.choice(len(shares), size=1000, p=shares)
        yes = rng.random(1000) < np.array([rates[label] for label in split.shares])[who]

        def first(n: int) -> dict[str, tuple[int, int]]:
            return {
                label: (int((who[:n] == i).sum()), int((yes[:n] & (who[:n] == i)).sum()))
                for i, label in enumerate(split.shares)
            }

        found = first(1000)
        mean = {label: hits / max(n, 1) for label, (n, hits) in found.items()}
        return first(100) if mean.get("v1", 0.0) < mean.get("v0", 0.0) else found

    return of_site(days(study, report, 80), "v0")


# -- leads that change sign -----------------------------------------------------------------------
def _novel(shape: str) -> None:
    @cell("leads change sign (novelty)", f"a site, {shape}", breaks="leads")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """v1 is twice as good on its first days, and worse for ever after."""
        noise = {"revenue": (0, 10), "buckets": None, "yes or no": "yes-no"}[shape]
        labels = ["v0", "v1"]
        problem: Any = {} if noise is None else {"noise": noise}
        study = sp.create_study(
            "shop",
            sp.Problem.unstructured(labels, noise="symmetric", **{})
            if noise is None
            else sp.Problem.unstructured(labels, **problem),
            storage=MemoryStorage(),
            delta=delta,
            traffic=True,
            seed=int(rng.integers(2**62)),
        )

        def report(split: Any, day: int) -> Any:
            rates = {"v0": 0.1, "v1": 0.2 if day < 6 else 0.08}
            counts = rng.multinomial(4000, list(split.shares.values())).tolist()
            found: dict[str, Any] = {}
            for label, n in zip(split.shares, counts):
                if shape == "buckets":
                    parts = rng.multinomial(n, [1 / 16] * 16).tolist()
                    found[label] = {
                        b: (m, float(rng.binomial(m, rates[label]) + 0.1 * rng.normal()))
                        for b, m in enumerate(parts)
                    }
                    continue
                hits = int(rng.binomial(n, rates[label]))
                found[label] = (n, hits) if shape == "yes or no" else (n, 10.0 * hits, 100.0 * hits)
            return found

        return of_site(days(study, report, 30), "v0")


for _shape in ("yes or no", "revenue", "buckets"):
    _novel(_shape)


# -- when responses are counted -------------------------------------------------------------------
@cell(
    "a version comes later, and buyers are counted on their day",
    "a site, yes or no",
    breaks="their period",
    runs=100,
)
def _late(rng: np.random.Generator, delta: float) -> Outcome:
    """v2 comes on day 4 and is the best; people buy two days after their visit, on average.

    Whoever buys is counted on that day: of the versions that have been there for longer there are
    buyers of all the days before, of the new one of few.
    """
    study = shop(rng, delta, ["v0", "v1"])
    rates = {"v0": 0.1, "v1": 0.07, "v2": 0.105}
    sent: list[dict[str, int]] = []

    def report(split: Any, day: int) -> Any:
        counts = rng.multinomial(1500, list(split.shares.values())).tolist()
        sent.append(dict(zip(split.shares, counts)))
        found = {}
        for label, n in sent[-1].items():
            hits = 0
            for ago, then in enumerate(reversed(sent)):
                part = math.exp(-ago / 2.0) - math.exp(-(ago + 1) / 2.0)
                hits += int(rng.binomial(then.get(label, 0), rates[label] * part))
            found[label] = (n, min(n, hits))
        return found

    days(study, report, 2)
    if study.finished:
        return Outcome(None, why="decided at once")
    study.add(["v2"], reason="a new one")
    return of_site(days(study, report, 40, 2), "v2")


def _slow(shape: str) -> None:
    @cell("slow converters", f"a site, {shape}", breaks="booked")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """v1 convinces more people, but they take longer: within the day it looks worse."""
        noise: Any = "yes-no" if shape == "yes or no" else (0, 10)
        study = shop(rng, delta, ["v0", "v1"], noise=noise)

        def report(split: Any, day: int) -> Any:
            within = {"v0": 0.1, "v1": 0.12 * 0.6}  # of the buyers of v1 six in ten the same day
            counts = rng.multinomial(3000, list(split.shares.values())).tolist()
            hits = {
                label: int(rng.binomial(n, within[label])) for label, n in zip(split.shares, counts)
            }
            if shape == "yes or no":
                return {label: (n, hits[label]) for label, n in zip(split.shares, counts)}
            return {
                label: (n, 10.0 * hits[label], 100.0 * hits[label])
                for label, n in zip(split.shares, counts)
            }

        return of_site(days(study, report, 40), "v1")


for _shape in ("yes or no", "revenue"):
    _slow(_shape)


@cell("each segment's level moves", "a site, one answer for a mix", breaks="leads")
def _mix_moves(rng: np.random.Generator, delta: float) -> Outcome:
    """On phones v1 is better in the first week, on desks v0; later v0 is better on both."""
    study = shop(rng, delta, ["v0", "v1"], segments={"phone": 0.7, "desk": 0.3})

    def report(split: Any, day: int) -> Any:
        counts = rng.multinomial(4000, list(split.shares.values())).tolist()
        found: dict[str, Any] = {}
        for label, n in zip(split.shares, counts):
            phones = int(rng.binomial(n, 0.7))
            new = label == "v1"
            rate = {"phone": 0.2 if new and day < 6 else 0.1 - 0.02 * new, "desk": 0.1 - 0.02 * new}
            found[label] = {
                name: (m, int(rng.binomial(m, rate[name])))
                for name, m in (("phone", phones), ("desk", n - phones))
            }
        return found

    return of_site(days(study, report, 30), "v0")


# -- windows, real ones ---------------------------------------------------------------------------
@cell("windows, and reports that come late", "a site, --window, honest ties", chunk=10)
def _windows(rng: np.random.Generator, delta: float) -> Outcome:
    """Periods overlap: the next has its shares before the one before is reported."""
    study = shop(rng, delta, PAIR, rules={"window": "0.0001s"})
    rates = rates_with_best(0.1)
    splits = [study.split(period="day 0")]
    for day in range(40):
        ahead = int(rng.integers(1, 3))
        while len(splits) <= day + ahead:
            splits.append(study.split(period=f"day {len(splits)}"))
        time.sleep(0.0005)
        study.record(visitors(rng, splits[day], 3000, rates), f"day {day}")
        if study.finished:
            break
    return of_site(study, "v0")


@cell("at least so long", "a site, --at-least, honest ties", chunk=10)
def _at_least(rng: np.random.Generator, delta: float) -> Outcome:
    """Decided by every look, but not over before its time; versions keep a share."""
    study = shop(rng, delta, PAIR, rules={"at_least": ["0.05s", "5%"]})
    rates = rates_with_best(0.1)
    days(study, lambda split, day: visitors(rng, split, 3000, rates), 40)
    return of_site(study, "v0")


# -- guardrails that end at exact margins ---------------------------------------------------------
def _guarded(shape: str) -> None:
    @cell("the best lies exactly at its limit", f"a site, guardrail {shape}", chunk=10)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """v1 sells more, and refunds are those of the control and the margin, exactly."""
        margin = " ± 0.5%" if shape == "with a tolerance" else ""
        study = shop(
            rng,
            delta,
            ["v0", "v1"],
            rules={"control": "v0", "control_share": "30%"},
            keep=[f"refunds <= v0 + 2%{margin}"],
        )
        rates, refunds = {"v0": 0.1, "v1": 0.15}, {"v0": 0.05, "v1": 0.07}

        def report(split: Any, day: int) -> Any:
            counts = rng.multinomial(3000, list(split.shares.values())).tolist()
            return {
                label: (n, int(rng.binomial(n, rates[label])), int(rng.binomial(n, refunds[label])))
                for label, n in zip(split.shares, counts)
            }

        return of_site(days(study, report, 40), "v1")  # v1 keeps it, by nothing


for _shape in ("without a tolerance", "with a tolerance"):
    _guarded(_shape)


# -- honest tests, with versions added and retired ------------------------------------------------
def _living(keep: bool) -> None:
    door = "a site with a guardrail" if keep else "a site, yes or no"

    @cell("versions come and go at any time", f"{door}, its answer", chunk=10)
    def answers(rng: np.random.Generator, delta: float) -> Outcome:
        study, best, _ = _lived(rng, delta, keep)
        return of_site(study, best)

    @cell("versions come and go at any time", f"{door}, its certificate", certain=True, chunk=10)
    def verified(rng: np.random.Generator, delta: float) -> Outcome:
        """An honest certificate is refused."""
        study, _, _ = _lived(rng, delta, keep, apart=0.05)
        if not study.finished:
            return Outcome(None, why="undecided")
        answer = study.answer
        try:
            sp.verify(answer.certificate(), replay=True)
        except CertificateError as error:
            return Outcome(True, {"refused": str(error)})
        return Outcome(False, said_by(answer))

    @cell("versions come and go at any time", f"{door}, what shows again", certain=True, chunk=10)
    def confirmed(rng: np.random.Generator, delta: float) -> Outcome:
        """Confirmed, although a later report had visitors of the winner alone."""
        study, _, alone = _lived(rng, delta, keep, apart=0.05)
        if not study.finished or not study.answer.guarantee:
            return Outcome(None, why="undecided")
        return Outcome(alone, said_by(study.answer))


def _lived(
    rng: np.random.Generator, delta: float, keep: bool, apart: float = EDGE
) -> tuple[Any, str, bool]:
    """A test in which versions are added and retired; its best, and whether none was beside it."""
    rates = {"v0": 0.1, "v1": 0.1, "v2": 0.1 + apart}
    more: dict[str, Any] = {"keep": ["refunds <= v0 + 3%"]} if keep else {}
    rules: Any = {"control": "v0", "control_share": "20%"} if keep else True
    study = shop(rng, delta, [*rates], rules=rules, **more)
    best, added, alone = "v2", 0, False

    def report(split: Any, day: int) -> Any:
        found = visitors(rng, split, 3000, rates)
        if keep:
            return {x: (n, hits, int(rng.binomial(n, 0.05))) for x, (n, hits) in found.items()}
        return found

    for day in range(40):
        if study.finished and (added >= 2 or rng.random() < 0.5):
            break
        if added < 2 and (study.finished or rng.random() < 0.25):
            label = f"late {added}"
            added += 1
            rates[label] = rates[best] + apart * float(rng.choice([-1.0, 1.0]))
            study.add([label], reason="somebody had an idea")
            best = max(rates, key=lambda one: rates[one])
        elif rng.random() < 0.06 and len(rates) > 2:
            label = str(rng.choice([one for one in rates if one not in (best, "v0")]))
            study.retire(label, reason="nobody wants it")
            del rates[label]
            rates = dict(rates)
        if study.finished:
            break
        split = study.split()
        rest = {x: rates.get(x, 0.1) for x in split.shares}
        own = visitors(rng, split, 3000, rest)
        if keep:
            own = {x: (n, hits, int(rng.binomial(n, 0.05))) for x, (n, hits) in own.items()}
        study.record(own, f"day {day}")
        alone = sum(share > 0 for share in split.shares.values()) == 1
    return study, best, alone


for _keep in (False, True):
    _living(_keep)


# -- segments ----------------------------------------------------------------------------------
def by_segment(rng: np.random.Generator, delta: float, name: str = "shop") -> SegmentStudies:
    """A test with an answer for each segment."""
    problem = sp.Problem.unstructured(["v0", "v1"], noise="yes-no")
    seed = int(rng.integers(2**62))
    kept = MemoryStorage()
    return SegmentStudies.create(
        name, problem, kept, segments="phone, desk", delta=delta, seed=seed
    )


def segment_days(
    rng: np.random.Generator, test: SegmentStudies, rates: Any, most: int, first: int = 0
) -> None:
    """Day after day until all segments are decided."""
    for day in range(first, most):
        if test.finished:
            return
        split = test.split()
        report: dict[str, dict[str, Any]] = {}
        for segment, own in split.segments.items():
            if own.decided:
                continue
            counts = rng.multinomial(2000, list(own.shares.values())).tolist()
            for label, n in zip(own.shares, counts):
                hits = int(rng.binomial(n, rates[label]))
                report.setdefault(label, {})[segment] = (n, hits)
        test.record(report, f"day {day}")


@cell("parts of two tests are put together", "segments, their certificate", certain=True, runs=50)
def _together(rng: np.random.Generator, delta: float) -> Outcome:
    """Of two tests of the same name, from each the segment that came out as somebody likes."""
    bodies = []
    for _ in range(2):
        test = by_segment(rng, delta)
        segment_days(rng, test, {"v0": 0.1, "v1": 0.15}, 20)
        if not test.finished:
            return Outcome(None, why="undecided")
        bodies.append(test.answers.certificate())
    made = put_together(*bodies)
    try:
        found = verify_segments(made)
    except (CertificateError, SurepickError) as error:
        return Outcome(None, why=f"refused: {error}"[:60], certificate=made)
    return Outcome(True, {"verified": str(found)}, made)


def put_together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """A certificate with a segment of another test of the same name."""
    from surepick.run.certificate import fingerprint

    made = {key: value for key, value in one.items() if key != "digest"}
    made["segments"] = dict(one["segments"]) | {"desk": other["segments"]["desk"]}
    return made | {"digest": fingerprint(made)}


# -- tests that get stuck -----------------------------------------------------------------------
def _stuck(door: str, tried: Callable[[np.random.Generator, float], None]) -> None:
    @cell("nothing may get stuck", door, certain=True, runs=10, chunk=10)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        try:
            tried(rng, delta)
        except AssertionError as error:
            return Outcome(True, {"stuck": str(error) or "stuck"})
        except Exception as error:
            return Outcome(True, {"stuck": f"{type(error).__name__}: {error}"})
        return Outcome(False, {"well": "it went on"})


def _all_retired(rng: np.random.Generator, delta: float) -> None:
    study = shop(rng, delta, ["v0", "v1", "v2"])
    rates = {"v0": 0.1, "v1": 0.1, "v2": 0.1}
    study.record(visitors(rng, study.split(), 3000, rates), "day 0")
    for label in ("v1", "v2"):
        study.retire(label, reason="not wanted any more")
    for day in (1, 2, 3):
        if study.finished:
            break
        study.record(visitors(rng, study.split(), 3000, rates), f"day {day}")
    assert study.finished, "all rivals are retired, and the test does not end"
    study.status()


def _all_retired_in_a_segment(rng: np.random.Generator, delta: float) -> None:
    test = by_segment(rng, delta)
    rates = {"v0": 0.1, "v1": 0.1}
    segment_days(rng, test, rates, 1)
    test.studies["phone"].retire("v1", reason="not wanted on phones")
    segment_days(rng, test, {"v0": 0.1, "v1": 0.2}, 30, 1)
    assert test.finished, "one segment is stuck, and holds up the other"


def _named_periods(rng: np.random.Generator, delta: float) -> None:
    """A segment without visitors, and periods that were named when they were split."""
    test = by_segment(rng, delta)
    for day in range(3):
        test.split(period=f"day {day}")
        report: dict[str, dict[str, Any]] = {}
        for label in ("v0", "v1"):
            report[label] = {"phone": (1000, int(rng.binomial(1000, 0.1)))}
            report[label]["desk"] = (0, 0) if day == 0 else (500, int(rng.binomial(500, 0.1)))
        test.record(report, f"day {day}")


def _status_after_add(rng: np.random.Generator, delta: float) -> None:
    study = shop(
        rng,
        delta,
        ["v0", "v1"],
        rules={"control": "v0", "control_share": "20%"},
        keep=["refunds <= v0 + 2%"],
    )
    for day in range(2):
        own = visitors(rng, study.split(), 3000, {"v0": 0.1, "v1": 0.1})
        study.record({x: (n, h, int(rng.binomial(n, 0.05))) for x, (n, h) in own.items()}, f"{day}")
    study.add(["v2"], reason="one more")
    study.status()
    study.split()
    study.status()


_stuck("a site whose rivals are all retired", _all_retired)
_stuck("a segment whose rivals are all retired", _all_retired_in_a_segment)
_stuck("named periods and a segment without visitors", _named_periods)
_stuck("status after a version was added to a guarded site", _status_after_add)


@cell("nothing may get stuck", "SureSearchCV with sample_weight", certain=True, runs=1)
def _weights(rng: np.random.Generator, delta: float) -> Outcome:
    from sklearn.linear_model import LogisticRegression

    from surepick.integrations.sklearn import SureSearchCV

    X, y = rng.normal(size=(80, 2)), rng.integers(0, 2, 80)
    search = SureSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, max_fits=8, cv=4)
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(X, y, sample_weight=np.ones(80))
    except TypeError as error:
        return Outcome(True, {"stuck": str(error)})
    return Outcome(False, {"well": "fitted"})

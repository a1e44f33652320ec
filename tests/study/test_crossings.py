"""Every pair of features of a study: what is allowed works, what is not is refused in words.

Where two features that each work meet, neither's tests look. ``REFUSED`` names the pairs that a
study does not take, with a part of what it says: a pair that is newly allowed, or newly refused,
shows up here.
"""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from tests.study.crossing import BY_NAME, COSTS, FEATURES, LABELS, Course, check, crossed

import surepick as sp
from surepick.errors import CertificateError, SurepickError
from surepick.storage import open_storage
from surepick.storage.memory import MemoryStorage
from surepick.study import StudySpec, load_study, store
from surepick.study.chain import check_chain
from surepick.study.export import rows

_TURN = "options cannot be added or retired here: "
REFUSED = {  # and what it says first: which of the two it is about
    ("by arm", "items"): "items: ",
    ("any", "trusted"): "noise: .*features",
    ("any", "allowed"): "noise: .*features",
    ("any", "threshold"): "threshold: ",
    ("guide", "threshold"): "threshold: ",  # where features only guide, nothing is assumed
    ("equal", "items"): "items: ",
    ("yes-no", "again"): "again: ",
    ("bounded", "again"): "again: ",
    ("strata", "items"): "strata: ",
    ("strata", "threshold"): "strata: ",
    ("strata", "hedge"): "hedge: ",
    ("items", "threshold"): "threshold: ",
    ("items", "past"): "past: ",
    ("items", "add"): f"{_TURN}.*items",
    ("items", "retire"): f"{_TURN}.*items",
    ("items", "withdraw"): "only rewards of the open batch",
    ("baseline", "add"): f"{_TURN}.*baseline",
    ("baseline", "retire"): f"{_TURN}.*baseline",
    ("fdr", "overlap"): "overlap: .*fdr",
    ("fdr", "add"): f"{_TURN}.*baseline",
    ("fdr", "retire"): f"{_TURN}.*baseline",
    ("threshold", "add"): f"{_TURN}.*baseline",
    ("threshold", "retire"): f"{_TURN}.*baseline",
    ("top", "add"): f"{_TURN}.*2 best",
    ("top", "retire"): f"{_TURN}.*2 best",
    ("small batches", "overlap"): "overlap: .*max_batch",
    ("small batches", "withdraw"): "only rewards of the open batch",
    ("hedge", "again"): "again: .*hedge",
}
# Where three meet: limits that two others have to keep to, levels in other units, …
MORE = (
    ("costs", "few", "overlap"),
    ("costs", "budget", "overlap"),
    ("costs", "budget", "add"),
    ("costs", "budget", "overlap", "add", "retire"),
    ("by arm", "strata", "add"),
    ("by arm", "strata", "correct", "withdraw"),
    ("strata", "trusted", "add"),
    ("strata", "overlap", "add", "retire", "spill"),
    ("strata", "overlap", "correct", "withdraw"),
    ("costs", "overlap", "add", "withdraw"),
    ("overlap", "hedge", "add", "fail"),
    ("overlap", "pause", "retire", "correct"),
    ("trusted", "guess", "retire"),
)


# What an algorithm is told and no study looks at: two of these are tried by ``make validate``.
_INSIDE = ("noise", "features", "question", "epsilon", "batch", "limit", "budget", "past")


_ENDING = {"few", "budget", "stop"}  # with these a study ends sooner


def pairs():
    """All that a study could have both of."""
    for one, other in itertools.combinations(FEATURES, 2):
        if one.axis != other.axis:
            yield one.name, other.name


def inside(names):
    return {BY_NAME[name].axis for name in names} <= set(_INSIDE)


def pairs_in(names):
    """Pairs that a study with these features tries out.

    Not two that are met by a third one which ends it sooner.
    """
    ending = _ENDING & set(names)
    order = sorted(names, key=list(BY_NAME).index)
    return {pair for pair in itertools.combinations(order, 2) if ending <= set(pair)}


def fives():
    """Features by fives: every pair that is allowed, and looked at each time, is in one of them.

    Each study tries out as many pairs as can be that none before it does.
    """
    allowed = {pair for pair in pairs() if pair not in REFUSED}
    left = dict.fromkeys(pair for pair in pairs() if pair in allowed and not inside(pair))
    for names in MORE:
        left = {pair: None for pair in left if pair not in pairs_in(names)}
    while left:
        names = pair = next(iter(left))
        new = pairs_in(pair) & left.keys()
        while len(names) < 5:
            fits = [
                (*names, name)
                for name in BY_NAME
                if all((one, name) in allowed or (name, one) in allowed for one in names)
            ]
            more = max(fits, key=lambda some: len(pairs_in(some) & left.keys()), default=names)
            if pairs_in(more) & left.keys() <= new:
                break
            names, new = more, pairs_in(more) & left.keys()
        yield tuple(sorted(names, key=list(BY_NAME).index))
        for one in pairs_in(names) | {pair}:
            left.pop(one, None)


def crossings():
    """Pairs that are refused, and fives; each pair by itself where there is time."""
    for names in (*(p for p in pairs() if p in REFUSED), *fives()):
        later = len(names) == 2 and inside(names)
        yield names, pytest.mark.validation if later else ()
    for names in pairs():
        if names not in REFUSED:
            yield names, pytest.mark.validation


@pytest.mark.parametrize(
    "names", [pytest.param(names, id=" x ".join(names), marks=how) for names, how in crossings()]
)
def test_together(names):
    said = REFUSED.get(names)
    if said is None:
        check(crossed(names, MemoryStorage(), "crossed"))
        return
    with pytest.raises(SurepickError, match=said) as found:
        crossed(names, MemoryStorage(), "crossed")
    assert not isinstance(found.value, CertificateError)


@pytest.mark.parametrize("names", MORE, ids=" x ".join)
def test_more_than_two_together(names):
    check(crossed(names, MemoryStorage(), "crossed"))


@pytest.mark.some(6)
@pytest.mark.parametrize("budget", range(30, 62, 3))
def test_money_that_is_out_is_spent(budget):
    """Batches ahead of the open one are paid for by what is left when that is paid."""
    names = ("costs", "overlap")
    course = Course(names, MemoryStorage(), "paid", budget=float(budget)).run()
    cost = sum(COSTS[entry.label] for entry in course.book.values())
    assert cost <= budget
    assert course.study.rebuild().pulls.tolist() == course.study.current_run.pulls.tolist()


@pytest.fixture(scope="module")
def database(postgres):
    storage = open_storage(postgres.url())
    yield storage
    storage.close()


@pytest.mark.validation
@pytest.mark.parametrize(
    "name",
    [
        one.name
        for one in FEATURES
        if one.act or one.axis not in ("noise", "features", "question", "epsilon")
    ],
)
def test_with_a_database_that_has_a_short_way(database, name):
    """PostgreSQL takes the usual ask and tell in one step, which knows less than the others."""
    hand = 2 if name == "strata" else 1  # one at a time, options would hardly meet on a plate
    check(crossed((name,), database, name, hand))


# -- traffic -----------------------------------------------------------------------------------
TRAFFIC_REFUSED = {
    "any": "noise: ",
    "equal": "noise: ",
    "strata": "strata: ",
    "items": "algorithm: ",
    "costs": "costs: ",
    "trusted": "misfit: ",
    "allowed": "misfit: ",
    "guess": "guess: ",
    "small batches": "algorithm: ",
    "overlap": "overlap: ",
    "hedge": "hedge: ",
    "again": "again: ",
    "correct": "not single pulls",
    "withdraw": "measurement 0 has no reward",
    "fail": "measurement 0",
    "spill": "measurement 0 has no reward",
}
_ACTS = {
    "add": lambda study: study.add(sp.Problem([[0.0] * 4 + [1.0]], labels=["e"])),
    "retire": lambda study: study.retire("b", reason="sold out"),
    "correct": lambda study: study.correct(0, 1.0, reason="read again"),
    "withdraw": lambda study: study.withdraw(0, reason="spilt"),
    "spill": lambda study: study.withdraw(0, reason="spilt"),
    "fail": lambda study: study.fail(0),
    "pause": lambda study: (study.pause(), study.resume()),
    "more": lambda study: study.limit(max_samples=6000, reason="more"),
    "stop": lambda study: study.stop("enough"),
}


def sent(split, number):
    """So many visitors of each option, with responses by their rates."""
    counts = {label: 40 + 10 * k + number for k, label in enumerate(split.shares)}
    rates = {k: 2 + (LABELS.index(k) if k in LABELS else 0) for k in counts}  # one may join
    return {k: (n, n * rates[k] // 10) for k, n in counts.items() if split.shares[k]}


def by_kind(report, noise):
    """The same as this kind of rewards is reported: between bounds with the sum of squares."""
    if noise == (0.0, 10.0):
        return {label: (n, hits, hits) for label, (n, hits) in report.items()}
    return report


@pytest.mark.some(4)
@pytest.mark.parametrize("name", [one.name for one in FEATURES])
def test_traffic_with_each(name):
    """Visitors sent by shares, with each of the other features."""
    said = TRAFFIC_REFUSED.get(name)
    if said is None:
        _traffic(BY_NAME[name])
        return
    with pytest.raises(SurepickError, match=said):
        _traffic(BY_NAME[name])


def _traffic(feature):
    given = {"noise": "yes-no"} | feature.problem
    arms = np.eye(4) if "misfit" not in given else [[1.0, k, k * k] for k in range(4)]
    spec = {"delta": 0.1, "max_samples": 5000} | feature.spec
    past = dict.fromkeys(LABELS, 0)
    if feature.name == "past":
        spec["past"] = {"label": [*LABELS] * 2, "reward": [0.0] * 4 + [1.0] * 4}
        past = dict.fromkeys(LABELS, 2)
        spec["past"] = pytest.importorskip("pandas").DataFrame(spec["past"])
    problem = sp.Problem(arms, labels=LABELS, **given)
    study = store(StudySpec(name="site", problem=problem, traffic=True, **spec), MemoryStorage())
    reports = {}
    for number in range(4):
        if study.finished:
            break
        name, at = f"day {number}", load_study("site", study.storage)
        reports[name] = sent(at.split(period=name), number)
        assert at.record(by_kind(reports[name], given["noise"]), name).status == "accepted"
        if number == 1 and feature.act is not None:
            _ACTS[feature.name](study)
        if number == 2 and not study.finished:
            reports["day 0"]["a"] = (reports["day 0"]["a"][0], 5)
            study.correct_report("day 0", by_kind(reports["day 0"], given["noise"]), reason="bots")
    if not study.finished:
        study.stop("enough")
    _check_traffic(study, reports, past)


def _check_traffic(study, reports, past):
    status = load_study("site", study.storage).status()
    labels = status["labels"]
    visits = {k: sum(one.get(k, (0, 0))[0] for one in reports.values()) for k in labels}
    hits = {k: sum(one.get(k, (0, 0))[1] for one in reports.values()) for k in labels}
    again, kept = study.rebuild(), study.current_run
    assert again.to_json().replace(again.id, "") == kept.to_json().replace(kept.id, "")
    check_chain(study.storage, study.desk.record)
    assert status["pulls"] == [visits[k] for k in labels]
    for k, mean in zip(labels, status["means"]):
        earlier = past.get(k, 0)
        assert math.isclose(mean, (hits[k] + earlier / 2) / (visits[k] + earlier), rel_tol=1e-9)
    exported = rows(study)
    assert sum(row["visits"] for row in exported) == sum(visits.values())
    assert sum(row["sum"] for row in exported) == sum(hits.values())
    certificate = json.loads(json.dumps(study.answer.certificate()))
    assert sp.verify(certificate, replay=True).label == study.answer.label
    assert sum(sum(batch["counts"]) for batch in certificate["batches"]) == sum(visits.values())

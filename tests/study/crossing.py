"""Two features of a study at a time, and what must hold of every study whatever it has.

A feature is something that a study is created with, something that is done to it on the way, or
both. :func:`crossed` runs a small study with some of them; two workers, each with an object of
their own, one of whom hands in late. :func:`check` then works out again from the driver's own book
what the study says of itself. Nothing here calls what it checks.

Rewards are chosen so that what is right is plain: those of an option go up and down around its mean
in turn, so a plain mean, or least squares, is what an estimate must be. Levels of strata and of
items are large: one that does not cancel shows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

import surepick as sp
from surepick.errors import RunStateError
from surepick.study import StudySpec, load_study, store
from surepick.study.chain import check_chain

LABELS = ("a", "b", "c", "d")
NEW = "e"
MEANS = {"a": 2.0, "b": 3.0, "c": 4.0, "d": 4.5, "e": 5.0}
SCALES = {"a": 0.5, "b": 1.0, "c": 2.0, "d": 0.8, "e": 1.5}
COSTS = {"a": 1.0, "b": 2.5, "c": 4.0, "d": 1.5, "e": 3.0}
SIZES = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}
PLATES = ("north", "south", "west")
_MOST = 32  # measurements of a study, where nothing else is said
_MIDWAY = 17  # rewards, in the middle of a batch
_FAR = 1e6  # no reward that went well
_TURNS = 400  # a study that does not end by then is stuck


@dataclass(frozen=True)
class Feature:
    """One feature of studies."""

    name: str
    axis: str  #: of two features of the same axis a study has one at most
    spec: dict[str, Any] = field(default_factory=dict)  #: of the study
    problem: dict[str, Any] = field(default_factory=dict)  #: of the problem
    act: Callable[[Course], bool | None] | None = None  #: done on the way; False: not yet
    after: int = 0  #: so many rewards


# -- what is done on the way -------------------------------------------------------------------
def _add(course: Course) -> None:
    course.add(NEW)


def _retire(course: Course) -> None:
    course.study.retire("b", reason="sold out", by="boss")


def _correct(course: Course) -> None:
    for pull in course.some_told():
        old = course.book[pull].value
        new = 1.0 - old if "yes-no" in course.names else old + 0.25
        try:
            course.study.correct(pull, new, reason="read again")
        except RunStateError as error:
            # Small batches are pieces of a block: a correction that would have changed who is
            # measured in one of them cannot use what was.
            other = "would have asked for different measurements" in str(error)
            if not (other and "small batches" in course.names):
                raise
        else:
            course.book[pull].value = new


def _withdraw(course: Course) -> None:
    for pull in course.some_told():
        course.withdrawn += course.study.withdraw(pull, reason="spilt").counted
        course.forget(pull)


def _pause(course: Course) -> bool:
    """Nobody gets anything, whoever asks and however; what is out is still taken."""
    at = course.study.progress()
    if at.size + at.ahead - at.asked < 3 and len(course.book) < 20:
        return False  # nobody would get anything anyway
    others = ("cat", "dan")  # from now on it is known here where the next pull is
    out = [study.ask(1, who, stratum=course.plate) for study, who in zip(course.studies, others)]
    course.study.pause(reason="lunch")
    for study, worker in zip(course.studies, course.workers):
        for name in (f"another {worker}", worker):  # for one who holds nothing there is a short way
            for n in (1, 3):
                assert study.ask(n, name, stratum=course.plate) == [], "a study that is paused"
    for study, who, pulls in zip(course.studies, others, out):
        course.tell(study, who, pulls)
    course.tell_all()
    assert course.study.status()["paused"]
    course.study.resume()
    return True


def _fail(course: Course) -> None:
    """A worker gives back what it holds; it is measured by whoever comes next."""
    mine = [pull for pull in course.out[0] if pull.id not in course.book]  # nor told by another
    for pull in mine[:2]:
        assert course.studies[0].fail(pull.id, "broke", course.workers[0])
        course.out[0].remove(pull)
        course.failed.append(pull.arm)


def _limit(course: Course) -> None:
    course.study.limit(max_samples=course.limit + 9, reason="more money")
    course.limit += 9


def _stop(course: Course) -> None:
    course.study.stop(reason="enough")


def _spill(course: Course) -> bool:
    """A reward of a batch that is open is withdrawn: its pull is measured again.

    Where batches overlap, one of a batch that is ahead of the others.
    """
    pull, at = max(course.book), course.study.progress()
    if pull < at.first + at.size * ("overlap" in course.names):  # none was told yet
        return False
    assert not course.study.withdraw(pull, reason="spilt at once").counted
    course.forget(pull)
    course.spilt += 1
    return True


FEATURES = (
    Feature("by arm", "noise", problem={"noise": [SCALES[k] for k in LABELS]}),
    Feature("any", "noise", problem={"noise": "any"}),
    Feature("equal", "noise", problem={"noise": "equal"}),
    Feature("yes-no", "noise", problem={"noise": "yes-no"}),
    Feature("bounded", "noise", problem={"noise": (0.0, 10.0)}),
    Feature("strata", "strata", {"strata": "plate"}),
    Feature("items", "items", {"items": 12}),
    Feature("costs", "costs", problem={"costs": [COSTS[k] for k in LABELS]}),
    Feature("guide", "features", problem={"misfit": math.inf}),
    Feature("trusted", "features", problem={"misfit": 0.0}),
    Feature("allowed", "features", problem={"misfit": 0.5}),
    Feature("baseline", "question", {"baseline": "a"}),
    Feature("fdr", "question", {"baseline": "a", "claims": "fdr"}),
    Feature("threshold", "question", {"threshold": 3.2}),
    Feature("top", "question", {"top": 2}),
    Feature("guess", "question", {"guess": True}),
    Feature("epsilon", "epsilon", {"epsilon": 0.4}),
    Feature("small batches", "batch", {"settings": {"max_batch": 5}}),
    Feature("few", "limit", {"max_samples": 23}),
    Feature("budget", "budget", {"budget": 47.0}),
    Feature("overlap", "overlap", {"overlap": True}),
    Feature("hedge", "hedge", {"hedge": True}),
    Feature("again", "again", {"again": True}),
    Feature("past", "past", {"past_chosen": "in advance"}),
    Feature("add", "add", act=_add, after=13),
    Feature("retire", "retire", act=_retire, after=17),
    Feature("correct", "correct", act=_correct, after=21),
    Feature("withdraw", "withdraw", act=_withdraw, after=22),
    Feature("pause", "pause", act=_pause, after=7),
    Feature("fail", "fail", act=_fail, after=5),
    Feature("more", "more", act=_limit, after=15),
    Feature("stop", "stop", act=_stop, after=26),
    Feature("spill", "spill", act=_spill, after=1),
)
BY_NAME = {one.name: one for one in FEATURES}


@dataclass
class Entry:
    """A reward that counts."""

    arm: int
    label: str
    value: float
    stratum: str | None
    worker: str


class Course:
    """One study from its beginning to its end."""

    def __init__(self, names: tuple[str, ...], storage: Any, title: str, **more: Any) -> None:
        self.features = [BY_NAME[name] for name in names]
        self.names = set(names)
        self.problem = self._problem()
        spec: dict[str, Any] = {"delta": 0.1, "overlap": False, "max_samples": _MOST}
        for one in self.features:
            spec |= one.spec
        spec |= more
        self.limit = spec["max_samples"]
        self.budget = spec.get("budget")
        self.past = self._past() if "past" in names else []
        if self.past:
            spec["past"] = {
                "label": [LABELS[arm] for arm, _ in self.past],
                "reward": [value for _, value in self.past],
            }
            spec["past"] = _table(spec["past"])
        self.study = store(StudySpec(name=title, problem=self.problem, **spec), storage)
        self.studies = [self.study, load_study(title, self.study.storage)]
        self.workers = ("ann", "ben")
        self.book: dict[int, Entry] = {}
        self.out: list[list[Any]] = [[], []]
        self.failed: list[int] = []
        self._looked = False
        self.hand = 4  # pulls that are asked for at a time, most of the time
        self.aside = 0  # readings that were made again
        self.spilt = 0  # rewards that were measured again at once
        self.withdrawn = 0  # rewards that had been counted
        self.labels = list(LABELS)
        self.costs = COSTS if self.problem.costs is not None else None
        self.plate: str | None = None
        self._numbers: dict[str, Iterator[int]] = {}
        self._left = sorted((one for one in self.features if one.act), key=lambda one: one.after)
        self.done: list[str] = []

    # -- the study ---------------------------------------------------------------------------
    def _problem(self) -> sp.Problem:
        given: dict[str, Any] = {}
        for one in self.features:
            given |= one.problem
        rows = np.eye(len(LABELS))
        if "misfit" in given:
            rows = np.array([_row(label) for label in LABELS])
        return sp.Problem(rows, labels=LABELS, **given)

    def _past(self) -> list[tuple[int, float]]:
        values = (1.0, 0.0) if "yes-no" in {one.name for one in self.features} else (1.5, 2.5)
        return [(arm, value) for arm in range(len(LABELS)) for value in values]

    def add(self, label: str) -> None:
        """An option comes."""
        given: dict[str, Any] = {"noise": None}
        if "by arm" in self.names:
            given["noise"] = [SCALES[label]]
        if self.costs is not None:
            given["costs"] = [COSTS[label]]
        features = (
            [_row(label)]
            if "misfit" in str([one.problem for one in self.features])
            else [[0.0] * len(LABELS) + [1.0]]
        )
        new = sp.Problem(features, labels=[label], **given)
        self.study.add(new, reason="new", by="boss")
        self.labels.append(label)

    def some_told(self) -> list[int]:
        """A reward of a batch that is complete, where there is one, and the newest."""
        return sorted({min(self.book), max(self.book)})

    def forget(self, pull: int) -> None:
        """A reward that does not count any more; its pull may be handed out again."""
        del self.book[pull]

    # -- rewards -----------------------------------------------------------------------------
    def reward(self, pull: Any) -> float:
        """Around the mean of the option, up and down in turn; and what its stratum adds."""
        turn = next(self._numbers.setdefault(pull.label, count()))
        mean = MEANS[pull.label]
        level = PLATES.index(pull.stratum) if pull.stratum is not None else 0
        level += 0.5 * (pull.item % 3) if pull.item is not None else 0
        if "yes-no" in self.names:  # as often as its rate says, evenly
            rate = mean / 8 + level / 8
            return float(math.floor((turn + 1) * rate + 0.3) - math.floor(turn * rate + 0.3))
        size = 0.4 * (1 + turn % 3) * (1 if turn % 2 else -1)
        if "bounded" in self.names:
            return min(max(mean + level + size, 0.0), 10.0)
        slipped = "again" in self.names and (pull.label, turn) == ("c", 4)  # a decimal point
        large = 1.0 if {"items", "again"} <= self.names else 1000.0  # else all items are far off
        return mean + large * level + size + 2 * _FAR * slipped

    # -- the work ----------------------------------------------------------------------------
    def run(self) -> Course:
        """Until it has ended."""
        for turn in range(_TURNS):
            self._do_what_is_due()
            if self.studies[turn % 2].finished:
                break
            self._ask(turn)
            self._tell(1)
            if (turn + 1) % (12 // self.hand) == 0:  # the other one is slow
                self._tell(0)
        else:
            raise AssertionError("the study does not end")
        for one in self._left:  # it ended before: done to a study that has ended
            self._do(one)
        assert self.spilt or "spill" not in self.done
        for turn in range(_TURNS):  # which may go on then
            if self.study.finished:
                break
            self._ask(turn)
            self.tell_all()
        return self

    def _do_what_is_due(self) -> None:
        while self._left and len(self.book) >= self._left[0].after and self._do(self._left[0]):
            self._left.pop(0)
        if len(self.book) >= _MIDWAY and not self._looked and not self.study.finished:
            self._looked = True
            check_midway(self)

    def _do(self, one: Feature) -> bool:
        if self.study.finished and one.name in ("pause", "fail", "stop", "spill"):
            return True
        assert one.act is not None
        if one.act(self) is False:
            return False
        self.done.append(one.name)
        return True

    def _ask(self, turn: int) -> None:
        for k, (study, worker) in enumerate(zip(self.studies, self.workers)):
            self.plate = PLATES[(turn + k) % 3] if "strata" in self.names else None
            size = 1 if turn % 4 == 3 else self.hand
            given = study.ask(size, worker, stratum=self.plate)
            for pull in given:
                assert pull.label == self.labels[pull.arm]
                assert pull.id not in self.book, "a pull that was told is handed out again"
            self.out[k] = given if given else self.out[k]

    def _tell(self, k: int) -> None:
        pulls, self.out[k] = self.out[k], []
        self.tell(self.studies[k], self.workers[k], pulls)

    def tell(self, study: Any, worker: str, pulls: list[Any]) -> None:
        """What a worker measured; what counts is written into the book."""
        rewards = [(pull.id, self.reward(pull)) for pull in pulls]
        told = study.tell_many(rewards, worker)
        for pull, (_, value), one in zip(pulls, rewards, told):
            if one.status == "accepted":
                of = pull.stratum if pull.item is None else str(pull.item)
                assert pull.id not in self.book, "counted twice"
                self.book[pull.id] = Entry(pull.arm, pull.label, value, of, worker)
            elif one.status == "again":
                assert value > _FAR, one
                self.aside += 1
            else:
                assert one.status == "late", one
                assert "hedge" in self.names

    def tell_all(self) -> None:
        """All that is out."""
        for k in (0, 1):
            self._tell(k)


def _row(label: str) -> list[float]:
    return [1.0, SIZES[label], SIZES[label] ** 2 / 10]


def _table(columns: dict[str, list[Any]]) -> Any:
    import pandas as pd

    return pd.DataFrame(columns)


def crossed(names: tuple[str, ...], storage: Any, title: str, hand: int = 4) -> Course:
    """A study with these features, from its beginning to its end."""
    course = Course(names, storage, title)
    course.hand = hand
    return course.run()


# -- what must hold ----------------------------------------------------------------------------
def check(course: Course) -> None:
    """All that a study says of itself follows from what was asked and told."""
    study = course.study
    _check_log(course)
    again = load_study(study.name, study.storage)
    status, answer = again.status(), study.answer
    own = again.answer
    assert (own.labels, own.samples, own.guarantee) == (
        answer.labels,
        answer.samples,
        answer.guarantee,
    )
    assert study.checks().to_dict()["warnings"] == status["checks"]["warnings"]
    again.status = lambda: status  # it takes long, and is the same
    _check_counts(course, status, answer)
    _check_limits(course, status)
    _check_exports(course, again, status)
    _check_estimates(course, status)
    _check_certificate(course, answer)


def check_midway(course: Course) -> None:
    """What was told of batches that are not complete is shown, too."""
    status = course.studies[1].status()
    values: list[list[float]] = [[] for _ in status["labels"]]
    for entry in course.book.values():
        values[entry.arm].append(entry.value)
    for arm, value in course.past:
        values[arm].append(value)
    past = np.bincount([arm for arm, _ in course.past] or [0], minlength=len(values))
    past = past if course.past else 0 * past
    assert status["pulls"] == [len(own) - int(n) for own, n in zip(values, past)]
    assert status["samples"] == len(course.book)
    for mean, own in zip(status["means"], values):
        assert mean is None if not own else math.isclose(mean, np.mean(own), rel_tol=1e-9)
    if course.costs is not None:
        cost = sum(course.costs[entry.label] for entry in course.book.values())
        assert math.isclose(status["cost"], cost, rel_tol=1e-9)
        assert math.isclose(status["limits"]["spent"], cost, rel_tol=1e-9)
    if course.budget is not None:
        left = course.budget - status["limits"]["spent"]
        assert math.isclose(status["limits"]["left"], left, rel_tol=1e-9)


def _check_log(course: Course) -> None:
    """The log alone leads to the run that is kept, and the chain is whole."""
    study = course.study
    rebuilt, kept = study.rebuild(), study.current_run
    assert rebuilt.to_json().replace(rebuilt.id, "") == kept.to_json().replace(kept.id, "")
    check_chain(study.storage, study.desk.record)
    for one in course.studies:
        assert one.current_run.pulls.tolist() == kept.pulls.tolist()


def _counting(course: Course) -> dict[int, Entry]:
    """What counts at the end: where it ended, the batches that are open are left out."""
    if not course.study.finished:
        return course.book
    first = course.study.progress().first
    return {pull: entry for pull, entry in course.book.items() if pull < first}


def _by_arm(course: Course) -> list[list[float]]:
    values: list[list[float]] = [[] for _ in course.labels]
    for entry in _counting(course).values():
        values[entry.arm].append(entry.value)
    return values


def _check_counts(course: Course, status: dict[str, Any], answer: sp.Answer) -> None:
    """Every reward counts once: in the log, in the status, in the answer."""
    rewards, book = course.study.rewards(), course.book
    assert rewards.pulls.tolist() == sorted(book)
    assert rewards.arms.tolist() == [book[pull].arm for pull in sorted(book)]
    assert rewards.values.tolist() == [book[pull].value for pull in sorted(book)]
    strata = [book[pull].stratum for pull in sorted(book)]
    kept = [None] * len(book) if rewards.strata is None else rewards.strata.tolist()
    assert kept == strata
    values = _by_arm(course)
    assert status["labels"] == course.labels
    assert status["pulls"] == [len(one) for one in values]
    assert status["samples"] == sum(map(len, values))
    earlier: list[list[float]] = [[] for _ in values]
    for arm, value in course.past:
        earlier[arm].append(value)
    for mean, own, past in zip(status["means"], values, earlier):
        if own or past:
            assert math.isclose(mean, np.mean([*own, *past]), rel_tol=1e-9)
        else:
            assert mean is None
    if not course.study.current_run.skipped:
        assert answer.samples == status["samples"]
        assert answer.pulls.tolist() == status["pulls"]
    expected = [course.failed.count(arm) for arm in range(len(course.labels))]
    assert status["failures"] == expected
    assert len(course.study.events("again")) == course.aside
    assert status["retired"] == (["b"] if "retire" in course.done else [])


def _check_limits(course: Course, status: dict[str, Any]) -> None:
    """No limit is exceeded, whatever else was there to look after."""
    handed = course.study.progress()
    # what was withdrawn does not count, so as much may be measured instead
    assert handed.first + handed.asked - course.withdrawn <= course.limit
    if course.costs is None:
        assert status["cost"] is None
        cost = float(status["samples"])
    else:
        cost = sum(course.costs[entry.label] for entry in _counting(course).values())
        assert math.isclose(status["cost"], cost, rel_tol=1e-9)
        assert course.study.problem.costs is not None
        assert course.study.problem.costs.tolist() == [course.costs[k] for k in course.labels]
    assert status["limits"]["max_samples"] == course.limit
    if course.budget is not None:
        assert cost <= course.budget + 1e-9
        assert status["limits"]["budget"] == course.budget
    if "small batches" in course.names:
        sizes = _batch_sizes(course.study)
        assert max(sizes) <= 5
    if "by arm" in course.names:
        scales = course.study.problem.noise_kind.scales
        assert scales.tolist() == [SCALES[k] for k in course.labels]


def _batch_sizes(study: Any) -> list[int]:
    at = study.progress()
    found = [
        study.storage.read(lambda tx, n=n: tx.batch(study.desk.record.id, n))
        for n in range(at.batch)
    ]
    return [one.size for one in found]


def _check_exports(course: Course, study: Any, status: dict[str, Any]) -> None:
    """Files have every reward once, and say of options what the status says."""
    from surepick.study.export import content, rows

    book = course.book
    measured = json.loads(content(rows(study), "json"))
    assert [row["pull"] for row in measured] == sorted(book)
    for row in measured:
        entry = book[row["pull"]]
        assert (row["arm"], row["label"], row["reward"]) == (entry.arm, entry.label, entry.value)
        name = "item" if "items" in course.names else "stratum"
        assert row.get(name) == entry.stratum
        assert ("stratum" in row, "item" in row) == (
            "strata" in course.names,
            "items" in course.names,
        )
    options = json.loads(content(rows(study, "options"), "json"))
    assert [row["label"] for row in options] == course.labels
    assert [row["pulls"] for row in options] == status["pulls"]
    states = status["standing"]["columns"]["state"]
    for row, state in zip(options, states):
        assert row["estimate"] == status["estimates"][row["arm"]]
        if state in ("retired", "out"):
            assert not row["still_in"]
        elif state in ("in", "leads", "undecided"):
            assert row["still_in"] or state == "leads"
    changed = rows(study, "corrections")
    made = [name for name in ("correct", "withdraw") if name in course.done]
    assert len(made) <= len(changed) - course.spilt <= 2 * len(made)
    came = [(row["change"], row["label"]) for row in rows(study, "option-changes")]
    assert came == [("added", NEW)] * ("add" in course.done) + [("retired", "b")] * (
        "retire" in course.done
    )


def _check_estimates(course: Course, status: dict[str, Any]) -> None:
    """Estimates are what plain least squares on the same rewards says."""
    assert apart(course, status) <= _tolerance(course)


def apart(course: Course, status: dict[str, Any]) -> float:
    """How far estimates are from plain least squares, at most."""
    estimates = np.array(status["estimates"], dtype=float)
    entries = list(_counting(course).values())
    entries += [Entry(arm, LABELS[arm], value, None, "") for arm, value in course.past]
    arms = np.array([entry.arm for entry in entries])
    y = np.array([entry.value for entry in entries])
    strata = sorted({entry.stratum for entry in entries if entry.stratum is not None})
    if course.study.problem.noise_kind.kind == "any":  # shown are means of an option's own rewards
        strata = []
    levels = np.array([[entry.stratum == one for one in strata] for entry in entries], dtype=float)
    problem = course.study.problem
    rows = problem.arms if not problem.misfit else np.eye(problem.n_arms)
    x = np.hstack([rows[arms], levels]) if strata else rows[arms]
    scales = np.ones(len(arms))
    if "by arm" in course.names:
        scales = np.array([SCALES[course.labels[arm]] for arm in arms])
    theta = np.linalg.lstsq(x / scales[:, None], y / scales, rcond=1e-9)[0]
    own = rows @ theta[: rows.shape[1]]
    measured = np.unique(arms)
    free = bool(strata)
    found = (estimates - own)[measured]
    return float(np.abs(found - (found.mean() if free else 0.0)).max())


def _tolerance(course: Course) -> float:
    """How far estimates may be from plain least squares.

    Levels are followed block by block, and are large: one that does not cancel is far beyond this.
    Where features guide, estimates lean on them.
    """
    guided = "misfit" in str([one.problem for one in course.features])
    return 1.0 if guided or {"strata", "items", "past"} & course.names else 0.3


def _check_certificate(course: Course, answer: sp.Answer) -> None:
    """It verifies, and its replay is complete unless rewards were changed."""
    certificate = json.loads(json.dumps(answer.certificate()))
    found = sp.verify(certificate, replay=True)
    assert (found.candidate, found.label) == (answer.arm, answer.label)
    changed = bool({"correct", "withdraw"} & set(course.done))
    assert found.replayed or changed, found.replay
    total = sum(sum(batch["counts"]) for batch in certificate["batches"])
    assert total == answer.samples
    sums = np.zeros(len(course.labels))
    for batch in certificate["batches"]:
        np.add.at(sums, batch["arms"], batch["sums"])
    if not course.study.current_run.skipped:
        own = [sum(values) for values in _by_arm(course)]
        assert np.allclose(sums, own, rtol=1e-9, atol=1e-9)

"""Items that are met one after the other: decide, Inspect, compare, complete tables, battles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
from benchmarks.sentences.cells import Outcome, cell, of_answer, said_by

import surepick as sp
from surepick.errors import SurepickError
from surepick.integrations.comparing import compare
from surepick.integrations.evaluations import InspectRace, ScoreTable, decide
from surepick.integrations.judges import Battle, Battles
from surepick.integrations.judges import decide as decide_battles
from surepick.storage.memory import MemoryStorage

N = 300


@dataclass
class Asked:
    """What a door said when it was asked once, and which items it met."""

    option: str | None
    met: list[int]
    said: dict[str, str]
    certificate: Any = None
    kept: Any = None  #: what the door leaves behind for the next time
    why: str = ""
    lead: Any = field(default=None, repr=False)  #: what is said of new items


Scores = np.ndarray


def drawn(rng: np.random.Generator) -> int:
    """A seed where the library would draw one by itself: so that a run can be made again."""
    return int(rng.integers(2**62))


class Door:
    """A door for options on items; asked in the way that its own documentation shows."""

    name: str
    most = 120  # evaluations of round one
    pairs_only = False
    rewards: Any = "yes-no"
    needs = ""
    runs: int | None = None

    def ask(
        self,
        names: Sequence[str],
        scores: Scores,
        delta: float,
        most: int | None,
        kept: Any,
        rng: np.random.Generator,
    ) -> Asked:
        raise NotImplementedError


def _of_decision(found: Any, kept: Any) -> Asked:
    met = np.flatnonzero(~np.isnan(found.table.scores).all(axis=0)).tolist()
    if not found:
        return Asked(None, met, {}, kept=kept, why="undecided")
    said = said_by(found.answer, found)
    on = found.answer.on_items
    return Asked(found.option, met, said, found.answer.certificate(), kept, lead=on)


class Decide(Door):
    """``decide`` with a fresh table for each set of options, known scores carried over."""

    name = "decide"
    carry = True

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        items = [f"q{i}" for i in range(scores.shape[1])]
        known = np.full(scores.shape, np.nan)
        if kept is not None and self.carry:
            for i, name in enumerate(names):
                if name in kept.options:
                    known[i] = kept.scores[kept.options.index(name)]
        table = ScoreTable(names, items, known, rewards=self.rewards)
        row, column = {n: i for i, n in enumerate(names)}, {n: i for i, n in enumerate(items)}
        try:
            found = decide(
                table,
                lambda option, item: float(scores[row[option], column[item]]),
                delta=delta,
                max_evaluations=most,
            )
        except SurepickError as error:
            return Asked(None, [], {}, why=f"refused: {error}"[:120])
        return _of_decision(found, found.table)


class DecideAnew(Decide):
    """The same, nothing carried over."""

    name = "decide, nothing kept"
    carry = False


class DecideUnbounded(Decide):
    """Scores without bounds: items are drawn with replacement."""

    name = "decide, unbounded"
    runs = 40
    rewards = None


class Inspect(Door):
    """``InspectRace``, driven as Inspect drives it."""

    name = "InspectRace"

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        samples = [SimpleNamespace(id=f"q{i}") for i in range(scores.shape[1])]
        race, told = InspectRace(names, samples, delta=delta), 0
        for sample in race.samples:
            item = race.place(sample.id)
            for arm in range(len(names)):
                if race.turn(arm, item) and (most is None or told < most):
                    race.score(arm, item, float(scores[arm, item]))
                    told += 1
        return _of_decision(race.decision, None)


class Compare(Door):
    """``compare`` on items, with the seed of a careful person: 0."""

    name = "compare(items, seed=0)"
    pairs_only = True
    fresh = False

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        met: dict[int, None] = {}

        def variant(row: int) -> Any:
            return lambda item: met.setdefault(item) or float(scores[row, item])

        seed = drawn(rng) if self.fresh else 0
        try:
            found = compare(
                variant(1),
                variant(0),
                items=range(scores.shape[1]),
                epsilon=0.02,
                max_calls=most,
                noise="yes-no",
                delta=delta,
                seed=seed,
            )
        except SurepickError as error:
            return Asked(None, [*met], {}, why=f"refused: {error}"[:120])
        if found.verdict == "undecided":
            return Asked(None, [*met], {}, why="undecided")
        option = names[1] if found.verdict == "not worse" else names[0]
        return Asked(option, [*met], said_by(found.answer, found), found.answer.certificate())


class CompareFresh(Compare):
    """The same with the default seed."""

    name = "compare(items)"
    fresh = True


class Complete(Door):
    """A study of a complete table, one for each set of options."""

    name = "study of a table"
    runs = 60

    def ask(self, names, scores, delta, most, kept, rng):  # type: ignore[no-untyped-def]
        study = sp.create_study(
            "items",
            sp.Problem.unstructured(list(names), noise="yes-no"),
            storage=MemoryStorage(),
            delta=delta,
            complete=scores.shape[1],
            seed=drawn(rng),
            **({} if most is None else {"max_samples": most}),
        )
        met = run_table(study, scores)
        answer = study.answer
        if not answer.guarantee:
            return Asked(None, met, {}, why="undecided")
        return Asked(answer.label, met, said_by(answer), answer.certificate())


def run_table(study: Any, scores: Scores, most: int | None = None) -> list[int]:
    """Measure what a study of items asks for; the items that it met."""
    met: dict[int, None] = {}
    told = 0
    while not study.finished and (most is None or told < most):
        pulls = study.ask(n=50)
        if not pulls:
            break
        study.tell_many([(one.id, float(scores[one.arm, one.item])) for one in pulls])
        met |= dict.fromkeys(one.item for one in pulls)
        told += len(pulls)
    return [*met]


DOORS: tuple[Door, ...] = (
    Decide(),
    DecideAnew(),
    DecideUnbounded(),
    Inspect(),
    Compare(),
    CompareFresh(),
    Complete(),
)


# -- a new option is made by looking at the items met ------------------------------------------
def tailored(rng: np.random.Generator, met: list[int], old: Scores) -> Scores:
    """Right on all items met; elsewhere so seldom that it is worse than the best by a few."""
    n = old.shape[1]
    total = int(old.sum(axis=1).max()) - 12  # compare takes 0.02 of 300 as not worse
    rest = np.setdiff1d(np.arange(n), met)
    made = np.zeros(n)
    made[met] = 1.0
    right = min(max(total - len(met), 0), len(rest))
    made[rng.choice(rest, right, replace=False)] = 1.0
    return made


def _made_by_looking(door: Door) -> None:
    own: dict[str, Any] = {"runs": door.runs, "needs": door.needs, "breaks": "chosen"}

    @cell("a new option is made by looking at the items met", door.name, **own)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        scores = (rng.random((2, N)) < 0.5).astype(float)
        scores[1] = _with_total(rng, scores[1], int(scores[0].sum()))
        if door.rewards is None:
            scores = scores + 0.01 * rng.normal(size=scores.shape)
        first = door.ask(["old", "other"], scores, delta, door.most, None, rng)
        if first.option is not None or not first.met:
            return Outcome(None, why="decided at once")
        made = tailored(rng, first.met, scores.round())
        if door.rewards is None:
            made = made + 0.01 * rng.normal(size=N)
        if door.pairs_only:
            names, both = ["old", "new"], np.array([scores[0], made])
        else:
            names, both = ["old", "other", "new"], np.array([*scores, made])
        second = door.ask(names, both, delta, None, first.kept, rng)
        if second.option is None:
            return Outcome(None, why=second.why)
        return Outcome(second.option == "new", second.said, second.certificate)


def _with_total(rng: np.random.Generator, row: Scores, total: int) -> Scores:
    """A row of 0 and 1 with so many ones: a few are turned."""
    row = row.copy()
    while (off := total - int(row.sum())) != 0:
        row[rng.choice(np.flatnonzero(row == (off < 0)))] = float(off > 0)
    return row


def _leader_in_use_and_new(door: Door) -> None:
    own: dict[str, Any] = {"runs": door.runs or 60, "breaks": "chosen"}

    @cell("the leader of round one, the one in use and a new one", door.name, **own)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        k = 60
        scores = (rng.random((k + 1, N)) < 0.5).astype(float)
        for i in range(k + 1):  # the one in use is the best, by one item
            scores[i] = _with_total(rng, scores[i], 150 if i == 0 else 149)
        if door.rewards is None:
            scores = scores + 1e-4 * rng.normal(size=scores.shape)
        names = ["in use", *(f"try {i}" for i in range(1, k)), "new"]
        first = door.ask(names[:k], scores[:k], delta, k * 20, None, rng)
        if first.option is not None or not first.met:
            return Outcome(None, why="decided at once")
        seen = scores[1:k][:, first.met].mean(axis=1)
        lead = 1 + int(seen.argmax())
        chosen = [0, lead, k]
        own = [names[i] for i in chosen]
        second = door.ask(own, scores[chosen], delta, None, first.kept, rng)
        if second.option is None:
            return Outcome(None, why=second.why)
        return Outcome(second.option != "in use", second.said, second.certificate)


for _door in DOORS:
    _made_by_looking(_door)
    if not _door.pairs_only:
        _leader_in_use_and_new(_door)


# -- new items ---------------------------------------------------------------------------------
def lead_is_false(on: Any, means: dict[str, float]) -> bool | None:
    """Whether what is said of new items is false; None where nothing is."""
    if on is None or on.get("rival") is None:
        return None
    truth = means[on["ahead"]] - means[on["rival"]]
    low, high = on["lead_on_new"]
    return not low <= truth <= high


@cell("a newcomer made by looking is added", "a study of a table, what it says of new items")
def _add_to_table(rng: np.random.Generator, delta: float) -> Outcome:
    n, rates = 200, {"old": 0.5, "other": 0.4, "new": 0.5}
    scores = (rng.random((2, n)) < [[rates["old"]], [rates["other"]]]).astype(float)
    study = sp.create_study(
        "table",
        sp.Problem.unstructured(["old", "other"], noise="yes-no"),
        storage=MemoryStorage(),
        delta=delta,
        complete=n,
        seed=drawn(rng),
    )
    met = run_table(study, scores, 120)
    if study.finished:
        return Outcome(None, why="decided at once")
    made = (rng.random(n) < rates["new"]).astype(float)  # what it would be worth anywhere
    made[met] = 1.0  # and somebody has looked at these
    study.add(["new"], reason="one that knows what was met")
    run_table(study, np.array([*scores, made]))
    answer = study.answer
    false = lead_is_false(answer.on_items, rates)
    if not answer.guarantee or false is None:
        return Outcome(None, why="nothing is said of new items")
    return Outcome(false, said_by(answer), answer.certificate())


@cell("as it should be", "decide, what it says of new items")
def _new_items(rng: np.random.Generator, delta: float) -> Outcome:
    rates = {"a": 0.6, "b": 0.45, "c": 0.45}
    scores = (rng.random((3, N)) < [[one] for one in rates.values()]).astype(float)
    found = Decide().ask([*rates], scores, delta, None, None, rng)
    if found.option is None:
        return Outcome(None, why=found.why)
    return Outcome(lead_is_false(found.lead, rates), found.said, found.certificate)


# -- battles -------------------------------------------------------------------------------------
def _battle(rng: np.random.Generator) -> Battle:
    """The first is the better one, by a hair."""
    ahead = float(rng.random() < 0.501)
    return Battle("a", "b", ahead) if rng.random() < 0.5 else Battle("b", "a", 1.0 - ahead)


def _arena(way: str, looks: range, breaks: str) -> None:
    @cell(way, "battles", breaks=breaks, chunk=10)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        made = [_battle(rng) for _ in range(looks[-1])]
        for n in looks:
            try:
                found = decide_battles(Battles(made[:n]), chosen="in-advance", delta=delta)
            except SurepickError as error:
                return Outcome(None, why=f"refused: {error}"[:120])
            if found:
                return of_answer(found.answer, "a", found)
        return Outcome(None, why="undecided")


_arena("asked every day of a file that grows", range(50, 2001, 50), "again")
_arena("as it should be, asked once", range(2000, 2001), "")

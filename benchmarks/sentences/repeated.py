"""One measurement that counts as many: frozen answers, repeated seeds, sessions, splits, …"""

# ruff: noqa: NPY002, TID251 (code that sets a global seed is what is tried here)

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.sentences.cells import Outcome, cell, of_answer, said_by
from benchmarks.sentences.items import drawn, lead_is_false
from benchmarks.sentences.site import PAIR, days, of_site, rates_with_best, shop

import surepick as sp
from surepick.cli import main as command
from surepick.errors import SurepickError
from surepick.integrations.comparing import compare
from surepick.integrations.judges import llm_judge
from surepick.storage.memory import MemoryStorage
from surepick.timing.clock import Timed

LABELS = ["a", "b", "c", "d"]
HAIR = 0.002  # by which the first is the best, where options are as good as equal


# -- the command line --------------------------------------------------------------------------
@contextlib.contextmanager
def in_folder() -> Any:
    """A folder of its own for a command line."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


def typed(*words: Any) -> tuple[int, str]:
    """What the command says, as somebody types it: its exit code, and what it printed."""
    out, err, given = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["surepick", *map(str, words)], 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            command()
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.argv = given
    return code, out.getvalue() + err.getvalue()


def _known(complete: bool) -> Callable[[np.random.Generator, float], Outcome]:
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """Each answer is drawn once, kept in a file, and counts whenever its item is drawn."""
        n = 20
        with in_folder() as folder:
            (folder / "options.csv").write_text("\n".join(["label", *LABELS, ""]))
            rows = [
                f"{label},{item},{int(rng.random() < 0.5 + HAIR * (i == 0))}"
                for i, label in enumerate(LABELS)
                for item in range(n)
            ]
            (folder / "known.csv").write_text("\n".join(["label,item,reward", *rows, ""]))
            more = ["--complete" if complete else "--items", n, "--rewards", "yes-no"]
            typed("new", "s", "options.csv", *more, "--delta", delta, "--seed", drawn(rng) >> 4)
            code, text = typed("run", "s", "--known", "known.csv")
            if code:
                return Outcome(None, why=f"exit code {code}: {text.strip()[-60:]}")
            code, shown = typed("answer", "s", "--certificate", "c.json")
            study = sp.load_study("s", "sqlite:///surepick.db")
            answer = study.answer
            study.close()
        if complete:  # about exactly these items
            values = np.array([int(row[-1]) for row in rows]).reshape(len(LABELS), n).sum(axis=1)
            best = [LABELS[i] for i in np.flatnonzero(values == values.max())]
            return of_answer(answer, best, shown)
        return of_answer(answer, LABELS[0], shown)

    return live


cell("frozen answers are drawn again", "new --items, run --known", breaks="afresh", runs=100)(
    _known(False)
)
cell("frozen answers, each once", "new --complete, run --known", runs=100)(_known(True))


@cell("frozen answers are drawn again", "a study of items, told", breaks="afresh", runs=100)
def _frozen(rng: np.random.Generator, delta: float) -> Outcome:
    """The same where no command can refuse it: a program tells what it kept."""
    kept = rng.random((len(LABELS), 20)) < 0.5
    kept[0, 0] = True
    study = sp.create_study(
        "frozen",
        sp.Problem.unstructured(LABELS, noise="yes-no"),
        storage=MemoryStorage(),
        delta=delta,
        items=20,
        seed=drawn(rng),
        max_samples=4000,
    )
    while pulls := study.ask(50):
        study.tell_many([(pull.id, float(kept[pull.arm, pull.item])) for pull in pulls])
    return of_answer(study.answer, LABELS[0])  # whose rate is the best by a hair, asked afresh


# -- Optuna ------------------------------------------------------------------------------------
def _searched(k: int) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(study_name="search", direction="maximize")
    for i in range(k):
        kind = optuna.distributions.CategoricalDistribution(list(range(k)))
        study.add_trial(
            optuna.trial.create_trial(params={"x": i}, distributions={"x": kind}, value=0.0)
        )
    return study


def _final(study: Any, objective: Any, delta: float, **more: Any) -> Any:
    from surepick.integrations.optuna import final_decision

    return final_decision(study, objective, top=4, delta=delta, max_samples=400, **more)


def _seeded(way: str, seed_of: Callable[[Any, int, int], int], breaks: str, noise: Any) -> None:
    @cell(way, "Optuna", breaks=breaks, needs="optuna")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        study, calls, base = _searched(4), [0], drawn(rng) >> 8
        rest = np.random.default_rng(rng.integers(2**60))

        def objective(trial: Any) -> float:
            calls[0] += 1
            luck = np.random.default_rng(seed_of(trial, calls[0], base))
            value = HAIR * (trial.params["x"] == 0) + luck.normal()
            return float(value + noise * rest.normal()) if noise else float(value)

        try:
            found = _final(study, objective, delta)
        except SurepickError as error:
            return Outcome(None, why=f"refused: {error}"[:100])
        best = next(t.number for t in study.trials if t.params["x"] == 0)
        return of_answer(found.answer, f"trial {best}", found)


_seeded("an objective seeded by the trial's number", lambda t, i, b: b + t.number, "afresh", 0.05)
_seeded(
    "an objective with five seeds in turn", lambda t, i, b: b + 10 * t.number + i % 5, "afresh", 0.0
)
_seeded("as it should be", lambda t, i, b: b + i, "", 0.0)


_SAME = "Optuna, same storage and name"


@cell("the objective is mended in between", _SAME, breaks="afresh", needs="optuna")
def _mended(rng: np.random.Generator, delta: float) -> Outcome:
    study, kept, called = _searched(4), MemoryStorage(), [0]

    def broken(trial: Any) -> float:
        return float(rng.normal() + (trial.params["x"] == 3))

    def mended(trial: Any) -> float:
        called[0] += 1
        return float(rng.normal() + (trial.params["x"] == 0))

    _final(study, broken, delta, storage=kept)
    try:
        found = _final(study, mended, delta, storage=kept)
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:100])
    return of_answer(found.answer, "trial 0", found)


@cell("the search has found far better ones since", _SAME, needs="optuna")
def _searched_on(rng: np.random.Generator, delta: float) -> Outcome:
    import optuna

    study, kept = _searched(4), MemoryStorage()

    def objective(trial: Any) -> float:
        return float(0.3 * rng.normal() + 0.5 * trial.params["x"])

    _final(study, objective, delta, storage=kept)
    for x in (5, 7):
        kind = optuna.distributions.IntDistribution(0, 9)
        study.add_trial(
            optuna.trial.create_trial(params={"y": x}, distributions={"y": kind}, value=9.0 + x)
        )

    def both(trial: Any) -> float:
        more = trial.params.get("y")
        return float(0.3 * rng.normal() + (0.5 * trial.params["x"] if more is None else more))

    try:
        found = _final(study, both, delta, storage=kept)
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:100])
    made = of_answer(found.answer, "trial 5", found)
    # The sentence is about the trials that it compared; it is true if it says which these were.
    named = bool(made.said) and all("of these" in text for text in made.said.values())
    return Outcome(False, made.said, made.certificate) if made.false and named else made


# -- compare -----------------------------------------------------------------------------------
def _compared(way: str, seeds: int, breaks: str) -> None:
    @cell(way, "compare", breaks=breaks)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """The new one is worse by 0.2, and 0.1 is allowed."""
        base = int(rng.integers(2**30))

        def old() -> float:
            if seeds:
                np.random.seed(base + int(rng.integers(seeds)))
            return float(np.random.normal())

        def new() -> float:
            if seeds > 1:
                np.random.seed(base + 1000 + int(rng.integers(seeds)))
            return float(np.random.normal() - 0.2)

        before = np.random.get_state()
        np.random.seed(int(rng.integers(2**32)))
        try:
            found = compare(new, old, epsilon=0.1, max_calls=4000, delta=delta, seed=drawn(rng))
        except SurepickError as error:
            return Outcome(None, why=f"refused: {error}"[:100])
        finally:
            np.random.set_state(before)
        return of_comparison(found, not_worse=False)


def of_comparison(found: Any, not_worse: bool) -> Outcome:
    """A comparison, where this is the truth."""
    if found.verdict == "undecided":
        return Outcome(None, why=f"undecided {found.error}".strip()[:80])
    false = (found.verdict == "not worse") != not_worse
    return Outcome(false, said_by(found.answer, found), found.answer.certificate())


_compared("old code that sets the global seed", 1, "afresh")
_compared("each call has one of five seeds", 5, "afresh")
_compared("as it should be", 0, "")


# -- a judge -----------------------------------------------------------------------------------
def _judged(way: str, kept: bool, breaks: str) -> None:
    @cell(way, "llm_judge", breaks=breaks)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """A judge that prefers the better of two answers; options answer equally well."""
        worth = dict(zip(LABELS, rng.normal(size=4)))

        def show(label: str, item: int | None) -> str:
            lift = 4 * HAIR * (label == LABELS[0])
            return f"{worth[label] if kept else rng.normal() + lift:.6f}"

        def reply(prompt: str) -> str:
            first, second = (float(prompt.split(f"<answer_{x}>")[1].split("</")[0]) for x in "ab")
            return f"VERDICT: {'A' if first > second else 'B'}"

        study = sp.create_study(
            "judged",
            sp.Problem.pairs(LABELS),
            storage=MemoryStorage(),
            delta=delta,
            seed=drawn(rng),
            max_samples=600,
        )
        try:
            answer = study.run(llm_judge(reply, "The larger the better.", show=show))
        except SurepickError as error:
            return Outcome(None, why=f"refused: {error}"[:100])
        return of_answer(answer, LABELS[0])


_judged("a judge that is certain, one kept answer of each", True, "afresh")
_judged("as it should be", False, "")


# -- sessions instead of visitors ----------------------------------------------------------------
def _sessions(shape: str) -> None:
    @cell(
        "sessions are counted, ten of each visitor", f"a site, {shape}", breaks="visitors", chunk=10
    )
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        more: dict[str, Any] = {}
        if shape == "a mix":
            more["segments"] = {"phone": 0.7, "desk": 0.3}
        if shape == "a guardrail":
            more |= {"keep": ["refunds <= v0 + 2% ± 1%"]}
        noise = {"revenue": (0, 10)}.get(shape, "yes-no")
        study = shop(rng, delta, PAIR, noise=noise, **more)
        rates = rates_with_best(0.2)

        def report(split: Any, day: int) -> dict[str, Any]:
            found: dict[str, Any] = {}
            for label, share in split.shares.items():  # dealt out evenly, as by a good hash
                n = round(300 * share)
                rate = rates[label]
                if shape == "a mix":
                    phones = int(rng.binomial(n, 0.7))
                    found[label] = {
                        name: (10 * m, 10 * int(rng.binomial(m, rate)))
                        for name, m in (("phone", phones), ("desk", n - phones))
                    }
                elif shape == "revenue":
                    paid = 10.0 * rng.binomial(n, rate)
                    found[label] = (10 * n, 10 * paid, 10 * 10.0 * paid)
                elif shape == "a guardrail":
                    hits, back = (int(rng.binomial(n, r)) for r in (rate, 0.1))
                    found[label] = (10 * n, 10 * hits, 10 * back)
                else:
                    found[label] = (10 * n, 10 * int(rng.binomial(n, rate)))
            return found

        return of_site(days(study, report, 40), "v0")


for _shape in ("yes or no", "a mix", "a guardrail", "revenue"):
    _sessions(_shape)


# -- splits of one data set --------------------------------------------------------------------
@cell("splits of one data set", "SureSearchCV, what it says of new items", chunk=10)
def _splits(rng: np.random.Generator, delta: float) -> Outcome:
    from sklearn.base import BaseEstimator, ClassifierMixin

    from surepick.integrations.sklearn import SureSearchCV

    class Column(ClassifierMixin, BaseEstimator):
        """Says what is in a column; nothing is fitted."""

        def __init__(self, column: int = 0) -> None:
            self.column = column

        def fit(self, X: Any, y: Any) -> Any:
            self.classes_ = np.unique(y)
            return self

        def predict(self, X: Any) -> Any:
            return X[:, self.column]

    n, rates = 100, (0.72, 0.7)  # how often each column is right, of any data
    y = rng.integers(0, 2, n)
    right = rng.random((n, 2)) < rates
    X = np.where(right, y[:, None], 1 - y[:, None])
    search = SureSearchCV(
        Column(),
        {"column": [0, 1]},
        delta=delta,
        random_state=int(rng.integers(2**31)),
    )
    search.fit(X, y)
    answer = search.decision_.answer
    means = {name: rates[i] for i, name in enumerate(search.decision_.table.options)}
    if not search.decision_:
        return Outcome(None, why="undecided")
    # What is shown is about splits of these data; what is said of new items is of new data.
    false = (
        None if "new items" not in str(search.decision_) else lead_is_false(answer.on_items, means)
    )
    if false is None:
        return Outcome(None, why="nothing is said of new data")
    return Outcome(false, said_by(answer, search.decision_), answer.certificate())


# -- runs that leave work for the next -----------------------------------------------------------
class Leaving(Timed):
    """Something that takes as long as another one, but leaves work for whoever runs next."""

    def __init__(self, name: str, left: list[float], own: float, leaves: float, rng: Any) -> None:
        self.name, self._left, self._own, self._leaves, self._rng = name, left, own, leaves, rng

    def once(self) -> float:
        taken = self._own + self._left[0] + 0.02 * self._rng.random()
        self._left[0] = self._leaves
        return float(taken)


def _timed(way: str, leaves: float, breaks: str) -> None:
    @cell(way, "timing.fastest", breaks=breaks)
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        """Drawn at random, each would meet what the first leaves equally often; b is quicker."""
        left = [0.0]
        timed = [
            Leaving("a", left, 1.0 + 1e-4, leaves, rng),
            Leaving("b", left, 1.0, 0.0, rng),
        ]
        found = sp.timing.fastest(timed, delta=delta, max_runs=600, seed=drawn(rng))
        if not found.decided:
            return Outcome(None, why="undecided")
        return Outcome(found.label != "b", {"shown": str(found)}, found.answer.certificate())


_timed("a run leaves work for the next", 0.05, "timed")
_timed("as it should be", 0.0, "")

"""Whether what is printed is what was decided: amounts, circles, repetition, shares of δ."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.sentences.cells import Outcome, cell, of_answer, said_by
from benchmarks.sentences.items import drawn
from benchmarks.sentences.repeated import of_comparison

import surepick as sp
from surepick.errors import SurepickError
from surepick.integrations.comparing import compare
from surepick.storage.memory import MemoryStorage
from surepick.timing.clock import Timed

AS_COMPARED = ("direct comparisons", "usually")


# -- 0 and 1, and the default noise ---------------------------------------------------------------
@cell("scores are 0 or 1, and nothing is said of them", "compare")
def _zero_one(rng: np.random.Generator, delta: float) -> Outcome:
    """0.49 beside 0.88, and 0.1 is allowed. It does win most comparisons with 0.88 less 0.1."""
    try:
        found = compare(
            lambda: float(rng.random() < 0.49),
            lambda: float(rng.random() < 0.88),
            epsilon=0.1,
            max_calls=3000,
            delta=delta,
            seed=drawn(rng),
        )
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:100])
    made = of_comparison(found, not_worse=False)
    # Worded as what was decided (who wins direct comparisons), with no means beside it, it is true.
    worded = any(words in str(found) for words in AS_COMPARED) and "mean score" not in str(found)
    return Outcome(False, made.said, made.certificate) if made.false and worded else made


@cell("amounts of which the better usually loses", "compare")
def _skewed(rng: np.random.Generator, delta: float) -> Outcome:
    """The new one wins 6 of 10 comparisons, and its mean is far lower."""

    def new() -> float:
        return float(rng.normal())

    def old() -> float:
        return float(100.0 + rng.normal() if rng.random() < 0.3 else rng.normal() - 1.0)

    try:
        found = compare(new, old, epsilon=0.1, max_calls=3000, delta=delta, seed=drawn(rng))
    except SurepickError as error:
        return Outcome(None, why=f"refused: {error}"[:100])
    made = of_comparison(found, not_worse=False)
    worded = any(words in str(found) for words in AS_COMPARED) and "mean score" not in str(found)
    return Outcome(False, made.said, made.certificate) if made.false and worded else made


# -- a circle ------------------------------------------------------------------------------------
class Dice(Timed):
    """Times that are drawn from a few values."""

    def __init__(self, name: str, values: tuple[float, ...], rng: np.random.Generator) -> None:
        self.name, self._values, self._rng = name, values, rng

    def once(self) -> float:
        return float(self._rng.choice(self._values) + 0.01 * self._rng.random())


CIRCLES = {
    "of three": ((2.0, 4.0, 9.0), (1.0, 6.0, 8.0), (3.0, 5.0, 7.0)),
    "of three, steep": ((3, 3, 3, 3, 6), (2, 2, 2, 5, 5), (1, 4, 4, 4, 4)),
}


def _circle(name: str) -> None:
    @cell("each is usually quicker than the next", f"timing.fastest, a circle {name}")
    def live(rng: np.random.Generator, delta: float) -> Outcome:
        timed = [Dice(f"o{i}", values, rng) for i, values in enumerate(CIRCLES[name])]
        found = sp.timing.fastest(timed, delta=delta, max_runs=3000, seed=drawn(rng))
        if not found.decided:
            return Outcome(None, why="undecided")
        return Outcome(True, {"shown": str(found)}, found.answer.certificate())


for _name in CIRCLES:
    _circle(_name)


@cell("each usually wins against the next", "identify, numbers of any kind")
def _circle_of_scores(rng: np.random.Generator, delta: float) -> Outcome:
    dice = CIRCLES["of three, steep"]

    def measure(arm: int) -> float:
        return float(rng.choice(dice[arm]) + 0.01 * rng.random())

    problem = sp.Problem.unstructured(["o0", "o1", "o2"])
    answer = sp.identify(problem, measure, delta, max_samples=3000, seed=drawn(rng))
    if not answer.guarantee:
        return Outcome(None, why="undecided")
    if answer.circle or "nobody" in answer.plain or "no option" in answer.plain.lower():
        return Outcome(False, said_by(answer), answer.certificate())  # it says that there is none
    return Outcome(True, said_by(answer), answer.certificate())


# -- repetition ---------------------------------------------------------------------------------
def _near(rng: np.random.Generator) -> Any:
    rates = (0.5, 0.498)
    return lambda arms: (rng.random(len(arms)) < np.array(rates)[arms]).astype(float)


@cell("a saved run is continued 20 times, one is shown", "a run", breaks="again", chunk=10)
def _continued(rng: np.random.Generator, delta: float) -> Outcome:
    problem, measured = sp.Problem.unstructured(["a", "b"], noise="yes-no"), _near(rng)
    algorithm = sp.algorithms.get("pooled-peleg", delta=delta, max_samples=600)
    run = algorithm.start(problem, drawn(rng))
    while not run.stopped and run.samples < 100:
        batch = run.ask()
        run.tell(batch, measured(batch.arms))
    if run.stopped:
        return Outcome(None, why="decided at once")
    saved = run.to_json()
    for _ in range(20):
        one = sp.Run.from_json(saved)
        while not one.stopped:
            batch = one.ask()
            one.tell(batch, measured(batch.arms))
        if one.answer.guarantee and one.answer.label == "b":
            return of_answer(one.answer, "a")  # the one that somebody likes
    return Outcome(None, why="none was as somebody likes")


@cell("a gate is run again until it is green", "compare", breaks="again", chunk=10)
def _until_green(rng: np.random.Generator, delta: float) -> Outcome:
    """The new one is worse by exactly what is allowed and a hair."""
    for _ in range(10):
        found = compare(
            lambda: float(rng.random() < 0.398),
            lambda: float(rng.random() < 0.5),
            epsilon=0.1,
            max_calls=600,
            noise="yes-no",
            delta=delta,
            seed=drawn(rng),
        )
        if found.verdict == "not worse":
            return of_comparison(found, not_worse=False)
    return Outcome(None, why="never green")


@cell("run once", "compare at the margin")
def _once(rng: np.random.Generator, delta: float) -> Outcome:
    found = compare(
        lambda: float(rng.random() < 0.3999),
        lambda: float(rng.random() < 0.5),
        epsilon=0.1,
        max_calls=3000,
        noise="yes-no",
        delta=delta,
        seed=drawn(rng),
    )
    return of_comparison(found, not_worse=False)


# -- options that are added -------------------------------------------------------------------
def _quantile_lead(rng: np.random.Generator, delta: float) -> Outcome:
    """The best upper quantile, options that are alike but for a hair, some of them added."""
    study = sp.create_study(
        "q",
        sp.Problem.unstructured(["a", "b"]),
        storage=MemoryStorage(),
        delta=delta,
        quantile=0.5,
        max_samples=800,
        seed=drawn(rng),
    )
    means = {"a": 0.02, "b": 0.0}
    added = 0
    while not study.finished:
        pulls = study.ask(n=40)
        labels = study.problem.labels
        study.tell_many([(p.id, float(rng.normal() + means[labels[p.arm]])) for p in pulls])
        if added < 4 and rng.random() < 0.3 and not study.finished:
            means[f"new {added}"] = 0.0
            study.add([f"new {added}"], reason="another one")
            added += 1
    return of_answer(study.answer, "a")


cell("options are added by results", "a study, the best median", chunk=10)(_quantile_lead)


@cell("options are added by results", "a study with a limit", chunk=10)
def _limited(rng: np.random.Generator, delta: float) -> Outcome:
    """b is better and lies exactly at the limit; added ones are as good as a."""
    study = sp.create_study(
        "k",
        sp.Problem.unstructured(["a", "b"], noise="yes-no", numbers={"slow": "yes-no"}),
        storage=MemoryStorage(),
        delta=delta,
        keep=["slow <= 0.3"],
        max_samples=1500,
        seed=drawn(rng),
    )
    rates, slow, added = {"a": 0.3, "b": 0.5}, {"a": 0.1, "b": 0.3}, 0
    while not study.finished:
        pulls, labels = study.ask(n=60), study.problem.labels
        study.tell_many(
            [
                (
                    p.id,
                    {
                        "reward": float(rng.random() < rates[labels[p.arm]]),
                        "slow": float(rng.random() < slow[labels[p.arm]]),
                    },
                )
                for p in pulls
            ]
        )
        if added < 5 and rng.random() < 0.3 and not study.finished:
            label = f"new {added}"
            rates[label], slow[label] = 0.3, 0.1
            study.add([label], reason="another one")
            added += 1
    return of_answer(study.answer, "b")

"""Studies with features drawn at random, all options alike: how often are they told apart?

Each of the rules is proven and measured by itself. Here studies have up to five features at the
same time, drawn at random from those of ``tests/study/crossing.py``: the kind of rewards, strata,
items, costs, features of options, the question, small and overlapping batches, hedging, past
measurements; options that come and go, rewards that fail, are corrected and withdrawn on the way.
Two workers share a study and take as many pulls at a time as chance wants.

Rewards are unpleasant where the kind allows it: lognormal for numbers of any kind, Laplace's with
tenths of a cut Cauchy for symmetric ones, near the lower bound for bounded ones; strata and items
have levels, and in every third study all rewards rise all the time, where batches are mixed.

Wrong: option *a* is ruled out, one of *a* and *b* where the two best are asked for, or any option
is said to be better or worse than the baseline or the number it equals. Warnings do not excuse it.
δ = 0.2; studies end after 60 to 400 measurements.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.alike [--trials 2000]
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import itertools
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from tests.study import crossing
from tests.study.crossing import LABELS, PLATES, SCALES, Course, Feature
from tests.study.test_crossings import REFUSED

from surepick.bench.summary import clopper_pearson
from surepick.errors import InvalidInputError, RunStateError
from surepick.storage.memory import MemoryStorage

DELTA, MEAN, RISE = 0.2, 3.0, 0.02
CHUNK = 200  # studies of a part
_TURNS = 4000  # a study that does not end by then is stuck
_MOST = 5  # features of a study
_ENDING = ("guess", "few", "budget", "again", "pause", "stop", "spill", "more", "epsilon")
_CLAIMS = {"baseline", "fdr", "threshold"}


def _correct(course: Alike) -> None:
    for pull in course.draw.choice(list(course.book), 2, replace=False).tolist():
        entry = course.book[pull]
        value = course.drawn(entry.label, entry.stratum)
        if value == entry.value:
            continue
        with contextlib.suppress(RunStateError):  # it is too late where batches are small
            course.study.correct(pull, value, reason="read again")
            entry.value = value


def _withdraw(course: Alike) -> None:
    pull = int(course.draw.choice(list(course.book)))
    course.withdrawn += course.study.withdraw(pull, reason="spilt").counted
    course.forget(pull)


def _retire(course: Alike) -> None:
    course.study.retire("c", reason="sold out")


_OTHERWISE: dict[str, dict[str, Any]] = {
    "correct": {"act": _correct},
    "withdraw": {"act": _withdraw},
    "retire": {"act": _retire},
    "threshold": {"spec": {"threshold": MEAN}},
}
FEATURES: dict[str, Feature] = {
    one.name: dataclasses.replace(one, **_OTHERWISE.get(one.name, {}))
    for one in crossing.FEATURES
    if one.name not in _ENDING
}


class Alike(Course):
    """A study whose options are all alike."""

    def __init__(self, names: tuple[str, ...], seed: int) -> None:
        self.draw = np.random.default_rng(seed)
        self.told = 0
        most = int(self.draw.integers(60, 400))
        super().__init__(names, MemoryStorage(), "alike", delta=DELTA, max_samples=most)
        self.hand = int(self.draw.integers(1, 9))
        steady = {"yes-no", "bounded", "by arm", "equal", "threshold"} & self.names
        self.rises = not steady and self.draw.random() < 1 / 3

    def _past(self) -> list[tuple[int, float]]:
        return [(arm, self.drawn(label, None)) for arm, label in enumerate(LABELS) for _ in "123"]

    def drawn(self, label: str, stratum: str | None) -> float:
        """A reward; its level is that of a stratum, or of an item by its number."""
        part = stratum or "north"
        which = PLATES.index(part) if part in PLATES else int(part) % 3
        draw, side = self.draw, (0, 1, -1)[which]
        if "yes-no" in self.names:
            return float(draw.random() < 0.3 + 0.05 * side)
        if "bounded" in self.names:
            return float(10 * draw.beta(0.3, 0.7 - 0.1 * side))
        level = MEAN + 4 * side
        if "any" in self.names:
            return float(level + draw.lognormal(0.0, 1.5))
        if "equal" in self.names:
            return float(level + draw.normal())
        if "by arm" in self.names:
            return float(level + SCALES[label] * draw.normal())
        far = draw.random() < 0.1
        return float(level + (np.clip(draw.standard_cauchy(), -50, 50) if far else draw.laplace()))

    def reward(self, pull: Any) -> float:
        self.told += 1
        part = pull.stratum if pull.item is None else str(pull.item)
        return self.drawn(pull.label, part) + RISE * self.told * self.rises

    def run(self) -> Alike:
        for turn in range(_TURNS):
            self._do_what_is_due()
            if self.studies[turn % 2].finished:
                return self
            self._ask(turn)
            self._tell(1)
            if self.draw.random() < 0.3:  # the other one is slow
                self._tell(0)
        raise AssertionError("the study does not end")


def is_wrong(course: Alike) -> bool:
    answer, left = course.study.answer, set(course.study.status()["survivor_labels"])
    if _CLAIMS & course.names:
        return bool(answer.better or answer.worse)
    return not ({"a", "b"} if "top" in course.names else {"a"}) <= left


def part(task: tuple[int, int]) -> list[tuple[list[str], bool]]:
    """The features of studies that could be, and whether they were wrong."""
    first, number = task
    found: list[tuple[list[str], bool]] = []
    draw = np.random.default_rng(first)
    while len(found) < number:
        names = tuple(draw.choice(list(FEATURES), int(draw.integers(1, _MOST + 1)), replace=False))
        seed = int(draw.integers(2**31))
        axes = [FEATURES[name].axis for name in names]
        if len(set(axes)) == len(axes) and (course := _course(names, seed)) is not None:
            found.append(([str(name) for name in names], is_wrong(course)))
    return found


def _course(names: tuple[str, ...], seed: int) -> Alike | None:
    """None where a study cannot have these features."""
    if any(pair in REFUSED for pair in itertools.permutations(names, 2)):
        return None
    known, crossing.BY_NAME = crossing.BY_NAME, FEATURES
    try:
        course = Alike(names, seed)
    except InvalidInputError:
        return None
    finally:
        crossing.BY_NAME = known
    return course.run()


def _so_many(n: int) -> str:
    return f"{n} feature{'s' * (n > 1)}"


def main() -> None:
    asked = options(__doc__ or "", 2000).parse_args()
    record = Record("alike", {"chunk": CHUNK}, asked)
    tasks = {f"from {first}": (first, n) for first, n in chunks(asked.trials, CHUNK)}
    studies = [one for found in record.fill(tasks, part).values() for one in found]
    counts: collections.Counter[str] = collections.Counter()
    wrongs: collections.Counter[str] = collections.Counter()
    for names, wrong in studies:
        for name in ("all", _so_many(len(names)), *names):
            counts[name] += 1
            wrongs[name] += wrong
    rows = []
    for name in ("all", *(_so_many(n + 1) for n in range(_MOST)), *FEATURES):
        low, high = clopper_pearson(wrongs[name], counts[name], 0.95)
        rate = f"{wrongs[name] / counts[name]:.3f}"
        rows.append([name, f"{counts[name]:,}", rate, f"{low:.3f} – {high:.3f}"])
    head = f"Studies in which all options are alike, δ = {DELTA}; features drawn at random.\n\n"
    record.write(head + table(["studies with", "number", "wrong", "95 % interval"], rows))


if __name__ == "__main__":
    main()

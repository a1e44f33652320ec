"""Inspect (inspect_ai): its tasks evaluate only the samples that decide, by its early stopping.

Each option is a task: the same samples with another solver, prompt or model. Before a sample runs,
Inspect asks an early stopping manager whether it should. Here it waits until it is the sample's
turn: all options that are in meet the next samples of one random order together. It is left out
where its option is ruled out, or all is decided.

Inspect itself is not imported before a task has it, so nothing has to be installed to load this.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray, IntArray
from surepick.calls.kept import AUTO
from surepick.calls.versions import digest_of
from surepick.errors import InvalidInputError, RunStateError
from surepick.integrations.evaluations.decision import EvaluationDecision
from surepick.integrations.evaluations.filling import Filling
from surepick.integrations.evaluations.scores import ScoreTable
from surepick.run.measuring import Enough, Measuring

_LOOK_EVERY = 0.02  # seconds between looks whether it is a sample's turn
_PATIENCE = 60.0  # seconds for which options may be late to begin

#: what makes a task another one
_TASK = ("model", "model_args", "model_generate_config", "solver", "solver_args", "task_args")
_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partly, no answer


class InspectRace:
    """Options that Inspect evaluates on the same samples, until one is proven to be the best.

    Parameters
    ----------
    options
        What they are called, each name once.
    samples
        The samples of the dataset; :attr:`samples` has them in the order in which they are needed,
        each with an id.
    rewards
        ``"yes-no"`` where scores are correct or incorrect, or the bounds of a score.
    scorer
        Which scorer counts, by its name, where a task has several.
    delta, epsilon
        The answer is the best, or within epsilon of it, with probability at least 1 - delta.
    seed
        Of the order of samples; by default a fresh one. It must not be chosen by results, and with
        other options the same seed comes to another order. An option that was changed is another
        option: give it another name.
    minimise
        Whether smaller scores are better.
    cache
        The file in which scores are kept as they come: by default one in the folder ``.surepick``
        beside the script (in a notebook: in the current folder); None: nothing is kept. A race that
        was cut off, or has other options, goes on from it: samples that are known do not run again.
    measure
        A name for what all options have in common and nobody sees here, such as the version of a
        scorer: scores that were kept under another one are not used.

    Examples
    --------
    Give every task :attr:`samples` and its own early stopping, and run all of them at once::

        race = InspectRace(["plain", "steps"], json_dataset("questions.jsonl"))
        tasks = [
            Task(dataset=race.samples, solver=solvers[name], scorer=match(), name=name,
                 early_stopping=race.option(name))
            for name in race.options
        ]
        inspect_ai.eval(tasks, model="openai/gpt-4o", max_tasks=len(tasks))
        print(race.decision)

    All options meet the samples in one random order:

    >>> from types import SimpleNamespace as Sample
    >>> race = InspectRace(["plain", "steps"], [Sample(id=name) for name in "abcde"])
    >>> sorted(sample.id for sample in race.samples)
    ['a', 'b', 'c', 'd', 'e']
    """

    def __init__(
        self,
        options: Sequence[str],
        samples: Iterable[Any],
        *,
        rewards: Any = "yes-no",
        scorer: str | None = None,
        delta: float = 0.05,
        epsilon: float = 0.0,
        seed: int | None = None,
        minimise: bool = False,
        cache: str | os.PathLike[str] | None = AUTO,
        measure: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        given = list(samples)
        for number, sample in enumerate(given, start=1):
            if getattr(sample, "id", None) is None:
                sample.id = number
        self._items = {sample.id: place for place, sample in enumerate(given)}
        if len(self._items) != len(given):
            raise InvalidInputError("samples: some have the same id; give each its own")
        names = [str(sample.id) for sample in given]
        table = ScoreTable(options, names, rewards=rewards)
        if table.kind.bounds is None:
            raise InvalidInputError("rewards must be 'yes-no' or the bounds of a score")
        self._filling = filling = Filling(
            table,
            *(delta, epsilon, minimise, seed),
            door="inspect",
            name="inspect",
            functions={},
            cache=cache,
            measure=measure or "",
            asked=[scorer, minimise, seed],
            contents={name: _content(sample) for name, sample in zip(names, given)},
        )
        self._run, self._kept = filling.run, filling.kept
        self._measuring = Measuring(self._run, self._decided, kept=self._kept)
        for (option, item), line in self._kept.failed.items():
            cell = table.options.index(option), names.index(item)
            filling.scores[cell] = self._measuring.fail(*cell, line["failed"])
        filling.earlier = self._known
        #: in the order in which they are needed
        self.samples: list[Any] = [given[int(place)] for place in filling.order]
        self.options = table.options
        self.scorer = scorer
        self._begun: set[int] = set()
        self._ended: set[int] = set()
        self._wanted: set[tuple[int, int]] = set()
        self._clock, self._since = clock, math.inf
        self._measuring.go(self._fill)

    def option(self, name: str) -> Any:
        """The early stopping of the task of this option."""
        if name not in self.options:
            raise InvalidInputError(
                f"option: there is no {name!r}; known: {', '.join(self.options)}"
            )
        _watch_for_errors()
        return _Option(self, self.options.index(name))

    @property
    def decision(self) -> EvaluationDecision:
        """What was found, once the tasks have ended."""
        if not self._run.samples:
            raise RunStateError("decision: nothing was evaluated yet; run the tasks first")
        with self._kept:
            return self._measuring.end()

    def _decided(self, answer: Any) -> EvaluationDecision:
        filled = self._known - self._filling.earlier
        return self._filling.decision(answer, filled, self._measuring.lacking)

    @property
    def _known(self) -> int:
        return int((~np.isnan(self._filling.scores)).sum())

    # -- what tasks ask and tell ---------------------------------------------------------------
    def _fill(self, arms: IntArray, items: Any) -> FloatArray:
        """The scores of a batch, once they are there."""
        self._wanted = set(self._filling.missing(arms, items))
        if self._wanted:
            raise Enough
        return self._filling.scores[arms, items]

    def _begin(self, arm: int) -> None:
        self._begun.add(arm)
        self._since = min(self._since, self._clock())

    def turn(self, arm: int, item: int) -> bool | None:
        """Whether a sample is to run now; None: not yet. False: it is not needed."""
        if (arm, item) in self._wanted:
            return True
        if not np.isnan(self._filling.scores[arm, item]):
            return False  # it is known
        if self._run.stopped or arm not in self._run.active or self._ended - {arm}:
            return False
        late = len(self._begun) < len(self.options)
        if late and self._clock() > self._since + _PATIENCE:
            absent = [name for i, name in enumerate(self.options) if i not in self._begun]
            raise RunStateError(
                f"{', '.join(absent)}: these tasks have not begun, and all have to run at the same "
                f"time; call eval with max_tasks={len(self.options)}"
            )
        return None

    def score(self, arm: int, item: int, value: float) -> None:
        if (arm, item) in self._wanted:
            self._filling.put([(arm, item)], [value])
            self._kept.put(self._named(arm, item), value)
            self._has(arm, item)

    def fail(self, arm: int, item: int, why: str) -> None:
        """A sample ended in an error: it counts as the worst score."""
        if (arm, item) in self._wanted:
            self._filling.put([(arm, item)], [self._measuring.fail(arm, item, why)])
            self._kept.fail(self._named(arm, item), why)
            self._has(arm, item)

    def _named(self, arm: int, item: int) -> tuple[str, str]:
        return self.options[arm], self._filling.table.items[item]

    def _has(self, arm: int, item: int) -> None:
        self._wanted.discard((arm, item))
        if not self._wanted:
            self._measuring.go(self._fill)

    def end(self, arm: int) -> None:
        """A task has ended; with samples that were still needed, nobody waits for them."""
        if any(one == arm for one, _ in self._wanted):
            self._ended.add(arm)

    def check_task(self, arm: int, task: Any) -> None:
        """Whether the task of an option is that of before, as far as Inspect tells."""
        name = self.options[arm]
        if not self._kept.note_what(name, digest_of([getattr(task, one, None) for one in _TASK])):
            raise InvalidInputError(
                f"option: {name!r} was another task (its model, its solver or their settings) when "
                f"the scores in {self._kept.path} were made; give it another name, or another cache"
            )

    def place(self, sample: Any) -> int:
        return self._items[sample]


def _content(sample: Any) -> str:
    return digest_of([getattr(sample, one, None) for one in ("input", "target", "choices")])


class _Option:
    """The early stopping of one task; its methods are Inspect's."""

    def __init__(self, race: InspectRace, arm: int) -> None:
        self._race, self._arm = race, arm
        self._skipped = 0

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        if epochs != 1:
            raise InvalidInputError(
                f"epochs must be 1: each sample is evaluated once; got {epochs}"
            )
        unknown = [one.id for one in samples if one.id not in self._race._items]
        if unknown:
            raise InvalidInputError(f"samples: {unknown[0]!r} is not one of the race's samples")
        self._race.check_task(self._arm, task)
        _OPTIONS[str(task.eval_id)] = self
        self._race._begin(self._arm)
        return "surepick"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Let a sample run when it is its turn; leave it out where it is not needed."""
        import anyio
        from inspect_ai.util import EarlyStop  # pyright: ignore[reportMissingImports]

        place = self._race.place(id)
        while (turn := self._race.turn(self._arm, place)) is None:
            await anyio.sleep(_LOOK_EVERY)
        if turn:
            return None
        self._skipped += 1
        decided = self._race._run.stopped
        known = not np.isnan(self._race._filling.scores[self._arm, place])
        reason = "its score is known" if known else "this option is ruled out"
        reason = "all is decided" if decided and not known else reason
        return EarlyStop(id=id, epoch=epoch, reason=f"surepick: {reason}")

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        place = self._race.place(id)
        try:
            value = _value(scores, self._race.scorer)
        except (TypeError, ValueError) as error:
            self._race.fail(self._arm, place, str(error))
            return
        self._race.score(self._arm, place, value)

    async def complete_task(self) -> dict[str, Any]:
        """Inspect has ended a task: what its log says about this."""
        self._race.end(self._arm)
        race = self._race
        return {
            "option": race.options[self._arm],
            "left_out": self._skipped,
            "still_in": self._arm in race._run.active,
            "decided": race._run.stopped,
        }

    def failed(self, sample: Any, why: str) -> None:
        self._race.fail(self._arm, self._race.place(sample), why)

    def over(self) -> None:
        self._race.end(self._arm)


_OPTIONS: dict[str, _Option] = {}  # by the id of the evaluation


def _watch_for_errors() -> None:
    """Hear of samples and tasks that end in an error: early stopping is told of the others only."""
    if _watched:
        return
    from inspect_ai.hooks import Hooks, hooks  # pyright: ignore[reportMissingImports]

    @hooks(name="surepick", description="Samples that end in an error count as the worst score.")
    class _Errors(Hooks):  # pyright: ignore[reportUnusedClass]
        async def on_sample_end(self, data: Any) -> None:
            option = _OPTIONS.get(str(data.eval_id))
            error = data.sample.error
            if option is not None and error is not None and not data.sample.scores:
                option.failed(data.sample.id, str(error.message)[:300])

        async def on_task_end(self, data: Any) -> None:
            option = _OPTIONS.pop(str(data.eval_id), None)
            if option is not None:
                option.over()

    _watched.append(_Errors)


_watched: list[Any] = []


def _value(scores: dict[str, Any], scorer: str | None) -> float:
    if scorer is None and len(scores) != 1:
        raise ValueError(f"scorer: name one of {', '.join(scores) or 'none'}")
    found: Any = scores[scorer] if scorer is not None else next(iter(scores.values()))
    value = getattr(found, "score", found)
    value = getattr(value, "value", value)
    if isinstance(value, str) and value in _GRADES:
        return _GRADES[value]
    return float(value)

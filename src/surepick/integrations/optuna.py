"""Optuna: measure the best trials again, and decide among them with a proof.

The best value of a search is too good: of many noisy values the largest is more luck than others.
So the values that made trials the best count for nothing here but to say which trials are worth a
second look. Each of those is measured anew, as often as it takes, and compared by new values only.
"""

from __future__ import annotations

import copy
import itertools
import json
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from surepick.arrays.validate import whole
from surepick.calls.kept import AUTO, make_folder, place
from surepick.calls.versions import version_of
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    MissingExtraError,
    StudyExistsError,
)
from surepick.problem import Problem
from surepick.run import Answer
from surepick.run.standing import best_first
from surepick.storage import Storage
from surepick.storage.memory import MemoryStorage
from surepick.study import Measurement, Study, StudySpec, store

try:
    import optuna
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise MissingExtraError(
        "surepick.integrations.optuna needs Optuna: install surepick[optuna]"
    ) from None

_log = logging.getLogger(__name__)
#: new measurements in all, for each trial that is compared, where nothing is said
EACH = 50


class Remeasured(NamedTuple):
    """What is known of a trial now."""

    trial: int  #: its number
    searched: float  #: the value by which it was among the best: chosen, so too good on average
    measurements: int  #: new ones
    mean: float  #: of these


@dataclass(frozen=True)
class FinalDecision:
    """The trial to use, and how sure that is."""

    trial: FrozenTrial  #: as the search has it
    answer: Answer  #: with guarantee and certificate
    table: tuple[Remeasured, ...]  #: of every trial that was measured again, best first

    @property
    def params(self) -> dict[str, Any]:
        """What to use."""
        return self.trial.params

    def __str__(self) -> str:
        """The decision in a few sentences."""
        found = next(row for row in self.table if row.trial == self.trial.number)
        return (
            f"Trial {found.trial} of {len(self.table)} that were measured again, after "
            f"{self.answer.samples:,} new measurements. {self.answer.plain} Its new mean is "
            f"{found.mean:.4g} ({found.measurements:,} measurements); the search had seen "
            f"{found.searched:.4g}."
        )


def final_decision(
    study: optuna.Study,
    objective: Callable[[Any], float],
    top: int = 20,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    max_samples: int | None = None,
    noise: Any = None,
    n_jobs: int = 1,
    retries: int = 2,
    progress: bool = False,
    storage: str | Storage | None = AUTO,
    name: str | None = None,
    version: str | None = None,
) -> FinalDecision:
    """Measure the best trials of a search again, and find the best of them.

    Parameters
    ----------
    study
        A search with one objective, after it ended.
    objective
        The function that was searched, or another one that measures the same thing better. It is
        called with a trial whose parameters are fixed, and whose number is a new one at every call.
        What is left to chance in it (seeds, splits, samples) must be drawn anew every time.
    top
        How many trials with different parameters are compared: those with the best values.
    delta, epsilon
        The answer is the best of these trials, or within epsilon of it, with probability at least
        1 - delta. Trials near the end of a search are often as good as tied, so say what
        difference does not matter.
    max_samples
        The most new measurements; by default 50 for each trial. An answer that is not proven by
        then carries no guarantee, and says how close it came.
    noise
        What is known about values, as for :class:`surepick.Problem`; nothing, by default.
    n_jobs, retries, progress
        Measurements at a time (in threads), how often one that fails is tried again, and
        whether a line shows how far it is.
    storage, name
        Keep the measurements as the study of this name (by default that of the search) in this
        storage: a call that was cut off goes on where it was, and one that ended undecided goes on
        with a larger ``max_samples``. That is so as long as the same trials are compared by the
        same objective, in the same way; else a new study begins beside the old one, with a number
        behind its name. By default those of a search that somebody gave a name are kept in the
        folder ``.surepick`` beside the script (in a notebook: in the current folder); None: nothing
        is kept. Where it has to stop, ``error.partial`` is the decision so far.
    version
        What the objective is called: with another one it counts as another objective. By default a
        digest of its code and of what it reads, as far as that can be seen: a function that keeps
        a list of its calls is a new one every time, and one whose data has changed on the disk is
        the same.

    Examples
    --------
    >>> import random
    >>> import optuna
    >>> luck = random.Random(0)
    >>> def loss(trial):
    ...     return trial.suggest_categorical("rate", [0.1, 1.0]) + luck.gauss(0, 0.3)
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> search = optuna.create_study()
    >>> search.optimize(loss, n_trials=10)
    >>> final_decision(search, loss, top=2).params
    {'rate': 0.1}
    """
    minimise = _minimises(study)
    if not callable(objective):
        raise InvalidTypeError(f"objective must be a function; got {objective!r:.80}")
    best = _best(study, whole(top, "top", least=2), minimise)
    labels = [f"trial {one.number}" for one in best]
    spec = StudySpec(
        name=study.study_name if name is None else name,
        problem=Problem.unstructured(labels, noise=noise, minimise=minimise),
        delta=delta,
        epsilon=epsilon,
        max_samples=EACH * len(best) if max_samples is None else max_samples,
    )
    what = {
        "search": study.study_name,
        "trials": [[one.number, sorted(one.params.items())] for one in best],
        "objective": version_of(objective).digest() if version is None else f"version {version}",
        "how": [delta, epsilon, repr(noise), minimise],
    }
    asked = json.dumps(what, default=repr)
    with _stored(spec, _place(study, storage), asked) as measured:
        made = len(study.get_trials(deepcopy=False))

        def measure(task: Measurement) -> float:
            trial = copy.deepcopy(best[task.arm])  # an objective may note things on it
            trial.number = made + task.pull  # who takes it for a seed draws anew
            return float(objective(trial))

        try:
            answer = measured.run(measure, workers=n_jobs, progress=progress, retries=retries)
        except BaseException as error:
            run = measured.current_run
            if run.samples and not run.stopped:
                run.end()
            error.partial = _decided(measured, best, run.answer) if run.samples else None  # pyright: ignore[reportAttributeAccessIssue]
            raise
        _refuse_constant(measured)
        return _decided(measured, best, answer)


def _place(study: optuna.Study, storage: str | Storage | None) -> str | Storage:
    if storage == AUTO:
        named = not study.study_name.startswith("no-name-")
        file = place(AUTO, f"optuna-{study.study_name}") if named else None
        if file is not None:
            make_folder(file.parent)
        storage = None if file is None else f"sqlite:///{file.with_suffix('.db')}"
    return MemoryStorage() if storage is None else storage


def _minimises(study: optuna.Study) -> bool:
    if not isinstance(study, optuna.Study):
        raise InvalidTypeError(f"study must be an optuna.Study; got {study!r:.80}")
    if len(study.directions) != 1:
        raise InvalidInputError(
            f"study: it has {len(study.directions)} objectives, but only one can decide which "
            "trial is best; make a study with that one"
        )
    return study.direction != StudyDirection.MAXIMIZE


def _best(study: optuna.Study, top: int, minimise: bool) -> list[FrozenTrial]:
    """The trials with the best values, each setting once."""
    done = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    done = [one for one in done if one.value is not None and math.isfinite(one.value)]
    found: dict[str, FrozenTrial] = {}
    best = best_first(minimise)
    for one in sorted(done, key=lambda one: best(_value(one))):
        found.setdefault(repr(sorted(one.params.items())), one)
    if len(found) < 2:
        raise InvalidInputError(
            f"study: {len(done)} of its {len(study.trials)} trials are complete, with "
            f"{len(found)} different settings; at least 2 are needed to decide between"
        )
    return list(found.values())[:top]


def _stored(spec: StudySpec, storage: str | Storage, asked: str) -> Study:
    """A new study, or the one that an earlier call began, with the limit of this call."""
    found = _first_that_is_the_same(spec, storage, asked)
    run = found.current_run
    if not run.state.finished and run.limits.max_samples != spec.max_samples:
        found.limit(max_samples=spec.max_samples, reason="final_decision was called again")
    return found


def _first_that_is_the_same(spec: StudySpec, storage: str | Storage, asked: str) -> Study:
    """The study that was begun for this, under its name or with a number behind it."""
    for number in itertools.count(1):
        name = spec.name if number == 1 else f"{spec.name} {number}"
        try:
            found = store(replace(spec, name=name), storage, key=asked)
        except StudyExistsError:
            continue
        if number > 1 and not found.current_run.samples:
            _log.warning(
                "study %r: the trials to compare, the objective (version=) or how they are "
                "compared are not those of before, so new measurements are made",
                name,
            )
        return found
    raise AssertionError("there is no end of names")


def _decided(measured: Study, trials: list[FrozenTrial], answer: Answer) -> FinalDecision:
    counts, sums = measured.current_run.totals()
    rows = [
        Remeasured(trial.number, _value(trial), count, mean)
        for trial, count, mean in zip(trials, counts.tolist(), (sums / counts).tolist())
    ]
    best = best_first(measured.problem.minimise)
    return FinalDecision(
        trials[answer.arm], answer, tuple(sorted(rows, key=lambda row: best(row.mean)))
    )


def _refuse_constant(measured: Study) -> None:
    """An error where nothing was left to chance: measuring again has proven nothing then."""
    if measured.problem.noise_kind.values is not None:
        return  # twice the same is common there
    rewards = measured.rewards()
    values = [rewards.values[rewards.arms == arm] for arm in range(measured.problem.n_arms)]
    if all(len(one) > 1 and (one == one[0]).all() for one in values):
        raise InvalidInputError(
            "objective: called again with the same parameters, it returned exactly the same value "
            "for every trial. If it fixes a seed, draw a new one at every call: one lucky seed "
            "proves nothing. If nothing in it is random, study.best_trial is the answer"
        )


def _value(trial: FrozenTrial) -> float:
    assert trial.value is not None  # complete trials only
    return trial.value

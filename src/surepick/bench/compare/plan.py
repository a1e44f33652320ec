"""What to run: algorithms x instances x deltas x trials.

A trial is seeded by what it is (the algorithm, the instance, delta and its number, hashed from
their texts), so that its result does not depend on what else is in the plan, on the order, or on
how many processes share the work.
"""

from __future__ import annotations

import inspect
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surepick.ahead.kinds import noise_family
from surepick.ahead.noise import Correlated, Misfit
from surepick.algorithms import registry
from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import SEEDS, positive, probability, whole
from surepick.bench.named import Named, instance_named
from surepick.errors import InvalidInputError, SurepickError, UnknownNameError
from surepick.simulate.instance import Instance
from surepick.text import parse, write


@dataclass(frozen=True)
class Contender:
    """An algorithm without its delta, that can be built anywhere.

    Examples
    --------
    >>> Plan(["lingape:norm_bound=2"], ["standard:gap=0.5"]).cells[0].contender.settings
    {'norm_bound': 2}
    """

    text: str  #: name and settings, tidied
    make: Callable[..., Algorithm]
    settings: dict[str, Any]

    @classmethod
    def named(cls, text: str) -> Contender:
        """The algorithm that ``text`` names: ``rage``, ``lingape:norm_bound=2``, ..."""
        name, settings = parse(text, "algorithm")
        make = registry.maker(name)
        known = inspect.signature(make).parameters
        if not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            for setting in settings:
                if setting not in known:
                    raise UnknownNameError.among(f"setting of {name}", setting, known)
        for setting in ("delta", "theta"):
            if setting in settings:
                raise InvalidInputError(f"algorithm {text!r}: {setting} comes from the plan")
        return cls(write(name, settings.items()), make, settings)

    @property
    def needs_theta(self) -> bool:
        """Whether it is an oracle, which must be told the truth."""
        return "theta" in inspect.signature(self.make).parameters

    @property
    def trusts_features(self) -> bool:
        """Whether it takes rewards to be linear in the features, whatever it is told."""
        return getattr(getattr(self.make, "__self__", self.make), "trusts_features", True)

    @property
    def needs_length(self) -> bool:
        """Whether it must know a bound on the length of theta in advance."""
        owner = getattr(self.make, "__self__", self.make)
        known = {f.name: f.default for f in fields(owner)} if is_dataclass(owner) else {}
        return isinstance(known.get("norm_bound"), float)

    def configure(self, instance: Instance, delta: float, **settings: Any) -> Algorithm:
        """The algorithm, for this instance at this delta.

        What it must know in advance is taken from the truth, unless its settings say otherwise:
        oracles get theta; the others that need a bound on its length get the length itself,
        as in the published comparisons.
        """
        truth: dict[str, Any] = {"theta": instance.theta} if self.needs_theta else {}
        if self.needs_length:
            truth["norm_bound"] = float(np.linalg.norm(instance.theta))
        try:
            return self.make(delta=delta, **{**truth, **settings, **self.settings})
        except SurepickError as error:
            raise InvalidInputError(f"algorithm {self.text!r}: {error}") from None
        except TypeError as error:
            if "argument" not in str(error):
                raise
            raise InvalidInputError(f"algorithm {self.text!r}: {error}") from None


@dataclass(frozen=True)
class Cell:
    """One algorithm on one instance at one delta: what is averaged over.

    Examples
    --------
    >>> [str(cell) for cell in Plan(["peleg"], ["standard:gap=0.5"]).cells]
    ['peleg on standard:gap=0.5 at delta 0.1']
    """

    contender: Contender
    instance: Named
    delta: float

    def seeds(self, seed: int, trial: int) -> np.random.SeedSequence:
        """The randomness of one trial: of its rewards, and of the algorithm."""
        key = (_hash(self.contender.text), _hash(self.instance.key), _hash(repr(self.delta)))
        return np.random.SeedSequence(seed, spawn_key=(*key, trial))

    def __str__(self) -> str:
        return f"{self.contender.text} on {self.instance.text} at delta {self.delta:g}"


def instance_seeds(instance: Named, seed: int, trial: int) -> np.random.SeedSequence:
    """The randomness of the arms of one trial, the same for all algorithms and deltas."""
    return np.random.SeedSequence(seed, spawn_key=(_hash(instance.key), trial))


@dataclass(frozen=True)
class Plan:
    """Everything that determines the results of a comparison.

    Parameters
    ----------
    algorithms
        Names, with settings if any: ``"rage"``, ``"lingape:norm_bound=2"``.
    instances
        Names of instances: ``"standard:gap=0.3"``; see :mod:`surepick.bench.named`.
    deltas, epsilon, max_samples
        For every algorithm (its own settings win over the last two).
    trials, seed
        Trials of each cell, and the seed of them all.
    max_ratio
        A trial gives up after this many times the lower bound on pulls.
    time_limit
        Seconds a trial may take. The first that takes longer ends its cell, which has failed.
    noise
        Family of the rewards: ``"student-t:freedom=4"``, …; None: what goes with each problem.
    fewer
        Algorithm -> its trials of each cell, where it is to have fewer than the others.
    skip
        Algorithm and instance -> why they are not run together; their trials have failed.

    Examples
    --------
    >>> plan = Plan(["peleg", "rage"], ["standard:gap=0.5"], deltas=[0.1], trials=3)
    >>> len(plan.cells), plan.size
    (2, 6)
    """

    algorithms: Iterable[str]
    instances: Iterable[str]
    deltas: Iterable[float] = (0.1,)
    trials: int = field(default=50, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    epsilon: float = field(default=0.0, kw_only=True)
    max_samples: int | None = field(default=None, kw_only=True)
    max_ratio: float | None = field(default=None, kw_only=True)
    time_limit: float | None = field(default=None, kw_only=True)
    noise: str | None = field(default=None, kw_only=True)
    fewer: Mapping[str, int] = field(default_factory=dict, kw_only=True)
    skip: Mapping[tuple[str, str], str] = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("algorithms", "instances", "deltas"):
            values = getattr(self, name)
            values = (values,) if isinstance(values, str | float) else tuple(values)
            if not values:
                raise InvalidInputError(f"{name} must name at least one")
            object.__setattr__(self, name, values)
        whole(self.trials, "trials", least=1)
        whole(self.seed, "seed", most=SEEDS)
        for name in ("max_ratio", "time_limit"):
            if getattr(self, name) is not None:
                positive(getattr(self, name), name)
        for delta in self.deltas:
            probability(delta, "delta")
        if self.noise is not None:
            noise_family(self.noise)
        self._check_cells()

    def _check_cells(self) -> None:
        """Configure everything once: bad settings are refused before anything runs."""
        _once("algorithms", [c.text for c in self._contenders])
        _once("instances", [i.key for i in self._instances])
        _once("deltas", [repr(float(d)) for d in self.deltas])
        examples = {i.key: i.build(seeds=0) for i in self._instances}
        for cell in self.cells:
            self.algorithm(cell, examples[cell.instance.key])

    @cached_property
    def _contenders(self) -> list[Contender]:
        return [Contender.named(text) for text in self.algorithms]

    @cached_property
    def _instances(self) -> list[Named]:
        return [instance_named(text) for text in self.instances]

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Instance by instance, delta by delta, algorithm by algorithm."""
        return tuple(
            Cell(contender, instance, float(delta))
            for instance in self._instances
            for delta in self.deltas
            for contender in self._contenders
        )

    def describe(self, version: str) -> dict[str, Any]:
        """What the rows of this plan depend on, beside what each of them says of itself."""
        names = ("seed", "epsilon", "max_samples", "max_ratio", "time_limit", "noise")
        return {"version": version} | {name: getattr(self, name) for name in names}

    @property
    def size(self) -> int:
        """Number of trials in all."""
        return sum(self.trials_of(cell) for cell in self.cells)

    @property
    def trials_by_cell(self) -> dict[int, int]:
        """Number of trials of each cell, by its place in ``cells``."""
        return {number: self.trials_of(cell) for number, cell in enumerate(self.cells)}

    def trials_of(self, cell: Cell) -> int:
        """Number of trials of one cell."""
        return min(self.trials, self.fewer.get(cell.contender.text, self.trials))

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Number of the cell and of the trial, in the order in which they are run.

        One trial of every cell comes first: then the time left can be told.
        """
        for trial in range(self.trials):
            for number, cell in enumerate(self.cells):
                if trial < self.trials_of(cell):
                    yield number, trial

    def bound_tasks(self) -> Iterator[tuple[Named, int]]:
        """Instances (with their trial, where each has its own) that need a lower bound."""
        for instance in self._instances:
            for trial in range(self.trials if instance.each_trial else 1):
                yield instance, trial

    def algorithm(self, cell: Cell, instance: Instance) -> Algorithm:
        """The configured algorithm of a cell."""
        limits = {"epsilon": self.epsilon, "max_samples": self.max_samples}
        return cell.contender.configure(instance, cell.delta, **limits)

    def sample_limit(self, lower_bound: float) -> int | None:
        """Pulls after which a trial gives up, where this is the lower bound on their mean."""
        limits = [] if self.max_samples is None else [self.max_samples]
        if self.max_ratio is not None and math.isfinite(lower_bound):
            limits.append(max(1, math.ceil(self.max_ratio * lower_bound)))
        return min(limits, default=None)

    def warnings(self) -> list[str]:
        """What a reader of the results should know."""
        notes = []
        if self.noise is not None and isinstance(noise_family(self.noise), Correlated | Misfit):
            notes.append(f"no guarantee and no bound here is about {self.noise} rewards")
        for instance in self._instances:
            example = instance.build(seeds=instance_seeds(instance, self.seed, 0))
            length = float(np.linalg.norm(example.theta))
            for contender in self._contenders:
                delta, limit = self.cells[0].delta, self.max_samples
                algorithm = contender.configure(example, delta, max_samples=limit)
                bound = getattr(algorithm, "norm_bound", None)
                if bound is not None and bound < length * (1 - 1e-9):
                    enough = math.ceil(length * 1000) / 1000
                    notes.append(
                        f"{contender.text} assumes that theta is no longer than {bound:g}, but on "
                        f"{instance.text} it is {length:.4g}, so nothing is guaranteed there (try "
                        f"{contender.text.partition(':')[0]}:norm_bound={enough:g})"
                    )
                if contender.needs_theta:
                    notes.append(f"{contender.text} uses the truth: a yardstick, not a rival")
                elif contender.needs_length and "norm_bound" not in contender.settings:
                    notes.append(f"{contender.text} uses the length of theta")
        return list(dict.fromkeys(notes))


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())


def _once(what: str, values: list[str]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise InvalidInputError(f"{what}: {value!r} is there twice")

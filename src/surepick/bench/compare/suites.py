"""Suites: comparisons with a name, each a plan that is always the same.

``leaderboard`` runs everything in the registry on instances of every kind we know of. Lower bounds
are some hundreds to some thousands of pulls, so that a trial is short; a trial that takes
``max_ratio`` times the bound gives up, and so does one that computes for more than ``time_limit``.
``published`` does the same on instances that other people's papers have, so that the choice is not
ours alone; where they are drawn at random, with the first seed for which the bounds are that large.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from surepick.algorithms import names
from surepick.bench.compare.plan import Contender, Plan
from surepick.bench.compare.run import TOO_SLOW
from surepick.bench.named import build_instance, instance_named
from surepick.errors import UnknownNameError

Group = Literal["proven", "heuristic", "oracle"]


@dataclass(frozen=True)
class Suite:
    """A comparison of all registered algorithms."""

    name: str
    title: str
    instances: Mapping[str, str]  #: text of the instance -> what it stands for
    deltas: tuple[float, ...]
    trials: int
    max_ratio: float
    time_limit: float
    #: algorithm -> (most candidates it can cope with, why)
    sizes: Mapping[str, tuple[int, str]]
    #: what has a quarter of the trials, because its trials take long
    costly: tuple[str, ...] = ()

    def plan(
        self,
        *,
        algorithms: Iterable[str] = (),
        instances: Iterable[str] = (),
        deltas: Iterable[float] = (),
        trials: int | None = None,
        seed: int = 0,
        max_samples: int | None = None,
    ) -> Plan:
        """The plan of the suite, or of the part of it that is asked for."""
        compared = [Contender.named(text).text for text in algorithms] or list(names())
        trials = trials or self.trials
        on = [instance_named(text).text for text in instances] or list(self.instances)
        return Plan(
            compared,
            on,
            list(deltas) or self.deltas,
            trials=trials,
            seed=seed,
            max_samples=max_samples,
            max_ratio=self.max_ratio,
            time_limit=self.time_limit,
            fewer={name: max(1, trials // 4) for name in compared if self.is_costly(name)},
            skip={
                (algorithm, instance): f"{TOO_SLOW}: {self.sizes[algorithm][1]}"
                for algorithm in compared
                if algorithm in self.sizes
                for instance in on
                if _candidates(instance) > self.sizes[algorithm][0]
            },
        )

    def is_costly(self, algorithm: str) -> bool:
        """Whether an algorithm has a quarter of the trials: slow ones, and heuristics."""
        return algorithm in self.costly or group(algorithm) == "heuristic"

    def what(self, instance: str) -> str:
        """What an instance stands for, as far as the suite knows."""
        return self.instances.get(instance, "")


LEADERBOARD = Suite(
    name="leaderboard",
    title="Leaderboard",
    instances={
        "standard:gap=0.5": "five unrelated options, one better (figure a)",
        "standard:gap=0.2": "the same, harder to tell apart",
        "unit_sphere:d=10": "100 arms on a sphere (figure c)",
        "unit_sphere:d=20": "the same in more dimensions",
        "confounding:d=5": "standard basis and a confounding arm, θ = e₁ (figure d)",
        "confounding:d=10": "the same in more dimensions",
        "confounding:d=6,scale=2": "confounding arm, θ = 2e₁",
        "confounding:d=3,omega=0.2,scale=2": "θ = 2e₁, the confounding arm less close",
        "gaussian:d=20,k=50,rng=2": "arms and θ with normal entries",
        "gaussian:d=5,k=500,gap=0.1": "500 normal arms in few dimensions",
        "unit_sphere:d=10,k=1000": "1000 arms on a sphere",
        "nearly_tied": "two nearly tied arms among 2000",
        "probes:d=10,k=60": "parts are measured, 60 combinations are the candidates",
        "factorial:gap=0.2": "4×3×2×2 layouts, all two-way interactions modelled, two real",
        "factorial:levels=2x2x2x2x2x2,interactions=3,gap=0.2": "64 layouts of six switches",
        "wines:noise=2": "178 wines by twelve measurements, θ fitted to real data",
    },
    deltas=(0.1, 0.01, 1e-6),
    trials=10,
    max_ratio=100.0,
    time_limit=5.0,
    sizes={
        "peleg-paper": (200, "every round of its game looks at all pairs of candidates"),
        "peleg-adahedge": (200, "every round of its game looks at all pairs of candidates"),
        "lingame-c": (200, "its learner has an action for every pair of candidate and arm"),
        "lingame-c-heuristic": (
            200,
            "its learner has an action for every pair of candidate and arm",
        ),
    },
    costly=("peleg-paper", "peleg-adahedge", "lingame-c", "lazy-ts", "lucb"),
)
PUBLISHED = replace(
    LEADERBOARD,
    name="published",
    title="Instances from other people's papers",
    instances={
        "confounding:d=2,noise=0.5": "the “classic” instance, m = 1 (Réda et al. 2021)",
        "random_features:rng=2": "10 arms of 5 random features, θ = e₁ (the same)",
        "random_features:d=10,k=20": "20 arms of 10 (the same)",
        "drugs": "ten drugs by recorded scores (the same)",
        "many_arms": "1000 arms in the plane, nearly all second best (Fiez et al. 2019)",
        "transductive": "20 quantities and a turned copy of each (the same)",
        "unit_sphere:d=9,k=250,gamma=0": "250 arms on a sphere, θ one of them (the same)",
        "end_of_optimism:d=5": "a far arm that tells most (Lattimore, Szepesvári 2017)",
    },
)
_SUITES = {suite.name: suite for suite in (LEADERBOARD, PUBLISHED)}


def suite_names() -> tuple[str, ...]:
    """Suites there are."""
    return tuple(_SUITES)


def suite(name: str) -> Suite:
    """The suite of this name.

    Examples
    --------
    >>> len(suite("leaderboard").instances) >= 12
    True
    """
    if name not in _SUITES:
        raise UnknownNameError.among("suite", name, _SUITES)
    return _SUITES[name]


@cache
def group(algorithm: str) -> Group:
    """What an algorithm's pulls may be compared with.

    Examples
    --------
    >>> group("peleg"), group("fws-heuristic"), group("xy-oracle")
    ('proven', 'heuristic', 'oracle')
    """
    contender = Contender.named(algorithm)
    if contender.needs_theta:
        return "oracle"
    example = build_instance("standard:gap=1")
    return "proven" if contender.configure(example, 0.1).theorem else "heuristic"


def _candidates(instance: str) -> int:
    return len(build_instance(instance).problem.candidates)

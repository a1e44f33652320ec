"""How an algorithm behaves between ask and tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.ahead.noise import Gaussian
from surepick.algorithms import registry
from surepick.research.sequential import SequentialState
from surepick.run import Run
from surepick.simulate.conformance.tools import (
    MOST_PULLS,
    Make,
    Tape,
    basis,
    check_answer,
    check_solved,
    configure,
    demand,
    generic,
    nearby,
    played,
    step,
)
from surepick.simulate.trials import drive, trial


def check_same_rewards_same_asks(make: Make) -> dict[str, Any]:
    """Equal rewards lead to equal asks, whatever other runs do in between."""
    instance = generic(noise=0.5)
    first, expected = played(make, instance, seed=1)
    other = configure(make, instance, delta=0.3).start(instance.problem, seed=2)
    other_tape, ignored = Tape(instance, seed=2), []
    again = configure(make, instance).start(instance.problem, seed=1)
    tape, asks = Tape(instance, seed=1), []
    while not again.stopped:
        demand(again.ask() == again.ask(), "asking twice gives two batches")
        step(again, tape, asks)
        demand(
            asks == expected[: len(asks)],
            f"batch {len(asks) - 1} differs in a second run with the same rewards",
        )
        if not other.stopped:
            step(other, other_tape, ignored)
    demand(len(asks) == len(expected), "a second run with the same rewards stops sooner")
    demand(
        again.answer.to_dict() == first.answer.to_dict(),
        "a second run with the same rewards answers differently",
    )
    return {"batches": len(asks)}


def check_save_and_load(make: Make, *, most: int = 25) -> dict[str, Any]:
    """Saving and loading changes nothing, before and in the middle of a batch, and at the end.

    Runs with more than ``most`` batches are saved at that many of them, the first few included.
    """
    instance = generic(noise=0.5)
    whole, expected = played(make, instance, seed=2)
    run = configure(make, instance).start(instance.problem, seed=2)
    tape, asks = Tape(instance, seed=2), []
    early = np.arange(min(most // 2, len(expected)))
    points = {*early.tolist(), *np.linspace(0, len(expected), most).astype(int).tolist()}
    while not run.stopped:
        number = len(asks)
        if number in points:
            run = _reload(run)
            batch = run.ask()
            run = _reload(run)
            demand(run.ask() == batch, f"batch {number} changed when saved while open")
        step(run, tape, asks)
        demand(
            asks == expected[: len(asks)], f"batch {number} differs after saving and loading before"
        )
    run = _reload(run)
    demand(run.stopped and len(asks) == len(expected), "stops elsewhere after saving and loading")
    demand(
        run.answer.certificate() == whole.answer.certificate(),
        "another answer or certificate after saving and loading",
    )
    return {"saved": len(points)}


def _reload(run: Run) -> Run:
    text = run.to_json()
    loaded = Run.from_json(text)
    demand(loaded.to_json() == text, "a loaded run is not the one that was saved")
    demand(loaded.algorithm == run.algorithm, "a loaded run has another configuration")
    demand(loaded.active == run.active, "a loaded run has other active candidates")
    return loaded


def check_settings_rebuild_it(make: Make) -> dict[str, Any]:
    """The registered name and the settings give back the configuration."""
    instance = generic()
    for extra in ({}, {"epsilon": 0.25}, {"epsilon": 0.5, "max_samples": 77}):
        algorithm = configure(make, instance, delta=0.07, **extra)
        name, settings = algorithm.registered_name(), algorithm.settings()
        again = registry.get(name, **settings)
        demand(again == algorithm, f"get({name!r}, **{settings!r}) is {again!r}")
        demand(
            again.epsilon == extra.get("epsilon", 0.0)
            and again.max_samples == extra.get("max_samples"),
            f"epsilon or max_samples was lost: {again!r}",
        )
    return {}


def check_asks_for_arms_that_are_there(make: Make) -> dict[str, Any]:
    """Every batch names existing arms, in order, at least one pull in all."""
    for instance in (generic(), basis(), nearby()):
        for seed in range(3):
            run, _ = played(make, instance, seed)  # every batch was checked
            demand(run.samples > 0, "stopped without a single pull")
    return {}


def check_answers_a_candidate(make: Make) -> dict[str, Any]:
    """The answer is a candidate, a survivor, with its own label; then the run is over."""
    for instance in (generic(), basis(), nearby()):
        answer = check_answer(played(make, instance, seed=2).run, instance)
        demand(
            answer.guarantee.kind != "pac"
            or {int(instance.problem.same_as[i]) for i in answer.survivors} == {answer.arm},
            f"claims the best although {answer.survivors} survive",
        )
    return {}


def check_stops_on_easy_instances(make: Make) -> dict[str, Any]:
    """Gaps of a noise scale and more are settled, rightly, in a reasonable number of pulls."""
    most = 0
    for instance in (generic(), basis(), nearby()):
        algorithm = configure(make, instance, delta=0.01, max_samples=MOST_PULLS)
        for i in range(10):
            row = trial(algorithm, instance, np.random.SeedSequence(7, spawn_key=(i,)), Gaussian())
            demand(
                row["guarantee"] != "none",
                f"{instance.name}: did not stop within {row['samples']:,} pulls",
            )
            most = max(most, row["samples"])
    answers = {
        one: check_solved(played(make, one, seed=0).run, one) for one in (generic(), basis())
    }
    right = sum(instance.is_correct(answer.arm) for instance, answer in answers.items())
    demand(right > 0, "wrong on both of the easiest instances")
    return {"most_pulls": most}


def check_fast_path_is_the_slow_path(make: Make) -> dict[str, Any]:
    """Simulated trials give the pulls, sums and answer of ask and tell on the same rewards."""
    instance = generic(noise=0.5)  # a power of two: dividing by it is exact
    algorithm = configure(make, instance)
    for seed in range(3):
        fast = algorithm.start(instance.problem, seed=seed)
        drive(fast, instance, np.random.default_rng(seed), Gaussian())
        slow = algorithm.start(instance.problem, seed=seed)
        rng, asks = np.random.default_rng(seed), []
        while not slow.stopped:
            batch = slow.ask()
            asks.append(batch.pulls)
            slow.tell(batch, sums=_simulated(slow, instance, rng, batch.pulls))
        demand(
            (fast.pulls == slow.pulls).all(),
            f"simulation pulls {fast.pulls.tolist()}, ask and tell {slow.pulls.tolist()}",
        )
        demand(fast.batches == slow.batches == len(asks), "simulation counts other batches")
        demand(
            fast.answer.certificate() == slow.answer.certificate(),
            "simulation gives another answer or certificate than ask and tell",
        )
    return {}


def _simulated(run: Run, instance: Any, rng: np.random.Generator, pulls: Any) -> np.ndarray:
    """The rewards that simulation draws: one by one in the compiled loop, else sum by sum."""
    scale, sums = instance.problem.unit, np.zeros(instance.problem.n_arms)
    if isinstance(run.state, SequentialState):
        arm = int(pulls.arms[0])
        sums[arm] = (instance.means[arm] / scale + rng.standard_normal()) * scale
    else:
        means = instance.means[pulls.arms]
        sums[pulls.arms] = Gaussian().sums(rng, means, pulls.counts, scale)
    return sums

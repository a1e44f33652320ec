"""Trials: seeded, simulated runs taken to their stop."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

from surepick.ahead.feed import TooSlowError, feed
from surepick.ahead.kinds import check_rewards, noise_family
from surepick.ahead.noise import Gaussian, Misfit, Noise
from surepick.algorithms.base import Algorithm
from surepick.arrays.validate import SEEDS, whole
from surepick.engines import local
from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.research.sequential import SequentialState
from surepick.run import Run
from surepick.simulate.instance import Instance
from surepick.simulate.table import Table


def trial(
    algorithm: Algorithm,
    instance: Instance,
    seeds: np.random.SeedSequence,
    noise: Noise | None = None,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """One run on simulated rewards, as a row of results.

    Without ``noise`` rewards are drawn as :func:`trials` does. A run that has computed for
    ``time_limit`` seconds (of processor time: a busy machine does not matter) ends in a
    :class:`TooSlowError`, at its next chance: between batches, or after some hundreds of single
    pulls.
    """
    started = time.perf_counter()
    deadline = None if time_limit is None else time.process_time() + time_limit
    for_algorithm, for_rewards = seeds.spawn(2)
    rng = np.random.default_rng(for_rewards)
    if isinstance(noise, Misfit):
        instance = instance.off_by(noise.zeta, rng)
    run = algorithm.start(instance.problem, np.random.default_rng(for_algorithm))
    drive(run, instance, rng, noise, deadline)
    answer = run.answer
    return {
        "samples": answer.samples,
        "correct": instance.is_correct(answer.arm, algorithm.epsilon),
        "arm": answer.arm,
        "batches": answer.batches,
        "survivors": len(answer.survivors),
        "guarantee": answer.guarantee.kind,
        "seconds": time.perf_counter() - started,
    }


def drive(
    run: Run,
    instance: Instance,
    rng: np.random.Generator,
    noise: Noise | None = None,
    deadline: float | None = None,
) -> None:
    """Feed a run with simulated rewards until it stops."""
    problem = instance.problem
    noise = noise_family(noise, problem.noise_kind)
    check_rewards(noise, problem, instance.means)
    scales = noise.scales(problem)
    plain = run.algorithm.budget is None  # the loop counts pulls, and no money
    if plain and noise == Gaussian() and isinstance(run.state, SequentialState):
        from surepick.simulate.fast import drive_sequential

        seen = problem.sign * instance.means / scales
        pulls, sums = drive_sequential(run.state, seen, rng, run.algorithm.sample_limit(), deadline)
        run.record_pulls(pulls, problem.sign * sums * scales)
        if not run.stopped:
            raise TooSlowError(run.samples)
        return
    feed(run, instance.means, noise, scales, rng, deadline)


def trials(
    algorithm: Algorithm,
    instance: Instance,
    n: int = 50,
    seed: int = 0,
    n_jobs: int = 1,
    noise: str | Noise | None = None,
) -> Table:
    """Run ``n`` independent trials; the result does not depend on ``n_jobs``.

    Rewards are drawn from the family ``noise``. By default they are Bernoulli for yes/no problems,
    Beta between given bounds, else Gaussian with the scale that the problem has, or 1.

    Returns a table with the columns samples, correct, arm, batches, survivors, guarantee and
    seconds; trial i is seeded by ``SeedSequence(seed, spawn_key=(i,))``.

    Parameters
    ----------
    algorithm
        What to run.
    instance
        On which problem, with the truth.
    n
        Trials.
    seed
        Of all of them.
    n_jobs
        Processes.
    noise
        Family of the rewards, as a name or an object.

    Examples
    --------
    >>> import surepick as sp
    >>> t = trials(sp.algorithms.Peleg(delta=0.1), sp.simulate.instances.standard(0.5), n=2)
    >>> len(t["samples"])
    2
    """
    if not isinstance(algorithm, Algorithm):
        raise InvalidTypeError(f"algorithm must be a configured algorithm; got {algorithm!r:.80}")
    if not isinstance(instance, Instance):
        raise InvalidTypeError(f"instance must be a surepick Instance; got {instance!r:.80}")
    n, family = whole(n, "n", least=1), noise_family(noise, instance.problem.noise_kind)
    whole(seed, "seed", most=SEEDS)
    if whole(n_jobs, "n_jobs", least=-1024) == 0:
        raise InvalidInputError("n_jobs must be a number of processes, or -1: one per core; got 0")
    found = dict(local(n_jobs).run(partial(_numbered, algorithm, instance, family, seed), range(n)))
    return Table.from_rows(found[i] for i in range(n))


def _numbered(
    algorithm: Algorithm, instance: Instance, noise: Noise, seed: int, i: int
) -> dict[str, Any]:
    """Trial number ``i``."""
    return trial(algorithm, instance, np.random.SeedSequence(seed, spawn_key=(i,)), noise)

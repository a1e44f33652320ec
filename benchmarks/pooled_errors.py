"""How often PooledPeleg is wrong where it knows the noise: a recorded validation run.

Eight instances at delta = 0.2 and 0.05, with exact (Clopper–Pearson) 99.9 % intervals: ties broken
by tiny gaps, small batches, Bernoulli rewards, bounded rewards, separate candidates. Prints a table
and, with ``--out``, writes it as Markdown.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/pooled_errors.py --trials 5000 --jobs 2
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.simulate import Instance, instances, trials


def cases() -> list[tuple[str, Instance, str, dict[str, int]]]:
    """Name, instance, noise family, settings."""
    tie = np.array([[1.0, 0.0], [0.0, 1.0]])
    probes = np.eye(3)
    sums = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    line = np.array([[0.2], [0.5], [0.8]])
    return [
        ("two arms, gap 0.001", Instance(sp.Problem(tie, noise=1.0), [1e-3, 0.0]), "gaussian", {}),
        ("two arms, gap 0.3", Instance(sp.Problem(tie, noise=1.0), [0.3, 0.0]), "gaussian", {}),
        ("standard, gap 0.5", instances.standard(0.5), "gaussian", {}),
        ("confounding, d=3, omega=0.4", instances.confounding(3, 0.4), "gaussian", {}),
        (
            "confounding, d=3, batches of 12 at most",
            instances.confounding(3, 0.4),
            "gaussian",
            {"max_batch": 12},
        ),
        (
            "Bernoulli, sigma = 1/2",
            Instance(sp.Problem(line, noise=0.5), [0.9]),
            "bernoulli",
            {},
        ),
        (
            "bounded rewards",
            Instance(sp.Problem(tie, noise=1.0), [0.5, 0.0]),
            "bounded",
            {},
        ),
        (
            "separate candidates",
            Instance(sp.Problem(probes, sums, noise=1.0), [0.3, 0.2, 0.0]),
            "gaussian",
            {},
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=5000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = ["| instance | delta | trials | wrong | rate | 99.9 % interval |"]
    rows += ["|---|---|---|---|---|---|"]
    started = time.perf_counter()
    for name, instance, noise, settings in cases():
        for delta in (0.2, 0.05):
            # the budget ends trials that lost the best arm and are left with a (near) tie
            algorithm = sp.algorithms.PooledPeleg(delta, max_samples=10**9, **settings)
            table = trials(
                algorithm, instance, n=given.trials, seed=11, n_jobs=given.jobs, noise=noise
            )
            wrong = int((~table["correct"]).sum())
            low, high = clopper_pearson(wrong, given.trials, 0.999)
            rows.append(
                f"| {name} | {delta:g} | {given.trials:,} | {wrong} | {wrong / given.trials:.4f} "
                f"| {low:.4f} – {high:.4f} |"
            )
            print(rows[-1], flush=True)
    print(f"{time.perf_counter() - started:.0f} s")
    if given.out:
        given.out.write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    main()

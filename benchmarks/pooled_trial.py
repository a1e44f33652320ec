"""What a simulated trial of PooledPeleg costs: milliseconds of one core, and pulls.

    python benchmarks/pooled_trial.py          # time per trial
    python benchmarks/pooled_trial.py pulls    # mean pulls, next to two public programs
    python benchmarks/pooled_trial.py bound    # mean pulls over the lower bound

Times are for small problems with large and tiny gaps (K = 6, d = 5) and a large one (K = 100,
d = 50): median and largest CPU time per trial. Pulls are at delta = 0.1 at the points of the
paper's figures, next to the means of the public RAGE code and of its oracle, which knows theta.
The algorithm's constants were chosen on seeds below FRESH at these same points: the trials here
start at FRESH, with other rewards and other arms.
"""

from __future__ import annotations

import os
import sys

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded

import time

import numpy as np

import surepick as sp

FRESH = 9000  # first seed that no constant was chosen by
GOALS = {"small": 30.0, "large": 500.0}
# setting, point, trials here; mean pulls of the public RAGE code and of the public oracle
PUBLIC = [
    *(("standard", g, 300, r, o) for g, r, o in [
        (0.1, 53412, 41026), (0.2, 12546, 10123), (0.3, 4993, 4392), (0.4, 2501, 2360),
        (0.5, 1713, 1524),
    ]),
    *(("unit_sphere", d, 50, r, o) for d, r, o in [
        (10, 8558, 3991), (20, 7741, 4737), (30, 8918, 4977), (40, 11308, 5235), (50, 13569, 6077),
    ]),
    *(("confounding", d, 300, r, o) for d, r, o in [
        (2, 23572, 13301), (3, 22012, 13784), (4, 21746, 14330), (5, 23847, 14888),
        (6, 26524, 14943), (7, 26779, 15263), (8, 26394, 15485), (9, 27080, 15683),
        (10, 27722, 16097),
    ]),
]  # fmt: skip


def cases():
    for omega in (0.5, 0.1, 0.01, 0.001):
        yield "small", [sp.simulate.instances.confounding(5, omega)] * 20
    for scale in (1.0, 0.03):
        yield "large", [_scaled(50, scale, i) for i in range(6)]


def _scaled(d, scale, seed):
    instance = sp.simulate.instances.unit_sphere(d, rng=seed)
    name = f"{instance.name}, gaps x {scale:g}"
    return sp.simulate.Instance(instance.problem, scale * instance.theta, name=name)


def pulls() -> None:
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.1)
    for setting, point, n, rage, oracle in PUBLIC:
        make = getattr(sp.simulate.instances, setting)
        if setting == "unit_sphere":  # new arms in every trial
            tables = [
                sp.simulate.trials(algorithm, make(point, rng=i), n=1, seed=i)
                for i in range(FRESH, FRESH + n)
            ]
        else:
            tables = [sp.simulate.trials(algorithm, make(point), n=n, seed=FRESH)]
        samples = np.concatenate([table["samples"] for table in tables])
        wrong = sum(int((~table["correct"]).sum()) for table in tables)
        mean, error = samples.mean(), samples.std() / np.sqrt(n)
        print(
            f"{setting:12s} {point:<4} {mean:7,.0f} ± {error:3.0f} pulls"
            f"   {mean / rage:.3f} of RAGE   {mean / oracle:.3f} of the oracle"
            f"   {wrong} of {n} wrong"
        )


def bound() -> None:
    instance = sp.simulate.instances.confounding(5)
    complexity = sp.design.complexity(instance.problem, instance.theta)
    for delta, n in ((0.1, 600), (1e-4, 300), (1e-12, 200), (1e-20, 200)):
        algorithm = sp.algorithms.get("pooled-peleg", delta=delta)
        table = sp.simulate.trials(algorithm, instance, n=n, seed=FRESH)
        ratio = table["samples"] / complexity.lower_bound(delta)
        print(f"delta {delta:g}: {ratio.mean():.3f} ± {ratio.std() / np.sqrt(n):.3f} x the bound")


def times() -> None:
    algorithm = sp.algorithms.get("pooled-peleg", delta=0.1)
    # By then all is compiled that is worth it.
    sp.simulate.trials(algorithm, sp.simulate.instances.confounding(5, 0.5), n=40)
    for size, instances in cases():
        cost, pulls, batches = [], [], []
        for i, instance in enumerate(instances):
            started = time.process_time()
            table = sp.simulate.trials(algorithm, instance, n=1, seed=i)
            cost.append(1e3 * (time.process_time() - started))
            pulls.append(table["samples"][0])
            batches.append(table["batches"][0])
        print(
            f"{instances[0].name:42s} median {np.median(cost):6.1f} ms  max {max(cost):6.1f} ms"
            f"  (goal {GOALS[size]:.0f} ms)  {np.mean(pulls):12,.0f} pulls"
            f"  {np.mean(batches):4.0f} batches"
        )


if __name__ == "__main__":
    {"pulls": pulls, "bound": bound}.get(" ".join(sys.argv[1:]), times)()

"""Pulls per second of processor time, of fully adaptive algorithms in simulation on one core.

Two sizes: 6 arms in 5 dimensions, and 100 arms in 20. A first trial of each compiles the rule
and is not counted; then whole trials are run until enough time was measured. Processor time,
because it does not depend on what else the machine is doing. Run with:
python benchmarks/sequential_speed.py [names of algorithms]
"""

import os
import sys
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import surepick as sp
from surepick.simulate import instances, trials

NAMES = ("lucb", "lingape", "lingame")
SIZES = {"K=6 d=5": instances.confounding(5), "K=100 d=20": instances.unit_sphere(20)}
SECONDS = 2.0
MOST_PULLS = 200_000  # of one trial; none is so short that its start dominates


def pulls_per_second(name: str, instance: sp.simulate.Instance) -> float:
    algorithm = sp.algorithms.get(name, delta=0.1, max_samples=MOST_PULLS)
    trials(algorithm, instance, n=1)
    pulls, seed, start = 0, 1, time.process_time()
    while time.process_time() - start < SECONDS:
        pulls += int(trials(algorithm, instance, n=1, seed=seed)["samples"].sum())
        seed += 1
    return pulls / (time.process_time() - start)


def main() -> None:
    names = sys.argv[1:] or list(NAMES)
    print(f"{'pulls per second':20s}" + "".join(f"{size:>14s}" for size in SIZES))
    for name in names:
        print(f"{name:20s}", end="", flush=True)
        for instance in SIZES.values():
            print(f"{pulls_per_second(name, instance):14,.0f}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()

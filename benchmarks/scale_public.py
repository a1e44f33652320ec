"""Time and memory beside the public RAGE code, which forms all K² differences.

Unit-sphere catalogues with a planted best, N(0,1) noise, delta = 0.05. Each identification runs in
a process of its own with one BLAS thread; memory is the peak of the whole process. The public
code runs with fixed widths (``var=False``), its faster form. It is not part of this project: give
the folder of a checkout of github.com/fiezt/Transductive-Linear-Bandit-Code.

Run with: python -m benchmarks.scale_public FOLDER [--sizes 100,1000,2000] [--dim 8]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

DELTA = 0.05
OURS = ("rage", "peleg", "pooled-peleg")


def instance(k: int, dim: int, seed: int):
    import surepick as sp

    return sp.simulate.families.catalogue(dim, k, rng=seed)


def run_theirs(folder: str, k: int, dim: int, seed: int) -> dict:
    sys.path.insert(0, folder)
    from RAGE import RAGE  # pyright: ignore[reportMissingImports]

    made = instance(k, dim, seed)
    arms, theta = np.array(made.problem.arms), np.array(made.theta)[:, None]
    started = time.perf_counter()
    run = RAGE(arms, theta, 10, DELTA)
    run.algorithm(seed, var=False)
    return {"seconds": time.perf_counter() - started, "pulls": int(run.N), "right": run.success}


def run_ours(algorithm: str, k: int, dim: int, seed: int) -> dict:
    import surepick as sp
    from surepick.simulate.trials import drive

    def identify(made):
        run = sp.algorithms.get(algorithm, delta=DELTA).start(made.problem)
        drive(run, made, np.random.default_rng(seed), sp.simulate.Gaussian())
        return run.answer

    identify(instance(10, 2, seed))  # compiled code is loaded
    made = instance(k, dim, seed)
    started = time.perf_counter()
    answer = identify(made)
    seconds = time.perf_counter() - started
    return {"seconds": seconds, "pulls": answer.samples, "right": made.is_correct(answer.arm)}


def in_a_process(*arguments: str) -> dict:
    command = [sys.executable, "-m", "benchmarks.scale_public", *arguments]
    alone = os.environ | {
        "OPENBLAS_NUM_THREADS": "1"
    }  # two threads wait for each other at small sizes
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=alone)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--sizes", default="100,1000,2000")
    parser.add_argument("--dim", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", nargs=2, help="(used by this file itself) algorithm and K")
    asked = parser.parse_args()
    if asked.one:
        name, k = asked.one[0], int(asked.one[1])
        if name == "theirs":
            found = run_theirs(asked.folder, k, asked.dim, asked.seed)
        else:
            found = run_ours(name, k, asked.dim, asked.seed)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found | {"right": bool(found["right"]), "peak_mib": round(peak)}))
        return
    common = ["--dim", str(asked.dim), "--seed", str(asked.seed)]
    for k in asked.sizes.split(","):
        theirs = in_a_process(asked.folder, "--one", "theirs", k, *common)
        print(json.dumps({"k": int(k), "program": "public RAGE"} | theirs), flush=True)
        for name in OURS:
            ours = in_a_process(asked.folder, "--one", name, k, *common)
            ratios = {
                "times_faster": round(theirs["seconds"] / ours["seconds"], 1),
                "times_less_memory": round(theirs["peak_mib"] / ours["peak_mib"], 1),
            }
            print(json.dumps({"k": int(k), "program": name} | ours | ratios), flush=True)


if __name__ == "__main__":
    main()

"""Among very many arms: our pulls beside those of somebody who knows the best arm from the start.

The lower bound counts what δ asks for, and nothing for chance. With ten million arms the unluckiest
of them looks far better than it is, whoever measures. So the bound is compared with a rule that no
one can follow: it pulls by the optimal design for the true theta, and stops as soon as the known
best arm leads every other one by evidence of log(1/δ), which is less than any proof asks for.

    python -m benchmarks.scale_informed         # up to 1e5 arms, on the CPU
    python -m benchmarks.scale_informed --backend torch:cuda --sizes 1e6,1e7

Catalogues as in ``benchmarks.scale``. Every line is JSON; ``--out FILE`` keeps them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import numpy as np

DIM, DELTA, STEP = 64, 0.05, 50


def informed(instance, weights, seed: int) -> int:
    """Pulls after which the best arm leads all others by log(1/δ), its design being known."""
    problem = instance.problem
    b, arms = problem.backend, problem.arms
    few = np.flatnonzero(weights)
    gram = b.gram(b.take(arms, few), b.put(weights[few]))
    lower, inverse = np.linalg.cholesky(gram), np.linalg.inv(gram)
    best = int(instance.best)
    centre = b.rows(arms, np.array([best]))[0]
    variances = b.quadratic(arms, np.linalg.cholesky(inverse), centre)  # for one pull
    variances[best] = 1.0
    rng, score, pulls = np.random.default_rng(seed), np.zeros(DIM), 0
    drift = gram @ instance.theta
    while True:
        pulls += STEP
        score = score + STEP * drift + math.sqrt(STEP) * (lower @ rng.standard_normal(DIM))
        theta = inverse @ score / pulls
        leads = b.xp.clip(float(centre @ theta) - b.product(arms, theta), 0.0, None)
        evidence = leads**2 * (0.5 * pulls) / variances
        evidence[best] = math.inf
        if float(b.xp.min(evidence)) >= math.log(1.0 / DELTA):
            return pulls


def ours(instance, seed: int) -> dict:
    """One identification by PooledPeleg."""
    import surepick as sp
    from surepick.simulate.trials import drive

    started = time.perf_counter()
    run = sp.algorithms.get("pooled-peleg", delta=DELTA).start(instance.problem)
    drive(run, instance, np.random.default_rng(seed), sp.simulate.Gaussian())
    return {
        "pulls": run.answer.samples,
        "correct": instance.is_correct(run.answer.arm),
        "seconds": round(time.perf_counter() - started, 2),
    }


def main() -> None:
    """Say each size's numbers."""
    import surepick as sp

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1e3,1e4,1e5")
    parser.add_argument("--backend")
    parser.add_argument("--instances", type=int, default=2)
    parser.add_argument("--trials", type=int, default=3, help="of each rule on each instance")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    for k in (int(float(size)) for size in asked.sizes.split(",")):
        rows: dict[str, list] = {
            "bound": [],
            "informed": [],
            "ours": [],
            "wrong": [],
            "seconds": [],
        }
        for number in range(asked.instances):
            instance = sp.simulate.families.catalogue(DIM, k, rng=number, backend=asked.backend)
            found = sp.design.complexity(instance.problem, instance.theta)
            rows["bound"].append(found.lower_bound(DELTA))
            for seed in range(asked.trials):
                rows["informed"].append(informed(instance, np.asarray(found.weights), seed))
                one = ours(instance, seed)
                rows["ours"].append(one["pulls"])
                rows["wrong"].append(not one["correct"])
                rows["seconds"].append(one["seconds"])
        bound, known, own = (float(np.mean(rows[name])) for name in ("bound", "informed", "ours"))
        text = json.dumps(
            {
                "k": k,
                "bound": round(bound),
                "informed": round(known),
                "informed_each": rows["informed"],
                "ours": round(own),
                "ours_each": rows["ours"],
                "informed_over_bound": round(known / bound, 2),
                "ours_over_bound": round(own / bound, 2),
                "ours_over_informed": round(own / known, 2),
                "wrong": sum(rows["wrong"]),
                "first_seconds": rows["seconds"][0],
                "later_seconds": round(float(np.median(rows["seconds"][1:])), 2),
            }
        )
        print(text, flush=True)
        if asked.out:
            with asked.out.open("a") as file:
                file.write(text + "\n")


if __name__ == "__main__":
    main()

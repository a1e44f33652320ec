"""Speed of PELEG's phases, as ratios measured side by side in one process and one thread.

1. Time per round of ``Peleg.paper``'s phase planner beside a plain NumPy transcription of the
   paper's Algorithm 1 (all pairs as one matrix, ``inv``, ``einsum``).
2. ``Peleg(delta)`` on an instance and on the same one with gaps ten times smaller: a hundred times
   the pulls, but the time should follow the geometry.

Run: OPENBLAS_NUM_THREADS=1 python benchmarks/peleg_phase.py
"""

from __future__ import annotations

import math
import time

import numpy as np

import surepick as sp
from surepick.algorithms.phases import peleg
from surepick.algorithms.phases.peleg import phase_constants
from surepick.game.loop import play_phase


def plain_rounds(arms: np.ndarray, rounds: int) -> float:
    """Seconds for this many rounds of the transcription (phase 1, delta = 0.1)."""
    K = len(arms)
    i, j = np.triu_indices(K, 1)
    Y = arms[i] - arms[j]
    c = phase_constants(arms, arms, 1, 0.1, K, False)
    eps, n, W, L, V = c["eps"], np.ones(K), np.ones(K), np.zeros(K), arms.T @ arms
    start = time.perf_counter()
    for t in range(K + 1, K + 1 + rounds):
        a = np.einsum("pi,ij,pj->p", Y, np.linalg.inv(V), Y)
        if eps**2 / a.max() > c["r2"]:
            break
        w = np.exp(np.sqrt(8 * np.log(K) / t) / c["D"] ** 2 * (L - L.max()))
        w /= w.sum()
        inverse = np.linalg.inv((arms.T * w) @ arms)
        a = np.einsum("pi,ij,pj->p", Y, inverse, Y)
        y = Y[a.argmax()]
        L += (arms @ (eps * inverse @ y / a.max())) ** 2
        W += w
        k = int(np.argmin(n / W))
        n[k] += 1
        V += np.outer(arms[k], arms[k])
    return time.perf_counter() - start


def our_rounds(arms: np.ndarray, rounds: int) -> float:
    """Seconds for this many rounds of the planner."""
    c = phase_constants(arms, arms, 1, 0.1, len(arms), False)
    start = time.perf_counter()
    play_phase(arms, arms, c, len(arms) + rounds)
    return time.perf_counter() - start


def sphere(k: int, d: int) -> np.ndarray:
    return sp.simulate.instances.unit_sphere(d, k=k, rng=0).problem.arms


def main() -> None:
    print("time per round, microseconds (best of 3)")
    print(f"{'instance':>22} {'plain NumPy':>12} {'surepick':>10} {'ratio':>7}")
    cases = {
        "K=5, d=5 (standard)": (np.eye(5), 2000),
        "K=11, d=10 (confound.)": (sp.simulate.instances.confounding(10).problem.arms, 2000),
        "K=100, d=10 (sphere)": (sphere(100, 10), 60),
        "K=100, d=50 (sphere)": (sphere(100, 50), 20),
    }
    for name, (arms, rounds) in cases.items():
        our_rounds(arms, 10)
        plain = min(plain_rounds(arms, rounds) for _ in range(3)) / rounds
        ours = min(our_rounds(arms, rounds) for _ in range(3)) / rounds
        print(f"{name:>22} {plain * 1e6:12.1f} {ours * 1e6:10.2f} {plain / ours:6.0f}x")

    print("\nPeleg(0.1), one trial from an empty plan cache (mean of 5)")
    print(f"{'gaps':>12} {'pulls':>14} {'ms':>8}")
    seconds = []
    for shrink in (1.0, 0.1):
        theta = np.array([1.0, 0.9, 0.6, 0.3, 0.0]) * 0.5 * shrink
        instance = sp.simulate.Instance(sp.Problem(np.eye(5)), theta)
        sp.simulate.trials(peleg.Peleg(0.1), instance, n=1)
        spent, pulls = 0.0, 0.0
        for seed in range(5):
            peleg._PLANS.clear()
            table = sp.simulate.trials(peleg.Peleg(0.1), instance, n=1, seed=seed)
            spent += float(table["seconds"][0]) / 5
            pulls += float(table["samples"][0]) / 5
        seconds.append(spent)
        print(f"{shrink:11g}x {math.ceil(pulls):14,} {spent * 1e3:8.1f}")
    print(f"time ratio {seconds[1] / seconds[0]:.2f}x")


if __name__ == "__main__":
    main()

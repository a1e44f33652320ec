"""Identification among very many arms: time, memory, certified gaps, and how they grow.

Instances are catalogues of arms uniform on the unit sphere (d = 64) with a planted best; rewards
are simulated. Each size runs in a process of its own, so that its peak memory is its own.

    python -m benchmarks.scale                          # K = 1e2 … 1e5 on the CPU
    python -m benchmarks.scale --sizes 1000000          # one size
    python -m benchmarks.scale --agreement              # backends against the plain path
    python -m benchmarks.scale --device cuda            # agreement, K = 1e6 and 1e7, bandwidth
    python -m benchmarks.scale --device cuda --noise all   # what not knowing the noise costs there

Every line printed is JSON; ``--out FOLDER`` keeps them in a file, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CPU_SIZES = (100, 1_000, 10_000, 100_000)
GPU_SIZES = (1_000_000, 10_000_000)
DIM, DELTA = 64, 0.05


def identify(k: int, algorithm: str, backend: str | None, seed: int, noise: str = "known") -> dict:
    """One identification on a catalogue of ``k`` arms; what is said about the noise may vary."""
    import surepick as sp
    from surepick.simulate.trials import drive

    started = time.perf_counter()
    instance = sp.simulate.families.catalogue(DIM, k, rng=seed, backend=backend)
    if noise != "known":
        told = instance.problem.with_noise(None if noise == "default" else noise)
        instance = sp.simulate.Instance(told, instance.theta)
    made = time.perf_counter()
    run = sp.algorithms.get(algorithm, delta=DELTA).start(instance.problem)
    drive(run, instance, np.random.default_rng(seed), sp.simulate.Gaussian())
    answer = run.answer
    done = time.perf_counter()
    gaps = getattr(run.state, "design_gaps", [])
    return {
        "k": k,
        "d": DIM,
        "algorithm": algorithm,
        "backend": backend or "numpy",
        "noise": noise,
        "make_seconds": round(made - started, 3),  # drawing the arms, and whitening them
        "seconds": round(done - made, 3),
        "cpu_seconds": round(time.process_time(), 3),
        "peak_rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "pulls": answer.samples,
        "batches": answer.batches,
        "correct": instance.is_correct(answer.arm),
        "guarantee": answer.guarantee.kind,
        "certified_gap_median": round(float(np.median(gaps)), 4) if gaps else None,
        "certified_gap_largest": round(float(np.max(gaps)), 4) if gaps else None,
    }


def lower_bound(k: int, backend: str | None, seed: int) -> dict:
    """The lower bound on the measurements that ``identify`` needs."""
    import surepick as sp

    instance = sp.simulate.families.catalogue(DIM, k, rng=seed, backend=backend)
    started = time.perf_counter()
    found = sp.design.complexity(instance.problem, instance.theta)
    return {
        "k": k,
        "d": DIM,
        "backend": backend or "numpy",
        "lower_bound": round(found.lower_bound(DELTA)),
        "certified_gap": round(found.gap, 4),
        "seconds": round(time.perf_counter() - started, 3),
    }


def in_a_process(arguments: list[str]) -> dict:
    """The one JSON line that this file prints for these arguments."""
    command = [sys.executable, "-m", "benchmarks.scale", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"failed": arguments, "error": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def exponent(rows: list[dict]) -> dict:
    """Least-squares slope of log time over log K, from a thousand arms on."""
    usable = [row for row in rows if row.get("k", 0) >= 1000]
    if len(usable) < 2:
        return {}
    logs = np.log([[row["k"], row["seconds"], row["peak_rss_mib"]] for row in usable])
    time_slope, memory_slope = (np.polyfit(logs[:, 0], logs[:, j], 1)[0] for j in (1, 2))
    return {
        "fitted_exponent_time": round(float(time_slope), 3),
        "fitted_exponent_memory": round(float(memory_slope), 3),
    }


# -- on a GPU ----------------------------------------------------------------------------------
def agreement(backends: list[str], problems: int, most_seconds: float = math.inf) -> dict:
    """Largest relative differences to the plain path on random problems of up to 2000 arms.

    Naming a backend sends even a small problem through the code for many arms. Answers are
    compared on every fifth problem, with and without a guarantee.
    """
    deadline, done = time.perf_counter() + most_seconds, 0
    worst = {name: {"bounds": 0.0, "largest_gap": 0.0, "other_answers": []} for name in backends}
    failed: list[str] = []
    for i in range(problems):
        if time.perf_counter() > deadline:
            break
        done += 1
        rng = np.random.default_rng(i)
        k, d = int(np.exp(rng.uniform(np.log(20), np.log(2000)))), int(rng.integers(2, 13))
        arms = rng.standard_normal((k, d)) * rng.uniform(0.3, 3.0, size=d)
        theta = arms[int(rng.integers(k))] / d
        plain = _summary(arms, theta, None, i)
        for name in backends:
            try:
                other = _summary(arms, theta, name, i)
            except Exception as error:  # reported, and the other problems still run
                failed.append(f"{name}, problem {i}: {error!r:.200}")
                continue
            found = worst[name]
            found["bounds"] = max(found["bounds"], _apart(plain["bounds"], other["bounds"]))
            found["largest_gap"] = max(found["largest_gap"], other["gap"])
            if plain["answer"] != other["answer"]:
                found["other_answers"].append([i, plain["answer"], other["answer"]])
    return {"agreement": worst, "problems": done, "failures": len(failed), "failed": failed[:5]}


def _summary(arms, theta, backend: str | None, seed: int) -> dict:
    import surepick as sp
    from surepick.simulate.trials import drive

    problem = sp.Problem(arms, backend=backend)
    pairs = sp.design.AllPairs(
        problem.backend.take(problem.targets, np.arange(min(len(arms), 300)))
    )
    design = sp.design.minimax(problem.features, pairs, tol=1e-7)
    bound = sp.design.complexity(problem, theta, tol=1e-7)
    answer = None
    if seed % 5 == 0:
        run = sp.algorithms.get("pooled-peleg", delta=DELTA, max_samples=20_000).start(problem)
        noise = sp.simulate.Gaussian()
        drive(run, sp.simulate.Instance(problem, theta), np.random.default_rng(seed), noise)
        answer = run.answer.arm, run.answer.guarantee.kind
    return {
        "bounds": [design.value, design.lower_bound, bound.lower_bound(DELTA)],
        "gap": max(design.gap, bound.gap),
        "answer": answer,
    }


def _apart(a, b) -> float:
    a, b = np.asarray(a), np.asarray(b)
    return float((np.abs(a - b) / np.maximum(np.abs(a), 1.0)).max())


def bandwidth(backend_name: str, k: int) -> dict:
    """How near the scan of all arms comes to reading them at the speed of a copy."""
    from surepick.arrays import backend as module

    backend = module.backend_named(backend_name)
    xp = backend.xp
    arms = xp.ones((k, DIM), dtype=xp.float64, device=backend.device)
    arms += backend.put(np.linspace(0.0, 1.0, DIM))
    root = np.linalg.cholesky(np.eye(DIM) + 0.1)
    size = 8 * k * DIM
    speed = 2 * size / _seconds_of_copy(backend, arms)  # a copy reads and writes
    floor = size / speed
    out = {
        "k": k,
        "backend": backend_name,
        "arm_bytes": size,
        "copy_bytes_per_second": speed,
        "floor_seconds": floor,
    }
    centre = np.linspace(0.0, 1.0, DIM)
    spent = _seconds(backend, lambda: backend.quadratic(arms, root))
    out["scan_seconds"], out["scan_fraction_of_floor"] = spent, round(floor / spent, 4)
    spent = _seconds(backend, lambda: backend.quadratic(arms, root, centre))
    out["centred_scan_fraction_of_floor"] = round(floor / spent, 4)
    spent = _seconds(backend, lambda: backend.product(arms, centre))
    out["product_fraction_of_floor"] = round(floor / spent, 4)
    return out


def _seconds_of_copy(backend, arms) -> float:
    other = backend.xp.empty_like(arms)

    def work() -> None:
        other[:] = arms

    return _seconds(backend, work)


def _seconds(backend, work, repeats: int = 10) -> float:
    """Median seconds of some work, once the device is done with it."""
    work()
    times = []
    for _ in range(repeats):
        _wait(backend)
        started = time.perf_counter()
        work()
        _wait(backend)
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def _wait(backend) -> None:
    if backend.name == "torch" and backend.on_gpu:
        backend.xp.cuda.synchronize()
    elif backend.name == "cupy":
        import cupy

        cupy.cuda.get_current_stream().synchronize()


def on_gpu(say, sizes, problems: int) -> None:
    backends = ["torch:cuda"]
    try:
        import cupy  # noqa: F401

        backends.append("cupy")
    except ImportError as error:
        say({"cupy": f"not here: {error}"})
    say(_attempt(lambda: bandwidth("torch:cuda", 10_000_000), "bandwidth"))
    say(_attempt(lambda: identify(20_000, "pooled-peleg", "torch:cuda", 0), "warm up"))
    for k in sizes:
        for name in ("pooled-peleg", "peleg", "rage"):
            say(_attempt(lambda k=k, n=name: identify(k, n, "torch:cuda", 0), f"{name}, K={k}"))
        say(_attempt(lambda k=k: lower_bound(k, "torch:cuda", 0), f"lower bound, K={k}"))
    if "cupy" in backends:
        say(_attempt(lambda: bandwidth("cupy", 10_000_000), "bandwidth, cupy"))
        say(_attempt(lambda: identify(1_000_000, "pooled-peleg", "cupy", 0), "cupy"))
    started = time.perf_counter()
    say(_attempt(lambda: agreement(backends, problems, 400.0), "agreement"))
    say({"agreement_seconds": round(time.perf_counter() - started, 1)})


def kinds_on_gpu(say, sizes) -> None:
    """PooledPeleg with and without knowing the noise, and beside the plain path on few arms."""
    for kind in ("known", "default", "equal"):
        for backend in (None, "torch:cuda"):
            small = (5_000, "pooled-peleg", backend, 0, kind)
            say(_attempt(lambda given=small: identify(*given), f"{small}"))
        for k in sizes:
            large = (k, "pooled-peleg", "torch:cuda", 0, kind)
            say(_attempt(lambda given=large: identify(*given), f"{large}"))


def _attempt(work, what: str) -> dict:
    """A result, or what went wrong: one failure should not cost the rest of a short lease."""
    try:
        return work()
    except Exception as error:
        import traceback

        return {
            "failed": what,
            "error": repr(error)[:500],
            "trace": traceback.format_exc()[-1500:],
        }


# -- command line ------------------------------------------------------------------------------
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", help="numbers of arms, with commas between them")
    parser.add_argument("--algorithm", default="pooled-peleg")
    parser.add_argument("--backend")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--agreement", action="store_true", help="compare backends, nothing else")
    parser.add_argument("--problems", type=int, default=100, help="of the agreement check")
    parser.add_argument(
        "--noise",
        choices=["known", "default", "equal", "all"],
        default="known",
        help="what the algorithm is told about it; all: one after the other (on a GPU)",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", type=int, help="(used by this file itself) one size, in-process")
    asked = parser.parse_args()
    if asked.one:
        given = (asked.algorithm, asked.backend, asked.seed, asked.noise)
        print(json.dumps(identify(asked.one, *given)))
        return
    file = None
    if asked.out:
        asked.out.mkdir(parents=True, exist_ok=True)
        file = (asked.out / f"scale-{asked.device}.jsonl").open("a")

    def say(row: dict) -> None:
        text = json.dumps(row)
        print(text, flush=True)
        if file:
            file.write(text + "\n")
            file.flush()

    say({"cores": os.cpu_count(), "numpy": np.__version__, "load": _load()})
    if asked.agreement:
        names = ["torch:cuda", "cupy"] if asked.device == "cuda" else ["numpy", "torch:cpu"]
        say(agreement(names, asked.problems))
        return
    if asked.device == "cuda":
        sizes = [int(float(k)) for k in asked.sizes.split(",")] if asked.sizes else GPU_SIZES
        if asked.noise == "known":
            on_gpu(say, sizes, asked.problems)
        else:
            kinds_on_gpu(say, sizes)
        return
    sizes = [int(float(k)) for k in asked.sizes.split(",")] if asked.sizes else CPU_SIZES
    rows = []
    for k in sizes:
        arguments = ["--one", str(k), "--algorithm", asked.algorithm, "--seed", str(asked.seed)]
        arguments += ["--noise", asked.noise]
        if asked.backend:
            arguments += ["--backend", asked.backend]
        rows.append(in_a_process(arguments))
        say(rows[-1])
    say(exponent(rows))


def _load() -> float | None:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else math.nan


if __name__ == "__main__":
    main()

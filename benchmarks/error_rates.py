"""How often PooledPeleg rules out the best option, under every kind of noise.

In all cases but the near-ties all options have the same mean; the first counts as the best, as it
would be if it led by nothing that can be seen. A trial is wrong when the first option is ruled out:
then the answer, whatever else happens, is another one with its guarantee standing. Ties have no
end, so trials stop after so many pulls; who is still in then counts as not ruled out. Intervals are
exact (Clopper–Pearson), 99.9 %. The last cases break what a kind assumes, on purpose: there δ is
not promised, and the rate is measured.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.error_rates --trials 300 --jobs 2
and, for more of what is closest to δ, with --trials 2000 --only "default: two tied"
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.ahead.kinds import check_rewards
from surepick.ahead.noise import Noise, Scaled
from surepick.bench.summary import clopper_pearson
from surepick.simulate import Bernoulli, Beta, Exponential, Gaussian, Instance, StudentT, TwoPoint
from surepick.simulate.families import factorial

DELTAS = (0.2, 0.05)
MOST, MOST_RARE = 20_000, 1_000_000  # pulls; where only one in hundreds of rewards is not 0
CHUNK = 50  # trials of one part
CONFIDENCE = 0.999


# -- noise that the library does not have ----------------------------------------------------
class Changing(Gaussian):
    """Gaussian, with a scale ten times as large in every other batch (a block each, here)."""

    def __init__(self) -> None:
        super().__init__()
        object.__setattr__(self, "batches", [0])

    def totals(self, rng, means, counts, scale):
        self.batches[0] += 1
        return super().totals(rng, means, counts, scale * (10.0 if self.batches[0] % 2 else 1.0))


class Rounded(Gaussian):
    """Gaussian around 0.3, read off a scale with steps of one."""

    def totals(self, rng, means, counts, scale):
        return Noise.totals(self, rng, means, counts, scale)  # reward by reward

    def draw(self, rng, mean, n, scale):
        return np.round(rng.normal(mean + 0.3, scale, size=n))


class BetaByArm(Scaled):
    """Beta between 0 and 1; an arm's scale is its concentration: small ones vary much."""

    def reach(self, means, scale):
        return 0.0, 1.0

    def draw(self, rng, mean, n, scale):
        return rng.beta(scale * mean, scale * (1.0 - mean), size=n)


# -- cases -----------------------------------------------------------------------------------
@dataclass(frozen=True)
class Case:
    """One thing to measure."""

    name: str
    noise: Any  #: what the problem says
    means: tuple[float, ...]
    family: Callable[[], Noise]
    covered: bool = True  #: whether the guarantee is for such rewards
    factors: bool = False  #: whether options have features: 12 layouts, whose effects are all zero
    most: int = MOST  #: pulls of a trial

    def instance(self) -> Instance:
        if not self.factors:
            return Instance(sp.Problem.unstructured(len(self.means), self.noise), self.means)
        arms = factorial("3x2x2", interactions=0).problem.arms
        theta = np.linalg.lstsq(arms, np.array(self.means), rcond=None)[0]
        return Instance(sp.Problem(arms, noise=self.noise), theta)


def tied(k: int, mean: float = 0.0) -> tuple[float, ...]:
    return (mean,) * k


def first(k: int, scale: float, others: float = 1.0) -> list[float]:
    """One scale for the best, one for the others."""
    return [scale] + [others] * (k - 1)


def gaussian(scale: Any = 1.0) -> Callable[[], Noise]:
    return lambda: Gaussian(scale=scale)


def cases() -> list[Case]:
    found = []
    for kind, name in ((None, "default"), ("equal", "equal")):
        found += [
            Case(f"{name}: two tied", kind, tied(2, 5.0), gaussian()),
            Case(f"{name}: ten tied", kind, tied(10), gaussian()),
            Case(f"{name}: 12 layouts, no effects", kind, tied(12), gaussian(), factors=True),
            Case(f"{name}: two, lead 0.02 σ", kind, (0.02, 0.0), gaussian()),
            Case(f"{name}: ten, lead 0.1 σ", kind, (0.1, *tied(9)), gaussian()),
            Case(f"{name}: three tied, σ = 1e-6", kind, tied(3, 1.0), gaussian(1e-6)),
            Case(f"{name}: three tied, σ = 1e6", kind, tied(3, 1.0), gaussian(1e6)),
            Case(f"{name}: three tied, σ tenfold in every other block", kind, tied(3), Changing),
        ]
    found += [
        Case("default: ten tied, the best of scale 6", None, tied(10), gaussian(first(10, 6.0))),
        Case("default: ten tied, the others of scale 6", None, tied(10), gaussian(first(10, 1, 6))),
        Case("default: two tied, scales 1 and 6", None, tied(2), gaussian([1.0, 6.0])),
        Case("default: two tied, Student t(2)", None, tied(2), lambda: StudentT(2.0)),
        Case("default: ten tied, Student t(2)", None, tied(10), lambda: StudentT(2.0)),
        Case(
            "default: ten tied, Student t(2), the best of scale 6",
            None,
            tied(10),
            lambda: StudentT(2.0, scale=first(10, 6.0)),
        ),
    ]
    for rate in (0.5, 0.1, 0.02, 0.003):
        most = MOST if rate >= 0.1 else MOST_RARE
        name = f"yes-no: two tied at {rate:g}"
        found.append(Case(name, "yes-no", tied(2, rate), Bernoulli, most=most))
    found += [
        Case("yes-no: ten tied at 0.02", "yes-no", tied(10, 0.02), Bernoulli, most=MOST_RARE),
        Case("yes-no: 0.031 beside 0.03", "yes-no", (0.031, 0.03), Bernoulli, most=MOST_RARE),
        Case("yes-no: 12 layouts at 0.1", "yes-no", tied(12, 0.1), Bernoulli, factors=True),
    ]
    between = (0.0, 1.0)
    for k in (2, 10):
        found += [
            Case(f"0..1: {k} tied, Beta", between, tied(k, 0.3), Beta),
            Case(f"0..1: {k} tied, two-point", between, tied(k, 0.3), TwoPoint),
            Case(
                f"0..1: {k} tied, the best varies most",
                between,
                tied(k, 0.3),
                lambda k=k: BetaByArm(scale=first(k, 0.01, 100.0)),
            ),
            Case(
                f"0..1: {k} tied, the best varies least",
                between,
                tied(k, 0.3),
                lambda k=k: BetaByArm(scale=first(k, 100.0, 0.01)),
            ),
        ]
    return found + broken()


def broken() -> list[Case]:
    """What no guarantee is for."""
    return [
        Case(name, noise, means, family, covered=False)
        for name, noise, means, family in [
            (
                "default: two tied, exponential, scales 1 and 6",
                None,
                tied(2),
                lambda: Exponential(scale=[1.0, 6.0]),
            ),
            (
                "default: two tied, exponential, scales 6 and 1",
                None,
                tied(2),
                lambda: Exponential(scale=[6.0, 1.0]),
            ),
            (
                "default: ten tied, exponential, the best of scale 6",
                None,
                tied(10),
                lambda: Exponential(scale=first(10, 6.0)),
            ),
            ("default: ten tied, exponential of one scale", None, tied(10), Exponential),
            (
                "default: ten tied at 0.005, clicks told as numbers",
                None,
                tied(10, 0.005),
                Bernoulli,
            ),
            (
                "default: ten tied, coarse readings, σ = 0.4 steps",
                None,
                tied(10),
                lambda: Rounded(scale=0.4),
            ),
            (
                "equal: ten tied, coarse readings, σ = 0.4 steps",
                "equal",
                tied(10),
                lambda: Rounded(scale=0.4),
            ),
            ("equal: ten tied, the best of scale 6", "equal", tied(10), gaussian(first(10, 6.0))),
            ("equal: ten tied, Student t(2)", "equal", tied(10), lambda: StudentT(2.0)),
        ]
    ]


# -- trials ----------------------------------------------------------------------------------
def lost_best(case: Case, delta: float, rng: np.random.Generator) -> bool:
    """Whether the first option was ruled out."""
    instance, noise = case.instance(), case.family()
    problem = instance.problem
    check_rewards(noise, problem, instance.means)
    every = np.broadcast_to(noise.scales(problem), problem.n_arms)
    run = sp.algorithms.PooledPeleg(delta, max_samples=case.most).start(problem)
    while not run.stopped:
        batch = run.ask()
        arms, counts = batch.pulls.arms, batch.pulls.counts
        told = noise.totals(rng, instance.means[arms], counts, every[arms])
        run.tell_totals(batch, *told)
        if 0 not in run.active:
            return True
    return False


def measure(task: tuple[str, float, int, int, int]) -> dict[str, Any]:
    """How many of some trials were wrong."""
    name, delta, start, count, seed = task
    case = next(one for one in cases() if one.name == name)
    started = time.process_time()
    key = zlib.crc32(f"{name} {delta:g}".encode())
    wrong = sum(
        lost_best(
            case,
            delta,
            np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, start + i))),
        )
        for i in range(count)
    )
    return {"wrong": wrong, "trials": count, "seconds": round(time.process_time() - started, 2)}


def tasks(chosen: list[Case], trials: int, seed: int) -> dict[str, Any]:
    return {
        f"{case.name} | {delta:g} | {start} | {count}": (case.name, delta, start, count, seed)
        for start, count in chunks(trials, CHUNK)
        for case in chosen
        for delta in DELTAS
    }


# -- the table -------------------------------------------------------------------------------
def report(parts: dict[str, Any]) -> str:
    """All that is there: some cases may have been given more trials than others."""
    totals: dict[tuple[str, float], list[int]] = {}
    for key, part in parts.items():
        name, delta, *_ = key.split(" | ")
        total = totals.setdefault((name, float(delta)), [0, 0])
        total[0] += part["wrong"]
        total[1] += part["trials"]
    head = ["case"]
    for delta in DELTAS:
        head += [f"δ = {delta:g}: wrong", "rate", "99.9 % interval"]
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    lines = [
        "# How often the best option is ruled out",
        "",
        f"Bold: the whole interval lies above δ. {minutes:.0f} CPU minutes.",
    ]
    for covered, title in (
        (True, "## What the guarantee covers"),
        (False, "## What it does not cover"),
    ):
        rows = [
            [case.name, *(cell for d in DELTAS for cell in _cells(*totals[case.name, d], d))]
            for case in cases()
            if case.covered == covered and (case.name, DELTAS[0]) in totals
        ]
        if rows:
            lines += ["", title, "", table(head, rows)]
    return "\n".join(lines)


def _cells(wrong: int, trials: int, delta: float) -> list[str]:
    low, high = clopper_pearson(wrong, trials, CONFIDENCE)
    rate = f"{wrong / trials:.4f}"
    rate = f"**{rate}**" if low > delta else rate
    return [f"{wrong} of {trials:,}", rate, f"{low:.4f} – {high:.4f}"]


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=2000)
    parser.add_argument("--only", default="", help="cases whose names contain this")
    given = parser.parse_args()
    chosen = [case for case in cases() if given.only in case.name]
    record = Record("error_rates", {"seed": given.seed, "most": [MOST, MOST_RARE]}, given)
    record.fill(tasks(chosen, given.trials, given.seed), measure)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()

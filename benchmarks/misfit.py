"""Features that may be wrong: what it costs to distrust them, and what it costs to trust them.

*Costs.* Tables of 24, 60 and 120 options, a share R² of the spread of whose means is due to the
features; the best option is then lifted by a quarter of that spread, so that it can be found.
Pulls of PooledPeleg with ``misfit=inf``, where features only guide, over those of the same options
without features (``Problem.unstructured``): both see the same tables and seeds.

*Errors.* Truths that features do not describe, drawn anew for every trial (``benchmarks.truths``):
how often an answer is wrong while its guarantee stands, with features trusted (``misfit=0``),
trusted up to the largest deviation there is, and not trusted (``inf``). Where features are trusted,
also how often the check of the fit that studies make spoke up at the end of the run: a study then
withdraws its guarantee. Intervals are exact (Clopper–Pearson), 99.9 %.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.misfit --trials 20 --errors 20
"""

from __future__ import annotations

import math
import time
import zlib
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table
from benchmarks.truths import MISFITS, Truth, explained, lifted, misfitting

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.run import Run
from surepick.run.diagnostics import ArmSummary, by_arm, estimate_noise, lack_of_fit
from surepick.simulate import Bernoulli, Gaussian

KINDS: dict[str, Any] = {
    "unknown": "symmetric",
    "equal": "equal",
    "σ known": 1.0,
    "yes-no": "yes-no",
}
SIZES = ((2, 3, 4), (3, 4, 5), (4, 5, 6))  # levels of the factors of a table
SHARES = (0.0, 0.5, 0.7, 0.9, 1.0)
LIFT, DELTA = 0.25, 0.05
MOST_COST, MOST_HELPED, HELPED = 1.1, 0.8, 0.7  # what it may cost; the same from this R² on

ERROR_KINDS = ("σ known", "unknown", "yes-no")
TRUSTED = ("0", "largest deviation", "inf")  # misfits
DELTAS = (0.2, 0.05)
CONFIDENCE = 0.999
MAX_SAMPLES = 10**7  # ends a run that lost the best option and is left with near-ties
CHUNK = 10  # trials of one part


# -- trials ------------------------------------------------------------------------------------
def run_to_end(
    problem: sp.Problem, means: np.ndarray, delta: float, rng: np.random.Generator
) -> tuple[Run, ArmSummary]:
    """A run whose options have these means, and all that it measured."""
    noise = Bernoulli() if problem.noise_kind.kind == "yes-no" else Gaussian(scale=1.0)
    run = sp.algorithms.PooledPeleg(delta, max_samples=MAX_SAMPLES).start(problem)
    squares = np.zeros(problem.n_arms)
    while not run.stopped:
        batch = run.ask()
        arms, counts = batch.pulls.arms, batch.pulls.counts
        sums, spreads = noise.totals(rng, means[arms], counts, 1.0)
        run.tell_totals(batch, sums, spreads)
        np.add.at(squares, arms, spreads + sums**2 / counts)
    spreads = squares - run.sums**2 / np.maximum(run.pulls, 1)
    return run, ArmSummary(run.pulls, run.sums, np.maximum(spreads, 0.0))


def generators(seed: int, name: str, i: int) -> tuple[np.random.Generator, np.random.Generator]:
    """For the truth of a trial, and for its rewards."""
    seeds = np.random.SeedSequence(seed, spawn_key=(zlib.crc32(name.encode()), i))
    truth, rewards = (np.random.default_rng(own) for own in seeds.spawn(2))
    return truth, rewards


# -- what distrust costs -------------------------------------------------------------------------
def table_of(levels: tuple[int, ...], share: float, kind: str, rng: np.random.Generator) -> Truth:
    truth = lifted(explained(levels, share, rng), LIFT)
    if kind != "yes-no":
        return truth
    return truth._replace(means=np.clip(0.15 + 0.04 * truth.means, 0.005, 1.0))


def cost(kind: str, size: int, share: float, i: int, seed: int) -> dict[str, Any]:
    """Pulls of one trial with features as a guide and without, and whether answers were wrong."""
    pulls, wrong = [], []
    for guided in (True, False):
        rng, rewards = generators(seed, f"{size} {share:g}", i)
        truth = table_of(SIZES[size], share, kind, rng)
        problem = (
            sp.Problem(truth.features, noise=KINDS[kind], misfit=math.inf)
            if guided
            else sp.Problem.unstructured(len(truth.means), noise=KINDS[kind])
        )
        answer = run_to_end(problem, truth.means, DELTA, rewards)[0].answer
        pulls.append(answer.samples)
        wrong.append(answer.arm != truth.best)
    return {"pulls": pulls, "wrong": wrong}


def measure_cost(task: tuple[str, int, float, int, int, int]) -> dict[str, Any]:
    kind, size, share, first, count, seed = task
    started = time.process_time()
    found = [cost(kind, size, share, i, seed) for i in range(first, first + count)]
    columns = {
        "guided": [one["pulls"][0] for one in found],
        "without": [one["pulls"][1] for one in found],
        "wrong": [sum(one["wrong"][way] for one in found) for way in (0, 1)],
    }
    return columns | {"seconds": round(time.process_time() - started, 2)}


# -- what trust costs ----------------------------------------------------------------------------
def spoke(run: Run, told: ArmSummary) -> bool:
    """Whether the check of the fit raises its alarm, with the noise that a study would use."""
    noise = None
    if run.problem.noise_kind.kind != "known":
        noise = by_arm(estimate_noise(told), told)
    return lack_of_fit(run.problem, told.counts, told.sums, noise=noise).alarm


def error(name: str, kind: str, trusted: str, delta: float, i: int, seed: int) -> dict[str, Any]:
    """One trial: its pulls, whether it was wrong with a guarantee, and whether the check spoke."""
    rng, rewards = generators(seed, name, i)
    truth = misfitting(name, rng)
    truth = truth.as_rates() if kind == "yes-no" else truth
    misfit = truth.misfit if trusted == "largest deviation" else float(trusted)
    problem = sp.Problem(truth.features, noise=KINDS[kind], misfit=misfit)
    run, told = run_to_end(problem, truth.means, delta, rewards)
    answer = run.answer
    return {
        "pulls": answer.samples,
        "wrong": bool(answer.guarantee) and answer.arm != truth.best,
        "spoke": trusted == "0" and spoke(run, told),
        "endless": not answer.guarantee,
    }


def measure_error(task: tuple[str, str, str, float, int, int, int]) -> dict[str, Any]:
    name, kind, trusted, delta, first, count, seed = task
    started = time.process_time()
    found = [error(name, kind, trusted, delta, i, seed) for i in range(first, first + count)]
    return {
        "pulls": [one["pulls"] for one in found],
        "trials": count,
        "wrong": sum(one["wrong"] for one in found),
        "spoke": sum(one["spoke"] for one in found),
        "unnoticed": sum(one["wrong"] and not one["spoke"] for one in found),
        "endless": sum(one["endless"] for one in found),
        "seconds": round(time.process_time() - started, 2),
    }


# -- all of them ---------------------------------------------------------------------------------
def tasks(trials: int, errors: int, seed: int) -> dict[str, Any]:
    costs = {
        f"cost | {kind} | {size} | {share:g} | {first} | {count}": (
            *(measure_cost, kind, size, share),
            *(first, count, seed),
        )
        for first, count in chunks(trials, CHUNK)
        for kind in KINDS
        for size in range(len(SIZES))
        for share in SHARES
    }
    return costs | {
        f"error | {name} | {kind} | {trusted} | {delta:g} | {first} | {count}": (
            *(measure_error, name, kind, trusted, delta),
            *(first, count, seed),
        )
        for first, count in chunks(errors, CHUNK)
        for name in MISFITS
        for kind in ERROR_KINDS
        for trusted in TRUSTED
        for delta in DELTAS
    }


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    return task[0](task[1:])


# -- the tables ----------------------------------------------------------------------------------
def gathered(parts: dict[str, Any], which: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """Parts of one of the two measurements, those of a cell put together."""
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for key, part in parts.items():
        head, *cell, _, _ = key.split(" | ")
        if head != which:
            continue
        mine = cells.setdefault(tuple(cell), {})
        for column, value in part.items():
            if column in mine and column == "wrong" and which == "cost":
                value = [a + b for a, b in zip(mine[column], value)]
            elif column in mine:
                value = mine[column] + value
            mine[column] = value
    return cells


def geometric(ratios: np.ndarray) -> tuple[float, float]:
    """Geometric mean, and its standard error."""
    logs = np.log(ratios)
    mean = math.exp(logs.mean())
    return mean, mean * float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0


def costs_table(cells: dict[tuple[str, ...], dict[str, Any]]) -> str:
    rows = []
    for kind in KINDS:
        together: dict[float, list[float]] = {share: [] for share in SHARES}
        for size, levels in enumerate(SIZES):
            row = [kind, f"{math.prod(levels)}"]
            for share in SHARES:
                cell = cells[kind, str(size), f"{share:g}"]
                ratios = np.array(cell["guided"]) / np.array(cell["without"])
                together[share] += ratios.tolist()
                row += [f"{np.mean(cell['without']):,.0f}", _against(geometric(ratios), share)]
            rows.append(row)
        row = [kind, "all"]
        for share in SHARES:
            row += ["", _against(geometric(np.array(together[share])), share)]
        rows.append(row)
    head = ["noise", "options"]
    for share in SHARES:
        head += [f"R² = {share:g}: pulls without features", "ratio"]
    return table(head, rows)


def _against(found: tuple[float, float], share: float) -> str:
    """The ratio; bold where it is above the goal."""
    ratio, wide = found
    text = f"{ratio:.2f}"
    most = MOST_HELPED if share >= HELPED else MOST_COST
    return f"**{text}** ± {wide:.2f}" if round(ratio, 2) > most else f"{text} ± {wide:.2f}"


def errors_table(cells: dict[tuple[str, ...], dict[str, Any]], delta: float) -> str:
    rows = []
    for kind in ERROR_KINDS:
        for names in (*([name] for name in MISFITS), list(MISFITS)):
            row = [kind, names[0] if len(names) == 1 else "all of these"]
            for trusted in TRUSTED:
                row += _error_cells([cells[n, kind, trusted, f"{delta:g}"] for n in names], delta)
                if trusted != "0":
                    row = row[:-2]  # no check is made
            rows.append(row)
    head = ["noise", "truth", "misfit 0: pulls", "wrong", "check spoke", "wrong, check silent"]
    head += ["misfit as large as it is: pulls", "wrong", "misfit inf: pulls", "wrong"]
    return table(head, rows)


def _error_cells(found: list[dict[str, Any]], delta: float) -> list[str]:
    """Pulls, errors, alarms and errors without an alarm, of these cells together."""
    total = {
        column: sum(cell[column] for cell in found)
        for column in ("trials", "wrong", "spoke", "unnoticed")
    }
    low, high = clopper_pearson(total["wrong"], total["trials"], CONFIDENCE)
    rate = f"{total['wrong'] / total['trials']:.3f}"
    rate = f"**{rate}**" if low > delta else rate
    pulls = math.exp(np.mean([math.log(n) for cell in found for n in cell["pulls"]]))
    shares = [f"{total[column] / total['trials']:.3f}" for column in ("spoke", "unnoticed")]
    return [f"{pulls:,.0f}", f"{rate} ({low:.3f} – {high:.3f})", *shares]


def report(parts: dict[str, Any], trials: int, errors: int) -> str:
    costs, found = gathered(parts, "cost"), gathered(parts, "error")
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    wrong = [sum(cell["wrong"][way] for cell in costs.values()) for way in (0, 1)]
    endless = sum(cell["endless"] for cell in found.values())
    lines = [
        "# Features that may be wrong",
        "",
        f"PooledPeleg; {trials} trials of each cell for costs, {errors} for errors; "
        f"{minutes:.0f} CPU minutes.",
        "",
        "## What it costs not to trust them",
        "",
        f"Pulls of misfit = inf over those without features, δ = {DELTA:g}: geometric means ± one "
        f"standard error. Goals: {MOST_COST:g} at most, {MOST_HELPED:g} from R² = {HELPED:g} on; "
        f"bold: above. Wrong answers in {len(costs) * trials:,} trials: {wrong[0]} with features "
        f"as a guide, {wrong[1]} without.",
        "",
        costs_table(costs),
        "",
        "## What it costs to trust them",
        "",
        f"Geometric mean of pulls, and the share of trials whose answer is wrong while its "
        f"guarantee stands, with its 99.9 % interval; bold: all of it lies above δ. For misfit 0 "
        f"also how often the check of the fit spoke up, and how often it did not when the answer "
        f"was wrong. {endless} trials were ended at {MAX_SAMPLES:,} pulls.",
    ]
    for delta in DELTAS:
        lines += ["", f"### δ = {delta:g}", "", errors_table(found, delta)]
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__.splitlines()[0], trials=20)
    parser.add_argument("--errors", type=int, default=20, help="trials of each error rate")
    given = parser.parse_args()
    record = Record("misfit", {"seed": given.seed, "most": MAX_SAMPLES}, given)
    parts = record.fill(tasks(given.trials, given.errors, given.seed), measure)
    record.write(report(parts, given.trials, given.errors))


if __name__ == "__main__":
    main()

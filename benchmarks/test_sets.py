"""Test sets: which of many models is the best on a finite set of examples, and what that costs.

Twelve tables from data that scikit-learn carries: options are settings of a model, cross-validated
on all examples; a cell is one prediction (right or wrong; on *diabetes* how close it is, between 0
and 1). Nothing was tuned on them. Who is the best on all examples is known, so an answer can be
seen to be wrong. Each table is decided in 20 random orders:

- *complete*: ``PooledPeleg(complete=…)``: each cell once, never more than the table;
- *drawn*: as ``decide`` did before: items drawn with replacement, cells kept (in a few orders, and
  for at most three times the table, as it takes long); where all cells of those left are known,
  their means decide;
- *tests*: a race with exact sign tests against whoever leads, after 8, 16, 32, … items, at δ over
  the number of options and looks; at the end the best mean of those left;
- *halving*: successive halving, from as many items as make its rounds add up to the cells that
  *complete* took;
- *subset*: all options on one random set of items, with the cells that *complete* took;
- *knowing*: no way to go, but a limit: as *complete*, with bets that know who is the best and by
  how much it is ahead of each other option in the end.

The error rate is measured where the best is ahead of its twin by a single item, at δ = 0.2; the
price also where 60 prompts meet 1,000 questions.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.test_sets --trials 20 (needs scikit-learn)
"""

from __future__ import annotations

import math
import time
import zlib
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from benchmarks import pairing
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.arrays.types import BoolArray, FloatArray

DELTA = 0.05
RARE = 0.2  # delta where errors are counted
OLD = 1  # orders in which the earlier way is measured
SETS = {50: 400, 200: 200, 1000: 100}  # items, and tables on which errors are counted
WAYS = ("complete", "drawn", "tests", "halving", "subset", "knowing")
_CLASSES = ("iris", "wine", "cancer", "digits")
TABLES = (
    *(f"{data} · {model}" for data in _CLASSES for model in ("neighbours", "trees")),
    *("cancer · svm", "wine · logistic", "diabetes · neighbours", "diabetes · trees"),
)


@cache
def results(name: str) -> FloatArray:
    """Results of all options on all examples, (K, N)."""
    from sklearn import datasets
    from sklearn.model_selection import cross_val_predict

    data, _, model = name.partition(" · ")
    load = {"cancer": "breast_cancer"}.get(data, data)
    X, y = getattr(datasets, f"load_{load}")(return_X_y=True)
    X, y = X[:600], y[:600]
    found = []
    for one in _models(model, data == "diabetes"):
        predicted = cross_val_predict(one, X, y, cv=5)
        right = 1.0 - np.abs(predicted - y) / np.ptp(y) if data == "diabetes" else predicted == y
        found.append(np.clip(right, 0.0, 1.0))
    return np.array(found, dtype=float)


def _models(model: str, numbers: bool) -> list[Any]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if model == "neighbours":
        kind = KNeighborsRegressor if numbers else KNeighborsClassifier
        grid = product((1, 2, 3, 5, 8, 13, 21), ("uniform", "distance"), (1, 2))
        return [kind(n, weights=weights, p=p) for n, weights, p in grid]
    if model == "trees":
        kind = DecisionTreeRegressor if numbers else DecisionTreeClassifier
        grid = product((2, 3, 4, 6, None), (1, 5, 10, 20))
        return [kind(max_depth=d, min_samples_leaf=leaf, random_state=0) for d, leaf in grid]
    if model == "svm":
        grid = product((0.1, 0.3, 1.0, 3.0, 10.0), (0.003, 0.01, 0.03, 0.1))
        return [make_pipeline(StandardScaler(), SVC(C=c, gamma=g)) for c, g in grid]
    grid = np.geomspace(1e-3, 1e2, 12)
    return [make_pipeline(StandardScaler(), LogisticRegression(C=c)) for c in grid]


def problem_of(scores: FloatArray) -> sp.Problem:
    binary = bool(np.isin(scores, (0.0, 1.0)).all())
    return sp.Problem.unstructured(len(scores), noise="yes-no" if binary else (0.0, 1.0))


def complete(scores: FloatArray, rng: np.random.Generator, delta: float) -> tuple[int, int]:
    """Who is named, and how many cells that took; straight from the state, which is quicker."""
    problem, N = problem_of(scores), scores.shape[1]
    state = sp.algorithms.PooledPeleg(delta, complete=N).begin(problem, rng)
    seen = np.zeros(scores.shape, dtype=bool)
    while not state.finished:
        pulls = state.propose(scores.size)
        items = state.items_of(pulls)
        assert not seen[pulls.arms, items].any()
        seen[pulls.arms, items] = True
        state.observe(pulls, scores[pulls.arms, items] / problem.unit)
    return state.leader(), int(seen.sum())


def drawn(scores: FloatArray, rng: np.random.Generator, delta: float) -> tuple[int, int]:
    """Another way: items with replacement, scores kept."""
    algorithm = sp.algorithms.PooledPeleg(delta, items=scores.shape[1])
    run, seen = algorithm.start(problem_of(scores), rng), np.zeros(scores.shape, dtype=bool)
    while not run.stopped and run.samples < 3 * scores.size:
        left = list(run.active)
        if run.samples and seen[left].all():
            return left[int(scores[left].sum(axis=1).argmax())], int(seen.sum())
        batch = run.ask()
        seen[batch.arms, batch.items] = True
        run.tell(batch, scores[batch.arms, batch.items])
    return int(run.state.leader()), int(seen.sum())


def tests(scores: FloatArray, rng: np.random.Generator, delta: float) -> tuple[int, int]:
    """A race with exact sign tests at fixed looks."""
    K, N = scores.shape
    own = scores[:, rng.permutation(N)]
    looks = [n for n in (8 * 2**i for i in range(30)) if n < N]
    alive, level, cells, met = np.ones(K, dtype=bool), delta / (K * max(1, len(looks))), 0, 0
    for n in [*looks, N]:
        cells, met = cells + int(alive.sum()) * (n - met), n
        if n == N or alive.sum() == 1:
            break
        means = np.where(alive, own[:, :n].sum(axis=1), -math.inf)
        lead = int(means.argmax())
        for x in np.flatnonzero(alive):
            more = int((own[lead, :n] > own[x, :n]).sum())
            less = int((own[lead, :n] < own[x, :n]).sum())
            alive[x] = x == lead or _sign_test(more, less) > level
    return _best(own[:, :met], alive), cells


def _sign_test(more: int, less: int) -> float:
    """P-value of so many wins out of all that are no ties, or more."""
    n = more + less
    return sum(math.comb(n, k) for k in range(more, n + 1)) / 2**n


def _best(own: FloatArray, alive: BoolArray) -> int:
    return int(np.where(alive, own.sum(axis=1), -math.inf).argmax())


def halving(scores: FloatArray, rng: np.random.Generator, cells: int) -> int:
    """Successive halving with about so many cells in all."""
    K, N = scores.shape
    own, alive, met = scores[:, rng.permutation(N)], np.ones(K, dtype=bool), 0
    rounds = max(1, math.ceil(math.log2(K)))
    for _ in range(rounds):
        met = min(N, met + max(1, round(cells / rounds / alive.sum())))
        totals = np.where(alive, own[:, :met].sum(axis=1), -math.inf)
        kept = np.argsort(-totals, kind="stable")[: max(1, math.ceil(alive.sum() / 2))]
        alive = np.isin(np.arange(K), kept)
    return _best(own[:, :met], alive)


def subset(scores: FloatArray, rng: np.random.Generator, cells: int) -> int:
    """All options on so many random items."""
    K, N = scores.shape
    some = rng.permutation(N)[: max(1, round(cells / K))]
    return int(scores[:, some].sum(axis=1).argmax())


def knowing(scores: FloatArray, rng: np.random.Generator, delta: float) -> tuple[int, int]:
    """Bets that know what nobody does: λ = e/(v + e²), e = S_N/left and v the true ones."""
    K, N = scores.shape
    own = scores[:, rng.permutation(N)]
    best, alive = int(own.sum(axis=1).argmax()), np.ones(K, dtype=bool)
    leads, capital, cells = own[best] - own, np.zeros(K), 0
    ahead, spread, lead = leads.sum(axis=1), (leads**2).mean(axis=1), np.zeros(K)
    alive[best] = False
    for t in range(N):
        if not alive.any():
            break
        cells += int(alive.sum()) + 1
        left, now = N - t, leads[:, t]
        mean, edge = -lead / left, ahead / left
        inside = np.abs(mean) < 1.0
        most = 0.9 / np.where(inside, 1.0 + mean, 1.0)
        stake = np.minimum(edge / np.maximum(spread + edge**2, 1e-12), most)
        capital += np.log1p(np.where(inside, stake, 0.0) * (now - mean))
        lead = lead + now
        alive &= (capital < -math.log(delta)) & (lead <= left - 1 + 1e-9)
    return best, cells


def measure(task: tuple[str, int, int]) -> dict[str, Any]:
    """One table, all ways."""
    name, trials, seed = task
    started, scores = time.process_time(), results(name)
    totals = scores.sum(axis=1)
    found: dict[str, Any] = {way: {"cells": [], "wrong": []} for way in WAYS}

    def note(way: str, arm: int, cells: int) -> None:
        found[way]["cells"].append(cells)
        found[way]["wrong"].append(bool(totals[arm] < totals.max() - 1e-6))

    for i in range(trials):
        key = (zlib.crc32(name.encode()), i)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        arm, cells = complete(scores, rng, DELTA)
        assert cells <= scores.size
        note("complete", arm, cells)
        note("tests", *tests(scores, rng, DELTA))
        note("halving", halving(scores, rng, cells), cells)
        note("subset", subset(scores, rng, cells), cells)
        note("knowing", *knowing(scores, rng, DELTA))
        if i < OLD:
            note("drawn", *drawn(scores, rng, DELTA))
    best = int((np.abs(totals - totals.max()) < 1e-6).sum())
    return found | {
        "options": len(scores),
        "items": scores.shape[1],
        "best": best,
        "seconds": round(time.process_time() - started, 1),
    }


def twins(rng: np.random.Generator, K: int, N: int) -> FloatArray:
    """Scores where the first row is ahead of the second by one item; three of ten differ."""
    half = max(1, round(0.15 * N))
    order = rng.permutation(N)
    first = (rng.random(N) < 0.7).astype(float)
    second = first.copy()
    first[order[:half]], second[order[:half]] = 1.0, 0.0
    first[order[half : 2 * half - 1]], second[order[half : 2 * half - 1]] = 0.0, 1.0
    others = [np.where(rng.random(N) < 0.1, 0.0, second) for _ in range(K - 2)]
    return np.array([first, second, *others])


def errors(task: tuple[int, int, int]) -> dict[str, Any]:
    """How often the best is not named that is ahead by one item."""
    N, count, seed = task
    started, wrong, cells = time.process_time(), 0, 0
    for i in range(count):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(N, i)))
        scores = twins(rng, 5, N)
        arm, took = complete(scores, rng, RARE)
        wrong, cells = wrong + (arm != 0), cells + took
    share = round(cells / (count * 5 * N), 3)
    return {"wrong": wrong, "trials": count, "cells": share} | {
        "seconds": round(time.process_time() - started, 1)
    }


def large(task: tuple[str, int, int]) -> dict[str, Any]:
    """60 prompts on 1,000 questions, right or wrong, as ``benchmarks.pairing`` draws them."""
    name, count, seed = task
    started, cells, wrong = time.process_time(), [], 0
    for i in range(count):
        rng = pairing.generator(seed, name, i)
        means = np.zeros(2)
        scores = np.zeros((0, 0))
        while np.diff(np.sort(means)[-2:])[0] < pairing.LEAD:
            likely = pairing.chances(name, rng)
            scores = (rng.random(likely.shape) < likely).astype(float)
            means = scores.mean(axis=1)
        arm, took = complete(scores, rng, DELTA)
        cells.append(took)
        wrong += bool(means[arm] < means.max())
    return {"cells": cells, "wrong": wrong, "seconds": round(time.process_time() - started, 1)}


def report(parts: dict[str, Any]) -> str:
    rows, total = [], dict.fromkeys(WAYS, 0)
    trials, ratios, least = dict.fromkeys(WAYS, 0), [], []
    for name in (name for name in TABLES if name in parts):
        part = parts[name]
        size = part["options"] * part["items"]
        mean = {way: float(np.mean(part[way]["cells"])) for way in WAYS}
        for way in WAYS:
            total[way] += sum(part[way]["wrong"])
            trials[way] += len(part[way]["wrong"])
        ratios.append(mean["complete"] / mean["drawn"])
        least.append(mean["knowing"] / mean["complete"])
        rows.append(
            [
                name + (f" ({part['best']} tie)" if part["best"] > 1 else ""),
                f"{part['options']} × {part['items']}",
                f"{mean['complete'] / size:.2f}",
                f"{max(part['complete']['cells']) / size:.2f}",
                f"{mean['drawn'] / size:.2f}",
                f"{ratios[-1]:.2f}",
                f"{mean['knowing'] / size:.2f}",
                f"{mean['tests'] / size:.2f}",
                *(f"{sum(part[way]['wrong'])} of {len(part[way]['wrong'])}" for way in WAYS[:-1]),
            ]
        )
    head = ["table", "cells", "complete", "at most", "drawn", "ratio", "knowing", "tests"]
    head += [f"wrong: {way}" for way in WAYS[:-1]]
    rare = [
        [f"{N:,}", f"{part['wrong']} of {part['trials']}", f"{part['cells']:.2f}"]
        for N in SETS
        if (part := parts[f"ahead by one of {N}"])
    ]
    many = [
        [name, f"{np.mean(part['cells']):,.0f}", f"{part['wrong']} of {len(part['cells'])}"]
        for name in pairing.EVALUATIONS
        if (part := parts[f"60 × 1,000: {name}"])
    ]
    wrong = ", ".join(f"{way} {total[way]} of {trials[way]}" for way in WAYS[:-1])
    return "\n".join(
        [
            "# Test sets: the best on these items",
            "",
            f"δ = {DELTA:g}. Cells as shares of the table; halving and subset get as many cells as "
            "complete took. *ratio*: complete to drawn.",
            "",
            table(head, rows),
            "",
            f"Wrong in all: {wrong}. Ratio of cells: {np.mean(ratios):.2f} on average, "
            f"{min(ratios):.2f} to {max(ratios):.2f}. Bets that know the best option, and all "
            f"leads in the end, take {np.mean(least):.2f} of the cells of *complete*, "
            f"{min(least):.2f} to {max(least):.2f}.",
            "",
            f"The best is ahead by one item, five options, δ = {RARE:g}:",
            "",
            table(["items", "wrong", "share of the table"], rare),
            "",
            "60 prompts on 1,000 questions, right or wrong (60,000 cells):",
            "",
            table(["prompts and questions", "cells", "wrong"], many),
        ]
    )


def main() -> None:
    given = options(__doc__ or "", 20).parse_args()
    record = Record("test_sets", {"trials": given.trials, "seed": given.seed}, given)
    rare = {f"ahead by one of {N}": (N, count, given.seed) for N, count in SETS.items()}
    parts = record.fill(rare, errors)
    many = {f"60 × 1,000: {name}": (name, given.trials, given.seed) for name in pairing.EVALUATIONS}
    parts |= record.fill(many, large)
    for name in TABLES:  # the table is written as far as it is known: some take long
        parts |= record.fill({name: (name, given.trials, given.seed)}, measure)
        record.write(report(parts))


if __name__ == "__main__":
    main()

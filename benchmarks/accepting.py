"""How often an answer is wrong where "within epsilon" is accepted on the way, after looking.

Four options, the others just more than epsilon below the best (or below the two best, where two are
asked for), so that naming any of them is wrong; δ = 0.2. Whoever accepts knows the truth, and
chooses the moment to do harm:

*At once*, when somebody *else leads*, when the best *looks worst* (a third of what rules
it out is there), or *twice*: a half of epsilon when somebody else leads, all of it when the best
looks worst. *Never* is beside them.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.accepting --trials 400
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.base import Pulls, ToldPulls
from surepick.bench.summary import clopper_pearson
from surepick.run.report import tell_report

DELTA, K, CHUNK = 0.2, 4, 20
LABELS = list("abcd")
NEVER, ONCE, LEADS, WORST, TWICE = "never", "at once", "else leads", "looks worst", "twice"
MOMENTS = (NEVER, ONCE, LEADS, WORST, TWICE)
#: by how much the best is ahead; what is accepted is a hundredth less
AHEAD = {"pulls": 0.2, "two": 0.2, "table": 0.03, "pairs": 0.06, "counts": 0.03}
MOST = {"pulls": 3_000, "two": 3_000, "pairs": 3_000, "counts": 18_000}
ITEMS = 300


class _Looker:
    """Who accepts: by what a run shows, and by the truth."""

    def __init__(self, moment: str, epsilon: float) -> None:
        self.moment, self.left = moment, [epsilon]
        if moment == TWICE:
            self.left = [epsilon / 2, epsilon]

    def look(self, run: Any, best: int) -> None:
        if self.moment == NEVER or not self.left or run.stopped or not run.samples:
            return
        leads = best not in run.state.named()
        worst = bool(run.state.progress()[best] >= 1 / 3)
        first = self.moment == TWICE and len(self.left) == 2
        if {ONCE: True, LEADS: leads, WORST: worst, TWICE: leads if first else worst}[self.moment]:
            run.accept(self.left.pop(0), reason="alike")


def _followed(run: Any, looker: _Looker, best: int, measure: Callable[[Any], Any]) -> Any:
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, measure(batch))
        looker.look(run, best)
    return run


def pulls(looker: _Looker, rng: np.random.Generator) -> bool:
    means, best = np.zeros(K), int(rng.integers(K))
    means[best] = AHEAD["pulls"]
    algorithm = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST["pulls"])
    run = algorithm.start(sp.Problem.unstructured(LABELS, noise=1.0), int(rng.integers(2**31)))
    _followed(run, looker, best, lambda b: means[b.arms] + rng.normal(size=b.size))
    return _wrong(run, best)


def two_of_pulls(looker: _Looker, rng: np.random.Generator) -> bool:
    means, (best, second) = np.zeros(K), rng.permutation(K)[:2].tolist()
    means[[best, second]] = AHEAD["two"]
    algorithm = sp.algorithms.PooledPeleg(DELTA, top=2, max_samples=MOST["two"])
    run = algorithm.start(sp.Problem.unstructured(LABELS, noise=1.0), int(rng.integers(2**31)))
    _followed(run, looker, best, lambda b: means[b.arms] + rng.normal(size=b.size))
    return bool(run.answer.guarantee) and set(run.answer.arms) != {best, second}


def table_of_items(looker: _Looker, rng: np.random.Generator) -> bool:
    scores, best = (rng.random((K, ITEMS)) < 0.5).astype(float), int(rng.integers(K))
    ahead = round(AHEAD["table"] * ITEMS)
    for k in range(K):
        due = ITEMS // 2 + (ahead if k == best else 0)
        ones = rng.permutation(ITEMS)
        scores[k] = 0.0
        scores[k, ones[:due]] = 1.0
    algorithm = sp.algorithms.PooledPeleg(DELTA, complete=ITEMS)
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    run = algorithm.start(problem, int(rng.integers(2**31)))
    _followed(run, looker, best, lambda b: scores[b.arms, b.items])
    return _wrong(run, best)


def pairs(looker: _Looker, rng: np.random.Generator) -> bool:
    problem, best = sp.Problem.pairs(LABELS), int(rng.integers(K))
    algorithm = sp.algorithms.get("pairs", delta=DELTA, confirm=False, max_samples=MOST["pairs"])
    run = algorithm.start(problem, int(rng.integers(2**31)))

    def judged(batch: Any) -> list[float]:
        first, second = problem.pairing.firsts(batch.arms), problem.pairing.seconds(batch.arms)
        sign = (first == best).astype(float) - (second == best)
        return (rng.random(batch.size) < 0.5 + AHEAD["pairs"] * sign).astype(float).tolist()

    return _wrong(_followed(run, looker, best, judged), best)


def counts(looker: _Looker, rng: np.random.Generator) -> bool:
    rates, best = np.full(K, 0.3), int(rng.integers(K))
    rates[best] += AHEAD["counts"]
    problem = sp.Problem.unstructured(LABELS, noise="yes-no")
    algorithm = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST["counts"])
    run = algorithm.start(problem, int(rng.integers(2**31)))
    run.state.deal_by(f"{int(rng.integers(2**31))}")
    while not run.stopped:
        visits = np.full(K, 150)
        sums = rng.binomial(visits, rates).astype(float)
        tell_report(run, ToldPulls(Pulls(np.arange(K), visits), sums, None))
        looker.look(run, best)
    return _wrong(run, best)


def _wrong(run: Any, best: int) -> bool:
    """Whether it names another one with a guarantee."""
    answer = run.answer
    return bool(answer.guarantee) and answer.arm != best


SHAPES = {
    "pulls": pulls,
    "two": two_of_pulls,
    "table": table_of_items,
    "pairs": pairs,
    "counts": counts,
}


def measure(task: tuple[str, str, int, int, int]) -> dict[str, Any]:
    """Some trials of one shape and moment."""
    shape, moment, first, count, seed = task
    wrong, accepted = 0, 0
    for i in range(first, first + count):
        key = (zlib.crc32(f"{shape} {moment}".encode()), i)
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        looker = _Looker(moment, 0.99 * AHEAD[shape])
        begun = len(looker.left)
        wrong += SHAPES[shape](looker, rng)
        accepted += begun > len(looker.left)
    return {"trials": count, "wrong": wrong, "accepted": accepted}


def main() -> None:
    parser = options((__doc__ or "").splitlines()[0], trials=400)
    given = parser.parse_args()
    record = Record("accepting", {"seed": given.seed, "delta": DELTA}, given)
    tasks = {
        f"{shape} | {moment} | {first} | {count}": (shape, moment, first, count, given.seed)
        for shape in SHAPES
        for moment in MOMENTS
        for first, count in chunks(given.trials, CHUNK)
    }
    record.fill(tasks, measure)
    rows = []
    for shape in SHAPES:
        for moment in MOMENTS:
            named = f"{shape} | {moment} |"
            own = [part for key, part in record.parts.items() if key.startswith(named)]
            n, wrong, did = (
                sum(part[name] for part in own) for name in ("trials", "wrong", "accepted")
            )
            if n:
                low, high = clopper_pearson(wrong, n)
                rows.append(
                    [shape, moment, f"{n}", f"{did}", f"{wrong / n:.3f}", f"{low:.3f}–{high:.3f}"]
                )
    head = ["shape", "accepted", "trials", "of them with the act", "wrong", "95 %"]
    about = (
        "# Accepting on the way\n\nδ = 0.2, four options, the others just more than epsilon below "
        "the best (of *two*: the two best): naming one of them is wrong. The moment is chosen by "
        "somebody who knows the truth and wants to do harm (`benchmarks/accepting.py`).\n\n"
    )
    record.write(about + table(head, rows))


if __name__ == "__main__":
    main()

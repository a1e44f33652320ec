"""Options compared two at a time: how often an answer is wrong, and what it costs.

Errors, of 12 and 40 options. Strengths are standard normal, and the best is ahead of the next one
by 0.5 on the logit scale. Judges: Bradley–Terry; Thurstone; three options behind the best, each of
which beats the next; one who prefers the left of two equal ones in 0.65 of all cases; one with 30 %
ties. A run is wrong if another option than the best is named. *Nobody*: three at the top in a
cycle, with ``confirm``; wrong if one of them is said to beat everyone. *Alike*: all options are,
before a judge who favours the left; wrong if a given one is ruled out within 2,000 comparisons.
"wins most" on Bradley–Terry, 12 options.

Cost, δ = 0.05: beside all pairs, each until it is decided with Bonferroni (a bet on each direction
at δ/(K(K − 1)), the mixture of six stakes; at most 200,000 comparisons of a pair are counted); the
same until one option is shown to beat all others, every open pair in turn; and pairs at random with
a Bradley–Terry fit, stopped when the 95 % interval of the leader's lead over each other option is
above 0, with its error rate.

Run with: python -m benchmarks.pairs [--trials 80]. With 40 options there are half as many trials;
costs come from ten.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.simulate.judges import Judge, bradley_terry, thurstone, with_cycle
from surepick.statistics.strengths import fit_strengths

DELTAS = (0.2, 0.05)
SIZES = (12, 40)
GAPS = (1.0, 0.5, 0.3)
JUDGES = ("Bradley–Terry", "Thurstone", "a cycle of three behind", "left 0.65", "ties 30 %")
_MOST = 200_000


def strengths(K: int, gap: float, rng: np.random.Generator) -> np.ndarray:
    found = np.sort(rng.standard_normal(K))[::-1].copy()
    found[0] = found[1] + gap
    return rng.permutation(found)


def judge_of(name: str, K: int, rng: np.random.Generator) -> Judge:
    s = strengths(K, 0.5, rng)
    order = np.argsort(-s).tolist()
    if name == "Thurstone":
        return Judge(thurstone(0.6 * s), rng=rng)
    if name == "a cycle of three behind":
        return Judge(with_cycle(bradley_terry(s), order[1:4], 0.8), rng=rng)
    if name == "nobody":
        return Judge(with_cycle(bradley_terry(s), order[:3], 0.8), rng=rng)
    if name == "alike":
        return Judge(np.full((K, K), 0.5), left=0.65, rng=rng)
    left = 0.65 if name == "left 0.65" else 0.5
    return Judge(bradley_terry(s), left=left, ties=0.3 * (name == "ties 30 %"), rng=rng)


def errors(task: tuple[str, int, float, str, int]) -> dict[str, Any]:
    name, K, delta, beats, trials = task
    wrong, counts = 0, []
    for seed in range(trials):
        judge = judge_of(name, K, np.random.default_rng([seed, K]))
        more: dict[str, Any] = {"confirm": True} if name == "nobody" else {}
        more |= {"max_samples": 2000} if name == "alike" else {}
        answer = sp.identify(
            sp.Problem.pairs(K), judge=judge, delta=delta, beats=beats, seed=seed, **more
        )
        counts.append(answer.samples)
        if name == "alike":
            wrong += 0 not in answer.survivors
        elif name == "nobody":
            wrong += answer.guarantee.startswith("the one that beats every other with")
        elif beats == "most":
            score = judge.chances.sum(axis=1)
            wrong += answer.arm != int(score.argmax())
        else:
            wrong += answer.arm != judge.winner
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def crossing(p: float, level: float, rng: np.random.Generator) -> tuple[int, bool]:
    """After how many comparisons one of two is shown to be better, and whether it is the first."""
    stakes = np.array([0.05, 0.1, 0.2, 0.4, 0.8, 1.5])
    capital, done, chunk = np.zeros((2, len(stakes))), 0, 256
    while done < _MOST:
        won = rng.random(chunk) < p
        logs = []
        for side, sign in enumerate((1.0, -1.0)):
            y = np.where(won, 0.5, -0.5) * sign
            path = capital[side] + np.cumsum(np.log1p(stakes * y[:, None]), axis=0)
            capital[side] = path[-1]
            logs.append(np.logaddexp.reduce(path, axis=1) - math.log(len(stakes)))
        hit = np.flatnonzero(np.maximum(*logs) >= math.log(1 / level))
        if len(hit):
            at = int(hit[0])
            return done + at + 1, bool(logs[0][at] > logs[1][at])
        done += chunk
        chunk = min(2 * chunk, 8192)
    return _MOST, p > 0.5


def all_pairs(task: tuple[int, float, int]) -> dict[str, Any]:
    K, gap, trials = task
    whole, until = [], []
    for seed in range(trials):
        rng = np.random.default_rng([seed, K, 7])
        chance = bradley_terry(strengths(K, gap, rng))
        best = int(chance.sum(axis=1).argmax())
        times = {
            (a, b): crossing(chance[a, b], 0.05 / (K * (K - 1)), rng)[0]
            for a in range(K)
            for b in range(a)
        }
        last = max(n for pair, n in times.items() if best in pair)
        whole.append(sum(times.values()))
        until.append(sum(min(n, last) for n in times.values()))
    return {"trials": trials, "all": float(np.mean(whole)), "until": float(np.mean(until))}


def at_random(task: tuple[int, float, int]) -> dict[str, Any]:
    K, gap, trials = task
    wrong, counts = 0, []
    for seed in range(trials):
        rng = np.random.default_rng([seed, K, 8])
        s = strengths(K, gap, rng)
        judge, n = Judge(bradley_terry(s), rng=rng), 0
        met, won = np.zeros((K, K)), np.zeros((K, K))
        while n < _MOST:
            for _ in range(max(K, n // 10)):
                a, b = rng.choice(K, 2, replace=False)
                met[a, b] += 1
                won[a, b] += judge(int(a), int(b))
                n += 1
            fitted = fit_strengths(met, won)
            lead = int(fitted.values.argmax())
            C = fitted.covariance
            se = np.sqrt(C[lead, lead] + np.diag(C) - 2 * C[lead])
            ahead = fitted.values[lead] - fitted.values - 1.96 * se
            if np.delete(ahead, lead).min() > 0:
                break
        counts.append(n)
        wrong += lead != int(s.argmax())
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def ours(task: tuple[int, float, int, bool]) -> dict[str, Any]:
    K, gap, trials, confirm = task
    counts, wrong = [], 0
    for seed in range(trials):
        rng = np.random.default_rng([seed, K, 9])
        judge = Judge(bradley_terry(strengths(K, gap, rng)), rng=rng)
        answer = sp.identify(sp.Problem.pairs(K), judge=judge, seed=seed, confirm=confirm)
        counts.append(answer.samples)
        wrong += answer.arm != judge.winner
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def main() -> None:
    asked = options(__doc__ or "", 80).parse_args()
    record, full = Record("pairs", {"trials": asked.trials}, asked), asked.trials
    few = {12: full, 40: max(full // 2, 2)}
    rates = {
        f"{name}, {K}, {d}": (name, K, d, "everyone", few[K])
        for K in SIZES
        for name in (*JUDGES, "nobody")
        for d in DELTAS
    }
    rates |= {f"alike, 12, {d}": ("alike", 12, d, "everyone", full) for d in DELTAS}
    rates |= {f"wins most, 12, {d}": ("Bradley–Terry", 12, d, "most", few[40]) for d in DELTAS}
    found = record.fill(rates, errors)
    some, fewer = (10, 4) if full >= 10 else (2, 2)
    sizes = [(12, gap) for gap in GAPS] + [(40, 0.5)]
    cost = {
        key: record.fill({f"{key}, {K}, {gap}": (K, gap, *more) for K, gap in sizes}, function)
        for key, function, more in (
            ("ours", ours, (some, False)),
            ("confirmed", ours, (some, True)),
            ("all pairs", all_pairs, (fewer,)),
            ("at random", at_random, (some,)),
        )
    }
    rows = []
    for name in ("Bradley–Terry", *JUDGES[1:], "nobody", "alike", "wins most"):
        for K in SIZES:
            parts = [found.get(f"{name}, {K}, {d}") for d in DELTAS]
            if parts[0] is None or parts[1] is None:
                continue
            own = [f"{part['wrong']:.3f}" for part in parts if part]
            mean = f"{parts[1]['comparisons']:,.0f}"
            rows.append([name, str(K), str(parts[0]["trials"]), *own, mean])
    head = ["judge", "options", "trials", *(f"wrong at δ = {d}" for d in DELTAS)]
    first = table([*head, "comparisons at 0.05"], rows)
    rows = []
    for K, gap in sizes:
        a, b, c, d = (cost[key][f"{key}, {K}, {gap}"] for key in cost)
        rows.append(
            [
                f"{K}, {gap:g} ahead",
                *(f"{n:,.0f}" for n in (a["comparisons"], b["comparisons"], c["all"], c["until"])),
                f"{d['comparisons']:,.0f} ({d['wrong']:.2f} wrong)",
                f"{c['all'] / a['comparisons']:.0f}, {c['until'] / a['comparisons']:.1f}",
            ]
        )
    head = ["options", "one left", "beats everyone shown", "all pairs", "all pairs until one"]
    head += ["random pairs, 95 % interval", "all pairs / one left"]
    said = (
        f"`python -m benchmarks.pairs --trials {full}`; costs from {some} trials each, all pairs "
        f"from {fewer}."
    )
    record.write("\n\n".join(["# Pairs", said, first, table(head, rows)]))


if __name__ == "__main__":
    main()

"""Options compared two at a time: how often an answer is wrong, and what it costs.

Errors, of 12 and 40 options. Strengths are standard normal, and the best is ahead of the next one
by 0.5 on the logit scale. Judges: Bradley–Terry; Thurstone; three options behind the best, each of
which beats the next; one who prefers the left of two equal ones in 0.65 of all cases; one with 30 %
ties; one whose taste depends on which of 20 items is shown (strengths vary by 1.5 from item to
item; the best wins at least 58 of 100 on average over them). A run is wrong if another option than
the best is named. *Nobody*: three at the top in a cycle, with ``confirm``; wrong if one of them is
said to beat everyone. *Alike*: all options are, before a judge who favours the left; wrong if a
given one is ruled out within 2,000 comparisons. "wins most" on Bradley–Terry, 12 options.

Cost, δ = 0.05, Bradley–Terry, beside
- all pairs, each until it is decided with Bonferroni (a bet on each direction at δ/(K(K − 1)), the
  mixture of six stakes; at most 200,000 comparisons of a pair are counted), and the same until
  one option is shown to beat all others, every open pair in turn;
- pairs at random with a Bradley–Terry fit, stopped when the 95 % interval of the leader's lead
  over each other option is above 0, with its error rate;
- RUCB (Zoghi, Whiteson, Munos, de Rijke, ICML 2014, Algorithm 1), its bounds and its rule for whom
  to compare as published, α = 1.25. It minimises regret and never stops; here it does where its
  bounds hold together with probability 1 − δ by its Lemma 1 and say that one beats all others;
- Beat-the-Mean (Yue, Joachims, ICML 2011, Algorithm 1), as published for one answer that is close
  enough (their PAC setting): γ = 1, and ε is how far the best is ahead, which it is told;
- like SEEBS (Ren, Liu, Shroff, ICML 2020), which is exact: rounds against one opponent, each twice
  as fine as the one before. Written from the paper, in its simplest form.

Run with: python -m benchmarks.pairs [--trials 1000] [--many 1000] [--only PART …], --many being the
trials of errors with 40 options; where trials take far longer, there are fewer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pairs.pairs import Pairs
from surepick.simulate.judges import Judge, bradley_terry, decided, thurstone, with_cycle
from surepick.statistics.strengths import fit_strengths

DELTAS = (0.2, 0.05)
SIZES = (12, 40)
GAPS = (1.0, 0.5, 0.3)
ITEMS = 20
JUDGES = ("Bradley–Terry", "Thurstone", "a cycle of three behind", "left 0.65", "ties 30 %")
JUDGES += ("items",)
MANY, FIRST = (*JUDGES, "nobody"), (*JUDGES, "nobody", "alike")  # of 40, of 12 options
CHUNK = 200  # trials of a part, with 40 options
_MOST = 200_000
_ALPHA = 1.25  # of RUCB: the cheapest of 1.25, 1.5 and 2


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
    if name == "items":
        return _by_item(K, rng)
    left = 0.65 if name == "left 0.65" else 0.5
    return Judge(bradley_terry(s), left=left, ties=0.3 * (name == "ties 30 %"), rng=rng)


def _by_item(K: int, rng: np.random.Generator) -> Judge:
    while True:
        own = strengths(K, 1.0, rng) + 1.5 * rng.standard_normal((ITEMS, K))
        judge = Judge(np.array([bradley_terry(s) for s in own]), left=0.6, rng=rng)
        won = judge.preferred + np.eye(K)
        if won.min(axis=1).max() >= 0.58:
            return judge


def errors(task: tuple[str, int, float, str, int, int]) -> dict[str, Any]:
    name, K, delta, beats, begin, trials = task
    wrong, counts, problem = 0, [], sp.Problem.pairs(K)
    more: dict[str, Any] = {} if beats == "most" else {"confirm": name == "nobody"}
    more |= {"max_samples": 2000} if name == "alike" else {}
    more |= {"items": ITEMS} if name == "items" else {}
    algorithm = Pairs(delta, beats=beats, **more)
    for seed in range(begin, begin + trials):
        judge = judge_of(name, K, np.random.default_rng([seed, K]))
        state = decided(algorithm, problem, judge, seed)
        counts.append(state.samples)
        if name == "alike":
            wrong += not state.inside[0]
        elif name == "nobody":
            wrong += state.shown
        elif beats == "most":
            wrong += state.leader() != int(judge.chances.sum(axis=1).argmax())
        else:
            wrong += state.leader() != judge.winner
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def together(parts: dict[str, Any], name: str) -> dict[str, Any] | None:
    """All parts of this cell."""
    some = [part for key, part in parts.items() if key.split(" | ")[0] == name]
    if not some:
        return None
    trials = sum(part["trials"] for part in some)
    means = {
        what: sum(part["trials"] * part[what] for part in some) / trials
        for what in ("wrong", "comparisons")
    }
    return {"trials": trials, **means}


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


Found = tuple[int, int]  # who is named, after how many comparisons


def at_random(s: np.ndarray, judge: Judge, rng: np.random.Generator) -> Found:
    K, n, lead = len(s), 0, 0
    met, won = np.zeros((K, K)), np.zeros((K, K))
    while n < _MOST:
        size = max(K, n // 10)
        a = rng.integers(K, size=size)
        b = (a + rng.integers(1, K, size=size)) % K
        np.add.at(met, (a, b), 1.0)
        np.add.at(won, (a, b), judge.many(a, b))
        n += size
        fitted = fit_strengths(met, won)
        lead = int(fitted.values.argmax())
        C = fitted.covariance
        se = np.sqrt(C[lead, lead] + np.diag(C) - 2 * C[lead])
        ahead = fitted.values[lead] - fitted.values - 1.96 * se
        if np.delete(ahead, lead).min() > 0:
            break
    return lead, n


def rucb(s: np.ndarray, judge: Judge, rng: np.random.Generator) -> Found:
    K, t, alpha = len(s), 0, _ALPHA
    holds_from = ((4 * alpha - 1) * K * K / ((2 * alpha - 1) * 0.05)) ** (1 / (2 * alpha - 1))
    won, best = np.zeros((K, K)), set[int]()
    while t < _MOST:
        t += 1
        met = won + won.T
        never, least = met == 0, np.maximum(met, 1.0)
        upper = np.where(never, 2.0, won / least + np.sqrt(alpha * math.log(t) / least))
        np.fill_diagonal(upper, 0.5)
        hopeful = np.flatnonzero((upper >= 0.5).all(axis=1)).tolist()
        best &= set(hopeful)
        if len(hopeful) == 1:
            best = set(hopeful)
        if not hopeful:
            c = int(rng.integers(K))
        elif best and (len(hopeful) == 1 or rng.random() < 0.5):
            (c,) = best
        else:
            c = int(rng.choice([one for one in hopeful if one not in best]))
        top = np.flatnonzero(upper[:, c] == upper[:, c].max())
        d = int(rng.choice(top[top != c])) if (top != c).any() else c
        if d == c:  # every upper bound on "another one beats c" is below a half
            if t > holds_from:
                return c, t
            continue
        first = rng.random() < 0.5
        y = judge(c, d) if first else 1.0 - judge(d, c)
        won[c, d] += y
        won[d, c] += 1.0 - y
    return int((won > won.T).sum(axis=1).argmax()), t


def beat_the_mean(s: np.ndarray, judge: Judge, rng: np.random.Generator) -> Found:
    K, n = len(s), 0
    order = np.sort(s)[::-1]
    lead = 1 / (1 + math.exp(order[1] - order[0])) - 0.5  # it is told
    most = 1000
    for _ in range(50):
        most = math.ceil(36 / lead**2 * math.log(K**3 * most / 0.05))
    width = 3 * math.sqrt(math.log(K**3 * most / 0.05))
    chance = judge.chances.tolist()  # in a random order
    left = list(range(K))
    met, won = ([[0] * K for _ in range(K)] for _ in range(2))  # of comparisons that the row began
    counts, wins = [0] * K, [0.0] * K
    while len(left) > 1 and min(counts[b] for b in left) < most:
        # Whoever was compared least comes next, ties in a random order: all of them in turn.
        least = min(counts[b] for b in left)
        turn = [b for b in left if counts[b] == least]
        for b in rng.permutation(turn).tolist():
            other = left[int(rng.random() * len(left))]
            y = rng.random() < chance[b][other]
            met[b][other] += 1
            won[b][other] += y
            counts[b] += 1
            wins[b] += y
            n += 1
            fewest = min(counts[one] for one in left)
            if not fewest:
                continue
            shares = [wins[one] / counts[one] for one in left]
            if max(shares) - min(shares) >= 2 * width / math.sqrt(fewest):
                gone = left.pop(shares.index(min(shares)))
                for one in left:
                    counts[one] -= met[one][gone]
                    wins[one] -= won[one][gone]
                break
    return max(left, key=lambda one: wins[one] / max(counts[one], 1)), n


def seebs(s: np.ndarray, judge: Judge, rng: np.random.Generator) -> Found:
    K, n, fine = len(s), 0, 1
    left, best = list(range(K)), int(rng.integers(K))
    while len(left) > 1:
        width = 2.0**-fine
        each = math.ceil(2 / width**2 * math.log(2 * K * fine * (fine + 1) / 0.05))
        shares = {}
        for u in [u for u in left if u != best]:
            first = rng.random(each) < 0.5
            y = judge.many(np.where(first, best, u), np.where(first, u, best))
            shares[u] = float(np.where(first, y, 1 - y).mean())  # of the opponent
            n += each
        lost = {u for u, share in shares.items() if share >= 0.5 + width / 2}
        if any(share <= 0.5 - width / 2 for share in shares.values()):
            lost.add(best)
        left = [u for u in left if u not in lost]
        rest = {u: share for u, share in shares.items() if u in left}
        if rest and (best not in left or min(rest.values()) < 0.5):
            best = min(rest, key=lambda u: rest[u])
        fine += 1
    return left[0] if left else -1, n


OTHERS = {
    "at random": (at_random, 8),
    "rucb": (rucb, 10),
    "beat the mean": (beat_the_mean, 11),
    "seebs": (seebs, 12),
}


def beside(task: tuple[str, int, float, int]) -> dict[str, Any]:
    name, K, gap, trials = task
    function, key = OTHERS[name]
    counts, wrong = [], 0
    for seed in range(trials):
        rng = np.random.default_rng([seed, K, key])
        s = strengths(K, gap, rng)
        named, n = function(s, Judge(bradley_terry(s), rng=rng), rng)
        counts.append(n)
        wrong += named != int(s.argmax())
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def ours(task: tuple[int, float, int, bool]) -> dict[str, Any]:
    K, gap, trials, confirm = task
    counts, wrong, problem = [], 0, sp.Problem.pairs(K)
    for seed in range(trials):
        rng = np.random.default_rng([seed, K, 9])
        judge = Judge(bradley_terry(strengths(K, gap, rng)), rng=rng)
        state = decided(Pairs(0.05, confirm=confirm), problem, judge, seed)
        counts.append(state.samples)
        wrong += state.leader() != judge.winner
    return {"trials": trials, "wrong": wrong / trials, "comparisons": float(np.mean(counts))}


def main() -> None:
    parser = options(__doc__ or "", 1000)
    parser.add_argument("--only", nargs="*", help="do the parts whose names begin so, and no table")
    parser.add_argument("--many", type=int, default=1000, help="trials of errors with 40 options")
    asked = parser.parse_args()
    record, full = Record("pairs", {"trials": asked.trials}, asked), asked.trials
    sizes = [(12, gap) for gap in GAPS] + [(40, 0.5)]
    some, fifth, fewer = (max(full // n, 2) for n in (10, 5, 100))
    groups: dict[str, tuple[Any, dict[str, Any]]] = {
        "ours": (ours, {f"ours, {K}, {g}": (K, g, some, False) for K, g in sizes}),
        "confirmed": (ours, {f"confirmed, {K}, {g}": (K, g, some, True) for K, g in sizes}),
        "all pairs": (all_pairs, {f"all pairs, {K}, {g}": (K, g, 4) for K, g in sizes}),
    }
    for name in OTHERS:
        trials = fifth if name == "at random" else fewer
        cells = {f"{name}, {K}, {g}": (name, K, g, trials) for K, g in sizes}
        groups[name] = (beside, cells)
    cells = {f"{name}, 12, {d}": (name, 12, d, "everyone") for name in FIRST for d in DELTAS}
    cells |= {f"wins most, 12, {d}": ("Bradley–Terry", 12, d, "most") for d in DELTAS}
    rates: dict[str, Any] = {key: (*cell, 0, full) for key, cell in cells.items()}
    many = {f"{name}, 40, {d}": (name, 40, d, "everyone") for name in MANY for d in DELTAS}
    for first, trials in chunks(asked.many, CHUNK):  # of all, before there are more of any
        rates |= {
            f"{key} | {first}": (*cell, first, trials)
            for key, cell in many.items()
            if key not in record.parts  # all of it was measured at once
        }
    groups["errors"] = (errors, rates)
    if asked.only:
        for function, tasks in groups.values():
            due = {key: task for key, task in tasks.items() if key.startswith(tuple(asked.only))}
            record.fill(due, function)
        return
    cost = {key: record.fill(tasks, function) for key, (function, tasks) in groups.items()}
    del cost["errors"]
    rows = []
    for name in (*JUDGES, "nobody", "alike", "wins most"):
        for K in SIZES:
            parts = [together(record.parts, f"{name}, {K}, {d}") for d in DELTAS]
            if parts[0] is None or parts[1] is None:
                continue
            own = [f"{part['wrong']:.3f}" for part in parts if part]
            mean = f"{parts[1]['comparisons']:,.0f}"
            trials = dict.fromkeys(f"{part['trials']:,}" for part in parts if part)
            rows.append([name, str(K), ", ".join(trials), *own, mean])
    head = ["judge", "options", "trials", *(f"wrong at δ = {d}" for d in DELTAS)]
    first = table([*head, "comparisons at 0.05"], rows)
    rows, others = [], []
    for K, gap in sizes:
        at = {key: parts[f"{key}, {K}, {gap}"] for key, parts in cost.items()}
        one, pairs = at["ours"]["comparisons"], at["all pairs"]
        said = [f"{n:,.0f}" for n in (one, at["confirmed"]["comparisons"])]
        said += [f"{n:,.0f} ({n / one:,.0f} ×)" for n in (pairs["all"], pairs["until"])]
        rows.append([f"{K}, {gap:g} ahead", *said])
        beaten = [at[name] for name in OTHERS]
        others.append(
            [
                f"{K}, {gap:g} ahead",
                f"{one:,.0f} ({at['ours']['wrong']:.2f})",
                *(f"{one['comparisons']:,.0f} ({one['wrong']:.3f})" for one in beaten),
            ]
        )
    head = ["options", "one left", "beats everyone shown", "all pairs", "all pairs until one"]
    second = table(head, rows)
    head = ["options", "one left (wrong)", "random pairs, 95 % interval", "RUCB"]
    third = table([*head, "Beat-the-Mean, told the lead", "like SEEBS"], others)
    said = (
        f"`python -m benchmarks.pairs --trials {full} --many {asked.many}`; costs from "
        f"{some} trials each, all pairs from 4, random pairs from {fifth}, "
        f"published algorithms from {fewer}."
    )
    record.write("\n\n".join(["# Pairs", said, first, second, third]))


if __name__ == "__main__":
    main()

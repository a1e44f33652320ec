"""Rivals at their best, on their authors' instances: pulls, tails, and how often they are wrong.

Proven thresholds and those without a theorem are in tables of their own: a rule that stops earlier
than any theorem allows is cheaper, and the last tables say what that costs where mistakes are easy.
There all options tie, or the first leads by next to nothing. As in ``benchmarks.error_rates``, the
first counts as the best, and a trial is wrong when the first is ruled out or another one answered;
ties have no end, so trials stop after ``MOST_TIED`` pulls, and what is not decided by then is not
wrong, for everybody. KN++ has tables of its own: it is told a lead (an indifference zone), promises
nothing where the best leads by less, and holds in the limit of small zones.

``benchmarks.rival_rules`` has the rules that the library does not have, written after their papers.
Instances are drawn by the recipes of the authors' programs, with other random numbers:

- *basis and crowd*: ``linear_bai.jl`` of Tirinzoni and Degenne (2022), d = 20, 50 arms, δ = 0.01:
  ten unit vectors with means 1, 0.9 and 0.8, the others at random with means of at most 0.5;
- *three blocks*: their ``linear_bai_delta.jl``, d = 10, 52 arms, a sweep of δ.

Rewards are N(0, 1); every rule has the same instance, and its own draws.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.rivals --trials 100 --tied 1000
or a part of it: --only tied "log t)/δ)" --without LazyTS are the parts whose names contain both and
not the last. With --again they are measured anew: --only pooled-peleg --again after changes of it.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from benchmarks import rival_rules as rules
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.bench.summary import clopper_pearson
from surepick.simulate import Instance
from surepick.simulate.families import factorial
from surepick.simulate.trials import drive

MOST, MOST_TIED = 1_000_000, 2_000  # pulls of a trial
CHUNK, CHUNK_TIED = 5, 50  # trials of a part
TIED_DELTA = 0.1
CONFIDENCE = 0.999
DELTAS = (0.1, 1e-3, 1e-6, 1e-9)  # on the three blocks


# -- instances -------------------------------------------------------------------------------------
@cache
def basis_and_crowd(d: int = 20, k: int = 50, rng: int = 123) -> Instance:
    """Half a basis with close means, and arms at random that are clearly worse."""
    draw, half = np.random.default_rng(rng), d // 2
    theta = np.concatenate([[1.0], np.full(half // 2 - 1, 0.9), np.full(half - half // 2, 0.8)])
    theta = np.concatenate([theta, draw.random(d - half) - 1.0])
    arms = list(np.eye(d)[:half])
    while len(arms) < k:
        arm = 2.0 * draw.random(d) - 1.0
        arm /= np.linalg.norm(arm)
        if arm @ theta <= 0.5:
            arms.append(arm)
    return Instance(sp.Problem(np.array(arms), noise=1.0), theta)


@cache
def three_blocks(k: int = 50, rng: int = 123) -> Instance:
    """One good arm in a direction of its own, and the same arms in each of three subspaces."""
    draw, theta = np.random.default_rng(rng), np.ones(10)
    arms = [np.eye(10)[0]]
    while len(arms) < k:
        small = 2.0 * draw.random(3) - 1.0
        small /= np.linalg.norm(small)
        if 0.0 <= small.sum() <= 0.8:
            for first in (1, 4, 7):
                arm = np.zeros(10)
                arm[first : first + 3] = small
                arms.append(arm)
    return Instance(sp.Problem(np.array(arms), noise=1.0), theta)


@cache
def unrelated(*means: float) -> Instance:
    return Instance(sp.Problem(np.eye(len(means)), noise=1.0), np.array(means))


@cache
def layouts() -> Instance:
    """12 layouts of three factors, which all have the same mean."""
    arms = factorial("3x2x2", interactions=0).problem.arms
    return Instance(sp.Problem(arms, noise=1.0), np.zeros(arms.shape[1]))


@cache
def many_good(d: int = 5, k: int = 30, good: int = 5, rng: int = 2) -> Instance:
    """``good`` arms within 0.1 of the best, e₁, and others that are worse by 0.3 and more."""
    draw = np.random.default_rng(rng)
    arms = [np.eye(d)[0]]
    while len(arms) < k:
        arm = draw.normal(size=d)
        arm /= np.linalg.norm(arm)
        lead = draw.uniform(0.9, 0.99) if len(arms) < good else draw.uniform(-0.5, 0.7)
        rest = arm - arm[0] * np.eye(d)[0]
        arms.append(lead * np.eye(d)[0] + rest * np.sqrt(1 - lead**2) / np.linalg.norm(rest))
    return Instance(sp.Problem(np.array(arms), noise=1.0), np.eye(d)[0])


# -- contestants -----------------------------------------------------------------------------------
Run = Callable[[Instance, float, np.random.Generator, int], rules.Ended]


def named(name: str, noise: Any = 1.0, **settings: Any) -> Run:
    """An algorithm of the library."""

    def run(instance: Instance, delta: float, rng: np.random.Generator, most: int) -> rules.Ended:
        problem = sp.Problem(instance.problem.arms, noise=noise)
        given = sp.algorithms.get(name, delta=delta, max_samples=most, **settings)
        own = given.start(problem, rng)
        truth = Instance(problem, instance.theta)
        drive(own, truth, rng)
        left = {int(i) for i in own.active}
        out = set(range(problem.n_arms)) - left if name == "pooled-peleg" else set()
        answer = own.answer
        return rules.Ended(own.samples, answer.arm, answer.guarantee.kind != "none", out)

    return run


def glr(rule: str, threshold: str, eliminates: int, sampling: bool, **more: Any) -> Run:
    def run(instance: Instance, delta: float, rng: np.random.Generator, most: int) -> rules.Ended:
        return rules.run_glr(
            instance, delta, rng, most, rule, threshold, eliminates, sampling, **more
        )

    return run


def round_robin(rule: Callable[..., Any], *settings: Any) -> Run:
    """A rule that measures everybody left in every round."""

    def run(instance: Instance, delta: float, rng: np.random.Generator, most: int) -> rules.Ended:
        rounds = min(most, 200_000) // len(instance.means)
        noise = rng.standard_normal((rounds, len(instance.means)))
        return rules.Ended(*rule(instance.means, noise, *settings, rounds, delta))

    return run


def kn(zone: float) -> Run:
    """KN++ with this indifference zone, and ten rewards of each to begin with."""

    def rule(means: Any, noise: Any, rounds: int, delta: float) -> Any:
        return rules.kn(means, noise, 10, rounds, zone, delta)

    return round_robin(rule)


def split(means: Any, noise: Any, rounds: int, delta: float) -> Any:
    """Survivors, δ shared out: each good one is lost with probability δ/(K − 1) by its design."""
    return rules.survivors(means, noise, rounds, delta / (len(means) - 1))


ELIMINATIONS = {
    "": (rules.NEVER, False),
    ", eliminates to stop": (rules.SELECTIVE, False),
    ", eliminates to stop, all pairs": (rules.FULL, False),
    ", eliminates to stop and to sample": (rules.SELECTIVE, True),
}
OURS = {
    "**pooled-peleg**": named("pooled-peleg"),
    "**pooled-peleg**, noise unknown": named("pooled-peleg", None),
}


def linear(threshold: str, forms: tuple[str, ...] = tuple(ELIMINATIONS)) -> dict[str, Run]:
    return {
        f"{rule}{form}": glr(rule, threshold, *ELIMINATIONS[form])
        for rule in rules.RULES
        for form in forms
    }


FEW = ("", ", eliminates to stop", ", eliminates to stop and to sample")
#: with the pairwise threshold, which has a theorem too
PAIRWISE = {
    "top-two, pairwise": named("top-two"),
    "LinGame, pairwise": named("lingame", threshold="pairwise"),
    "FWS, pairwise": named("fws", threshold="pairwise"),
}
UNRELATED = PAIRWISE | {
    "lucb": named("lucb"),
    "uniform": named("uniform"),
    "LinGame": glr("LinGame", "proven", *ELIMINATIONS[""]),
}
TIED_FORMS = ("", ", eliminates to stop and to sample")

#: (title, what it is) -> instance, δ and contestants by kind of threshold
PROVEN, SLOW, FAST = "proven", "log((1 + t)/δ)", "log((1 + log t)/δ)"
TOLD = "told a lead"


def races() -> dict[str, tuple[Instance, float, dict[str, dict[str, Run]]]]:
    """Who runs where."""
    everybody = {
        PROVEN: OURS | {"rage": named("rage")} | PAIRWISE | linear("proven"),
        SLOW: linear("log t"),
        FAST: linear("log log t"),
    }
    few = {
        PROVEN: OURS | PAIRWISE | linear("proven", FEW),
        SLOW: linear("log t", FEW),
        FAST: linear("log log t", FEW),
    }
    found = {"basis and crowd": (basis_and_crowd(), 0.01, everybody)}
    for delta in DELTAS:
        found[f"three blocks, δ = {delta:g}"] = (three_blocks(), delta, few)
    for name, means, zone in (
        ("ten unrelated, one 0.5 better", (0.5, *[0.0] * 9), 0.5),
        ("ten unrelated, evenly spread", tuple(np.linspace(1.0, 0.0, 10)), 1 / 9),
    ):
        theirs = {
            f"KN++, zone = the lead ({zone:.2f})": kn(zone),
            f"KN++, zone = half the lead ({zone / 2:.2f})": kn(zone / 2),
        }
        heuristic = {"top-two": named("top-two-heuristic")}
        heuristic |= {"PASS-like": round_robin(split), "LinGame": linear("log log t")["LinGame"]}
        found[name] = (
            unrelated(*means),
            0.05,
            {PROVEN: OURS | UNRELATED, TOLD: theirs, FAST: heuristic},
        )
    return found


def within() -> dict[str, tuple[Instance, float, float, dict[str, dict[str, Run]]]]:
    """Races for any answer within ε of the best."""
    found = {}
    for name, instance, delta, epsilon in (
        ("five good arms of 30, ε = 0.15", many_good(), 0.01, 0.15),
        ("ten unrelated, evenly spread, ε = 0.15", unrelated(*np.linspace(1, 0, 10)), 0.05, 0.15),
    ):
        ours = {
            "**pooled-peleg**": named("pooled-peleg", epsilon=epsilon),
            "**pooled-peleg**, noise unknown": named("pooled-peleg", None, epsilon=epsilon),
        }
        theirs = {
            kind: {
                "LεBAI": glr("LinGame", own, rules.NEVER, False, epsilon=epsilon, furthest=True),
                "LinGame with ε": glr("LinGame", own, rules.NEVER, False, epsilon=epsilon),
            }
            for kind, own in ((PROVEN, "proven"), (FAST, "log log t"))
        }
        if "unrelated" in name:
            theirs[TOLD] = {"KN++, zone = ε": kn(epsilon)}
            theirs[PROVEN]["lucb"] = named("lucb", epsilon=epsilon)
        theirs[PROVEN] = ours | theirs[PROVEN]
        found[name] = (instance, delta, epsilon, theirs)
    return found


def ties() -> dict[str, Instance]:
    return {
        "two tied": unrelated(0.0, 0.0),
        "ten tied": unrelated(*[0.0] * 10),
        "two, lead 0.02 σ": unrelated(0.02, 0.0),
        "ten, lead 0.1 σ": unrelated(0.1, *[0.0] * 9),
        "12 layouts, no effects": layouts(),
    }


def contestants_of_ties() -> dict[str, dict[str, Run]]:
    return {
        PROVEN: {"**pooled-peleg**": named("pooled-peleg"), "lucb": named("lucb")}
        | PAIRWISE
        | linear("proven", TIED_FORMS),
        SLOW: linear("log t", TIED_FORMS),
        FAST: linear("log log t", TIED_FORMS)
        | {"top-two": named("top-two-heuristic"), "uniform": named("uniform-heuristic")}
        | {"PASS-like": round_robin(split)},
    }


# -- trials ----------------------------------------------------------------------------------------
def seeded(seed: int, name: str, who: str, i: int) -> np.random.Generator:
    key = zlib.crc32(f"{name} {who}".encode())
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(key, i)))


def measure(task: tuple[Any, ...]) -> dict[str, Any]:
    sort, name, kind, who, first, count, seed = task
    epsilon, started = 0.0, time.process_time()
    if sort == "tied":
        instance, delta, most = ties()[name], TIED_DELTA, MOST_TIED
        run = contestants_of_ties()[kind][who]
    elif sort == "within":
        instance, delta, epsilon, by_kind = within()[name]
        run, most = by_kind[kind][who], MOST
    else:
        instance, delta, by_kind = races()[name]
        run, most = by_kind[kind][who], MOST
    pulls, stopped, wrong = [], [], 0
    best = 0 if sort == "tied" else int(np.argmax(instance.values))
    for i in range(first, first + count):
        ended = run(instance, delta, seeded(seed, name, f"{kind} {who}", i), most)
        pulls.append(ended.pulls)
        stopped.append(ended.stopped)
        if epsilon:
            worse = instance.values[best] - instance.values[ended.answer]
            wrong += ended.stopped and worse > epsilon + 1e-12
        else:
            wrong += best in ended.out or (ended.stopped and ended.answer != best)
    return {
        "pulls": [int(n) for n in pulls],
        "stopped": int(sum(stopped)),
        "wrong": int(wrong),
        "seconds": round(time.process_time() - started, 2),
    }


def tasks(trials: int, tied: int, seed: int) -> dict[str, Any]:
    """What there is to do, the most telling parts first."""
    cells = [
        ("tied", name, kind, who, tied, CHUNK_TIED)
        for name in ties()
        for kind, group in reversed(contestants_of_ties().items())
        for who in group
    ]
    for sort, found in (("race", races()), ("within", within())):
        for name, (*_, by_kind) in found.items():
            for kind, group in by_kind.items():
                cells += [(sort, name, kind, who, trials, CHUNK) for who in group]
    parts = [
        (first, (sort, name, kind, who, first, count, seed))
        for sort, name, kind, who, n, size in cells
        for first, count in chunks(n, size)
    ]
    parts.sort(key=lambda part: part[0])  # some trials of everybody before more of anybody
    return {" | ".join(str(word) for word in task[:-1]): task for _, task in parts}


@cache
def bounds(name: str) -> float:
    """Pulls that every rule that keeps δ takes in the mean, at least."""
    instance, delta, _ = races()[name]
    return sp.design.complexity(instance.problem, instance.theta, tol=1e-3).lower_bound(delta)


# -- tables ----------------------------------------------------------------------------------------
def gathered(parts: dict[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    cells: dict[tuple[str, ...], dict[str, Any]] = {}
    for key, part in parts.items():
        cell = cells.setdefault(
            tuple(key.split(" | ")[:4]), {"pulls": [], "stopped": 0, "wrong": 0}
        )
        for what, value in part.items():
            if what != "seconds":
                cell[what] += value
    return cells


def tail(pulls: np.ndarray, q: float) -> str:
    """The pulls that this share of trials do not exceed, where there are trials enough to tell."""
    enough = len(pulls) * (1 - q) >= 0.999
    return f"{np.quantile(pulls, q, method='inverted_cdf'):,.0f}" if enough else ""


def race_table(cells: dict[Any, Any], sort: str, name: str, kind: str, group: Any) -> str:
    rows = []
    for who in group:
        cell = cells.get((sort, name, kind, who))
        if cell is None:
            continue
        pulls = np.array(cell["pulls"])
        n, early = len(pulls), len(pulls) - cell["stopped"]
        error = _error(pulls)
        tails = [tail(pulls, q) for q in (0.9, 0.99)]
        rows.append(
            [who, f"{n}", f"{pulls.mean():,.0f} ± {error:,.0f}", *tails, f"{pulls.max():,}"]
            + [f"{early}" if early else "", f"{cell['wrong']} of {cell['stopped']}"]
        )
    head = ["rule", "trials", "mean pulls", "90 %", "99 %", "largest", "given up", "wrong"]
    return table(head, rows) if rows else ""


def tied_table(cells: dict[Any, Any], kind: str, group: Any) -> str:
    shown = [name for name in ties() if any(("tied", name, kind, who) in cells for who in group)]
    rows = []
    for who in group:
        row, trials = [who], set()
        for name in shown:
            cell = cells.get(("tied", name, kind, who))
            if cell is None:
                row.append("")
                continue
            n = len(cell["pulls"])
            trials.add(n)
            low, _ = clopper_pearson(cell["wrong"], n, CONFIDENCE)
            rate = f"{cell['wrong'] / n:.3f}"
            row.append(f"**{rate}**" if low > TIED_DELTA else rate)
        if trials:
            rows.append([*row[:1], f"{min(trials):,}", *row[1:]])
    return table(["rule", "trials", *shown], rows) if rows else ""


def report(parts: dict[str, Any]) -> str:
    cells = gathered(parts)
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    lines = [
        "# Rivals at their best",
        "",
        f"Made by `python -m benchmarks.rivals`, which explains it; {minutes:.0f} CPU minutes so "
        "far. Rows say how many trials they are of; who and what is missing has not run yet.",
    ]
    of_ties = contestants_of_ties()
    if any(key[0] == "tied" for key in cells):
        lines += [
            "",
            f"## Wrong where mistakes are easy, δ = {TIED_DELTA:g}",
            "",
            f"Share of trials (so many or more of each) that rule out the first option within "
            f"{MOST_TIED:,} pulls. Bold: the whole 99.9 % interval lies above δ.",
        ]
        for kind, group in of_ties.items():
            found = tied_table(cells, kind, group)
            lines += ["", f"### {_threshold(kind)}", "", found] if found else []
    for sort, title, found in (
        ("race", "", {name: (delta, by) for name, (_, delta, by) in races().items()}),
        ("within", " (within ε)", {n: (delta, by) for n, (_, delta, _, by) in within().items()}),
    ):
        for name, (delta, by_kind) in found.items():
            texts = {
                kind: race_table(cells, sort, name, kind, group) for kind, group in by_kind.items()
            }
            if not any(texts.values()):
                continue
            lines += ["", f"## {name[0].upper()}{name[1:]}{title}"]
            bound = f"; who keeps δ takes {bounds(name):,.0f} or more" if sort == "race" else ""
            lines += ["", f"δ = {delta:g}{bound}; given up at {MOST:,} pulls."]
            for kind, text in texts.items():
                lines += ["", f"### {_threshold(kind)}", "", text] if text else []
    sweep = races()[f"three blocks, δ = {DELTAS[0]:g}"][-1]
    found = {kind: sweep_table(cells, kind, group) for kind, group in sweep.items()}
    if any(found.values()):
        least = ", ".join(f"{bounds(f'three blocks, δ = {d:g}'):,.0f}" for d in DELTAS)
        lines += ["", "## Three blocks, as δ falls", "", f"Mean pulls; lower bounds: {least}."]
        for kind, text in found.items():
            lines += ["", f"### {_threshold(kind)}", "", text] if text else []
    return "\n".join(lines)


def sweep_table(cells: dict[Any, Any], kind: str, group: Any) -> str:
    """Mean pulls on the three blocks, as δ falls."""
    rows = []
    for who in group:
        found = [cells.get(("race", f"three blocks, δ = {d:g}", kind, who)) for d in DELTAS]
        if all(found):
            pulls = [np.array(cell["pulls"]) for cell in found if cell]
            rows.append([who, *(f"{n.mean():,.0f} ± {_error(n):,.0f}" for n in pulls)])
    return table(["rule", *(f"δ = {d:g}" for d in DELTAS)], rows) if rows else ""


def _error(pulls: np.ndarray) -> float:
    return float(pulls.std(ddof=1) / np.sqrt(len(pulls)))


def _threshold(kind: str) -> str:
    named = {
        PROVEN: "Proven",
        TOLD: "Told a lead, proven in the limit",
        FAST: f"No theorem: {FAST}, and PASS-like",
    }
    return named.get(kind, f"No theorem: {kind}")


def main() -> None:
    parser = options("Rivals at their best", trials=100)
    parser.add_argument("--tied", type=int, default=1000, help="trials of ties")
    parser.add_argument("--only", nargs="*", default=[], help="parts whose names have all of these")
    parser.add_argument("--without", nargs="*", default=[], help="and none of these")
    parser.add_argument("--again", action="store_true", help="measure these parts anew")
    given = parser.parse_args()
    settings = {"seed": given.seed, "most": [MOST, MOST_TIED]}
    record = Record("rivals", settings, given)

    def asked(key: str) -> bool:
        return all(w in key for w in given.only) and not any(w in key for w in given.without)

    every = tasks(given.trials, given.tied, given.seed)
    if given.again:
        record.parts = {key: part for key, part in record.parts.items() if not asked(key)}
    record.fill({key: task for key, task in every.items() if asked(key)}, measure)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()

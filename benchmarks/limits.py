"""Limits on further numbers: how often an answer is wrong, and what it costs.

Errors. Six options whose rewards y and numbers c are normal with scale 1, known, and correlated
(0.8, where nothing else is said); limits are c ≤ 0. *At the limit*: the best one keeps it exactly,
the others clearly, and all are worse; wrong if it is ruled out within 3,000 measurements. *A better
one breaks it*: an option with the largest y misses the limit by 0.4. *All break it*: by 0.1 to 0.6;
wrong if one is said to keep it. *Three limits*: each of three better options breaks another one.
*Independent*: as the second, with correlation 0. *A tolerance* of 0.3: the largest y misses the
limit by a hair more, and the best that keeps it does so exactly; wrong if another one is named. *A
margin*: as the first, to an option's mean instead of 0. *Yes-no*: y and c are, and depend on each
other, c with a limit of 0.3. *Bounds*: y and c in [0, 1], most often one of the ends. *Any*: both
skewed (log-normal), and the limit is on the median. In these three the best one is exactly at the
limit, too, and wrong is that it is ruled out, within 3,000 measurements (1,000 of any kind, and of
two). *Two of six*: the best one keeps the limit exactly, the second ties with a third, a better one
breaks it; wrong if the first is ruled out or both of the others. *Two, and one keeps it*: others
break it by 0.1 to 0.4; wrong if another one is said to keep it, or that one is lost. *Two, yes-no*:
as the first of these, with the numbers of *yes-no*. *Cheapest*: options cost more from one to the
next, and within 0.5 is good enough; the second keeps the limit exactly and is exactly good enough,
the cheapest is not by a hair more, the last is better and breaks the limit; wrong if the second is
ruled out within 1,000 measurements. *Cheapest, yes-no*: the same with the numbers of *yes-no*,
where a cheaper one that is good enough breaks the limit.

Cost, δ = 0.05, beside two studies at δ/2 each: which options keep the limit, as claims against a
number (several limits share that δ, one after the other, each among those that are left), then the
best of those, from new measurements; beside even shares of all options that are in, by the same
bets; and beside the least that any algorithm takes (``benchmarks/limits_bound.py``). Two more
cases: *worse and near it*: five options that are worse by 0.5 to 1 and 0.05 to 0.1 from the limit,
on either side; *twenty options*: y from 0 to 1.9, and every third breaks the limit by 0.5.

Run with: python -m benchmarks.limits [--trials 1000] [--costs 30] [--only TEXT …]; it goes on where
it was ended, and --only picks parts by their names. The tables have what is there: the record is of
100 trials of each cell at least, of the first five 400: enough to see errors well above δ, too few
to tell 0.04 from 0.05.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from benchmarks.limits_bound import bound
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pooled.parts import dealt

DELTAS = (0.2, 0.05)
ERRORS = (
    *("at the limit", "a better one breaks it", "all break it", "three limits", "independent"),
    *("a tolerance", "a margin", "yes-no", "bounds", "any"),
    *("two of six", "two, and one keeps it", "two, yes-no", "cheapest", "cheapest, yes-no"),
)
COSTS = (
    *("a better one breaks it", "all break it", "three limits", "independent"),
    *("worse and near it", "twenty options"),
)
STAYS = {"at the limit": 3_000, "a margin": 3_000, "yes-no": 3_000, "bounds": 3_000, "any": 1_000}
STAYS |= dict.fromkeys(("two of six", "two, yes-no", "cheapest", "cheapest, yes-no"), 1_000)
CHUNK, PRICED = 50, 10  # trials of a part
MOST = 100_000


@cache
def truth(case: str) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Means of y (K,) and of further numbers (K, L), and who is right."""
    y = np.array([1.0, 0.6, 0.5, 0.4, 0.2, 0.0])
    c = np.full((6, 1), -0.6)
    if case == "all break it":
        return y, np.linspace(0.1, 0.6, 6)[:, None], None
    if case == "three limits":
        c = np.full((6, 3), -0.6)
        c[[0, 1, 2], [0, 1, 2]] = 0.4
        return np.array([1.6, 1.5, 1.4, 1.0, 0.4, 0.2]), c, 3
    if case == "worse and near it":
        c[1:, 0] = [-0.05, 0.05, -0.05, 0.05, 0.1]
        return np.array([1.0, 0.5, 0.4, 0.3, 0.2, 0.0]), c, 0
    if case == "twenty options":
        y = 1.9 - 0.1 * np.arange(20)
        return y, np.where(np.arange(20) % 3 == 0, 0.5, -0.5)[:, None], 1
    if case == "a tolerance":
        c[0], c[1] = 0.3 + 1e-9, 0.0
        return y, c, 1
    if case in ("two of six", "two, yes-no"):
        c[0], c[5] = 0.0, 0.4
        return np.array([1.0, 0.6, 0.6, 0.4, 0.2, 1.2]), c, 0
    if case == "two, and one keeps it":
        c[:, 0] = [0.1, -0.3, 0.2, 0.3, 0.4, 0.4]
        return y, c, 1
    if case.startswith("cheapest"):
        c[1], c[5] = 0.0, 0.4
        y = np.array([0.5 - 1e-9, 0.5, 0.8, 1.0, 1.0, 1.6])
        if case != "cheapest":
            y[0], c[0] = 0.8, 0.4
        return y, c, 1
    if case in STAYS:
        c[0] = 0.0
        return y, c, 0
    c[0] = 0.4
    return y, c, 1


def _yes_no(y: np.ndarray, c: np.ndarray, arms: np.ndarray, rng: Any) -> tuple[Any, Any]:
    """One chance for both: who buys rather complains."""
    luck = rng.random(len(arms))
    return luck < 0.3 + 0.3 * y[arms], luck < 0.3 + 0.3 * c[arms]


def _bounds(y: np.ndarray, c: np.ndarray, arms: np.ndarray, rng: Any) -> tuple[Any, Any]:
    """Most often one of the ends; else in the middle."""
    first, second = _yes_no(y, c, arms, rng)
    middle = rng.random(len(arms)) < 0.2  # with the mean of either
    return np.where(middle, 0.3 + 0.3 * y[arms], first), np.where(
        middle, 0.3 + 0.3 * c[arms], second
    )


def _any(y: np.ndarray, c: np.ndarray, arms: np.ndarray, rng: Any) -> tuple[Any, Any]:
    shared = rng.standard_normal(len(arms))
    own = 0.8 * shared + 0.6 * rng.standard_normal(len(arms))
    return np.exp(y[arms] + shared), np.exp(c[arms] + own)


#: how numbers of these cases are drawn, what is known of both, and the limit
OTHERS: dict[str, tuple[Callable[..., tuple[Any, Any]], Any, str]] = {
    "yes-no": (_yes_no, "yes-no", "c0 <= 0.3"),
    "two, yes-no": (_yes_no, "yes-no", "c0 <= 0.3"),
    "cheapest, yes-no": (_yes_no, "yes-no", "c0 <= 0.3"),
    "bounds": (_bounds, (0, 1), "c0 <= 0.3"),
    "any": (_any, "any", "median of c0 <= 1"),
}


class Site:
    """Draws measurements of one case."""

    def __init__(self, case: str, seed: int) -> None:
        self.case = case
        self.y, self.c, self.right = truth(case)
        self.K, self.L = self.c.shape
        self.rho = 0.0 if case == "independent" else 0.8
        names = [*sorted({*ERRORS[:10], *COSTS}), *ERRORS[10:]]  # those that came later are last
        self.rng = np.random.default_rng([seed, names.index(case)])
        self.names = [f"c{j}" for j in range(self.L)]
        self.draw, kind, limit = OTHERS.get(case, (None, 1.0, "c0 <= 0"))
        self.problem = sp.Problem.unstructured(
            [f"o{k}" for k in range(self.K)],
            noise=kind,
            numbers=dict.fromkeys(self.names, kind),
            costs=np.arange(1.0, self.K + 1) if case.startswith("cheapest") else None,
        )
        self.keep = [limit.replace("c0", name) for name in self.names]
        if case == "a tolerance":
            self.keep = ["c0 <= 0 ± 0.3"]
        if case == "a margin":
            self.keep = ["c0 <= o5 + 0.6"]

    def __call__(self, arms: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        if self.draw is not None:
            y, c = self.draw(self.y, self.c[:, 0], arms, self.rng)
            return np.asarray(y, dtype=float), {"c0": np.asarray(c, dtype=float)}
        shared = self.rng.standard_normal(len(arms))
        own = self.rng.standard_normal((self.L, len(arms)))
        c = self.c[arms].T + self.rho * shared + np.sqrt(1 - self.rho**2) * own
        return self.y[arms] + shared, dict(zip(self.names, c))

    def covariance(self) -> np.ndarray:
        """Of y and all c."""
        found = np.full((1 + self.L, 1 + self.L), self.rho**2)
        found[0] = found[:, 0] = self.rho
        np.fill_diagonal(found, 1.0)
        return found


def ours(site: Site, delta: float, seed: int, most: int = MOST, even: bool = False) -> Any:
    """A run to its end; with even shares of those that are in, if so asked."""
    more: dict[str, Any] = {"top": 2} if site.case.startswith("two") else {}
    if site.case.startswith("cheapest"):  # yes and no have 0.3 of the distance
        more = {"cheapest": True, "within": 0.5 if site.case == "cheapest" else 0.15}
    algorithm = sp.algorithms.PooledPeleg(delta, keep=site.keep, **more)
    run = algorithm.start(site.problem, seed)
    while not run.stopped and run.samples < most:
        batch = run.ask()
        if even:
            counts = np.zeros(site.K, dtype=np.int64)
            left = list(run.active)
            counts[left] = max(2, batch.size // len(left))
            batch = run.put(dealt(counts, run.state.parts))
        y, numbers = site(batch.arms)
        run.tell(batch, y, numbers=numbers)
    return run


def errors(task: tuple[str, float, int, int]) -> dict[str, Any]:
    case, delta, begin, trials = task
    wrong, counts = 0, 0
    for seed in range(begin, begin + trials):
        site = Site(case, seed)
        run = ours(site, delta, seed, STAYS.get(case, MOST))
        counts += run.samples
        left = [int(k) for k in run.active]
        if case in STAYS:
            wrong += site.right not in left or (case.startswith("two") and not {1, 2} & set(left))
        elif case == "two, and one keeps it":
            wrong += bool(run.stopped and left != [1])
        elif site.right is None:
            wrong += bool(run.stopped and left)
        else:
            wrong += not left or bool(run.stopped and run.answer.arm != site.right)
    return {"trials": trials, "wrong": wrong, "pulls": counts}


def two_studies(case: str, seed: int) -> int:
    """Which options keep each limit, then the best of those."""
    site = Site(case, seed)
    left, spent = np.arange(site.K), 0
    for name in site.names:
        asked = sp.identify(
            sp.Problem.unstructured(len(left), noise=1.0),
            measure_batch=lambda arms, some=left, name=name: site(some[arms])[1][name],
            threshold=0.0,
            delta=0.025 / site.L,
            seed=seed,
            max_samples=MOST,
        )
        spent += asked.samples
        left = left[[int(label) for label in asked.worse]]
        if len(left) < 2:
            return spent
    second = sp.identify(
        sp.Problem.unstructured(len(left), noise=1.0),
        measure_batch=lambda arms: site(left[arms])[0],
        delta=0.025,
        seed=seed,
        max_samples=MOST,
    )
    return spent + second.samples


def costs(task: tuple[str, int, int]) -> dict[str, Any]:
    case, begin, trials = task
    seeds = range(begin, begin + trials)
    return {
        "trials": trials,
        "ours": sum(ours(Site(case, s), 0.05, s).samples for s in seeds),
        "two": sum(two_studies(case, s) for s in seeds),
        "even": sum(ours(Site(case, s), 0.05, s, even=True).samples for s in seeds),
    }


def summed(parts: dict[str, Any], name: str) -> dict[str, Any] | None:
    """All parts of this name together."""
    some = [part for key, part in parts.items() if key.split(" | ")[0] == name]
    return {what: sum(part[what] for part in some) for what in some[0]} if some else None


def report(parts: dict[str, Any]) -> str:
    rows = [
        [case, f"{d}", f"{n:,}", f"{found['wrong'] / n:.3f}", f"{found['pulls'] / n:,.0f}"]
        for case in ERRORS
        for d in DELTAS
        if (found := summed(parts, f"{case}, {d}"))
        for n in [found["trials"]]
    ]
    text = table(["case", "δ", "trials", "wrong", "measurements"], rows)
    rows, ratios = [], []
    for case in COSTS:
        found = summed(parts, f"cost: {case}")
        if found is None:
            continue
        n, site = found["trials"], Site(case, 0)
        least = bound(site.y, site.c, np.zeros(site.L), site.covariance()).measurements(0.05)
        ratios.append(found["ours"] / found["two"])
        spent = (f"{found[what] / n:,.0f}" for what in ("ours", "two"))
        more = (f"{found['even'] / n:,.0f}", f"{least:,.0f}", f"{found['ours'] / n / least:.2f}")
        rows.append([case, str(n), *spent, f"{ratios[-1]:.2f}", *more])
    heads = ["case", "trials", "with limits", "two studies", "ratio", "even shares"]
    priced = table([*heads, "lower bound", "over it"], rows)
    middle = f"The ratios' average is {np.mean(ratios):.2f}." if ratios else ""
    return f"{text}\n\n{priced}\n\n{middle}"


def main() -> None:
    parser = options(__doc__, trials=1_000)
    parser.add_argument("--costs", type=int, default=30, help="trials of each cost")
    parser.add_argument("--only", nargs="*", default=[""], help="parts with one of these in names")
    given = parser.parse_args()
    record = Record("limits", {"seed": given.seed}, given)

    def picked(tasks: dict[str, Any]) -> dict[str, Any]:
        return {key: task for key, task in tasks.items() if any(t in key for t in given.only)}

    cells = {
        f"{case}, {d} | {first}": (case, d, given.seed + first, count)
        for first, count in chunks(given.trials, CHUNK)
        for d in DELTAS
        for case in ERRORS
    }
    priced = {
        f"cost: {case} | {first}": (case, given.seed + first, count)
        for first, count in chunks(given.costs, PRICED)
        for case in COSTS
    }
    record.fill(picked(priced), costs)
    record.fill(picked(cells), errors)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()

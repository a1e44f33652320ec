"""How much longer? Whether the interval that studies give holds as often as it says.

Studies are simulated on truths drawn at random: effects of features normal, in half of them with a
deviation of each option's own, a scale of noise that nobody is told, or yes and no. At a quarter,
half and three quarters of the way (the first complete batch from there on) the forecast is made,
and compared with what the study still took. It says that eight of ten end within the interval.

In studies of traffic, periods are forecast: visits differ from day to day and by a weekly cycle,
and so does the level of all rates.

With strata (plates of eight pulls, whose levels differ by more than the noise) nothing is forecast:
how many plates come, and which options meet on them, is not known. That is counted as well.

Truths are not screened: where the two best are nearly the same, a study ends when it has measured
as often as it may, which the forecast knows.

Run with: python -m benchmarks.forecasts --trials 200 --traffic 60 --strata 12
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.ahead.copies import ahead, periods_ahead
from surepick.ahead.feed import TooSlowError, feed
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.bench.summary import clopper_pearson
from surepick.run import Run
from surepick.run.forecast import Ahead
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.simulate import Bernoulli, Gaussian

SHARES = (0.25, 0.5, 0.75)  # of the way
OPTIONS, EFFECTS = (8, 12, 24), (2, 3, 4)
DELTA, MOST = 0.05, 20_000
CLOSE, PERIODS = 0.004, 150  # of traffic: rates that are as good as each other, periods at most
# Where a study stood after each batch, and what a forecast needs to know of it; how much it took
# in all; and the forecast.
Followed = tuple[list[tuple[Any, ...]], int, Callable[..., Ahead]]
CHUNK = 5  # studies of one part
TITLES = {
    "pulls": "Measurements",
    "traffic": "Periods of traffic",
    "strata": "Measurements on plates",
}


def study(seed: int, i: int) -> tuple[Run, dict[str, Any], np.random.Generator]:
    """A run that has not begun, how its rewards are drawn, and by what."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(i,)))
    which = i % 3
    rows = np.c_[np.ones(OPTIONS[which]), rng.normal(size=(OPTIONS[which], EFFECTS[which]))]
    linear = i % 2 == 0
    means = rows @ rng.normal(size=rows.shape[1])
    if not linear:
        means += 0.5 * rng.normal(size=len(rows))
    yes_no = i % 4 == 3
    if yes_no:
        means = 1.0 / (1.0 + np.exp(-0.5 * means))
    problem = sp.Problem(
        rows, noise="yes-no" if yes_no else None, misfit=0.0 if linear else math.inf
    )
    run = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST).start(problem)
    rewards = {"means": means, "noise": Bernoulli() if yes_no else Gaussian(), "scales": 1.0}
    return run, rewards, rng


def measure(task: dict[str, Any]) -> list[dict[str, Any]]:
    """What was forecast, and what came, for some studies."""
    follow = {"pulls": by_pulls, "traffic": by_reports, "strata": by_plates}[task["kind"]]
    found = []
    for i in range(task["first"], task["first"] + task["count"]):
        saved, came, forecast = follow(task["seed"], i)
        for share in SHARES:
            there = [at for at in saved if at[0] >= share * came]
            if there:  # else it ended with the batch that was open then
                done, *where = there[0]
                row = {"study": i, "share": share, "came": came - done}
                found.append(row | forecast(*where).to_dict())
    return found


def by_pulls(seed: int, i: int) -> Followed:
    """A study that asks for pulls, in measurements."""
    run, rewards, rng = study(seed, i)
    saved = []
    while not run.stopped:
        try:
            feed(run, rng=rng, most=run.samples, **rewards)
        except TooSlowError:  # a batch further
            if not run.stopped:
                saved.append((run.samples, run.to_json()))
    return saved, run.samples, lambda text: ahead(Run.from_json(text))


def by_plates(seed: int, i: int) -> Followed:
    """A study whose measurements are made on plates."""
    run, rewards, rng = study(seed, i - i % 4)  # numbers, features that are right
    saved = []
    while not run.stopped:
        plates = np.arange((batch := run.ask()).size) // 8
        levels = 3.0 * rng.normal(size=int(plates[-1]) + 1)
        values = rewards["means"][batch.arms] + levels[plates] + rng.normal(size=batch.size)
        run.tell(batch, values, strata=[f"{run.batches}.{plate}" for plate in plates])
        if not run.stopped:
            saved.append((run.samples, run.to_json()))
    return saved, run.samples, lambda text: ahead(Run.from_json(text))


def by_reports(seed: int, i: int) -> Followed:
    """A study of traffic, in periods: a weekly cycle, levels and numbers of visits that vary."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1, i)))
    n = OPTIONS[i % 3]
    rates = 0.05 / (1.0 + np.exp(-rng.normal(size=n)))
    problem = sp.Problem(np.eye(n), noise="yes-no", misfit=math.inf)
    run = sp.algorithms.PooledPeleg(DELTA, epsilon=CLOSE).start(problem)
    sharing, shares, visits, saved = Sharing(), None, [], []
    while not run.stopped and run.batches < PERIODS:
        shares = sharing.shares(run, shares)
        usual = 20_000.0 * (1.0 + 0.3 * math.sin(2.0 * math.pi * run.batches / 7.0))
        visits.append(int(rng.poisson(usual * rng.uniform(0.8, 1.2))))
        counts = rng.multinomial(visits[-1], shares)
        arms = np.flatnonzero(counts)
        level = rng.uniform(0.8, 1.2)
        hits = rng.binomial(counts[arms], level * rates[arms]).astype(float)
        tell_report(run, ToldPulls(Pulls(arms, counts[arms]), hits, None), deal=str(i))
        if not run.stopped:
            saved.append((run.batches, run.to_json(), shares, visits[-7:]))
    return (
        saved,
        run.batches,
        lambda text, *then: periods_ahead(Run.from_json(text), sharing, *then),
    )


def holds(row: dict[str, Any]) -> bool:
    """Whether what came lies within what was said."""
    return row["low"] <= row["came"] and (row["high"] is None or row["came"] <= row["high"])


def main() -> None:
    parser = options(__doc__ or "", trials=200)
    parser.add_argument("--traffic", type=int, default=60, help="studies of traffic")
    parser.add_argument("--strata", type=int, default=12, help="studies on plates")
    given = parser.parse_args()
    record = Record("forecasts", {"delta": DELTA, "most": MOST, "seed": given.seed}, given)
    tasks = {
        f"{kind} {first:05d}": {"kind": kind, "first": first, "count": count, "seed": given.seed}
        for kind, trials in zip(TITLES, (given.trials, given.traffic, given.strata), strict=True)
        for first, count in chunks(trials, CHUNK)
    }
    parts = record.fill(tasks, measure)
    text = (
        f"# Forecasts of studies under way\n\n{given.trials} simulated studies that ask for pulls, "
        f"{given.traffic} of traffic, {given.strata} on plates; "
        f"eight of ten should end within the interval.\n\n"
    )
    for kind, title in TITLES.items():
        rows = [row for key, part in parts.items() if key.startswith(kind) for row in part]
        text += f"## {title}\n\n{summary(rows)}\n\n"
    record.write(text.rstrip("\n"))


def summary(rows: list[dict[str, Any]]) -> str:
    """How often it held, by how far studies were."""
    lines = []
    for share in SHARES:
        here = [row for row in rows if row["share"] == share]
        said = [row for row in here if row["low"] is not None]
        if not said:
            lines.append([f"{share:g}", f"{len(here)}", f"{len(here)}", *[""] * 4])
            continue
        right = sum(map(holds, said))
        low, high = clopper_pearson(right, len(said), 0.95)
        below = sum(row["came"] < row["low"] for row in said)
        open_end = sum(row["high"] is None for row in said)
        wide = [(row["high"] + 1) / (row["low"] + 1) for row in said if row["high"] is not None]
        lines.append(
            [
                f"{share:g}",
                f"{len(here)}",
                f"{len(here) - len(said)}",
                f"{open_end}",
                f"{right / len(said):.2f} ({low:.2f} – {high:.2f})",
                f"{below / len(said):.2f}",
                f"{np.median(wide):.1f}",
            ]
        )
    head = ["of the way", "studies", "cannot say", "no upper end", "within (95 % interval)"]
    return table(head + ["fewer came", "high / low (median)"], lines)


if __name__ == "__main__":
    main()

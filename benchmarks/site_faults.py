"""What goes wrong on real sites: how often is a wrong answer certified?

Five versions with rates of 3.0, 3.2, 3.4, 3.6 and 4.2 %, 10,000 visitors a day for 28 days, levels
that follow the week (up to 1.5 times), δ = 0.05, a report a day. A study ends when what it decided
has shown again in later reports, or has not for long; then either its guarantee stands, or it is
withdrawn by that, or by one of the checks: visits against shares, each option against its own past.

- bots: three times the rate on the worst option, on one day;
- dead tag: no success of the best option is counted any more, from a day on;
- redirect: 8 % of the visitors of the second best who would not buy are lost;
- slow: buyers take a day on average, those of the best version 30 % longer; the window is 3 days;
- novelty: the second best begins with 1.4 times its rate, which wears off within a week;
- novelty, a week: the same, in a study that takes a week at least;
- fluctuating: every rate of every day is off by 5 % or 10 % (standard deviation), independently.

Wrong: named another one than the best (by the rates above), with the guarantee standing.

Run with: OPENBLAS_NUM_THREADS=1 python -m benchmarks.site_faults --trials 200
"""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter
from typing import Any

import numpy as np
from benchmarks.recorded import Record, chunks, options, table

import surepick as sp
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.arrays.types import FloatArray
from surepick.bench.summary import clopper_pearson
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing
from surepick.run.waiting import Waiting
from surepick.statistics.own_past import OwnPast
from surepick.statistics.ratio import LEVEL, RatioTest

DELTA, VISITORS, DAYS, SECONDS = 0.05, 10_000, 28, 86_400.0
RATES = np.array([0.030, 0.032, 0.034, 0.036, 0.042])
WEEK = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.2)
BEST, SECOND, WORST = 4, 3, 0
WINDOW, SLOWER = 3.0, 1.3
CHUNK = 10
FAULTS = (
    "none",
    "bots on day 1",
    "bots on day 2",
    "bots on day 3",
    "dead tag from day 1",
    "dead tag from day 3",
    "redirect loses 8 %",
    "slow buyers",
    "novelty",
    "novelty, a week",
    "fluctuating, 5 %",
    "fluctuating, 10 %",
)


def rates_on(fault: str, day: int, rng: np.random.Generator) -> FloatArray:
    """The rates at which successes are counted on a day."""
    rates = RATES * WEEK[day % 7]
    if fault == f"bots on day {day + 1}":
        rates[WORST] *= 3.0
    if fault.startswith("dead tag") and day + 1 >= int(fault[-1]):
        rates[BEST] = 0.0
    if fault == "slow buyers":
        rates *= 1.0 - math.exp(-WINDOW)
        rates[BEST] *= (1.0 - math.exp(-WINDOW / SLOWER)) / (1.0 - math.exp(-WINDOW))
    if fault.startswith("novelty"):
        rates[SECOND] *= 1.0 + 0.4 * max(1.0 - day / 7, 0.0)
    if fault.startswith("fluctuating"):
        size = float(fault.split(", ")[1].split()[0]) / 100.0
        rates *= np.exp(rng.normal(0.0, size, len(rates)))
    return rates


def once(fault: str, rng: np.random.Generator) -> tuple[str, int]:
    """How a study ended, and after how many visitors."""
    run = sp.algorithms.PooledPeleg(DELTA).start(sp.Problem.unstructured(5, noise="yes-no"))
    run.waits = Waiting(7 * SECONDS if fault.endswith("a week") else 0.0)
    deal = str(rng.integers(2**63))  # the first report is dealt, as studies do
    ratio, past, shares = RatioTest(5), OwnPast(5), None
    for day in range(DAYS):
        shares = Sharing().shares(run, shares)
        counts = rng.multinomial(VISITORS, shares)
        hits = rng.binomial(counts, rates_on(fault, day, rng))
        if fault.startswith("redirect"):
            counts[SECOND] -= rng.binomial(counts[SECOND] - hits[SECOND], 0.08)
        ratio.add(shares, counts)
        past.add(counts, hits)
        pulls = Pulls.from_counts(counts)
        told = ToldPulls(pulls, hits[pulls.arms].astype(np.float64))
        tell_report(run, told, (day + 1.0) * SECONDS, deal)
        if run.stopped:
            break
    alarm = ratio.log_evidence >= -math.log(LEVEL) or bool(past.found)
    alarm |= run.stopped and not run.waits.well
    if not run.stopped:
        return "withdrawn" if alarm else "undecided", run.samples
    right = run.answer.arm == BEST
    return ("withdrawn" if alarm else "right" if right else "wrong"), run.samples


def measure(task: tuple[str, int, int, int]) -> dict[str, Any]:
    fault, first, count, seed = task
    started, ends, visitors = time.process_time(), [], []
    for i in range(first, first + count):
        key = (zlib.crc32(fault.encode()), i)
        end, taken = once(fault, np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key)))
        ends.append(end)
        visitors.append(taken)
    seconds = round(time.process_time() - started, 1)
    return {"ends": ends, "visitors": visitors, "seconds": seconds}


def report(parts: dict[str, Any], trials: int) -> str:
    rows = []
    for fault in FAULTS:
        cells = [part for key, part in parts.items() if key.split(" | ")[0] == fault]
        ends = Counter(end for part in cells for end in part["ends"])
        visitors = np.mean([n for part in cells for n in part["visitors"]])
        low, high = clopper_pearson(ends["wrong"], trials, 0.95)
        counts = [f"{ends[end]}" for end in ("right", "withdrawn", "undecided")]
        wrong = f"**{ends['wrong']}**" if low > DELTA else f"{ends['wrong']}"
        rows.append([fault, wrong, f"{low:.3f} – {high:.3f}", *counts, f"{visitors:,.0f}"])
    head = ["fault", "wrong and certified", "95 % interval", "right and certified", "withdrawn"]
    minutes = sum(part["seconds"] for part in parts.values()) / 60
    return "\n".join(
        [
            "# Faults of sites",
            "",
            f"{trials} studies of each, δ = {DELTA:g}; {minutes:.0f} CPU minutes. Bold: the whole "
            "interval lies above δ.",
            "",
            table([*head, "undecided after 28 days", "visitors"], rows),
        ]
    )


def main() -> None:
    given = options(__doc__.splitlines()[0], trials=200).parse_args()
    record = Record("site_faults", {"seed": given.seed, "days": DAYS}, given)
    tasks = {
        f"{fault} | {first} | {count}": (fault, first, count, given.seed)
        for fault in FAULTS
        for first, count in chunks(given.trials, CHUNK)
    }
    record.write(report(record.fill(tasks, measure), given.trials))


if __name__ == "__main__":
    main()

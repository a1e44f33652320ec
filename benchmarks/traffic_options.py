"""Versions of a page that are added when it looks good: how often is the answer wrong?

A site reports counts day by day. Somebody who watches adds a slightly better version whenever the
right one was named, up to ten times, and publishes the first answer that is wrong; or retires the
best version once it was named. The answer must be the best of the versions that are there, each
time. δ = 0.2, so that a rule that does not hold shows. Beside it the rule that seems right
("naive"): newcomers begin anew, and who was ruled out stays out.

Run with: python -m benchmarks.traffic_options --trials 200
The record has fewer tests of "adds", which take long: to end ten times.
"""

from __future__ import annotations

import time
from typing import Any
from unittest import mock

import numpy as np
from benchmarks.recorded import Record, options, table

import surepick as sp
from surepick.algorithms.pooled import options as pooled_options
from surepick.algorithms.pulls import Pulls, ToldPulls
from surepick.algorithms.registry import DEFAULT, get
from surepick.run.report import tell_report
from surepick.run.sharing import Sharing

DELTA, VISITS, MOST, DAYS = 0.2, 3000, 10, 600
FIRST, STEP = (0.10, 0.09, 0.08), 0.012


def trial(seed: int, who: str) -> dict[str, Any]:
    """One test with somebody who reacts to what is seen: ``adds``, ``retires``, or ``waits``."""
    rng, rates = np.random.default_rng([seed, len(who)]), list(FIRST)
    labels = [f"version {i}" for i in range(len(rates))]
    problem = sp.Problem.unstructured(labels, noise="yes-no")
    run, shares, sharing, made = get(DEFAULT, delta=DELTA).start(problem), None, Sharing(0.02), 0
    days, wrong = 0, False
    while days < DAYS:
        if run.stopped:
            there = [-1.0 if i in run.retired else rate for i, rate in enumerate(rates)]
            best = int(np.argmax(there))
            wrong = run.state.leader() != best
            if wrong or who == "waits" or made == (MOST if who == "adds" else 1):
                break
            if who == "adds":
                rates.append(max(rates) + STEP)
                run.add(np.eye(1, len(rates), len(rates) - 1), [f"newcomer {made}"])
            else:
                run.retire(run.problem.labels[best])
            made += 1
            continue
        shares = sharing.shares(run, shares)
        counts = rng.multinomial(VISITS, shares)
        arms = np.flatnonzero(counts)
        level = 1.0 + 0.2 * np.sin(days)
        hits = rng.binomial(counts[arms], level * np.array(rates)[arms]).astype(float)
        tell_report(run, ToldPulls(Pulls(arms, counts[arms]), hits, None), deal=str(seed))
        days += 1
    return {"wrong": bool(wrong), "ended": run.stopped, "days": days, "made": made}


def measure(task: tuple[int, str, str]) -> dict[str, Any]:
    """One test, with the rule of the library or the naive one."""
    seed, who, rule = task
    started = time.process_time()
    if rule == "naive":
        naive = mock.patch.object(pooled_options, "newcomers_start", lambda start, left: start)
        keep = mock.patch.object(pooled_options, "retired", _stays_out)
        with naive, keep:
            found = trial(seed, who)
    else:
        found = trial(seed, who)
    return found | {"seconds": round(time.process_time() - started, 2)}


def _stays_out(memory: dict[str, Any], place: int) -> dict[str, Any]:
    dropped = memory["dropped_at"].copy()
    dropped[place] = pooled_options.GONE
    return memory | {"dropped_at": dropped}


def report(parts: dict[str, Any]) -> str:
    """The share of wrong answers for each cell."""
    rows = []
    for cell in dict.fromkeys(key.rpartition(" ")[0] for key in parts):
        own = [one for key, one in parts.items() if key.rpartition(" ")[0] == cell]
        wrong, ended = sum(one["wrong"] for one in own), sum(one["ended"] for one in own)
        middle = float(np.median([one["days"] for one in own]))
        changes = np.mean([one["made"] for one in own])
        rows.append([cell, f"{len(own)}", f"{wrong}", f"{wrong / len(own):.3f}"])
        rows[-1] += [f"{ended}", f"{changes:.1f}", f"{middle:.0f}"]
    head = ["who, rule", "tests", "wrong", "share", "ended", "changes", "days (median)"]
    title = f"# Versions added and retired by what is seen, δ = {DELTA}"
    return "\n".join([title, "", table(head, rows)])


def main() -> None:
    """Fill the record."""
    parser = options(__doc__.splitlines()[0], trials=200)
    parser.add_argument("--cells", default="", help="some of them, separated by commas")
    given = parser.parse_args()
    record = Record("traffic_options", {"seed": given.seed, "delta": DELTA}, given)
    cells = ["waits own", "adds own", "retires own", "adds naive", "retires naive"]
    wanted = given.cells.split(",") if given.cells else cells
    tasks = {
        f"{cell} {i}": (given.seed + i, *cell.split())
        for cell in wanted
        for i in range(given.trials)
    }
    record.fill(tasks, measure)
    record.write(report(record.parts))


if __name__ == "__main__":
    main()

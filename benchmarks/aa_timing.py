"""One function timed under two to six names: is it "proven" faster than itself?

A function that loads what it needs at its first call is timed under several names, through every
door: ``identify``, ``compare``, the pytest fixture, a study and ``timing``. Each run is a process
of its own. Cold: nothing was called before the first measurement that counts. Warm: the function
was called twenty times. No name is better than another, so at most δ of the runs may decide.
Decided means that the answer carries its guarantee; withdrawn, that it was named and its promise
taken back (as something drifted). "Commands" are processes, as of ``surepick time``. Smaller is
better, and nothing is assumed about the times. The last rows measure arm by arm, in no
random order: they show what that is for.

Run with: python -m benchmarks.aa_timing (``--runs 5`` for a look, ``--doors commands`` for some of
the rows; ten minutes on a busy machine, and another half hour for the commands).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import benchmarks.nothing_kept  # noqa: F401

import surepick as sp
from surepick.integrations.comparing import compare

RESULT = Path(__file__).parent / "results" / "aa_timing"
DELTA, MOST = 0.05, 300
_TABLE: list[float] = []


def work() -> None:
    """What is timed: about 50 microseconds, and some milliseconds at the first call."""
    if not _TABLE:
        _TABLE.extend((i * 7919 % 104_729) / 104_729 for i in range(50_000))
    sorted(_TABLE[:400])


def timed() -> float:
    """The microseconds of a call."""
    start = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - start)


def by_identify(names: int, shuffled: bool = True) -> sp.Answer:
    """The loop of ``identify``; arm by arm where it is not shuffled."""
    problem = sp.Problem.unstructured(names, minimise=True)
    if shuffled:
        return sp.identify(problem, lambda arm: timed(), DELTA, max_samples=MOST)
    run = sp.algorithms.PooledPeleg(DELTA, max_samples=MOST).start(problem)
    run.order_seed = None
    while not run.stopped:
        batch = run.ask()
        run.tell(batch, [timed() for _ in batch.arms])
    return run.answer


def by_compare() -> sp.Answer:
    """``compare``, without the calls that warm up: these are what cold is about."""
    how = {"epsilon": 1e-6, "max_calls": MOST, "delta": DELTA, "warm_up": 0, "minimise": True}
    return compare(timed, timed, **how).answer


def by_fixture() -> sp.Answer:
    """The fixture as tests have it, with its warm-up."""
    import pytest

    from surepick.integrations.pytest_plugin import Sure

    class Node:
        user_properties: list[Any] = []  # noqa: RUF012
        node: Any = None

    request = Node()
    request.node = request
    found: list[sp.Answer] = []

    def keeping(*variants: Any, **settings: Any) -> Any:
        made = compare(*variants, **settings)
        found.append(made.answer)
        return made

    import surepick.integrations.comparing as comparing

    comparing.compare = keeping
    sure: Any = Sure(request)  # pyright: ignore[reportArgumentType]
    with contextlib.suppress(pytest.skip.Exception, pytest.fail.Exception):
        how = {"epsilon": 1e-6, "max_calls": MOST, "delta": DELTA, "minimise": True}
        sure.not_worse(timed, timed, undecided="skip", **how)
    return found[0]


def by_study() -> sp.Answer:
    """A study in memory, measured ten pulls at a time."""
    problem = sp.Problem.unstructured(["one", "other"], minimise=True)
    name = f"aa {os.getpid()}"
    study = sp.create_study(name, problem, storage="memory://", delta=DELTA, max_samples=MOST)
    while not study.finished:
        study.tell_many([(pull.id, timed()) for pull in study.ask(10)])
    return study.answer


def by_timing(names: int) -> sp.Answer:
    """``timing.fastest``, without runs that warm up."""
    options = {f"name {i}": work for i in range(names)}
    return sp.timing.fastest(options, max_runs=MOST, delta=DELTA, warmup=0).answer


def by_commands(names: int) -> sp.Answer:
    """What ``surepick time`` does, without runs that warm up."""
    options = [sp.timing.Command(f"name {i}", "true", shell=None) for i in range(names)]
    return sp.timing.fastest(options, max_runs=MOST, delta=DELTA, warmup=0).answer


DOORS: dict[str, Callable[[], sp.Answer]] = {
    "identify, two names": lambda: by_identify(2),
    "identify, three names": lambda: by_identify(3),
    "compare": by_compare,
    "pytest fixture": by_fixture,
    "study": by_study,
    "timing.fastest": lambda: by_timing(2),
    "timing.fastest, four names": lambda: by_timing(4),
    "timing.fastest, six names": lambda: by_timing(6),
    "two commands": lambda: by_commands(2),
    "six commands": lambda: by_commands(6),
    "arm by arm, two names": lambda: by_identify(2, shuffled=False),
}


def one(door: str, warm: bool) -> str:
    """How a run in a process of its own came out: decided, withdrawn or undecided."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        _TABLE.clear()
        for _ in range(20 if warm else 0):
            work()
            if "commands" in door:
                sp.timing.Command("true", "true", shell=None).once()
        answer = DOORS[door]()
        cut = answer.guarantee.kind == "none"
        said = "decided" if answer.guarantee else "undecided" if cut else "withdrawn"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as end:
        said = end.read()
    os.waitpid(child, 0)
    if not said:
        raise RuntimeError(f"a run of {door} failed")
    return said


def main() -> None:
    """Run all, print a table, and keep it in results/aa_timing.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--doors", default="", help="only those whose name has this")
    given = parser.parse_args()
    runs, wanted = given.runs, [door for door in DOORS if given.doors in door]
    for door in wanted:  # code that is compiled when it is first used is no part of this
        DOORS[door]()
    kept = json.loads(RESULT.with_suffix(".json").read_text()) if given.doors else []
    rows = [row for row in kept if row["door"] not in wanted]
    for door in wanted:
        for warm in (False, True):
            found = [one(door, warm) for _ in range(runs)]
            counts = {kind: found.count(kind) for kind in ("decided", "withdrawn", "undecided")}
            rows.append({"door": door, "start": "warm" if warm else "cold", "runs": runs} | counts)
            print(rows[-1], flush=True)
    order = list(DOORS)
    rows.sort(key=lambda row: (order.index(row["door"]), row["start"]))
    head = ["door", "start", "runs", "decided", "withdrawn", "undecided"]
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(str(row[name]) for name in head)} |" for row in rows]
    RESULT.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    RESULT.with_suffix(".md").write_text(
        f"# One function under several names\n\n`python -m benchmarks.aa_timing --runs {runs}`: "
        f"δ = {DELTA}, at most {MOST} measurements in a run. No name is better, so at most "
        f"{DELTA:.0%} of the runs may decide. Withdrawn: named, but with its promise taken back. "
        f"The last two rows measure arm by arm, in no random order.\n\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    main()

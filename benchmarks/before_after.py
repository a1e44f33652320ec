"""Whether this source is as fast as another one: both in turn, in one run, so load hits both.

What is compared is CPU time, which other work on the machine disturbs least, for as many calls
each time, however long they take:

- ``pooled_trial``: a block of simulated trials of PooledPeleg on instances of
  ``benchmarks.pooled_trial`` (trials of two sources may have different numbers of blocks), one
  trial here and one there in turn, after forty to warm up; the first forty in all for themselves;
- ``study_speed``: an ask and a tell of the study of ``benchmarks.study_speed``, in SQLite in
  memory;
- ``service_load``: an ask or a tell of the study of ``benchmarks.service_load`` over HTTP, in the
  process of one server, which keeps it in SQLite in memory; what it takes to start is left out.

Every turn runs both, in an order that alternates, with the benchmarks of this tree. The other
source is in a work tree of the commit to compare with, which needs the same installed packages:

    git worktree add ../before COMMIT
    python -m benchmarks.before_after ../before --turns 5
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.recorded import Record, options, table

HERE = Path(__file__).resolve().parents[1]
TOLERANCE = 1.05

PAIRS = 300  # asks and tells, after ten to warm up
CASES = {"confounding(d=5, omega=0.5)": 30, "confounding(d=5, omega=0.1)": 20, "sphere(d=50)": 5}
WARM = 40  # trials of the first case
LINE = r"(?m)^(.*?) +median +([\d.]+) ms"  # of what it says: what it is about, and milliseconds

# Run by processes of their own, on the source that they are given.
STUDY = f"""
import shutil, time
import surepick as sp
from benchmarks.study_speed import problem
from tests.postgres import fast_folder

folder = fast_folder("sp-before-")
study = sp.create_study("speed", problem(), "peleg-paper", f"sqlite:///{{folder}}/speed.db")
for pair in range({PAIRS} + 10):
    if pair == 10:
        started = time.process_time()
    for pull in study.ask(1):
        study.tell(pull.id, 1.0)
print("ask and tell median", 1000 * (time.process_time() - started) / {PAIRS}, "ms")
study.close()
shutil.rmtree(folder)
"""
TRIAL = """
import sys, time
started = time.process_time()
import surepick as sp
make, algorithm = sp.simulate.instances, sp.algorithms.get("pooled-peleg", delta=0.1)
cases = [make.confounding(5, 0.5), make.confounding(5, 0.1), make.unit_sphere(50, rng=0)]
for line in sys.stdin:
    case, seed = map(int, line.split())
    rows = sp.simulate.trials(algorithm, cases[case], n=1, seed=seed)
    print(1000 * (time.process_time() - started), rows["batches"][0], flush=True)
    started = time.process_time()
"""
SERVICE = f"""
import os, shutil, sys
from pathlib import Path
import httpx2
sys.modules.setdefault("httpx", httpx2)  # as earlier sources call it
import surepick as sp
from benchmarks.service_load import LOAD
from tests.postgres import fast_folder
from tests.server.served import Served

def cpu(pid):
    fields = Path(f"/proc/{{pid}}/stat").read_text().rpartition(") ")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

folder = fast_folder("sp-before-")
storage = f"sqlite:///{{folder}}/load.db"
sp.create_study("load", LOAD, "peleg-paper", storage).close()
with Served(storage, folder, "--log-level", "warning") as server, server.http() as http:
    for pair in range({PAIRS} + 10):
        if pair == 10:
            before = cpu(server.process.pid)
        asked = http.post("/api/v1/studies/load/ask", json={{"worker": "w"}}).raise_for_status()
        for pull in asked.json()["pulls"]:
            told = {{"rewards": [{{"pull": pull["id"], "reward": 1.0}}], "worker": "w"}}
            http.post("/api/v1/studies/load/tell", json=told).raise_for_status()
    spent = cpu(server.process.pid) - before
print("ask or tell median", 1000 * spent / (2 * {PAIRS}), "ms")
shutil.rmtree(folder)
"""
RUNS = {"study_speed": ["-c", STUDY], "service_load": ["-c", SERVICE]}


def environment(tree: str) -> dict[str, str]:
    own = {"PYTHONPATH": f"{tree}/src:{HERE}", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    return os.environ | own


def alternating(before: str) -> dict[str, Any]:
    """Milliseconds of CPU of a block, by what is simulated and by source."""
    crew = {
        name: subprocess.Popen(
            [sys.executable, "-c", TRIAL], env=environment(tree), stdin=-1, stdout=-1, text=True
        )
        for name, tree in (("before", before), ("after", str(HERE)))
    }

    def trial(name: str, case: int, seed: int) -> tuple[float, int]:
        worker = crew[name]
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write(f"{case} {seed}\n")
        worker.stdin.flush()
        spent, blocks = worker.stdout.readline().split()
        return float(spent), int(blocks)

    first: dict[str, list[tuple[float, int]]] = {name: [] for name in crew}
    for seed in range(WARM):
        for name in crew:
            first[name].append(trial(name, 0, 1000 + seed))
    found: dict[str, dict[str, list[float]]] = {
        f"a block in the first {WARM} trials of a process": {
            name: [sum(spent for spent, _ in own) / sum(blocks for _, blocks in own)]
            for name, own in first.items()
        }
    }
    for case, (what, n) in enumerate(CASES.items()):
        times: dict[str, list[float]] = {name: [] for name in crew}
        for name in crew:
            trial(name, case, 1000)
        for seed in range(n):
            for name in list(crew)[:: 1 if seed % 2 else -1]:
                spent, blocks = trial(name, case, seed)
                times[name].append(spent / blocks)
        found[f"a block, {what}"] = times
    for worker in crew.values():
        worker.communicate()
    return found


def measure(task: tuple[str, str]) -> dict[str, Any]:
    """Milliseconds of CPU by name, from one run on the source of one tree."""
    what, tree = task
    if what == "pooled_trial":
        return alternating(tree)
    words, env = [sys.executable, *RUNS[what]], environment(tree)
    done = subprocess.run(words, cwd=HERE, env=env, capture_output=True, text=True)
    found = {f"{what}: {name}": float(number) for name, number in re.findall(LINE, done.stdout)}
    if not found:
        raise SystemExit(f"{what} in {tree} did not say what it took: {done.stderr[-2000:]}")
    return found


def tasks(before: str, turns: int) -> dict[str, tuple[str, str]]:
    found = {"pooled_trial": ("pooled_trial", before)}
    for turn in range(turns):
        for what in RUNS:
            trees = [("before", before), ("after", str(HERE))]
            for name, tree in reversed(trees) if turn % 2 else trees:
                found[f"{turn} | {what} | {name}"] = what, tree
    return found


def tables(parts: dict[str, Any], turns: int) -> str:
    numbers: dict[str, dict[str, list[float]]] = {
        f"pooled_trial: {what}": times for what, times in parts.get("pooled_trial", {}).items()
    }
    for turn in range(turns):
        for what in RUNS:
            names = {name: f"{turn} | {what} | {name}" for name in ("before", "after")}
            if not parts.keys() >= set(names.values()):
                continue
            for name, key in names.items():
                for number, value in parts[key].items():
                    own = numbers.setdefault(number, {"before": [], "after": []})
                    own[name].append(value)
    rows = []
    for number, own in numbers.items():
        before, after = (statistics.median(own[name]) for name in ("before", "after"))
        ratios = [b / a for a, b in zip(own["before"], own["after"])]
        ratio = after / before
        said = f"**{ratio:.3f}**" if ratio > TOLERANCE else f"{ratio:.3f}"
        spread = f"{min(ratios):.2f} – {max(ratios):.2f}"
        rows.append([number, f"{before:.3f}", f"{after:.3f}", said, spread, f"{len(ratios)}"])
    head = ["CPU milliseconds", "before", "after", "ratio", "ratios one by one", "turns or trials"]
    return table(head, rows)


def commit(tree: str) -> str:
    words = ["git", "-C", tree, "log", "-1", "--format=%h (%ad)", "--date=short"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    parser = options("as fast as before?", trials=0)
    parser.add_argument("before", help="folder of the other tree")
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    before = str(Path(given.before).resolve())
    record = Record("before_after", {"before": commit(before)}, given)
    parts = record.fill(tasks(before, given.turns), measure)
    record.write(
        f"# Before and after\n\n"
        f"`git worktree add ../before {commit(before).split()[0]}; python -m "
        f"benchmarks.before_after ../before --turns {given.turns}` at {commit(str(HERE))}: "
        f"medians; bold: more than {100 * TOLERANCE - 100:.0f} % slower.\n\n"
        f"{tables(parts, given.turns)}"
    )


if __name__ == "__main__":
    main()

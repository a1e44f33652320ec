"""Large studies: one with a million rewards, and a storage with 2,000 studies.

Both are SQLite files. The study compares ten options that are all alike, so it never comes to an
end; its rewards are written batch by batch by the operations of the storage, and it goes on to each
next batch by itself, so that its chain is whole. Then, each in a fresh process:

- cold: opening it, its first ask, a tell, its first status and the next ones;
- verify: everything the file has against its chain;
- service: `surepick serve`, over the loopback: ask and tell of one pull, status, memory;
- list: 2,000 studies, by the command (beside one study: most of it is the start of Python) and
  by the service.

Beside each time stands that of the processor: other work on the machine makes the first longer, not
the second. Kept in benchmarks/results/large_studies.md, with all numbers in the JSON beside it.

Run with: python -m benchmarks.large_studies [--rewards 1000000] [--studies 2000] [--folder FOLDER]
          (files that are in FOLDER already are used again)
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from benchmarks.recorded import FOLDER, table
from tests.server.served import COMMAND, Served

import surepick as sp
from surepick.files import write_whole
from surepick.storage import open_storage
from surepick.storage.records import Tell
from surepick.storage.sql.sums import sum_of
from surepick.study.chain import check_chain

NAME, OPTIONS, TIMES = "large", 10, 20
LIMITS = {"ask": 0.050, "open": 20.0, "memory": 1024.0, "list": 0.5}  # seconds, MiB


# -- making -----------------------------------------------------------------------------------
def make_large(url: str, rewards: int) -> None:
    """A study with so many rewards; what was asked for is told without being handed out."""
    problem, most = sp.Problem(np.eye(OPTIONS), noise=1.0), 100 * rewards
    study = sp.create_study(NAME, problem, "peleg", url, delta=0.05, max_samples=most)
    draws, desk, number = np.random.default_rng(0), study.desk, study.desk.record.id
    while (left := rewards - study.progress().samples) > 0:
        values = draws.normal(size=min(left, 20_000)).tolist()

        def write(tx, values=values):
            at = tx.progress(number, lock=True)
            line = desk._open_batches(tx, at)
            now = range(at.told, min(at.size, at.told + len(values)))
            arms = line.arms(now.start, now.stop)
            told = zip(now, arms, values)
            tx.add(number, *(Tell(at.first + i, arm, v, "w", at.now) for i, arm, v in told))
            tx.set_progress(number, replace(at, asked=now.stop, told=now.stop))

        study.storage.write(write)
        if study.progress().complete:  # the next ask goes on to the next batch
            for pull in study.ask():
                study.tell(pull.id, 0.0)
    study.close()


def make_many(url: str, studies: int) -> None:
    """A storage with so many studies, none of which has begun."""
    problem = sp.Problem(np.eye(3), noise=1.0)
    with_all = open_storage(url)
    for i in range(studies):
        sp.create_study(f"study-{i:04}", problem, "peleg", with_all, delta=0.05)
    with_all.close()


# -- in a fresh process -----------------------------------------------------------------------
def cold(url: str) -> dict:
    """From nothing to a status, and the next ones."""
    import surepick.storage.sql.sqlite  # noqa: F401  # what every command has loaded by then

    steps, found = Steps(), {}
    study = steps("open", lambda: sp.load_study(NAME, url))
    found["batch"] = steps("read the run", lambda: study.current_run.batches)
    (pull,) = steps("first ask", study.ask)
    steps("first tell", lambda: study.tell(pull.id, 0.0))
    found["samples"] = steps("first status", study.status)["samples"]
    for pull in study.ask():
        study.tell(pull.id, 0.0)
    steps("status after one more tell", study.status)
    row = (1, 123456, 7, 0.123456789, "w", 1.7e9 + 0.123456, None, None, None)
    start = time.process_time()
    for _ in range(20_000):
        sum_of(*row)
    return found | {"steps": steps.taken, "sum_us": (time.process_time() - start) / 0.02}


def verify(url: str) -> dict:
    """The whole chain."""
    steps, study = Steps(), sp.load_study(NAME, url)
    links = steps("verify", lambda: check_chain(study.storage, study.desk.record))
    return {"links": links["links"], "steps": steps.taken}


class Steps:
    """Does things one after the other, and notes what they take."""

    def __init__(self) -> None:
        self.taken: dict[str, dict[str, float]] = {}

    def __call__(self, name, work):
        start, cpu = time.perf_counter(), time.process_time()
        found = work()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.taken[name] = {
            "wall": time.perf_counter() - start,
            "cpu": time.process_time() - cpu,
            "peak_mib": peak,
        }
        return found


def fresh(what: str, url: str) -> dict:
    words = [sys.executable, "-m", "benchmarks.large_studies", "--only", what, "--url", url]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{what}: {done.stderr}")
    return json.loads(done.stdout)


# -- a service --------------------------------------------------------------------------------
def tree(process: int) -> list[int]:
    """A process and all below it."""
    found = [process]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def cpu_of(processes: list[int]) -> float:
    """Seconds of the processor that they have used."""
    ticks = 0
    for one in processes:
        fields = Path(f"/proc/{one}/stat").read_text().rpartition(") ")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def peaks_of(processes: list[int]) -> list[float]:
    """The most memory that each had, in MiB; with what they share, so the sum is too much."""
    texts = [Path(f"/proc/{one}/status").read_text() for one in processes]
    return [int(text.split("VmHWM:")[1].split()[0]) / 1024 for text in texts]


def called(served: Served, times: int, work) -> dict:
    """What calls take, and what the processor works for each."""
    taken, cpu = [], cpu_of(tree(served.process.pid))
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    cpu = (cpu_of(tree(served.process.pid)) - cpu) / times
    return {"median": statistics.median(taken), "max": max(taken), "cpu": cpu}


def service(url: str, folder: Path) -> dict:
    """A service with the large study."""
    found = {}
    with Served(url, folder, "--log-level", "warning", fresh=True) as served, served.http() as http:
        at = f"/api/v1/studies/{NAME}"
        out: list[int] = []

        def ask() -> None:
            told = http.post(f"{at}/ask", json={"worker": f"w{len(out)}"}).raise_for_status()
            out.append(told.json()["pulls"][0]["id"])

        def tell() -> None:
            number = len(out) - 1
            rewards = [{"pull": out.pop(), "reward": 0.0}]
            body = {"rewards": rewards, "worker": f"w{number}"}
            http.post(f"{at}/tell", json=body).raise_for_status()

        def look() -> None:
            http.get(at, timeout=600).raise_for_status()

        found["first ask"] = called(served, 1, ask)
        found["first tell"] = called(served, 1, tell)
        found["ask"] = called(served, TIMES, ask)
        found["tell"] = called(served, TIMES, tell)
        found["first status"] = called(served, 1, look)
        ask(), tell()
        found["status after one more tell"] = called(served, 1, look)
        found["ask after that"] = called(served, TIMES, ask)
        peaks = peaks_of(tree(served.process.pid))
    return {"calls": found, "peaks_mib": peaks}


def listing(url: str, folder: Path) -> dict:
    """The list of many studies: by the command, and by a service."""
    make_many(f"sqlite:///{folder}/one.db", 1)
    lines, calls = 0, {}
    for name, place in (("command, of one study", f"sqlite:///{folder}/one.db"), ("command", url)):
        words = [str(COMMAND), "list", "--storage", place]
        taken, before = [], resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(5):
            start = time.perf_counter()
            done = subprocess.run(words, capture_output=True, check=True, text=True)
            taken.append(time.perf_counter() - start)
        lines, after = done.stdout.count("\n"), resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 5
        calls[name] = {"median": statistics.median(taken), "max": max(taken), "cpu": cpu}
    with Served(url, folder, "--log-level", "warning", fresh=True) as served, served.http() as http:
        rows = lambda: http.get("/api/v1/studies").raise_for_status().json()  # noqa: E731
        calls["service, first"] = called(served, 1, rows)
        calls["service"] = called(served, 5, rows)
        there = len(rows()["studies"])
    return {"lines": lines, "rows": there, "calls": calls}


# -- all of it --------------------------------------------------------------------------------
def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f} ms"


def written(found: dict) -> str:
    """The tables."""
    steps = found["cold"]["steps"] | found["verify"]["steps"]
    lines = [
        [name, f"{one['wall']:.2f} s", f"{one['cpu']:.2f} s", f"{one['peak_mib']:.0f} MiB"]
        for name, one in steps.items()
    ]
    head = ["step", "time", "processor", "most memory so far"]
    many = f"list of {found['list']['rows']:,}"
    calls = {f"{many}: {name}": one for name, one in found["list"]["calls"].items()}
    rows = [
        [name, *(milliseconds(one[key]) for key in ("median", "max", "cpu"))]
        for name, one in (found["service"]["calls"] | calls).items()
    ]
    opened = sum(steps[name]["wall"] for name in ("open", "read the run", "first ask"))
    peaks = [one["peak_mib"] for one in steps.values()] + found["service"]["peaks_mib"]
    lists = {name: one["median"] for name, one in found["list"]["calls"].items()}
    lists["command"] -= lists.pop("command, of one study")  # that is the start of Python
    measured = {
        "ask": found["service"]["calls"]["ask"]["median"],
        "open": opened + steps["first status"]["wall"],
        "memory": max(max(peaks), sum(found["service"]["peaks_mib"])),
        "list": max(lists.values()),
    }
    said = {
        "ask": "ask of one pull at a warm service, median (s)",
        "open": "opening cold, with the first ask and the first status (s)",
        "memory": "memory, all processes of the service together (MiB)",
        "list": "list of all studies, median, the slowest way; of the command beyond its start (s)",
    }
    limits = [
        [said[name], f"{LIMITS[name]:g}", f"{value:.3g}", "yes" if value <= LIMITS[name] else "no"]
        for name, value in measured.items()
    ]
    share = found["cold"]["sum_us"] * found["cold"]["samples"] / 1e6
    where = found["machine"]
    return "\n\n".join(
        [
            f"# A study with {found['cold']['samples']:,} rewards, and {found['list']['rows']:,} "
            "studies",
            f"`python -m benchmarks.large_studies` on {where['system']}, Python {where['python']}, "
            f"{where['cores']} cores; load average {where['load_before']:.1f} before and "
            f"{where['load_after']:.1f} after. Times include waiting for cores that others use; "
            "those of the processor do not.",
            table(["what", "limit", "measured", "holds"], limits),
            "In a fresh process:",
            table(head, lines),
            f"A sum over a row takes {found['cold']['sum_us']:.1f} µs: {share:.1f} s of the "
            "processor for all rewards, which the first status and verifying read once each.",
            "Calls of a service, and lists:",
            table(["call", "median", "longest", "processor, each"], rows),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Large studies.")
    parser.add_argument("--rewards", type=int, default=1_000_000)
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--folder", type=Path, help="where the files are, or will be")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results")
    parser.add_argument("--only", choices=["cold", "verify"], help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.only:
        print(json.dumps({"cold": cold, "verify": verify}[asked.only](asked.url)))
        return
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as made:
        folder = (asked.folder or Path(made)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        urls = {}
        for name, make, size in (
            ("large", make_large, asked.rewards),
            ("many", make_many, asked.studies),
        ):
            file = folder / f"{name}-{size}.db"
            urls[name] = f"sqlite:///{file}"
            if not file.exists():
                make(urls[name], size)
                print(f"{file}: {file.stat().st_size / 2**20:.0f} MiB", flush=True)
        found = {what: fresh(what, urls["large"]) for what in ("cold", "verify")}
        found["service"] = service(urls["large"], folder)
        found["list"] = listing(urls["many"], folder)
    found["machine"] = {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_before": before,
        "load_after": os.getloadavg()[0],
    }
    text = written(found)
    print(text)
    write_whole(asked.out / "large_studies.json", json.dumps(found, indent=1) + "\n")
    write_whole(asked.out / "large_studies.md", text + "\n")


if __name__ == "__main__":
    main()

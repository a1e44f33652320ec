"""How fast studies are: ask+tell per second, and opening a study with a million tells.

- SQLite, one process: ask for one pull, tell it, again and again; every call is on the disk
  before it returns. Beside it, as a ratio, how many bare commits (one row inserted, the same
  settings) SQLite manages here: disks differ more than anything in this package. So it is
  measured once on the disk, and once in a file system in memory where there is one.
- PostgreSQL, 8 workers (a server is started, and installed where missing): the same, all on
  one study; and with 8 pulls asked for at a time, as workers with short measurements do. The
  server writes with fsync on, to a file system in memory where there is one. Beside it the
  CPU time of a pair, of workers and server together: on a machine that is busy with other things
  the rate says little, but the number of cores divided by that time bounds it from above.
- A study with a million tells: the time from a fresh interpreter's `load_study` to its status
  and its next pull.

Run with: python -m benchmarks.study_speed [--tells 1000000] [--seconds 5]
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.postgres import Server, fast_folder

import surepick as sp

WORKERS = 8


def problem(gap: float = 0.02) -> sp.Problem:
    """20 arms in 4 dimensions with a first batch of tens of thousands of pulls."""
    return sp.Problem(np.random.default_rng(0).normal(size=(20, 4)) * gap, noise=1.0)


def pairs(url: str, name: str, seconds: float, n: int = 1) -> tuple[int, float, float]:
    """Ask+tell pairs done in about this time, the time it took, and this process's share."""
    study = sp.load_study(name, url)
    done, start, cpu = 0, time.perf_counter(), time.process_time()
    while (took := time.perf_counter() - start) < seconds:
        for pull in study.ask(n):
            study.tell(pull.id, 1.0)
            done += 1
    cpu = time.process_time() - cpu
    study.close()
    return done, took, cpu


def bare_commits(path: Path, seconds: float) -> float:
    """Commits per second of plain sqlite3, with the settings that studies use."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = EXTRA")
    connection.execute("CREATE TABLE bare (a, b)")
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO bare VALUES (?, ?)", (done, 1.0))
        connection.execute("COMMIT")
        done += 1
    connection.close()
    return done / (time.perf_counter() - start)


def sqlite(folder: Path, seconds: float) -> None:
    url = f"sqlite:///{folder}/speed.db"
    sp.create_study("speed", problem(), "peleg-paper", url).close()
    for turn in range(3):  # in turn, so that a busy moment hits both alike
        bare = bare_commits(folder / f"bare-{turn}.db", seconds / 3)
        done, took, cpu = pairs(url, "speed", seconds)
        rate = done / took
        print(
            f"SQLite {sqlite3.sqlite_version} in {folder.parent}, 1 process: "
            f"{rate:5.0f} ask+tell/s ({bare:5.0f} bare commits/s, ratio {2 * rate / bare:.2f}; "
            f"{done / cpu:5.0f} ask+tell per second of CPU)",
            flush=True,
        )


def server_cpu() -> float:
    """CPU seconds that PostgreSQL's processes of this machine have used."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, fields = stat.read_text().partition(") ")
        except OSError:  # ended meanwhile
            continue
        if name.endswith("(postgres"):
            ticks += sum(map(int, fields.split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def crowd(url: str, seconds: float, n: int) -> tuple[float, float]:
    """Pairs per second of all workers together, and CPU seconds of one."""
    code = (
        f"from benchmarks.study_speed import pairs; pairs({url!r}, 'speed', 0.5); "
        f"input(); print(*pairs({url!r}, 'speed', {seconds}, {n}))"
    )
    crew = [
        subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True)
        for _ in range(WORKERS)
    ]
    time.sleep(8.0)  # all have loaded and warmed up by then
    outputs = []
    pairs_done, cpu = 0, -server_cpu()
    for worker in crew:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in crew:
        out, _ = worker.communicate()
        done, took, own = out.split()
        outputs.append(int(done) / float(took))
        pairs_done, cpu = pairs_done + int(done), cpu + float(own)
    return sum(outputs), (cpu + server_cpu()) / pairs_done


def postgres(seconds: float) -> None:
    server = Server()
    try:
        url = server.url()
        sp.create_study("speed", problem(0.005), "peleg-paper", url).close()
        for n in (1, 8):
            rate, cpu = crowd(url, seconds, n)
            print(
                f"PostgreSQL, {WORKERS} workers, {n} pull(s) per ask: {rate:7.0f} ask+tell/s, "
                f"{1000 * cpu:.2f} ms of CPU each",
                flush=True,
            )
    finally:
        server.close()


def million(folder: Path, tells: int) -> None:
    url = f"sqlite:///{folder}/million.db"
    study = sp.create_study("million", problem(0.005), "peleg", url)
    draws = np.random.default_rng(0)
    start = time.perf_counter()
    done = 0
    while done < tells:
        pulls = study.ask(min(5000, tells - done))
        study.tell_many(zip([p.id for p in pulls], draws.normal(size=len(pulls)).tolist()))
        done += len(pulls)
    print(f"{done} tells took {time.perf_counter() - start:.0f} s in lots of 5000")
    batches = study.status()["batch"]
    study.close()
    code = (
        "import time; import surepick as sp; import surepick.storage.sql.sqlite\n"
        f"t = time.perf_counter(); study = sp.load_study('million', {url!r}); study.current_run\n"
        "opened = time.perf_counter() - t; study.ask(); asked = time.perf_counter() - t\n"
        "study.status(); print(opened, asked, time.perf_counter() - t)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    opened, asked, status = map(float, out.stdout.split())
    print(
        f"opening it (batch {batches['number']}, {batches['told']} of {batches['size']} told): "
        f"{opened:.2f} s; to its next pull: {asked:.2f} s; to its status: {status:.2f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tells", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", choices=["sqlite", "postgres", "million"])
    asked = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    with tempfile.TemporaryDirectory() as name:
        if asked.only in (None, "sqlite"):
            sqlite(Path(name), asked.seconds)
            memory = fast_folder("sp-speed-")
            sqlite(memory, asked.seconds)
            shutil.rmtree(memory)
        if asked.only in (None, "postgres"):
            postgres(asked.seconds)
        if asked.only in (None, "million"):
            million(Path(name), asked.tells)


if __name__ == "__main__":
    main()

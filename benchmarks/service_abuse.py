"""The service under attack and accident: what do those notice who have nothing to do with it?

Each scenario starts a real service (SQLite in memory-backed files, unless --postgres), measures a
worker who asks and tells for a study of its own (the innocent), first alone and then beside the
attack, and keeps both. Scenarios that are not about time say what they count.

- brackets: six bodies of 16 MiB of nested brackets without a token; the longest wait for /health.
- headers: 1,050 half-sent heads against a service that may have 1,024 files open; seconds until
  somebody else is served again (at most 60 are waited).
- guesses: 64 connections try random tokens.
- exports-1, -2, -4: so many readers export a study of 101,000 rewards again and again.
- metrics: 16 readers of /metrics.
- slow-bodies: 100 bodies of 15 MiB, with a token, that stop before their end; peak memory.
- pages: 8 readers of the status and the history of the large study.
- first-looks: seconds for the first history of the large study, and for a list of 1,000 studies.
- formula: 58 kB of table with C(c0)*…*C(c5); peak memory of the service, seconds, and what came.
- power: (a+b+c+d)**50 on two rows, and what the innocent notices.
- columns: a table of a million columns; seconds.
- run: pulls a second of `surepick run` with 4 workers and a command that takes no time, on a disk.
- output: bytes of temporary files while a command prints without end.

Those who are let in, and do the worst they may (`benchmarks.abuse.loads`): record-refused and
record-accepted (reports of 16 MB), wide-asks (10,000 pulls), in-vain (10,000 rewards that do not
count), misspelt (10,000 rewards that cannot be read), heads (45 KB of %2f, 6,000 headers),
formulas, tables, plans, and together: all of them at once. Of each: what the innocent notices, how
long /health takes, and the memory of all processes before, at the most, and afterwards. "inside"
stands for all of these.

Results are kept under the name given with --as (before, after), scenario by scenario.

Run with: python -m benchmarks.service_abuse [scenario …] --as after [--seconds 8] [--postgres]
          [--processes 2] [--quick]
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx2
import numpy as np
from benchmarks.abuse import attackers, loads, prepared
from benchmarks.abuse.memory import Watched
from benchmarks.recorded import Record, options, table
from tests.postgres import Server, fast_folder
from tests.server import served
from tests.server.served import COMMAND, Served

SECONDS = 8.0


class Place:
    """A database with the studies of a scenario, and the service on it."""

    def __init__(self, postgres: bool, processes: int = 1) -> None:
        self._more = ("--workers", str(processes)) if processes > 1 else ()
        self.folder = fast_folder("sp-abuse-")
        self._server = Server() if postgres else None
        file = f"sqlite:///{self.folder}/studies.db"
        self.url = self._server.url() if self._server else file

    def serve(self, *given: str) -> Served:
        return Served(self.url, self.folder, "--log-level", "warning", *self._more, *given)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        shutil.rmtree(self.folder)


def quantiles(times: list[float]) -> dict[str, float]:
    found = {f"p{q}": round(1000 * float(np.quantile(times, q / 100)), 1) for q in (50, 99)}
    return found | {"max": round(1000 * max(times), 1), "pairs": len(times)}


def beside(place: Place, kind: str, count: int, seconds: float, study: str = "large") -> dict:
    """The innocent alone, then beside so many attackers of a kind."""
    with place.serve() as service:
        with service.http() as http:  # everything is loaded, and the attackers are let in
            # One each: with one token for all they would only wait for each other.
            made = [http.post("/api/v1/tokens", json={"role": "viewer"}) for _ in range(count)]
            viewers = [one.json()["token"] for one in made]
        attackers.innocent(service.port, service.token, 2.0)
        alone = attackers.in_process(attackers.innocent, service.port, service.token, seconds)
        with attackers.under_attack(kind, service.port, viewers, study) as counted:
            time.sleep(1.0)
            under = attackers.in_process(attackers.innocent, service.port, service.token, seconds)
        found = {"alone_ms": quantiles(alone), "beside_ms": quantiles(under)}
        found["times"] = round(found["beside_ms"]["p99"] / found["alone_ms"]["p99"], 2)
        return found | {"attacks": counted()}


# -- strangers --------------------------------------------------------------------------------
def brackets(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    with place.serve() as service:
        body, waits, over = b"[" * (16 * 2**20 - 1), [], threading.Event()

        def look() -> None:
            with service.http("") as http:
                while not over.is_set():
                    started = time.monotonic()
                    http.get("/health")
                    waits.append(time.monotonic() - started)
                    time.sleep(0.01)

        looking = threading.Thread(target=look)
        looking.start()
        time.sleep(0.5)
        statuses = attackers.send_at_once(service.port, "/api/v1/session", body, 6)
        over.set()
        looking.join()
    return {"longest_health_s": round(max(waits), 3), "answers": statuses}


def headers(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    script = Path(place.folder) / "surepick"
    script.write_text(f'#!/bin/sh\nulimit -n 1024\nexec {COMMAND} "$@"\n')
    script.chmod(0o755)
    before, served.COMMAND = served.COMMAND, script
    try:
        with place.serve() as service:
            half = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
            sockets = []
            for _ in range(1050):
                one = socket.create_connection(("127.0.0.1", service.port), 5)
                one.sendall(half)
                sockets.append(one)
            time.sleep(1.0)
            started, answered = time.monotonic(), None
            while answered is None and time.monotonic() - started < 60:
                try:
                    httpx2.get(f"{service.url}/health", timeout=2)
                    answered = time.monotonic() - started
                except httpx2.TransportError:
                    time.sleep(0.2)
            for one in sockets:
                one.close()
    finally:
        served.COMMAND = before
    return {"others_served_after_s": None if answered is None else round(answered, 1)}


def guesses(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    return beside(place, "guesses", 64, seconds)


def slow_bodies(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    with place.serve() as service:
        with service.http() as http:
            viewer = http.post("/api/v1/tokens", json={"role": "viewer"}).json()["token"]
        alone = attackers.in_process(attackers.innocent, service.port, service.token, seconds)
        with (
            Watched(service.process.pid) as memory,
            attackers.half_sent(service.port, viewer, 100, 15 * 2**20),
        ):
            under = attackers.in_process(attackers.innocent, service.port, service.token, seconds)
        found = {"alone_ms": quantiles(alone), "beside_ms": quantiles(under)}
        found["times"] = round(found["beside_ms"]["p99"] / found["alone_ms"]["p99"], 2)
        return found | {"peak_memory_mb": memory.peak_mb}


# -- readers ----------------------------------------------------------------------------------
def exports(count: int):
    def scenario(place: Place, seconds: float) -> dict:
        prepared.innocent(place.url)
        prepared.large(place.url)
        return beside(place, "exports", count, seconds)

    return scenario


def pollers(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    return beside(place, "metrics", 16, seconds)


def pages(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    prepared.large(place.url)
    return beside(place, "pages", 8, seconds)


def first_looks(place: Place, seconds: float) -> dict:
    prepared.large(place.url)
    prepared.many(place.url, 1000)
    with place.serve() as service, service.http() as http:
        time.sleep(5.0)  # what is loaded at the start is not what is measured
        started = time.monotonic()
        http.get("/api/v1/studies/large/history").raise_for_status()
        history = time.monotonic() - started
        started = time.monotonic()
        listed = http.get("/api/v1/studies").json()["studies"]
        return {
            "history_s": round(history, 2),
            "list_s": round(time.monotonic() - started, 2),
            "listed": len(listed),
        }


# -- work with a price --------------------------------------------------------------------------
def priced(body: dict, leave_after: float | None = None):
    """Send a table; the memory and time it took, and what the innocent noticed."""

    def scenario(place: Place, seconds: float) -> dict:
        prepared.innocent(place.url)
        with place.serve() as service:
            attackers.innocent(service.port, service.token, 1.0)
            with Watched(service.process.pid) as memory:
                found = attackers.send_table(service, body, leave_after or 60.0)
                noticed = attackers.innocent(service.port, service.token, 3.0)
            started = time.monotonic()
            busy = memory.busy_after(2.0)
            return found | {
                "peak_memory_mb": memory.peak_mb,
                "innocent_ms": quantiles(noticed),
                "cpu_after_the_client_left": round(busy, 2),
                "watched_s": round(time.monotonic() - started, 1),
            }

    return scenario


# -- those who are let in ------------------------------------------------------------------------
def let_in(*kinds: str):
    """What the innocent notices of attackers who have tokens, and the memory that they take."""

    def scenario(place: Place, seconds: float) -> dict:
        prepared.innocent(place.url)
        prepared.told(place.url)
        with place.serve() as service, Watched(service.process.pid) as memory:
            with service.http() as api:
                tokens = {kind: loads.let_in(api, kind) for kind in kinds}
            attackers.innocent(service.port, service.token, 2.0)  # everything is loaded
            given = (attackers.innocent_and_health, service.port, service.token, seconds)
            alone, health_alone = attackers.in_process(*given)
            before = memory.memory_mb()
            with ExitStack() as attack:
                counts = {
                    kind: attack.enter_context(
                        attackers.going_on(loads.LOADS[kind].goes, service.port, tokens[kind])
                    )
                    for kind in kinds
                }
                time.sleep(1.0)
                under, health = attackers.in_process(*given)
                amid = memory.memory_mb()
                more, more_health = attackers.in_process(*given)
            time.sleep(3.0)
            after = memory.memory_mb()
        found = {"alone_ms": quantiles(alone), "beside_ms": quantiles(under + more)}
        found["times"] = round(found["beside_ms"]["p99"] / found["alone_ms"]["p99"], 2)
        found["health_alone_ms"] = quantiles(health_alone)
        found["health_ms"] = quantiles(health + more_health)
        found["memory_mb"] = [before, amid, after, memory.peak_mb]
        return found | {"answers": {kind: count() for kind, count in counts.items()}}

    return scenario


# -- commands -----------------------------------------------------------------------------------
def run(place: Place, seconds: float) -> dict:
    folder = Path(tempfile.mkdtemp(prefix="sp-abuse-", dir=Path.cwd()))  # a disk, not memory
    try:
        return prepared.run_quick_command(folder, COMMAND)
    finally:
        shutil.rmtree(folder)


def output(place: Place, seconds: float) -> dict:
    prepared.innocent(place.url)
    temporary = place.folder / "temporary"
    temporary.mkdir()
    command = [str(COMMAND), "run", "innocent", "--storage", place.url, "--exec", "yes"]
    command += ["--timeout", "10", "--retries", "0", "--log", str(place.folder / "log.jsonl")]
    worker = subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(temporary)}, stderr=subprocess.PIPE, text=True
    )
    most, started = 0, time.monotonic()
    while worker.poll() is None:
        most = max(most, attackers.open_bytes(worker.pid))
        time.sleep(0.05)
    said = worker.communicate()[1].strip().splitlines()[-1]
    return {
        "temporary_mb": round(most / 2**20),
        "seconds": round(time.monotonic() - started, 1),
        "said": said[-160:],
    }


INSIDE = {kind: let_in(kind) for kind in loads.LOADS} | {"together": let_in(*loads.LOADS)}
SCENARIOS = {
    "brackets": brackets,
    "headers": headers,
    "guesses": guesses,
    **{f"exports-{n}": exports(n) for n in (1, 2, 4)},
    "metrics": pollers,
    "slow-bodies": slow_bodies,
    "pages": pages,
    "first-looks": first_looks,
    "formula": priced(prepared.crossed_categories(), leave_after=10.0),
    "power": priced(prepared.high_power(), leave_after=10.0),
    "columns": priced(prepared.many_columns(), leave_after=60.0),
    "run": run,
    "output": output,
    **INSIDE,
}


def main() -> None:
    parser = options(__doc__ or "", 1)
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS), metavar="scenario")
    parser.add_argument("--as", dest="name", default="after", help="before, after")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--processes", type=int, default=1, help="serve --workers")
    parser.add_argument("--quick", action="store_true", help="2 s each, and nothing is kept")
    asked = parser.parse_args()
    if asked.quick:
        asked.seconds, asked.out = 2.0, tempfile.mkdtemp(prefix="sp-abuse-")
    record = Record("service_abuse", {"seconds": asked.seconds}, asked)
    chosen = [s for one in asked.scenarios for s in (INSIDE if one == "inside" else [one])]
    for scenario in chosen:
        place = Place(asked.postgres, asked.processes)
        try:
            found = SCENARIOS[scenario](place, asked.seconds)
        finally:
            place.close()
        where = "PostgreSQL" if asked.postgres else "SQLite"
        where += f" with {asked.processes} processes" if asked.processes > 1 else ""
        record.parts[f"{scenario}, {where}, {asked.name}"] = found
        record.save()
        print(json.dumps({scenario: found}), flush=True)
    rows = [[key, shown(part)] for key, part in sorted(record.parts.items())]
    record.write(table(["scenario", "found"], rows))
    sys.exit(0)


def shown(part: dict) -> str:
    return json.dumps(part).replace('"', "").replace("\\", "").strip("{}").replace("|", "/")


if __name__ == "__main__":
    main()

"""Everything at once, for a long time: workers, readers, attackers of every kind, and accidents.

On PostgreSQL, so that the database can be restarted as well. Workers ask and tell for eight studies
through the client, readers look at pages and export, one attacker of each kind attacks; meanwhile
the service is killed and the database restarted, evenly spread over the time. An innocent worker
with a study of its own is measured alone first, then with workers and readers, then with all.
Everybody but the innocent lets the service and the database go first on the processor: in life
they sit at other machines, here they would slow the service down without sending it anything.

Reported: rewards that were acknowledged and are not there (lost) or there twice (double), the
innocent's waits in milliseconds (those within 15 seconds after an accident apart, as workers wait
for a service that is started again), and the memory of the service, minute by minute.

Run with: python -m benchmarks.service_soak --minutes 30 [--workers 64] [--pace 2] [--kills 5] …
"""

from __future__ import annotations

import json
import math
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.abuse import attackers, prepared
from benchmarks.abuse.memory import Watched
from benchmarks.recorded import Record, options, table
from tests.postgres import Server, fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.client import Client
from surepick.errors import SurepickError

STUDIES = 8
PER_PROCESS = 16  # workers
AFTER = 15.0  # seconds that belong to an accident


def reward(pull: int) -> float:
    """The reward of a pull, whoever measures it."""
    return math.sin(1.0 + pull)


# -- those who work and read --------------------------------------------------------------------
def work(url: str, token: str, first: int, count: int, pace: float, over: Any, place: str) -> None:
    """So many workers; what was acknowledged to them is written down in the end."""
    attackers.yield_processor()
    told: list[tuple[str, int]] = []
    troubles: list[str] = []

    def one(number: int) -> None:
        name, worker = f"soak {number % STUDIES}", f"w{number}"
        with Client(url, token, patience=300.0) as client:
            study = client.load_study(name)
            while not over.is_set():
                try:
                    for pull in study.ask(1, worker, wait=2):
                        time.sleep(pace)
                        if study.tell(pull.id, reward(pull.id), worker).used:
                            told.append((name, pull.id))
                except SurepickError as error:
                    troubles.append(f"{type(error).__name__}: {error}"[:200])
                    time.sleep(0.5)

    _all([threading.Thread(target=one, args=(first + i,)) for i in range(count)])
    Path(place).write_text(json.dumps({"told": told, "troubles": troubles}))


def watched_work(port: int, token: str, over: Any, place: str) -> None:
    """The innocent: when each ask and tell began, and how long it took; nothing where it failed."""
    connection, rows = attackers.connection(port, token), []
    while not over.is_set():
        began, started = time.time(), time.monotonic()
        status, content = connection.send(
            "POST", "/api/v1/studies/innocent/ask", b'{"worker": "innocent"}'
        )
        fine = status == 200
        for pull in json.loads(content)["pulls"] if fine else ():
            body = {"rewards": [{"pull": pull["id"], "reward": reward(pull["id"])}]}
            sent = json.dumps(body | {"worker": "innocent"}).encode()
            status, _ = connection.send("POST", "/api/v1/studies/innocent/tell", sent)
            fine &= status == 200
        rows.append((began, time.monotonic() - started if fine else None))
        time.sleep(0.01 if fine else 0.2)
    Path(place).write_text(json.dumps(rows))


# -- those who attack ---------------------------------------------------------------------------
def attack_in_turns(port: int, tokens: list[str], over: Any) -> None:
    """One of each kind that is not a matter of repeating a request."""
    attackers.yield_processor()

    def brackets() -> None:
        attackers.send_at_once(port, "/api/v1/session", b"[" * (16 * 2**20 - 1), 1)
        over.wait(2)

    def half_heads() -> None:
        held = [attackers.half_head(port) for _ in range(200)]
        over.wait(5)
        for one in held:
            if one is not None:
                one.close()

    def half_bodies() -> None:
        with attackers.half_sent(port, tokens[0], 8, 15 * 2**20):
            over.wait(10)

    def tables() -> None:
        connection = attackers.connection(port, tokens[1])
        for body in (prepared.crossed_categories(), prepared.high_power()):
            connection.send("POST", "/api/v1/tables", json.dumps(body["table"]).encode())
        over.wait(1)

    def false_tells() -> None:
        connection, wrong = attackers.connection(port, tokens[2]), []
        for pull in range(200):
            wrong.append({"pull": pull, "reward": 1e6})
        for i in range(STUDIES):
            body = json.dumps({"rewards": wrong, "worker": "liar"}).encode()
            connection.send("POST", f"/api/v1/studies/soak%20{i}/tell", body)
        over.wait(1)

    def repeat(attack: Callable[[], None]) -> None:
        while not over.is_set():
            try:
                attack()
            except OSError:  # the service is being started again
                over.wait(0.5)

    kinds = (brackets, half_heads, half_bodies, tables, false_tells)
    _all([threading.Thread(target=repeat, args=(kind,)) for kind in kinds])


def _all(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# -- one after the other ------------------------------------------------------------------------
class Soak:
    """A service on a database, and what happens to it."""

    def __init__(self, asked: Any, stack: ExitStack) -> None:
        self.asked = asked
        self.folder = fast_folder("sp-soak-")
        stack.callback(shutil.rmtree, self.folder)
        self.database = Server()
        stack.callback(self.database.close)
        self.url = self.database.url()
        prepared.innocent(self.url)
        prepared.large(self.url, 20_000)
        arms = np.random.default_rng(1).normal(size=(20, 4)) * 1e-3
        for i in range(STUDIES):
            sp.create_study(f"soak {i}", sp.Problem(arms, noise=1.0), "pooled-peleg", self.url)
        self.service = stack.enter_context(
            Served(self.url, self.folder, "--log-level", "warning", fresh=True)
        )
        with self.service.http() as http:
            names = [f"soak {i}" for i in range(STUDIES)]
            roles = [{"role": "viewer"}] * 12 + [{"role": "worker", "studies": names}]
            made = [http.post("/api/v1/tokens", json=role).json()["token"] for role in roles]
        self.viewers, self.liar = made[:-1], made[-1]
        self.accidents: list[tuple[float, float]] = []  # when each began and ended
        self.memory: list[int] = []

    def innocent(self, seconds: float) -> list[float]:
        """Its waits, with whatever goes on beside."""
        over = attackers.event()
        place = str(self.folder / "alone")
        given = (self.service.port, self.service.token, over, place)
        one = attackers.process(watched_work, *given)
        time.sleep(seconds)
        over.set()
        one.join()
        return [took for _, took in json.loads(Path(place).read_text()) if took is not None]

    def crew(self, over: Any) -> list[Any]:
        """Workers and readers."""
        each = [
            (first, min(PER_PROCESS, self.asked.workers - first))
            for first in range(0, self.asked.workers, PER_PROCESS)
        ]
        token = self.service.token
        started = [
            attackers.process(
                work,
                self.service.url,
                token,
                *part,
                self.asked.pace,
                over,
                str(self.folder / f"work-{part[0]}"),
            )
            for part in each
        ]
        return started

    def accident(self, what: str) -> None:
        """Kill the service, or restart the database."""
        began = time.time()
        if what == "kill":
            self.service.kill()
            self.service.start()
        else:
            self.database.stop("immediate")
            self.database.start()
        self.accidents.append((began, time.time()))
        print(f"{time.strftime('%H:%M:%S')} {what}", flush=True)

    def run(self) -> dict[str, Any]:
        """All of it; what was found."""
        asked, port = self.asked, self.service.port
        self.innocent(3.0)  # everything is loaded
        alone = self.innocent(min(20.0, 6 * asked.minutes))
        over, place = attackers.event(), str(self.folder / "innocent")
        crew = self.crew(over)
        readers = attackers.under_attack(
            "pages", port, self.viewers[: asked.readers], "large", yielding=True
        )
        with readers:
            time.sleep(10.0)  # all of them have begun
            busy = self.innocent(min(20.0, 6 * asked.minutes))
            with (
                attackers.under_attack("metrics", port, self.viewers[8:9], "large", yielding=True),
                attackers.under_attack("exports", port, self.viewers[9:10], "large", yielding=True),
                attackers.under_attack(
                    "guesses", port, self.viewers[10:11] * 8, "large", yielding=True
                ),
            ):
                given = (self.service.port, self.service.token, over, place)
                one = attackers.process(watched_work, *given)
                tokens = [self.viewers[10], self.viewers[11], self.liar]
                crowd = attackers.process(attack_in_turns, port, tokens, over)
                self._through_accidents()
                over.set()
                for process in (one, crowd, *crew):
                    process.join(120)
        rows = json.loads(Path(place).read_text())
        return self._found(alone, busy, rows)

    def _through_accidents(self) -> None:
        asked, started = self.asked, time.monotonic()
        many = asked.kills + asked.restarts
        plan = ["kill"] * asked.kills
        for i in range(asked.restarts):
            plan.insert((i + 1) * len(plan) // (asked.restarts + 1), "restart")
        due = [(i + 1) * 60 * asked.minutes / (many + 1) for i in range(many)]
        while time.monotonic() - started < 60 * asked.minutes:
            if due and time.monotonic() - started > due[0]:
                due.pop(0)
                self.accident(plan.pop(0))
            self.memory.append(Watched(self.service.process.pid).memory_mb())
            time.sleep(min(10.0, 3 * asked.minutes))

    def _found(self, alone: list[float], busy: list[float], rows: list[Any]) -> dict[str, Any]:
        def shaken(began: float) -> bool:
            return any(first - 5.0 < began < last + AFTER for first, last in self.accidents)

        calm = [took for began, took in rows if took is not None and not shaken(began)]
        waits = {
            "alone_ms": quantiles(alone),
            "with_workers_and_readers_ms": quantiles(busy),
            "with_all_ms": quantiles(calm),
            "after_accidents_ms": quantiles([t for b, t in rows if t is not None and shaken(b)]),
            "failed_outside_accidents": sum(t is None and not shaken(b) for b, t in rows),
        }
        waits["times"] = round(waits["with_all_ms"]["p99"] / waits["alone_ms"]["p99"], 2)
        return waits | self._kept() | {"memory_mb": self.memory, "accidents": len(self.accidents)}

    def _kept(self) -> dict[str, Any]:
        """Acknowledged rewards against those that are there."""
        notes = [json.loads(path.read_text()) for path in self.folder.glob("work-*")]
        lost = double = kept = 0
        for i in range(STUDIES):
            with sp.load_study(f"soak {i}", self.url) as study:
                log = study.rewards()
            there = dict(zip(log.pulls.tolist(), log.values.tolist()))
            kept += len(there)
            double += len(log.pulls) - len(there)
            mine = [pull for note in notes for name, pull in note["told"] if name == f"soak {i}"]
            double += len(mine) - len(set(mine))
            lost += sum(there.get(pull) != reward(pull) for pull in mine)
            double += sum(value != reward(pull) for pull, value in there.items())  # a liar's
        troubles = [trouble for note in notes for trouble in note["troubles"]]
        told = sum(len(note["told"]) for note in notes)
        found = {"acknowledged": told, "kept": kept, "lost": lost, "double": double}
        return found | {"troubles": len(troubles), "first_troubles": sorted(set(troubles))[:3]}


def quantiles(times: list[float]) -> dict[str, float]:
    """In milliseconds."""
    if not times:
        return {"p50": 0.0, "p99": 0.0, "max": 0.0, "pairs": 0}
    found = {f"p{q}": round(1000 * float(np.quantile(times, q / 100)), 1) for q in (50, 99)}
    return found | {"max": round(1000 * max(times), 1), "pairs": len(times)}


def main() -> None:
    parser = options(__doc__ or "", 1)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--pace", type=float, default=2.0, help="seconds a measurement takes")
    parser.add_argument("--readers", type=int, default=8)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--restarts", type=int, default=2)
    asked = parser.parse_args()
    with ExitStack() as stack:
        found = Soak(asked, stack).run()
    print(json.dumps(found, indent=1))
    about = {name: getattr(asked, name) for name in ("workers", "pace", "readers")}
    record = Record("service_soak", about, asked)
    length = f"{asked.minutes:g} minutes, {asked.kills} kills, restarts: {asked.restarts}"
    record.parts[length] = found
    record.save()
    record.write(table(_HEAD, [_row(key, part) for key, part in record.parts.items()]))


_WAITS = {
    "alone": "alone_ms",
    "with workers and readers": "with_workers_and_readers_ms",
    "with all": "with_all_ms",
    "after accidents": "after_accidents_ms",
}
_HEAD = ["length", *_WAITS, "p99, with all over alone", "acknowledged", "lost", "double", "MB"]


def _row(length: str, part: dict[str, Any]) -> list[str]:
    """Waits of the innocent as half of them, 99 of 100 and all; memory from first to largest."""
    waits = [part[name] for name in _WAITS.values()]
    each = ["{p50:g} / {p99:g} / {max:g} ms".format(**one) for one in waits]
    memory = f"{part['memory_mb'][1]} to {max(part['memory_mb'])}"
    counts = [f"{part[name]:,}" for name in ("acknowledged", "lost", "double")]
    return [length, *each, f"{part['times']:g}", *counts, memory]


if __name__ == "__main__":
    main()

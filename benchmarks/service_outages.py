"""A database that goes away again and again beneath a service, and workers who should not care.

Two services at once: one on PostgreSQL, which is stopped and started again (in turns as a crash
would, and in order), and one on an SQLite file, which another process locks. Each has its workers,
who ask, measure and tell through the client, and an onlooker who asks over plain HTTP all the time
and counts what is answered.

Reported for each: rewards that were acknowledged and are not there (lost) or there twice (double),
pulls that were handed out to somebody who asked after their reward had been acknowledged (asked
again), workers who had nothing acknowledged after the last outage (stopped), errors that reached
workers (troubles), what the onlooker was answered, and how many answers of 503 did not say when to
come back (without a wait).

Run with: python -m benchmarks.service_outages --minutes 10 [--outages 20] [--workers 64] …
"""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
import threading
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.abuse import attackers
from benchmarks.recorded import Record, options, table
from tests.postgres import Server, fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.client import Client
from surepick.errors import SurepickError

STUDIES = 4
PER_PROCESS = 16  # workers
AWAY = (2.0, 8.0)  # seconds of an outage


def reward(pull: int) -> float:
    """The reward of a pull, whoever measures it."""
    return math.sin(1.0 + pull)


def work(url: str, token: str, numbers: list[int], pace: float, over: Any, place: str) -> None:
    """So many workers; when they asked for what, and what was acknowledged when."""
    handed: list[tuple[str, int, float]] = []  # study, pull, when it was asked for
    told: list[tuple[str, int, float, int]] = []  # study, pull, when it was acknowledged, by whom
    troubles: list[str] = []

    def one(number: int) -> None:
        name, worker, luck = f"study {number % STUDIES}", f"w{number}", random.Random(number)
        with Client(url, token, patience=300.0) as client:
            study = client.load_study(name)
            while not over.is_set():
                try:
                    asked = time.monotonic()
                    for pull in study.ask(1, worker, wait=5):
                        handed.append((name, pull.id, asked))
                        time.sleep(pace * luck.uniform(0.5, 1.5))
                        if study.tell(pull.id, reward(pull.id), worker).used:
                            told.append((name, pull.id, time.monotonic(), number))
                except SurepickError as error:
                    troubles.append(f"{type(error).__name__}: {error}"[:200])
                    time.sleep(0.5)

    threads = [threading.Thread(target=one, args=(number,)) for number in numbers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Path(place).write_text(json.dumps({"handed": handed, "told": told, "troubles": troubles}))


def look_on(port: int, token: str, over: Any, place: str) -> None:
    """What is answered to asks that try only once."""
    counts, bare = Counter[str](), 0
    with Client(f"http://127.0.0.1:{port}", token) as client:
        raw: Any = client._transport._connected()
        while not over.is_set():
            try:
                body = {"worker": "onlooker", "lease": 1.0}
                reply = raw.post("/api/v1/studies/watched/ask", json=body, timeout=60)
                counts[str(reply.status_code)] += 1
                bare += reply.status_code == 503 and "retry-after" not in reply.headers
            except Exception as error:
                counts[type(error).__name__] += 1
            time.sleep(0.1)
    Path(place).write_text(json.dumps({"counts": counts, "bare": bare}))


class Beneath:
    """A service on a database of its own, its workers, and the outages."""

    def __init__(self, kind: str, asked: Any, stack: ExitStack) -> None:
        self.kind, self.asked = kind, asked
        self.folder = fast_folder("sp-outages-")
        stack.callback(shutil.rmtree, self.folder)
        self.url = f"sqlite:///{self.folder}/studies.db"
        if kind == "PostgreSQL":
            self.database = Server()
            stack.callback(self.database.close)
            self.url = self.database.url()
        arms = np.random.default_rng(1).normal(size=(20, 4)) * 1e-3
        for name in [*(f"study {i}" for i in range(STUDIES)), "watched"]:
            problem = sp.Problem(arms, noise=1.0)
            sp.create_study(name, problem, "pooled-peleg", self.url).close()
        self.service = stack.enter_context(
            Served(self.url, self.folder, "--log-level", "warning", fresh=True)
        )
        self.over = attackers.event()
        self.last = 0.0  # when the last outage was over
        self.count = 0

    def begin(self) -> None:
        """Workers begin, and the onlooker."""
        numbers = list(range(self.asked.workers))
        self.crew = [
            attackers.process(
                work,
                *(self.service.url, self.service.token, numbers[first : first + PER_PROCESS]),
                *(self.asked.pace, self.over, str(self.folder / f"work-{first}")),
            )
            for first in range(0, len(numbers), PER_PROCESS)
        ]
        place = str(self.folder / "onlooker")
        given = (self.service.port, self.service.token, self.over, place)
        self.crew.append(attackers.process(look_on, *given))

    def go_through(self) -> None:
        """Outages, evenly spread over the time."""
        seconds, luck = 60 * self.asked.minutes, random.Random(1)
        began = time.monotonic()
        for number in range(self.asked.outages):
            due = began + (number + 0.5) * seconds / self.asked.outages
            time.sleep(max(0.0, due - time.monotonic()))
            self._outage(number, min(luck.uniform(*AWAY), 0.4 * seconds / self.asked.outages))
            self.last = time.monotonic()
            self.count += 1
            print(f"{time.strftime('%H:%M:%S')} {self.kind}: outage {number + 1}", flush=True)
        time.sleep(max(0.0, began + seconds - time.monotonic()))

    def _outage(self, number: int, seconds: float) -> None:
        if self.kind == "PostgreSQL":
            self.database.stop("immediate" if number % 2 else "fast")
            time.sleep(seconds)
            self.database.start()
            return
        locker = sqlite3.connect(self.url.removeprefix("sqlite:///"), isolation_level=None)
        locker.execute("PRAGMA busy_timeout = 60000")
        locker.execute("BEGIN EXCLUSIVE")
        time.sleep(seconds)
        locker.execute("ROLLBACK")
        locker.close()

    def end(self) -> dict[str, Any]:
        """What was found."""
        self.over.set()
        for one in self.crew:
            one.join(400)
        notes = [json.loads(path.read_text()) for path in self.folder.glob("work-*")]
        seen = json.loads((self.folder / "onlooker").read_text())
        told = [tuple(one) for note in notes for one in note["told"]]
        lost = double = kept = 0
        for i in range(STUDIES):
            with sp.load_study(f"study {i}", self.url) as study:
                log = study.rewards()
            there = dict(zip(log.pulls.tolist(), log.values.tolist()))
            kept += len(there)
            mine = [pull for name, pull, _, _ in told if name == f"study {i}"]
            double += len(log.pulls) - len(there) + len(mine) - len(set(mine))
            lost += sum(there.get(pull) != reward(pull) for pull in mine)
        known = {(name, pull): at for name, pull, at, _ in told}
        handed = [tuple(one) for note in notes for one in note["handed"]]
        again = sum(known.get((name, pull), np.inf) < asked for name, pull, asked in handed)
        went_on = {number for _, _, at, number in told if at > self.last}
        troubles = [trouble for note in notes for trouble in note["troubles"]]
        return {
            "outages": self.count,
            "workers": self.asked.workers,
            "stopped": self.asked.workers - len(went_on),
            "acknowledged": len(told),
            "kept": kept,
            "lost": lost,
            "double": double,
            "asked_again": int(again),
            "troubles": len(troubles),
            "first_troubles": sorted(set(troubles))[:3],
            "answers": seen["counts"],
            "without_a_wait": seen["bare"],
        }


def main() -> None:
    parser = options(__doc__ or "", 1)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--outages", type=int, default=20, help="of each database")
    parser.add_argument("--workers", type=int, default=64, help="of each service")
    parser.add_argument("--pace", type=float, default=4.0, help="seconds a measurement takes")
    asked = parser.parse_args()
    about = {name: getattr(asked, name) for name in ("minutes", "outages", "workers", "pace")}
    record = Record("service_outages", about, asked)
    with ExitStack() as stack:
        both = [Beneath(kind, asked, stack) for kind in ("PostgreSQL", "SQLite")]
        for one in both:
            one.begin()
        threads = [threading.Thread(target=one.go_through) for one in both]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in both:
            record.parts[one.kind] = one.end()
            print(one.kind, json.dumps(record.parts[one.kind], indent=1), flush=True)
    record.save()
    record.write(table(_HEAD, [_row(kind, part) for kind, part in record.parts.items()]))


_COUNTS = ("outages", "workers", "stopped", "acknowledged", "lost", "double", "asked_again")
_HEAD = ["database", *(name.replace("_", " ") for name in (*_COUNTS, "troubles"))]
_HEAD += ["asks of the onlooker, by answer", "503 without a wait"]


def _row(kind: str, part: dict[str, Any]) -> list[str]:
    counts = [f"{part[name]:,}" for name in (*_COUNTS, "troubles")]
    answers = ", ".join(f"{count:,} × {what}" for what, count in sorted(part["answers"].items()))
    return [kind, *counts, answers, str(part["without_a_wait"])]


if __name__ == "__main__":
    main()

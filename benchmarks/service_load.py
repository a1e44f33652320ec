"""The service under load, and under fire.

- load: 200 workers for 60 s against two server processes on one PostgreSQL, 500 requests per
  second in all (asks and tells, one pull each). Counted: rewards that were acknowledged and are
  not in the log (lost), or are there twice; errors; the 99th percentile of the times of asks and
  of tells.
- kills: 200 workers with `surepick.Client`, and servers that are killed (SIGKILL) and started
  again, five times in the middle. Counted: acknowledged rewards lost or double, and whether the
  answer is the one that a single worker gets with the same reward for each pull.

Each line of the output is one experiment, as JSON; the exit code says whether all is as it must
be. A PostgreSQL server is started for it, and installed where missing.

Run with: python -m benchmarks.service_load [load kills] [--seconds 60] [--workers 200]
          [--rate 500] [--studies 1] [--times 5]
"""

import argparse
import asyncio
import json
import math
import random
import shutil
import sys
import threading
import time

import numpy as np
from tests.postgres import Server, fast_folder
from tests.server.served import Served

import surepick as sp
from surepick.storage.memory import MemoryStorage

LIMIT = 0.250  # seconds


def problem(gap: float) -> sp.Problem:
    """Arms and dimensions as in a small real study; the smaller the gap, the longer it takes."""
    return sp.Problem(np.random.default_rng(0).normal(size=(20, 4)) * gap, noise=1.0)


LOAD, KILLS = problem(0.02), problem(0.1)


def reward(given: sp.Problem, pull: int, arm: int) -> float:
    """The reward of a pull, whoever measures it and whenever."""
    return float(given.arms[arm].sum()) + math.sin(1.0 + pull)


# -- load -----------------------------------------------------------------------------------
class Worker:
    """Asks and tells over one connection, as plainly as can be: the load must cost little."""

    def __init__(self, number: int, port: int, token: str, study: str) -> None:
        self.name, self.port = f"w{number}", port
        self._head = (
            f"POST /api/v1/studies/{study}/%s HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
            "Content-Length: %d\r\n\r\n"
        )
        self.times: dict[str, list[float]] = {"ask": [], "tell": []}
        self.told: list[tuple[int, float]] = []
        self.errors: list[str] = []
        self._streams = None

    async def work(self, start: float, end: float, period: float) -> None:
        due = start
        while due < end:
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            found = await self._call("ask", {"worker": self.name, "wait": 5})
            for pull in found["pulls"]:
                value = reward(LOAD, pull["id"], pull["arm"])
                body = {"rewards": [{"pull": pull["id"], "reward": value}], "worker": self.name}
                await self._call("tell", body)
                self.told.append((pull["id"], value))
            due += period
        if self._streams is not None:
            self._streams[1].close()

    async def _call(self, what: str, body: dict) -> dict:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self.port)
        reader, writer = self._streams
        content = json.dumps(body).encode()
        started = time.monotonic()
        writer.write((self._head % (what, len(content))).encode() + content)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        found = json.loads(await reader.readexactly(length))
        self.times[what].append(time.monotonic() - started)
        if not head.startswith(b"HTTP/1.1 200"):
            self.errors.append(found["error"]["message"])
            return {"pulls": []}
        return found


def load(url: str, folder, asked) -> dict:
    names = [f"load-{i}" for i in range(asked.studies)]
    for name in names:
        sp.create_study(name, LOAD, "peleg-paper", url).close()
    quiet = ("--log-level", "warning")
    with Served(url, folder, *quiet) as one, Served(url, folder, *quiet, token=one.token) as two:
        servers = (one, two)
        crew = [
            Worker(i, servers[i % 2].port, one.token, names[(i // 2) % len(names)])
            for i in range(asked.workers)
        ]
        period = 2 * asked.workers / asked.rate  # seconds between a worker's asks

        async def run() -> None:
            start = time.monotonic() + 0.5
            end = start + asked.seconds
            await asyncio.gather(
                *(
                    worker.work(start + period * i / len(crew), end, period)
                    for i, worker in enumerate(crew)
                )
            )

        started = time.monotonic() + 0.5
        asyncio.run(run())
        seconds = time.monotonic() - started
    logs = [sp.load_study(name, url).rewards() for name in names]
    told = [[] for _ in names]
    for i, worker in enumerate(crew):
        told[(i // 2) % len(names)] += worker.told
    found = {"experiment": "load", "workers": asked.workers, "studies": asked.studies}
    found |= {"seconds": round(seconds, 1)} | compare(told, logs)
    times = {what: np.concatenate([w.times[what] for w in crew]) for what in ("ask", "tell")}
    calls = sum(len(all_of) for all_of in times.values())
    found |= {"requests": calls, "per_second": round(calls / seconds, 1)}
    for what, all_of in times.items():
        found[f"{what}_ms"] = {
            f"p{q}": round(1000 * float(np.quantile(all_of, q / 100)), 1) for q in (50, 95, 99)
        } | {"max": round(1000 * float(all_of.max()), 1)}
    problems = [text for worker in crew for text in worker.errors]
    found |= {"errors": len(problems), "first_error": problems[:1]}
    slow = any(np.quantile(all_of, 0.99) >= LIMIT for all_of in times.values())
    found["ok"] = not (found["lost"] or found["double"] or problems or slow)
    return found


def compare(told: list[list], logs: list) -> dict:
    """Acknowledged rewards against the log."""
    lost = double = 0
    for acknowledged, log in zip(told, logs):
        kept = dict(zip(log.pulls.tolist(), log.values.tolist()))
        lost += sum(kept.get(pull) != value for pull, value in acknowledged)
        double += len(log.pulls) - len(kept) + len(acknowledged) - len(set(acknowledged))
    return {"told": sum(map(len, told)), "lost": lost, "double": double}


# -- kills ----------------------------------------------------------------------------------
def kills(url: str, folder, asked) -> dict:
    """Servers die in the middle; workers notice by themselves and go on."""
    sp.create_study("kills", KILLS, "peleg", url, delta=0.1).close()
    quiet = ("--log-level", "error")
    told: list[tuple[int, float]] = []
    problems: list[str] = []
    with Served(url, folder, *quiet) as one, Served(url, folder, *quiet, token=one.token) as two:
        servers = (one, two)

        def work(number: int) -> None:
            name = f"w{number}"
            try:
                with servers[number % 2].client(patience=120, timeout=10) as client:
                    study = client.load_study("kills")
                    while not study.finished:
                        for pull in study.ask(asked.pulls, name, wait=20):
                            value = reward(KILLS, pull.id, pull.arm)
                            study.tell(pull.id, value, name)
                            told.append((pull.id, value))
            except Exception as error:
                problems.append(f"{type(error).__name__}: {error}")

        crew = [threading.Thread(target=work, args=(i,)) for i in range(asked.workers)]
        started = time.monotonic()
        for worker in crew:
            worker.start()
        deaths, draws = 0, random.Random(0)
        while any(worker.is_alive() for worker in crew):
            time.sleep(draws.uniform(0.5, 1.5) * asked.seconds / (3 * asked.times))
            if deaths < asked.times and any(worker.is_alive() for worker in crew):
                servers[deaths % 2].kill()
                servers[deaths % 2].start()
                deaths += 1
        seconds = time.monotonic() - started
    study = sp.load_study("kills", url)
    alone = single()
    found = {"experiment": "kills", "workers": asked.workers, "deaths": deaths}
    found |= {"seconds": round(seconds, 1)} | compare([told], [study.rewards()])
    found |= {"samples": study.status()["samples"], "answer": study.answer.label}
    found |= {"same_answer": study.answer == alone.answer, "errors": len(problems)}
    found["first_error"] = problems[:1]
    clean = not (found["lost"] or found["double"] or problems)
    found["ok"] = clean and found["same_answer"] and deaths == asked.times
    return found


def single():
    """The same study, worked on by one worker."""
    study = sp.create_study("alone", KILLS, "peleg", MemoryStorage(), delta=0.1)
    while pulls := study.ask(100):
        study.tell_many([(pull.id, reward(KILLS, pull.id, pull.arm)) for pull in pulls])
    return study


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", nargs="*", default=["load", "kills"])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--rate", type=float, default=500.0)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--pulls", type=int, default=1)
    asked = parser.parse_args()
    server, folder, fine = Server(), fast_folder("sp-load-"), True
    try:
        for what in asked.what:
            found = {"load": load, "kills": kills}[what](server.url(), folder, asked)
            print(json.dumps(found), flush=True)
            fine &= found["ok"]
    finally:
        server.close()
        shutil.rmtree(folder)
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()

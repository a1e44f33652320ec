"""Power that goes away: a worker is killed, and all that was not synced is lost.

Run as a program (``python -m tests.study.power``) with ``synced.c`` loaded before it, which keeps
what was synced of the folder $SYNCED_FROM in the folder $SYNCED_TO; the result is printed as JSON.
"""

import argparse
import json
import os
import random
import shutil
import signal
import tempfile
import time
from functools import partial
from pathlib import Path

from sqlalchemy import Pool, event
from tests.study import toy
from tests.study.crashes import Acknowledged, add, check, ended, fork, work

import surepick as sp
from surepick.errors import UnknownStudyError
from surepick.study.desk import leases


def power(folder, count, each, careless, seed):
    """What is lost in so many losses of power; ``careless`` has SQLite sync nothing."""
    live, kept = (Path(os.environ[name]) for name in ("SYNCED_FROM", "SYNCED_TO"))
    url, draws = f"sqlite:///{live}/studies.db", random.Random(seed)
    told = Acknowledged(folder / "power")
    if careless:
        event.listen(Pool, "checkout", lambda file, *_: file.execute("PRAGMA synchronous = OFF"))
    found = {"losses": 0, "lost": 0, "failed": 0}
    while found["losses"] < count:
        child = fork(partial(from_where_it_is, url, told, each))
        enough = len(list(told)) + draws.randrange(1, 30)
        while len(list(told)) < enough and os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        ended(child)
        for file in live.iterdir():
            file.unlink()
        for file in kept.iterdir():
            shutil.copy(file, live)
        found["losses"] += 1
        found["lost"] += lost(url, told)
    found["failed"] += ended(fork(partial(from_where_it_is, url, told, each))) != 0
    found["acknowledged"] = len(list(told))
    return add(found, check(url, "power", told, 3, each))


def lost(url, told):
    """How many acknowledged tells are gone; looked at in a process that leaves nothing open."""
    reads, writes = os.pipe()

    def count():
        try:
            with sp.load_study("power", url) as study:
                rewards = study.rewards()
        except UnknownStudyError:
            gone = len(list(told))
        else:
            log = dict(zip(rewards.pulls.tolist(), rewards.values.tolist()))
            gone = sum(log.get(pull) != value for pull, value in told)
        os.write(writes, str(gone).encode())

    assert ended(fork(count)) == 0
    gone = int(os.read(reads, 20))
    os.close(reads)
    os.close(writes)
    return gone


def from_where_it_is(url, told, each):
    """A study to its end, from its creation where that is still to be done."""
    try:
        sp.load_study("power", url).close()
    except UnknownStudyError:
        sp.create_study("power", toy.problem(3), toy.Toy(0.1, each=each), url).close()
    work(url, "power", "w", told)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--each", type=int, default=800)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--careless", action="store_true")
    asked = parser.parse_args()
    toy.register()
    leases.CLAIM = 2.0
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(power(Path(name), asked.count, asked.each, asked.careless, asked.seed)))


if __name__ == "__main__":
    main()

"""Single bits of an SQLite file, turned over one at a time, and what is then said of its studies.

Whatever a disk does to a file, nobody may be told something else without an error. Run on its own
it prints how many turned bits changed nothing, led to an error, and changed what was said:
``python -m tests.storage.sql.flips --flips 1000 --rewards 10000``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import surepick as sp
from surepick.study.chain import check_chain


def make(file: Path, rewards: int) -> None:
    """Two studies: one with an answer, one in the middle of a batch, with a failure and a fix."""
    url, draw = f"sqlite:///{file}", np.random.default_rng(0)
    done = sp.create_study("done", _problem(0.9), "pooled-peleg", url, seed=1)
    while not done.finished:
        done.tell_many([(p.id, p.arm * 0.9 + draw.normal()) for p in done.ask(100, worker="w")])
    open_ = sp.create_study("open", _problem(0.0), "pooled-peleg", url, seed=2)
    while (left := rewards - len(open_.rewards().pulls)) > 0:
        pulls = open_.ask(min(500, left), worker="w")
        open_.tell_many([(p.id, draw.normal()) for p in pulls])
    first, second = open_.ask(2, worker="w")[:2]
    open_.fail(first.id, "the pipette broke")
    open_.tell(second.id, 0.5)
    open_.correct(second.id, 0.25, reason="typed wrong")
    done.close()
    open_.close()


def _problem(gap: float) -> sp.Problem:
    labels = ["red", "green", "blue"]
    return sp.Problem.unstructured(labels, noise=1.0 if gap else "any")


def said(file: Path) -> dict[str, Any]:
    """What commands say of these studies; an error is said by its class."""
    url, found = f"sqlite:///{file}", {}
    for name in ("done", "open"):
        for what, look in LOOKS.items():
            if what == "answer" and name == "open":
                continue
            if what == "ask" and name == "done":
                continue
            try:
                with sp.load_study(name, url) as study:
                    found[f"{what} {name}"] = look(study)
            except sp.SurepickError as error:
                found[f"{what} {name}"] = type(error)
    return found


def _status(study: Any) -> Any:
    known = study.status()
    known.pop("checks")  # said below: they look at times as well
    known["batch"] = {k: v for k, v in known["batch"].items() if k not in ("leased", "waiting")}
    checks = study.checks()
    return json.dumps([known, checks.warnings, checks.remarks], default=str)


LOOKS = {
    "answer": lambda study: json.dumps(study.answer.to_dict(), default=str),
    "status": _status,
    "verify": lambda study: check_chain(study.storage, study.desk.record),
    "ask": lambda study: [(p.id, p.arm, p.label) for p in study.ask(3, worker="x")],
}


def flip(file: Path, there: Path, bit: int) -> None:
    """A copy of the file in which one bit is the other way round."""
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    there.write_bytes(content)


def flips(count: int, rewards: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """How many of so many turned bits led to what; and those that changed what was said."""
    folder = Path(tempfile.mkdtemp(prefix="sp-flips-", dir="/dev/shm"))
    counted, different = Counter[str](), []
    try:
        file, copy = folder / "whole.db", folder / "copy.db"
        make(file, rewards)
        shutil.copy(file, copy)
        right = said(copy)
        bits = np.random.default_rng(seed).choice(file.stat().st_size * 8, count, replace=False)
        for bit in map(int, bits):
            for old in folder.glob("copy.db*"):
                old.unlink()
            flip(file, copy, bit)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                now = said(copy)
            errors = sum(isinstance(one, type) for one in now.values())
            other = [k for k, v in now.items() if v != right[k] and not isinstance(v, type)]
            different += [f"bit {bit} (byte {bit // 8}): {', '.join(other)}"] if other else []
            counted["changed what is said" if other else "error" if errors else "nothing"] += 1
            if counted.total() % 100 == 0:
                print(dict(counted), file=sys.stderr, flush=True)
    finally:
        shutil.rmtree(folder)
    return counted, different


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--flips", type=int, default=1000)
    options.add_argument("--rewards", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    counted, different = flips(given.flips, given.rewards, given.seed)
    print(json.dumps({**vars(given), **counted, "different": different}, indent=1))

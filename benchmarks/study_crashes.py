"""Studies under fire, at full size: kills, crowds, cut connections, random histories.

The tests run the same programs with small sizes; this is the validation at the sizes that
count. Each line of the output is one experiment, as JSON: what was done, and how many
acknowledged tells were lost or counted twice, batches advanced twice, answers other than a
single worker's. All of these must be 0; the exit code says whether they are.

Run with: python -m benchmarks.study_crashes [points ahead kills crowd cuts traffic histories]
          [--on sqlite postgresql]
A PostgreSQL server is started for it, and installed where missing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.postgres import Server, fast_folder

ROOT = Path(__file__).resolve().parents[1]
SIZES = {
    ("points", "sqlite"): [],
    ("points", "postgresql"): [],
    ("ahead", "sqlite"): [],
    ("ahead", "postgresql"): [],
    ("kills", "sqlite"): [],
    ("kills", "postgresql"): [],
    ("crowd", "sqlite"): ["--workers", 32, "--each", 200],
    ("crowd", "postgresql"): ["--workers", 64, "--each", 100],
    ("cuts", "postgresql"): ["--workers", 4, "--each", 100, "--count", 100],
    ("traffic", "sqlite"): [],
    ("traffic", "postgresql"): [],
}
NONE = ("lost", "twice", "batches", "wrong", "failed", "errors", "different")


def experiment(what: str, url: str, options: list) -> dict:
    program = (
        ["tests.study.traffic.crashes"] if what == "traffic" else ["tests.study.crashes", what]
    )
    command = [sys.executable, "-m", *program, url, *map(str, options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return {"failed": 1, "said": done.stderr[-500:]}
    return json.loads(done.stdout)


def histories(runs: int) -> dict:
    """The Hypothesis state machine of the tests, with more runs."""
    environment = os.environ | {"SUREPICK_MACHINE_RUNS": str(runs)}
    command = [sys.executable, "-m", "pytest", "-q", "tests/study/test_machine.py"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    found = {"runs": runs, "steps": 50, "failed": int(done.returncode != 0)}
    return found | ({"said": done.stdout[-500:]} if done.returncode else {})


def main() -> None:
    parser = argparse.ArgumentParser()
    kinds = ["points", "ahead", "kills", "crowd", "cuts", "traffic", "histories"]
    parser.add_argument("what", nargs="*", choices=[*kinds, []], default=kinds)
    parser.add_argument("--on", nargs="*", default=["sqlite", "postgresql"])
    parser.add_argument("--seed", type=int, default=0, help="of the random kills")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=2000)
    asked = parser.parse_args()
    folder = fast_folder("sp-crash-")
    server = Server() if "postgresql" in asked.on else None
    fine = True
    try:
        for (what, on), options in SIZES.items():
            if what not in asked.what or on not in asked.on:
                continue
            url = (
                f"sqlite:///{folder}/{what}.db"
                if server is None or on == "sqlite"
                else server.url()
            )
            if what == "kills":
                options = ["--count", asked.kills, "--seed", asked.seed]
            start = time.monotonic()
            found = experiment(what, url, options)
            fine &= not any(found.get(key) for key in NONE)
            seconds = round(time.monotonic() - start, 1)
            print(json.dumps({"what": what, "on": on, **found, "seconds": seconds}), flush=True)
        if "histories" in asked.what:
            found = histories(asked.runs)
            fine &= not found["failed"]
            print(json.dumps({"what": "histories", **found}), flush=True)
    finally:
        if server is not None:
            server.close()
        shutil.rmtree(folder)
    sys.exit(not fine)


if __name__ == "__main__":
    main()

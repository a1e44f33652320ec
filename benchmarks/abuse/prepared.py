"""Studies, tables and commands that the scenarios of ``benchmarks.service_abuse`` need."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import httpx2
import numpy as np

import surepick as sp
from surepick.storage import open_storage

REWARDS = 101_000
TOLD, TOLD_PULLS = "told", 10_000  # a study, and its first pulls, all of which have been told
BODY = {"name": "made of it", "noise": 1.0}


def innocent(url: str) -> None:
    """A study that takes for ever, of the kind that a small team has."""
    arms = np.random.default_rng(0).normal(size=(20, 4)) * 1e-3
    sp.create_study("innocent", sp.Problem(arms, noise=1.0), "pooled-peleg", url).close()


def large(url: str, rewards: int = REWARDS) -> None:
    """A study of 200 options with that many rewards, not finished."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 12))
    means = features @ rng.normal(size=12) * 0.01
    labels = [f"option {i:04d}" for i in range(len(features))]
    algorithm = sp.algorithms.get("pooled-peleg", delta=1e-6, max_batch=2000)
    problem = sp.Problem(features, labels=labels, noise=1.0)
    with sp.create_study("large", problem, algorithm, url) as study:
        told = 0
        while told < rewards:
            pulls = study.ask(min(20_000, rewards - told), "loader")
            values = means[[pull.arm for pull in pulls]] + rng.normal(size=len(pulls))
            study.tell_many(list(zip([pull.id for pull in pulls], values.tolist())), "loader")
            told += len(pulls)


def told(url: str) -> None:
    """A study with a large open batch, in which that many pulls have been told by a worker."""
    arms = np.random.default_rng(0).normal(size=(200, 4)) * 1e-3
    algorithm = sp.algorithms.get("pooled-peleg", delta=1e-6, min_batch=40_000)
    with sp.create_study(TOLD, sp.Problem(arms, noise=1.0), algorithm, url) as study:
        pulls = study.ask(TOLD_PULLS, "loader")
        assert len(pulls) == TOLD_PULLS
        study.tell_many([(pull.id, 0.1) for pull in pulls], "loader")


def site(api: httpx2.Client, name: str) -> None:
    """A study of traffic with 100 options."""
    table = "label,size\n" + "".join(f"o{i},{i}\n" for i in range(100))
    body = {"name": name, "table": {"csv": table, "unstructured": True}}
    body |= {"traffic": True, "noise": "yes-no"}
    api.post("/api/v1/studies", json=body).raise_for_status()


def many(url: str, count: int) -> None:
    """So many small studies."""
    storage = open_storage(url)
    problem = sp.Problem(np.random.default_rng(0).normal(size=(20, 4)), noise=1.0)
    for i in range(count):
        sp.create_study(f"small {i:04d}", problem, "pooled-peleg", storage)
    storage.close()


# -- tables -----------------------------------------------------------------------------------
def crossed_categories() -> dict:
    """Six categories of 13 levels, all crossed: 4.8 million coefficients from 58 kB."""
    rng = np.random.default_rng(0)
    lines = ["label," + ",".join(f"c{j}" for j in range(6))]
    for i in range(2900):
        lines.append(f"o{i}," + ",".join(f"v{level}" for level in rng.integers(13, size=6)))
    formula = "*".join(f"C(c{j})" for j in range(6))
    return BODY | {"table": {"csv": "\n".join(lines) + "\n", "formula": formula}}


def high_power() -> dict:
    """A power whose products are too many to list."""
    csv = "label,a,b,c,d\nx,1,2,3,4\ny,4,3,2,1\n"
    return BODY | {"table": {"csv": csv, "formula": "(a+b+c+d)**50"}}


def many_columns() -> dict:
    """A million columns, and two rows."""
    n = 1_000_000
    names, cells = ",".join(f"c{j}" for j in range(n)), ",".join("1" * n)
    return BODY | {"table": {"csv": f"{names}\n{cells}\n{cells}\n"}}


# -- commands ---------------------------------------------------------------------------------
def run_quick_command(folder: Path, command: Path, pulls: int = 2000) -> dict:
    """Pulls a second of ``surepick run`` with four workers."""
    url = f"sqlite:///{folder}/studies.db"
    arms = np.random.default_rng(0).normal(size=(20, 4)) * 1e-3
    limited = sp.algorithms.get("pooled-peleg", delta=0.05, max_samples=pulls)
    sp.create_study("quick", sp.Problem(arms, noise=1.0), limited, url).close()
    line = [str(command), "run", "quick", "--storage", url, "--exec", "echo 1", "--workers", "4"]
    line += ["--json", "--log", str(folder / "log.jsonl")]
    started = time.monotonic()
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    seconds = time.monotonic() - started
    told = json.loads(done.stdout)["told"]
    return {"pulls": told, "seconds": round(seconds, 1), "per_second": round(told / seconds, 1)}

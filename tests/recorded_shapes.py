"""Runs of all shapes and questions whose pulls and capital are written down.

A change of how proofs are worked out must not change what is asked for, nor what is held against
whom. ``python -m tests.recorded_shapes`` writes them anew, after a change that is meant to.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import surepick as sp

FILE = Path(__file__).parent / "data" / "recorded_shapes.json"
_RATES = np.array([0.25, 0.35, 0.5, 0.6, 0.8])
_DIGITS = 8  # of capital

#: by shape: settings of each run
RUNS: dict[str, dict[str, dict[str, Any]]] = {
    "table": {
        "best": {},
        "top 2": {"top": 2},
        "top 3": {"top": 3},
        "near": {"epsilon": 0.1},
        "top 2 near": {"top": 2, "epsilon": 0.1},
        "baseline": {"baseline": 2},
        "baseline near": {"baseline": 2, "epsilon": 0.2},
        "threshold": {"threshold": 0.45},
        "fdr": {"baseline": 1, "claims": "fdr"},
        "come and go": {},
        "near, come": {"epsilon": 0.1},
    },
    "pairs": {
        "everyone": {},
        "near": {"epsilon": 0.1},
        "if any": {"confirm": False},
        "if any near": {"confirm": False, "epsilon": 0.1},
        "most": {"beats": "most"},
        "most near": {"beats": "most", "epsilon": 0.1},
        "top 2": {"beats": "most", "top": 2},
        "top 2 near": {"beats": "most", "top": 2, "epsilon": 0.1},
        "come and go": {},
        "most, come and go": {"beats": "most"},
    },
    "limits": {
        "one": {"keep": "ms <= 5"},
        "two": {"keep": ["ms <= 5", "ms >= b - 3"]},
        "nobody": {"keep": "ms >= 9.5"},
        "near": {"keep": "ms <= 5 ± 0.5", "epsilon": 0.1},
        "baseline": {"keep": "ms <= 6", "baseline": 1},
        "quantile": {"keep": "p90 of ms <= 7"},
        "threshold": {"keep": "ms <= 6 ± 0.5", "threshold": 0.4},
        "come and go": {"keep": "ms <= 5"},
        "fdr": {"keep": "ms <= 6", "baseline": 1, "claims": "fdr"},
    },
    "pulls": {
        "top 2": {"top": 2},
        "top 3": {"top": 3},
        "top 2 near": {"top": 2, "epsilon": 0.1},
        "cheapest": {"cheapest": True, "within": 0.25},
        "come and go": {},
        "cheapest near": {"cheapest": True, "within": 0.25, "epsilon": 0.1},
        "near, come and go": {"epsilon": 0.1},
        "fdr": {"baseline": 2, "claims": "fdr"},
        "baseline near": {"baseline": 2, "epsilon": 0.2},
        "threshold": {"threshold": 0.45},
        "quantile": {"quantile": 0.5},
        "quantile, come and go": {"quantile": 0.8},
        "items near": {"items": 60, "epsilon": 0.1},
    },
}
_NOISES = {
    "table": ("yes-no", (0.0, 1.0)),
    "pairs": ("comparisons",),
    "limits": ("yes-no", "symmetric", "any"),
    "pulls": ("yes-no", "symmetric", "any", 0.5),
}


def names() -> list[str]:
    """Of all runs; the name says everything about one."""
    found = [
        f"{shape}|{noise}|{what}"
        for shape, whats in RUNS.items()
        for noise in _NOISES[shape]
        for what in whats
    ]
    return [name for name in found if not _refused(name)]


def _refused(name: str) -> bool:
    """What the library does not do."""
    shape, noise, what = name.split("|")
    if what.startswith(("items", "threshold")) and shape != "table":
        return noise not in ("yes-no", "0.5") or (what.startswith("items") and noise == "0.5")
    return "quantile" in what and shape == "pulls" and noise != "any"


def play(name: str) -> dict[str, Any]:
    """Make a run: what it asked for, in short, and what is held against whom in the end."""
    shape, kind, what = name.split("|")
    noise = next((one for one in _NOISES[shape] if str(one) == kind), kind)
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")
    rng, settings = np.random.default_rng(seed), {"max_samples": 1200} | RUNS[shape][what]
    labels = list("abcde")
    asked = hashlib.sha256()
    if shape == "pairs":
        run = sp.algorithms.get("pairs", delta=0.1, **settings).start(sp.Problem.pairs(labels), 3)
    else:
        numbers: Any = {"ms": (0, 10)} if shape == "limits" else None
        costs = [1.0, 2.0, 3.0, 4.0, 5.0] if settings.get("cheapest") else None
        problem = sp.Problem.unstructured(labels, noise=noise, numbers=numbers, costs=costs)
        settings = {"complete": 120} | settings if shape == "table" else settings
        run = sp.algorithms.PooledPeleg(0.1, **settings).start(problem, 3)
    world = _World(rng, run, shape, noise)
    while not run.stopped:
        if "come" in what:
            _change(run, world, what)
        batch = run.ask()
        for column in batch.pulls.columns():
            asked.update(b"-" if column is None else np.asarray(column, np.int64).tobytes())
        run.tell(batch, world.measured(batch))
        if run.batches in (2, 7):
            run = sp.Run.from_json(run.to_json())
    answer, state = run.answer, run.state
    held = [*state.progress().tolist(), state.p_value()]
    known = state.now()
    held += [] if known is None or known.p_value is None else known.p_value.tolist()
    return {
        "pulls": answer.samples,
        "asked": asked.hexdigest()[:12],
        "answer": [answer.arm, *answer.survivors, *answer.arms],
        "guarantee": str(answer.guarantee)[:60],
        "held": [None if one is None or math.isnan(one) else round(one, _DIGITS) for one in held],
    }


class _World:
    """What measurements say: whole numbers over a power of two."""

    def __init__(self, rng: Any, run: Any, shape: str, noise: Any) -> None:
        self.rng, self.shape, self.noise = rng, shape, noise
        self.rates = _RATES.copy()
        self.cells = rng.random((8, 200))
        self.items = rng.random(200)
        self.pairing = run.problem.pairing

    def grow(self) -> None:
        """One more option, which is good."""
        self.rates = np.append(self.rates, 0.75)

    def measured(self, batch: Any) -> Any:
        arms = np.asarray(batch.arms)
        if self.shape == "pairs":
            first, second = (f(arms) for f in (self.pairing.firsts, self.pairing.seconds))
            chance = 0.5 + 0.75 * (self.rates[first] - self.rates[second])
            return (self.rng.random(len(arms)) < chance).astype(float)
        if self.shape == "table":
            cells = self.cells[arms, batch.items]
            if self.noise == "yes-no":
                return (cells < self.rates[arms]).astype(float)
            return np.round(32 * np.clip(self.rates[arms] + 0.5 * (cells - 0.5), 0, 1)) / 32
        level = 0.0 if batch.items is None else self.items[batch.items] - 0.5
        if self.noise == "yes-no":
            rewards = (self.rng.random(len(arms)) < self.rates[arms] + 0.2 * level).astype(float)
        else:
            drawn = self.rng.integers(-512, 512, (2, len(arms))).sum(axis=0) / 1024
            rewards = np.round(1024 * self.rates[arms]) / 1024 + drawn
        if self.shape != "limits":
            return rewards
        ms = 8 * self.rates[arms] + self.rng.normal(size=len(arms))
        ms = np.clip(np.round(64 * ms) / 64, 0, 10)
        return [{"reward": float(r), "ms": float(n)} for r, n in zip(rewards, ms)]


def _change(run: Any, world: _World, what: str) -> None:
    """An option comes after three batches; another one goes, later."""
    K = run.problem.n_arms if run.problem.pairing is None else run.problem.pairing.options
    if run.batches == 3 and len(world.rates) == 5:
        run.add(None if world.shape == "pairs" else np.eye(K + 1)[K:], ["f"], seed=5, reason="new")
        world.grow()
        world.pairing = run.problem.pairing
    elif run.batches == 6 and "go" in what and not run.retired:
        run.retire("c", reason="sold out")


def digests() -> dict[str, dict[str, Any]]:
    """All runs, on this machine."""
    return {name: play(name) for name in names()}


if __name__ == "__main__":
    lines = (f"{json.dumps(name)}: {json.dumps(own)}" for name, own in digests().items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(names())} runs written to {FILE}")

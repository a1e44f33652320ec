"""Runs of all kinds whose pulls are written down, so that every processor can be held to them.

``python -m tests.recorded_runs`` writes them anew, after a change of what is asked for.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import surepick as sp
from surepick.algorithms import registry

FILE = Path(__file__).parent / "data" / "recorded_runs.json"
_BITS = 1 << 20

# Features are eighths, so that what is measured has no rounding in it, whoever adds it up.
_EIGHTHS = np.array(
    [
        [8, 3, -5], [8, -2, 6], [8, 7, 1], [8, -6, -4], [8, 1, 8], [8, 5, -7],
        [8, -8, 2], [8, 4, 4], [8, 0, -3],
    ]
)  # fmt: skip
_SHAPES: dict[str, tuple[np.ndarray, np.ndarray]] = {  # arms, and eighths of coefficients
    "options": (8 * np.eye(6, dtype=int), np.array([8, 4, 4, 2, 0, 0])),
    "rows": (_EIGHTHS, np.array([4, 3, 2])),
    "factors": (
        8 * np.array([[1, *signs] for signs in itertools.product((-1, 1), repeat=3)]),
        np.array([2, 3, 3, 1]),
    ),
    "curve": (np.array([[8, 8 * t, 8 * t * t] for t in range(-3, 4)]), np.array([6, 2, -1])),
    "soare": (np.array([[8, 0, 0], [0, 8, 0], [0, 0, 8], [7, 3, 0]]), np.array([12, 0, 0])),
    "copies": (np.repeat(_EIGHTHS[:4], 2, axis=0), np.array([4, 3, 2])),
    "flat": (np.hstack([_EIGHTHS[:6], _EIGHTHS[:6, 1:2] * 2]), np.array([4, 1, 2, 1])),
}
_NOISES: dict[str, Any] = {
    "unknown": "symmetric",
    "equal": "equal",
    "sigma": 0.75,
    "by arm": [0.5, 1.0, 0.75, 0.25, 1.5, 1.0, 0.5, 0.75, 1.25],
    "yes-no": "yes-no",
    "bounded": (-4.0, 6.0),
}


def names() -> list[str]:
    """Of all runs; the name says everything about one."""
    found = []
    for shape, noise, misfit in itertools.product(_SHAPES, _NOISES, ("0", "0.125", "inf")):
        found += [f"pooled-peleg|{shape}|{noise}|{misfit}|"]
    for number, what in enumerate(_WHATS):  # each with every noise, each noise with every problem
        for turn, noise in enumerate(_NOISES):
            shape = ("options|{}|inf", "rows|{}|0", "factors|{}|inf")[(number + turn) % 3]
            found += [f"pooled-peleg|{shape.format(noise)}|{what}"]
    for name in registry.names():
        shapes = ("options",) if name == "lucb" else ("options", "factors", "flat", "soare")
        found += [f"{name}|{shape}|sigma|0|" for shape in shapes if name != "pooled-peleg"]
    return [name for name in found if not _refused(name)]


_WHATS = ("epsilon", "top", "baseline", "threshold", "fdr", "guess", "costs", "strata", "ahead",
          "max_batch", "items", "saved")  # fmt: skip


def _refused(name: str) -> bool:
    """What the library does not do, and what says nothing that others do not."""
    algorithm, shape, noise, misfit, what = name.split("|")
    if what == "items":
        return noise in ("equal", "sigma", "by arm")
    if what == "threshold":
        return noise in ("equal", "bounded")
    if algorithm == "peleg-paper" or algorithm == "peleg-adahedge":
        return shape not in ("options", "soare")
    if algorithm == "pooled-peleg" and not what:
        if misfit == "0.125":
            return shape in ("options", "soare", "flat", "copies")
        return shape in ("copies", "flat", "soare") and noise in ("by arm", "bounded", "equal")
    return noise == "by arm" and what in ("guess", "ahead", "max_batch", "fdr")


class _Rewards:
    """Whole numbers, drawn at random, over a power of two: the same on every machine."""

    def __init__(self, name: str, means: np.ndarray, noise: Any) -> None:
        self._means, self._noise = means, noise
        seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
        self._draw = np.random.default_rng(seed)

    def of(self, arms: np.ndarray) -> np.ndarray:
        means = self._means[arms]
        if self._noise == "yes-no":
            return (self._draw.integers(0, _BITS, len(arms)) < means * _BITS).astype(float)
        drawn = self._draw.integers(-_BITS, _BITS, (3, len(arms))).sum(axis=0) / _BITS
        scales = self._noise if isinstance(self._noise, list) else [0.75]
        return means + drawn * np.array((scales * len(self._means))[: len(self._means)])[arms]


def play(name: str) -> dict[str, Any]:
    """Make a run; what it asked for, in short."""
    algorithm, shape, kind, misfit, what = name.split("|")
    eighths, truth = _SHAPES[shape]
    means, noise = (eighths @ truth) / 64, _NOISES[kind]
    if kind == "by arm":
        noise = noise[: len(eighths)] + [1.0] * max(0, len(eighths) - len(noise))
    if kind == "yes-no":
        means = (means - means.min() + 0.5) / (np.ptp(means) + 1.0)
    settings = _settings(algorithm, what, truth / 8)
    costs = (
        [1.0, 2.0, 0.5, 1.5, 1.0, 3.0, 0.25, 1.0, 2.0][: len(means)] if what == "costs" else None
    )
    problem = sp.Problem(eighths / 8, noise=noise, misfit=float(misfit), costs=costs)
    run = registry.get(algorithm, delta=0.1, max_samples=settings.pop("most", 300), **settings)
    run, rewards = run.start(problem, seed=7), _Rewards(name, means, noise)
    asked = hashlib.sha256()
    while not run.stopped:
        batch = run.ask()
        if what == "ahead" and not run.ahead and run.batches:
            run.ask_ahead()
        _note(asked, batch.pulls)
        days = [f"day {i % 2}" for i in range(batch.size)] if what == "strata" else None
        run.tell(batch, rewards.of(batch.arms), strata=days)
        if what == "saved" and run.batches in (2, 5):
            run = sp.Run.from_json(run.to_json())
    answer = run.answer
    _note(asked, [answer.arm, *answer.survivors])
    return {"pulls": answer.samples, "asked": asked.hexdigest()[:12]}


def _settings(algorithm: str, what: str, truth: np.ndarray) -> dict[str, Any]:
    if algorithm == "xy-oracle":
        return {"theta": tuple(truth.tolist()), "epsilon": 0.125}
    if algorithm.startswith("peleg-"):
        return {"most": 2000, "epsilon": 0.5}
    known: dict[str, dict[str, Any]] = {
        "epsilon": {"epsilon": 0.25},
        "top": {"top": 2},
        "baseline": {"baseline": 1, "epsilon": 0.25},
        "threshold": {"threshold": 0.5},
        "fdr": {"baseline": 0, "claims": "fdr"},
        "guess": {"guess": True, "most": 150},
        "max_batch": {"max_batch": 8, "min_batch": 4},
        "items": {"items": 40},
    }
    return known.get(what, {})


def _note(asked: Any, pulls: Any) -> None:
    columns = pulls if isinstance(pulls, list) else pulls.columns()
    for column in columns:
        asked.update(b"-" if column is None else np.asarray(column, dtype=np.int64).tobytes())
        asked.update(b";")


def digests(chosen: Iterable[str] | None = None) -> dict[str, dict[str, Any]]:
    """What all runs, or some, ask for on this machine."""
    return {name: play(name) for name in (names() if chosen is None else chosen)}


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:  # those whose names come in, as a list
        print(json.dumps(digests(json.load(sys.stdin))))
    else:
        lines = (f"{json.dumps(name)}: {json.dumps(own)}" for name, own in digests().items())
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"{len(names())} runs written to {FILE}")

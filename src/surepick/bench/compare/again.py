"""Some of the trials of a recorded comparison, measured again."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surepick.arrays.validate import whole
from surepick.bench.compare.plan import Plan
from surepick.bench.compare.run import stream
from surepick.errors import FormatError


def measured_again(
    record: Path, settings: Mapping[str, Any], sample: int, seed: int = 0
) -> Iterator[dict[str, Any]]:
    """A random choice of the trials of a ``trials.csv``, with their pulls then and now.

    Parameters
    ----------
    record
        The file.
    settings
        Of its plan: ``seed``, ``max_samples``, ``max_ratio``.
    sample
        How many; all where there are fewer.
    seed
        Which.
    """
    whole(sample, "check", least=1)
    try:
        with record.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if not row["failed"]]
        known = [(row, int(row["trial"]), float(row["delta"]), int(row["samples"])) for row in rows]
    except (OSError, KeyError, ValueError) as error:
        raise FormatError(f"{record} is no table of trials: {error}") from None
    draws = np.random.default_rng(seed)
    for place in sorted(draws.choice(len(known), min(sample, len(known)), replace=False).tolist()):
        row, trial, delta, samples = known[place]
        algorithm, instance = row["algorithm"], row["instance"]
        plan = Plan([algorithm], [instance], [delta], trials=trial + 1, **settings)
        others = {(0, i) for i in range(trial)}
        (now,) = stream(plan, done=others)
        yield {
            "algorithm": algorithm,
            "instance": instance,
            "delta": delta,
            "trial": trial,
            "recorded": samples,
            "samples": now["samples"],
        }

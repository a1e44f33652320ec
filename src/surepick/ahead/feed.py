"""Feed a run with drawn rewards until it stops."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from surepick.ahead.noise import Noise, Scale
from surepick.arrays.types import FloatArray
from surepick.errors import SurepickError
from surepick.run import Run


class TooSlowError(SurepickError, TimeoutError):
    """A simulated run took more time than it was given; ``samples``: pulls it had made by then."""

    def __init__(self, samples: int) -> None:
        super().__init__(f"not finished in time, after {samples} pulls")
        self.samples = samples

    def __reduce__(self) -> Any:
        return type(self), (self.samples,)


def feed(
    run: Run,
    means: FloatArray,
    noise: Noise,
    scales: Scale,
    rng: np.random.Generator,
    deadline: float | None = None,
    most: int | None = None,
) -> None:
    """Answer a run's batches, with these means of its arms, until it stops or has had so many."""
    while not run.stopped:
        if deadline is not None and time.process_time() > deadline:
            raise TooSlowError(run.samples)
        if most is not None and run.samples > most:
            raise TooSlowError(run.samples)
        batch = run.ask()
        arms, counts = batch.pulls.arms, batch.pulls.counts
        scale = scales[arms] if isinstance(scales, np.ndarray) else scales
        if run.state.demands_spread:
            run.tell_totals(batch, *noise.totals(rng, means[arms], counts, scale))
        else:
            run.tell_totals(batch, noise.sums(rng, means[arms], counts, scale), None)

"""Comparing two ways trial by trial, where both meet the same luck."""

from __future__ import annotations

import math

import numpy as np


def ratio(above: np.ndarray, below: np.ndarray) -> tuple[float, float]:
    """The ratio of the means of two columns, trial by trial, and its standard error."""
    found = float(above.mean() / below.mean())
    apart = (above - found * below) / below.mean()
    return found, float(apart.std(ddof=1) / math.sqrt(len(apart)))

"""The two ends of a bracket around the value of a minimax design."""

from __future__ import annotations

from dataclasses import dataclass

from surepick.arrays.types import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Upper:
    """Weights of some arms, and their worst variance over all directions."""

    value: float
    arms: IntArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class Lower:
    """Probabilities and normals of some directions, and the bound they prove."""

    value: float
    directions: IntArray
    weights: FloatArray
    normals: FloatArray

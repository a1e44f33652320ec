"""Algorithms for identifying the best candidate, one paper per file."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.algorithms.findings import Guarantee
from surepick.algorithms.registry import classes, get, names, register

if TYPE_CHECKING:
    from surepick.algorithms.alba import Alba
    from surepick.algorithms.ellipsoid.glucb import Glucb
    from surepick.algorithms.ellipsoid.lingape import LinGapE
    from surepick.algorithms.glr.fws import FrankWolfeSampling
    from surepick.algorithms.glr.lazy_ts import LazyTrackAndStop
    from surepick.algorithms.glr.lingame import LinGame, LinGameC
    from surepick.algorithms.glr.uniform import Uniform
    from surepick.algorithms.lucb import Lucb
    from surepick.algorithms.phases.peleg import Peleg
    from surepick.algorithms.phases.rage import Rage
    from surepick.algorithms.phases.xy_adaptive import XYAdaptive
    from surepick.algorithms.pooled.peleg import PooledPeleg
    from surepick.algorithms.static.xy_oracle import XYOracle
    from surepick.algorithms.static.xy_static import XYStatic
    from surepick.algorithms.wrappers.checked_fit import CheckedFit

__all__ = [
    "Alba",
    "Algorithm",
    "CheckedFit",
    "FrankWolfeSampling",
    "Glucb",
    "Guarantee",
    "LazyTrackAndStop",
    "LinGame",
    "LinGameC",
    "LinGapE",
    "Lucb",
    "Peleg",
    "PooledPeleg",
    "Pulls",
    "Rage",
    "State",
    "Uniform",
    "XYAdaptive",
    "XYOracle",
    "XYStatic",
    "get",
    "names",
    "register",
]


def __getattr__(name: str) -> Any:
    """Load an algorithm's file when its class is first asked for."""
    known = classes()
    if name in known:
        module, cls = known[name]
        return getattr(importlib.import_module(f"surepick.algorithms.{module}"), cls)
    raise AttributeError(f"module 'surepick.algorithms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

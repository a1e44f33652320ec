"""Algorithms for identifying the best candidate: our own; those of papers are in `research`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepick.algorithms.base import Algorithm, Pulls, State
from surepick.algorithms.findings import Guarantee
from surepick.algorithms.registry import classes, get, names, register

if TYPE_CHECKING:
    from surepick.algorithms.pooled.peleg import PooledPeleg
    from surepick.algorithms.wrappers.checked_fit import CheckedFit
    from surepick.research.alba import Alba
    from surepick.research.fws import FrankWolfeSampling
    from surepick.research.glucb import Glucb
    from surepick.research.gse import Gse
    from surepick.research.lazy_ts import LazyTrackAndStop
    from surepick.research.lingame import LinGame, LinGameC
    from surepick.research.lingape import LinGapE
    from surepick.research.lucb import Lucb
    from surepick.research.od_linbai import OdLinBai
    from surepick.research.peleg import Peleg
    from surepick.research.rage import Rage
    from surepick.research.top_two import TopTwo
    from surepick.research.uniform import Uniform
    from surepick.research.xy_adaptive import XYAdaptive
    from surepick.research.xy_oracle import XYOracle
    from surepick.research.xy_static import XYStatic

__all__ = [
    "Alba",
    "Algorithm",
    "CheckedFit",
    "FrankWolfeSampling",
    "Glucb",
    "Gse",
    "Guarantee",
    "LazyTrackAndStop",
    "LinGame",
    "LinGameC",
    "LinGapE",
    "Lucb",
    "OdLinBai",
    "Peleg",
    "PooledPeleg",
    "Pulls",
    "Rage",
    "State",
    "TopTwo",
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
        return getattr(importlib.import_module(f"surepick.{module}"), cls)
    raise AttributeError(f"module 'surepick.algorithms' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

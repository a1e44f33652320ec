"""surepick: find the best of many options from few noisy measurements, and prove it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepick.arrays.progress import watching

# Light (NumPy only), and it teaches algorithms how runs are started.
from surepick.errors import SurepickError
from surepick.problem import Problem
from surepick.run import Answer, Batch, Run, identify, verify

if TYPE_CHECKING:
    from surepick import algorithms, bets, design, game, notebook, simulate, study, timing
    from surepick.client import AsyncClient, Client
    from surepick.study import Pull, Study, create_study, delete_study, list_studies, load_study

__version__ = "0.2.0"

__all__ = [
    "Answer",
    "AsyncClient",
    "Batch",
    "Client",
    "Problem",
    "Pull",
    "Run",
    "Study",
    "SurepickError",
    "algorithms",
    "bets",
    "create_study",
    "delete_study",
    "design",
    "game",
    "identify",
    "list_studies",
    "load_study",
    "notebook",
    "simulate",
    "study",
    "timing",
    "verify",
    "watching",
]

_LAZY = ("algorithms", "bets", "design", "errors", "game", "notebook", "problem", "run", "simulate")
_LAZY += ("storage", "study", "testing", "timing")
_STUDY = ("Pull", "Study", "create_study", "delete_study", "list_studies", "load_study")


def __getattr__(name: str) -> Any:
    """Load a subpackage when it is first used."""
    if name in _LAZY:
        return importlib.import_module(f"surepick.{name}")
    if name in ("AsyncClient", "Client"):
        return getattr(importlib.import_module("surepick.client"), name)
    if name in _STUDY:
        return getattr(importlib.import_module("surepick.study"), name)
    raise AttributeError(f"module 'surepick' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})

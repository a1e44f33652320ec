"""surepick: find the best of many options from few noisy measurements, and prove it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from surepick.errors import SurepickError

if TYPE_CHECKING:
    from surepick import algorithms, design, notebook, simulate, study, timing
    from surepick.arrays.progress import watching
    from surepick.client import AsyncClient, Client
    from surepick.problem import Problem
    from surepick.proof import bets
    from surepick.run import Answer, Batch, Run, identify, verify
    from surepick.study import Pull, Study, create_study, delete_study, list_studies, load_study
    from surepick.visitors import assign

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
    "assign",
    "bets",
    "create_study",
    "delete_study",
    "design",
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

_LAZY = ("algorithms", "design", "errors", "notebook", "problem", "research", "run")
_LAZY += ("simulate", "storage", "study", "testing", "timing")
_HOMES = {
    "surepick.arrays.progress": ("watching",),
    "surepick.client": ("AsyncClient", "Client"),
    "surepick.problem": ("Problem",),
    "surepick.run": ("Answer", "Batch", "Run", "identify", "verify"),
    "surepick.study": (
        "Pull",
        "Study",
        "create_study",
        "delete_study",
        "list_studies",
        "load_study",
    ),
    "surepick.visitors": ("assign",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Load what is first used now: the command's --help and --version need nothing of it."""
    if name in _LAZY:
        return importlib.import_module(f"surepick.{name}")
    if name == "bets":
        return importlib.import_module("surepick.proof.bets")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'surepick' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_LAZY, "__version__"})

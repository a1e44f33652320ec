"""Comparing algorithms: a plan of trials, its parallel run, and the summary."""

from surepick.bench.compare.plan import Cell, Contender, Plan
from surepick.bench.compare.run import run_plan, stream
from surepick.bench.named import (
    Named,
    build_instance,
    family_names,
    instance_named,
    register_family,
)
from surepick.bench.progress import Progress
from surepick.bench.summary import summarise

__all__ = [
    "Cell",
    "Contender",
    "Named",
    "Plan",
    "Progress",
    "build_instance",
    "family_names",
    "instance_named",
    "register_family",
    "run_plan",
    "stream",
    "summarise",
]

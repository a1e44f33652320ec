"""Simulation: the only home of the truth theta*."""

from surepick.ahead.noise import (
    Bernoulli,
    Beta,
    Bounded,
    Exponential,
    Gaussian,
    Noise,
    StudentT,
    TwoPoint,
)
from surepick.simulate import families, instances, published
from surepick.simulate.instance import Instance
from surepick.simulate.table import Table
from surepick.simulate.trials import trials

__all__ = [
    "Bernoulli",
    "Beta",
    "Bounded",
    "Exponential",
    "Gaussian",
    "Instance",
    "Noise",
    "StudentT",
    "Table",
    "TwoPoint",
    "families",
    "instances",
    "published",
    "trials",
]

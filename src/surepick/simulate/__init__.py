"""Simulation: the only home of the truth theta*."""

from surepick.simulate import families, instances
from surepick.simulate.instance import Instance
from surepick.simulate.noise import Bernoulli, Bounded, Gaussian, Noise, StudentT
from surepick.simulate.table import Table
from surepick.simulate.trials import trials

__all__ = [
    "Bernoulli",
    "Bounded",
    "Gaussian",
    "Instance",
    "Noise",
    "StudentT",
    "Table",
    "families",
    "instances",
    "trials",
]

"""Simulation: the only home of the truth theta*."""

from surepick.simulate import instances
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
    "instances",
    "trials",
]

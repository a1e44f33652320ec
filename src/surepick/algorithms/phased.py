"""Where version 0.1 had what algorithms in phases build on: kept for algorithms written for it."""

from surepick.algorithms.phases.elimination import PhasedState
from surepick.algorithms.phases.elimination import PhasePlan as Plan

__all__ = ["PhasedState", "Plan"]

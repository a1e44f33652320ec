"""The problem: what is known before and learnt while measuring."""

from surepick.problem.problem import Problem

__all__ = ["Problem"]

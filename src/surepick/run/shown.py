"""What a state says, in the numbers that people gave it.

Inside of an algorithm larger is better. Rewards get there by ``Problem.standardised``, with the
other sign where smaller is better; what comes out is turned back here, and nowhere else. How far
an option is *behind* the best has no sign of its own: it is as much in either direction.
"""

from __future__ import annotations

import numpy as np

from surepick.algorithms.base import Claims, Known, State
from surepick.arrays.types import FloatArray
from surepick.problem import Problem

_ROUNDING = 1e-12


def known_now(problem: Problem, state: State) -> Known | None:
    """What is known about each candidate now."""
    known = state.now()
    if known is None or not problem.minimise:
        return known
    return known._replace(estimates=_turned(known.estimates))


def claims_now(problem: Problem, state: State) -> Claims | None:
    """What is claimed now: a lift is the option less the baseline, so below 0 it may be better."""
    claims = state.claims()
    if claims is None:
        return None
    claims = claims._replace(lift=without_rounding(claims.lift, claims.low, claims.high))
    if not problem.minimise:
        return claims
    ends = {"low": _turned(claims.high), "high": _turned(claims.low)}
    return claims._replace(lift=_turned(claims.lift), **ends)


def without_rounding(values: FloatArray, *beside: FloatArray | None) -> FloatArray:
    """Numbers that a person reads: 0 where they are what floating point left of a difference.

    That is less than a millionth of a millionth of the largest of them, or of those beside them.

    Examples
    --------
    >>> without_rounding(np.array([0.25, -5.551e-17])).tolist()
    [0.25, 0.0]
    >>> without_rounding(np.array([3e-17, 0.0]), np.array([0.4, np.inf])).tolist()
    [0.0, 0.0]
    """
    sizes = [np.abs(some[np.isfinite(some)]) for some in (values, *beside) if some is not None]
    largest = max(float(some.max(initial=0.0)) for some in sizes)
    return np.where(np.abs(values) <= _ROUNDING * largest, 0.0, values)


def _turned(numbers: FloatArray) -> FloatArray:
    return 0.0 - numbers  # nought has no sign

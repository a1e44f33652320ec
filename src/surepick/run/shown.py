"""What a state says, in the numbers that people gave it.

Inside of an algorithm larger is better. Rewards get there by ``Problem.standardised``, with the
other sign where smaller is better; what comes out is turned back here, and nowhere else. How far
an option is *behind* the best has no sign of its own: it is as much in either direction.
"""

from __future__ import annotations

from surepick.algorithms.base import Claims, Known, State
from surepick.arrays.types import FloatArray
from surepick.problem import Problem


def known_now(problem: Problem, state: State) -> Known | None:
    """What is known about each candidate now."""
    known = state.now()
    if known is None or not problem.minimise:
        return known
    return known._replace(estimates=_turned(known.estimates))


def claims_now(problem: Problem, state: State) -> Claims | None:
    """What is claimed now: a lift is the option less the baseline, so below 0 it may be better."""
    claims = state.claims()
    if claims is None or not problem.minimise:
        return claims
    ends = {"low": _turned(claims.high), "high": _turned(claims.low)}
    return claims._replace(lift=_turned(claims.lift), **ends)


def _turned(numbers: FloatArray) -> FloatArray:
    return 0.0 - numbers  # nought has no sign

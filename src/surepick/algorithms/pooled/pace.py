"""How fast blocks grow, how much they explore, and how closely they are designed.

The theorem leaves all of it open.
"""

from __future__ import annotations

from typing import NamedTuple

from surepick.problem import Problem


class Pace(NamedTuple):
    """What is free to choose about later blocks."""

    explore: float  #: share of the first design: this times sqrt(dimension / pulls so far)
    most: float  #: a block makes at most this share of the pulls that seem to be missing,
    least: float  #: and at least this share of the pulls so far
    looks: int  #: at everything, after which a design for very many arms has to do


USUAL = Pace(explore=1.0, most=0.3, least=0.03, looks=6)
#: features are trusted: estimates of leads are soon good, so blocks that follow them sooner pay
_SOONER = Pace(explore=0.5, most=0.15, least=0.015, looks=6)
#: among very many arms single designs matter less than the next one, made with more known
_ROUGHER = USUAL._replace(looks=2)


def pace_of(problem: Problem, ways: tuple[str, ...], guess: bool) -> Pace:
    """How blocks that are read in these ways go on; a guess uses up a budget, whatever it knows."""
    if ways != ("linear",) or guess:
        return USUAL
    return _ROUGHER if problem.large else _SOONER

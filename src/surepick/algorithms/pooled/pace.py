"""How fast blocks grow, how much they explore, and how closely they are designed.

The theorem leaves all of it open. A run keeps the rule that it began by: its certificate names it,
so whoever traces the run again asks for the same blocks.
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


FIRST_PACE = Pace(explore=1.0, most=0.3, least=0.03, looks=6)
#: features are trusted: estimates of leads are soon good, so blocks that follow them sooner pay
_SOONER = Pace(explore=0.5, most=0.15, least=0.015, looks=6)
#: among very many arms single designs matter less than the next one, made with more known
_ROUGHER = FIRST_PACE._replace(looks=2)


def latest_pace(ways: tuple[str, ...], guess: bool) -> int:
    """The rule of new runs: 1, as up to release 0.2, or 2 where features are trusted."""
    return 2 if ways == ("linear",) and not guess else 1


def pace_of(rule: int, problem: Problem) -> Pace:
    """The pace of this rule."""
    if rule == 1:
        return FIRST_PACE
    return _ROUGHER if problem.large else _SOONER

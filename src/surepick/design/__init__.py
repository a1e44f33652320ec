"""Designs: how to split measurements so that what matters is estimated best.

A design is a weight per arm. :func:`minimax` finds the one with the smallest worst variance
over a set of directions, with a certified gap; :func:`g_optimal` and :func:`one_direction`
are two special cases; :func:`round_design` turns weights into pulls; :func:`complexity` says
how many pulls an instance needs whatever the algorithm.
"""

from surepick.design.complexity import Complexity, complexity
from surepick.design.directions import AllPairs, Directions, Listed
from surepick.design.large.leads import Leads
from surepick.design.minimax import MinimaxResult, Round, minimax
from surepick.design.optimal import g_optimal, one_direction
from surepick.design.rounding import prune, round_design

__all__ = [
    "AllPairs",
    "Complexity",
    "Directions",
    "Leads",
    "Listed",
    "MinimaxResult",
    "Round",
    "complexity",
    "g_optimal",
    "minimax",
    "one_direction",
    "prune",
    "round_design",
]

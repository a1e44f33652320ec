"""Which is fastest? Functions or commands, timed in random order until it is clear.

:func:`fastest` names the one that usually wins: timed once each, it is quicker than any other more
than half of the time. Nothing is assumed about how times vary. They are taken in an order drawn at
random, so that a machine that gets slower or quicker on the way is unfair to nobody, and something
is hardly ever "proven" faster than itself.

:func:`not_slower` says whether others are slower than one of them by more than a margin.
"""

from surepick.timing.clock import Command, Function, Timed
from surepick.timing.race import fastest, not_slower
from surepick.timing.result import Beside, Fastest, Row

__all__ = [
    "Beside",
    "Command",
    "Fastest",
    "Function",
    "Row",
    "Timed",
    "fastest",
    "not_slower",
]

"""Three levels of constants, so that like can be compared with like.

- ``"printed"``: the formulas of the algorithm's paper;
- ``"program"``: what the program behind published comparisons computes: that of the paper's
  authors where they published one, else the one in the public repository of RAGE's authors, which
  has them all;
- ``"tight"``, the default: the best constants that we can prove.

All three carry the same guarantee. What a file calls a departure is where its code differs from
the formulas, or from the program, in anything else than the constants. A comparison is fair within
a level only.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from surepick.algorithms.base import Algorithm
from surepick.errors import InvalidInputError

LEVELS = ("printed", "program", "tight")


@dataclass(frozen=True)
class LevelledAlgorithm(Algorithm):
    """An algorithm of the paper, at one of the three levels.

    Parameters
    ----------
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.
    """

    constants: str = field(default="tight", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constants not in LEVELS:
            raise InvalidInputError(
                f"constants must be 'printed', 'program' or 'tight'; got {self.constants!r}"
            )

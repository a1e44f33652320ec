"""XY-static: one design that tells any two candidates apart, followed until it has.

Paper: Soare, Lazaric, Munos, "Best-Arm Identification in Linear Bandits", NeurIPS 2014, Section 4.

Guarantee: delta-PAC, by the argument in :mod:`surepick.research.static`.
Known in advance: the noise scale only. Candidates may differ from the arms.

The design is argmin_w max over pairs of ‖x − x'‖²_{A(w)⁻¹}, solved to a certified gap and rounded
to a short cycle of pulls that is repeated (the paper allows any allocation within a constant
factor of the best; its greedy one and ours do not look at rewards).

The paper stops when θ̂ᵀ(x − x') >= 2√2 sqrt(a_y log(6n²K²/(pi²delta))) for all x' at once:
``constants="printed"`` (2√2 is larger than sub-Gaussian noise needs, so it is valid with room to
spare). It looks after every pull, we as the pulls grow by ``growth``. ``constants="program"`` has
the widths and the looks of the program. The default differs:

- one-sided tests that hold at all looks at once take the place of the union over n, and the union
  is over the K − 1 rivals of the best candidate instead of all K² pairs: the squared width is
  some four times smaller;
- a candidate stays ruled out once the leader has beaten it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from surepick.problem import Problem
from surepick.research.designs import Solved, all_pairs, pair_design
from surepick.research.static import StaticAlgorithm


@dataclass(frozen=True)
class XYStatic(StaticAlgorithm):
    """XY-allocation, fixed in advance.

    Parameters
    ----------
    delta, epsilon, max_samples
        As for every algorithm.
    growth
        How much the pulls grow from one look to the next.
    constants
        ``"printed"``, ``"program"`` or ``"tight"``; see :mod:`surepick.research.levels`.

    Examples
    --------
    >>> XYStatic(delta=0.1).registered_name()
    'xy-static'
    """

    name: ClassVar[str] = "xy-static"
    union_power: ClassVar[int] = 2
    program_growth: ClassVar[float] = 1.35

    def design(self, problem: Problem) -> tuple[Any, Solved, Any]:
        everyone = problem.distinct
        return "pairs", pair_design(problem, everyone), all_pairs(problem, everyone)

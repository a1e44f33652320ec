"""Evidence under each kind of noise: what a block is read for, and what bets on it pay."""

from surepick.algorithms.pooled.kinds.bounded import BoundedRewards, YesNoRewards
from surepick.algorithms.pooled.kinds.equal import EqualScale
from surepick.algorithms.pooled.kinds.known import KnownScale
from surepick.algorithms.pooled.kinds.reading import Reading
from surepick.algorithms.pooled.kinds.segments import RatesBySegment
from surepick.algorithms.pooled.kinds.symmetric import SymmetricScales
from surepick.algorithms.pooled.kinds.wins import AnyNumbers
from surepick.problem.layers import Layer

__all__ = ["READINGS", "Reading"]

#: how blocks are read under each kind of noise
READINGS: Layer[type[Reading]] = Layer(
    "reading of blocks",
    {
        "symmetric": SymmetricScales,
        "any": AnyNumbers,
        "equal": EqualScale,
        "known": KnownScale,
        "yes-no": YesNoRewards,
        "segments": RatesBySegment,
        "bounded": BoundedRewards,
        "pairs": YesNoRewards,  # refused before it is read: see Algorithm.check_problem
    },
)

"""What a promise assumes about rewards under each kind of noise, so that it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from surepick.problem.layers import Layer
from surepick.problem.noise import NoiseKind


@dataclass(frozen=True)
class Assumed:
    """What rewards are checked for."""

    #: as likely to be above their mean as below it by the same amount, which yes and no are not
    symmetric: bool = False
    equal: bool = False  #: all options vary alike, nobody says by how much
    stated: bool = False  #: how much they vary is stated
    linear: bool = True  #: their means follow from the features, where there are fewer than arms
    steady: bool = True  #: they do not change over time
    may_be_equal: bool = False  #: saying that all options vary alike would save measurements

    def one_scale(self, kind: NoiseKind) -> bool:
        """Whether all options vary alike."""
        return self.equal or (self.stated and kind.scales is None)


#: what is assumed, and so checked, under each kind of noise
ASSUMED: Layer[Assumed] = Layer(
    "list of what is assumed",
    {
        "symmetric": Assumed(symmetric=True, may_be_equal=True),
        "any": Assumed(),
        "equal": Assumed(symmetric=True, equal=True),
        "known": Assumed(stated=True),
        "yes-no": Assumed(),
        "segments": Assumed(),
        "bounded": Assumed(),
        "pairs": Assumed(linear=False, steady=False),
    },
)

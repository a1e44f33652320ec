"""Thresholds of the generalised likelihood ratio (GLR) stop: how much evidence is enough.

With z the candidate that leads under the least squares estimate θ̂, V the Gram matrix of the
pulls and a_y = yᵀV⁻¹y, a rival z' is ruled out, y = z - z', when for some j

    (θ̂ᵀy + ε)² > 2 L_j (a_y + ρ_j ‖V⁻¹y‖²),                                        (stop)

and the run stops once every rival is. Each threshold says which pairs (ρ_j, L_j) to use. With
ρ = 0 this is the GLR stop as usually written, min over rivals of (θ̂ᵀy)² / (2 a_y) > L.

Why it is right. Let b = Σ x_s η_s, the noise summed up, so that θ̂ - θ* = V⁻¹b. Suppose the run
stops at z although z* is better by more than ε. For y = z - z*: θ̂ᵀy ≥ 0 and θ*ᵀy < -ε, hence
0 < θ̂ᵀy + ε < yᵀV⁻¹b. By Cauchy-Schwarz in the metric V + ρI, for every ρ ≥ 0,

    (yᵀV⁻¹b)² ≤ ‖b‖²_{(V+ρI)⁻¹} · yᵀV⁻¹(V+ρI)V⁻¹y = ‖b‖²_{(V+ρI)⁻¹} (a_y + ρ ‖V⁻¹y‖²),

so ½‖b‖²_{(V+ρ_jI)⁻¹} > L_j: a mistake needs noise that L_j rules out with probability 1 - δ.

- :class:`SelfNormalised` (ours to combine; the bound is Theorem 1 of Abbasi-Yadkori, Pál,
  Szepesvári 2011): except with probability δ_j, ½‖b‖²_{(V+ρI)⁻¹} stays below
  log(1/δ_j) + ½ log det(I + V/ρ) at all times, whatever the sampling rule. J values of ρ share
  δ equally, and each rival may use the one that suits it best. Neither ‖θ*‖ nor an
  initial design enters, and the exact determinant is never more than its usual bound. ρ is
  measured in pulls: coordinates are those in which ρI is the Gram matrix of ρ pulls spread
  evenly over the arms, so nothing depends on the units of the features either.
- :class:`Pairwise` (ours to combine): half of δ as above. With the other half each of the M - 1
  directions y = z - z* has a mixture of its own, whose precision is Γ⁻¹ = ρ in the plane of z and
  z*, κρ outside. The same argument with Γ⁻¹ in place of ρI rules a rival out for
  (θ̂ᵀy + ε)² > 2L (a_y + ‖V⁻¹y‖²_{Γ⁻¹}), L = log((M-1)/δ_j) + ½ log det(I + ΓV). Where options are
  unrelated V⁻¹y lies in that plane, and only two dimensions are paid, of however many.
- :class:`Determinant` (Jedra, Proutière 2020): V ⪰ cI from an initial spanning set, so with
  ρ = uc, a_y + ρ‖V⁻¹y‖² ≤ (1+u) a_y, and L = (1+u) (log(1/δ) + ½ log det(I + V/(uc))), ρ_j = 0.
  Weaker than the above, which uses the actual ‖V⁻¹y‖².
- :class:`Regularised` (Degenne, Ménard, Shang, Valko 2020): θ̂ and a_y with V + λI in place of V.
  The bias costs λ‖θ*‖: L = (sqrt(log(1/δ) + ½ log det(I + V/λ)) + S sqrt(λ/2))², S ≥ ‖θ*‖/σ. The
  determinant is at most (1 + tL²/(λd))^d, the form in the paper: the exact one is used.
- :class:`RoundRobin` (ours to apply; one-dimensional mixtures are classical): when the pulls are
  n full rounds over all arms, V = nV₁ and yᵀV⁻¹b / a_y = Σ (yᵀV₁⁻¹x_s)η_s / a_y(V₁) is, for
  every fixed y, a martingale in n of variance proxy n/a_y(V₁). The mixture over a half-normal
  drift with precision ρ (in rounds) is a supermartingale. With M - 1 one-sided directions
  z - z*, each at level δ/(M-1), and l = log((M-1)/δ) + ½ log(1 + n/ρ), a mistake has probability
  at most δ for L = (1 + ρ/n) (l - log 2Φ(s)), s = sqrt(2 max(0, l - log 2)): dimension is free.
- :class:`Heuristic`: L = log((1 + log t)/δ), the one in most plots. **No theorem.**
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import positive
from surepick.errors import InvalidInputError
from surepick.problem.problem import Problem
from surepick.research.threshold_codes import (
    DETERMINANT,
    HEURISTIC,
    PAIRWISE,
    REGULARISED,
    ROUND_ROBIN,
    SELF_NORMALISED,
)


@dataclass(frozen=True)
class Threshold:
    """What all thresholds share; use one of its children."""

    code: ClassVar[int]
    name: ClassVar[str]
    #: the theorem that makes the stop right; empty for a heuristic
    theorem: ClassVar[str] = ""

    @property
    def prior(self) -> float:
        """Multiple of the identity that V starts from."""
        return 0.0

    def coordinates(self, problem: Problem) -> tuple[FloatArray, FloatArray]:
        """Arms and candidates in the coordinates this threshold is stated in."""
        return problem.features, problem.targets

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        """The numbers that the compiled rule needs; ``first``: arms sure to be pulled once."""
        return np.array([math.log(1 / delta)])

    def count_levels(self, parameters: FloatArray) -> int:
        """How many pairs (ρ_j, L_j) there are."""
        return 1

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        """What a certificate says beside the name, so that the levels can be worked out again."""
        return {}

    def levels(self, parameters: FloatArray, gram: FloatArray, pulls: int) -> FloatArray:
        """The pairs (ρ_j, L_j) for this Gram matrix after so many pulls, one per row."""
        from surepick.research.threshold_kernels import threshold_levels

        out = np.zeros((self.count_levels(parameters), 2))
        threshold_levels(self.code, parameters, gram, pulls, np.zeros_like(gram), out)
        return out


@dataclass(frozen=True)
class Heuristic(Threshold):
    """log((1 + log t)/delta): common in plots, without a theorem.

    Examples
    --------
    >>> rule = Heuristic()
    >>> round(float(rule.levels(np.array([math.log(10)]), np.eye(2), 100)[0, 1]), 3)
    4.026
    """

    code: ClassVar[int] = HEURISTIC
    name: ClassVar[str] = "heuristic"


@dataclass(frozen=True)
class SelfNormalised(Threshold):
    """Method of mixtures on the noise itself; nothing needs to be known."""

    #: values of ρ, in pulls per dimension; fixed before any reward is seen
    scales: tuple[float, ...] = (2.0, 16.0, 128.0, 1024.0)

    code: ClassVar[int] = SELF_NORMALISED
    name: ClassVar[str] = "self-normalised"
    theorem: ClassVar[str] = "GLR stop; self-normalised bound (method of mixtures)"

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        shared = math.log(len(self.scales) / delta)
        return np.array([shared, *(problem.rank * scale for scale in self.scales)])

    def count_levels(self, parameters: FloatArray) -> int:
        return len(parameters) - 1

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        return {"scales": list(self.scales)}


@dataclass(frozen=True)
class Pairwise(SelfNormalised):
    """A mixture for each pair of candidates beside the one for all; nothing needs to be known."""

    scales: tuple[float, ...] = (8.0, 64.0, 1024.0)
    #: values of ρ in the plane of a pair, in pulls per dimension, and κ: how much less outside it
    planes: tuple[float, ...] = (4.0, 32.0, 256.0)
    outside: float = 100.0

    code: ClassVar[int] = PAIRWISE
    name: ClassVar[str] = "pairwise"
    theorem: ClassVar[str] = "GLR stop; self-normalised bounds, one for each pair and one for all"

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        """Those for all pairs, then κ, log((M - 1)/δ_j) and the values of ρ in a plane."""
        rivals = max(len(problem.distinct) - 1, 1)
        level = math.log(2 * len(self.planes) * rivals / delta)
        planes = (problem.rank * scale for scale in self.planes)
        everywhere = super().parameters(delta / 2, problem)
        return np.array([*everywhere, self.outside, level, *planes])

    def count_levels(self, parameters: FloatArray) -> int:
        return len(self.scales)

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        return {"scales": list(self.scales), "planes": list(self.planes), "outside": self.outside}


@dataclass(frozen=True)
class Determinant(Threshold):
    """Threshold of Lazy Track-and-Stop; needs a spanning set among the first pulls."""

    slack: float = 0.1

    code: ClassVar[int] = DETERMINANT
    name: ClassVar[str] = "determinant"
    theorem: ClassVar[str] = "GLR stop; Jedra and Proutière 2020, determinant threshold"

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        if first is None:
            raise InvalidInputError("the determinant threshold needs the arms pulled first")
        rows = problem.features[first]
        return np.array(
            [math.log(1 / delta), self.slack, float(np.linalg.eigvalsh(rows.T @ rows)[0])]
        )

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        return {"slack": self.slack, "first": first}


@dataclass(frozen=True)
class Regularised(Threshold):
    """Threshold of LinGame's theorem; needs a bound on the length of theta*."""

    norm_bound: float
    regularisation: float = 1.0

    code: ClassVar[int] = REGULARISED
    name: ClassVar[str] = "regularised"
    theorem: ClassVar[str] = "GLR stop; Degenne et al. 2020, regularised threshold"

    def __post_init__(self) -> None:
        positive(self.norm_bound, "norm_bound")
        positive(self.regularisation, "regularisation")

    @property
    def prior(self) -> float:
        return self.regularisation

    def coordinates(self, problem: Problem) -> tuple[FloatArray, FloatArray]:
        return problem.isometric

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        bound = self.norm_bound / problem.unit
        return np.array([math.log(1 / delta), self.regularisation, bound])

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        return {"norm_bound": self.norm_bound, "regularisation": self.regularisation}


@dataclass(frozen=True)
class RoundRobin(Threshold):
    """For full rounds over all arms: a one-dimensional price."""

    rounds: float = 2.0  #: precision of the mixture, in rounds; fixed in advance

    code: ClassVar[int] = ROUND_ROBIN
    name: ClassVar[str] = "round-robin"
    theorem: ClassVar[str] = "GLR stop on full rounds; one-dimensional mixture per rival"

    def parameters(
        self, delta: float, problem: Problem, first: NDArray[np.int64] | None = None
    ) -> FloatArray:
        rivals = len(problem.distinct) - 1
        return np.array([math.log(max(rivals, 1) / delta), self.rounds, problem.n_arms])

    def evidence(self, first: NDArray[np.int64]) -> dict[str, Any]:
        return {"rounds": self.rounds}

"""The answer: a candidate, the guarantee it carries, and the evidence behind it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from surepick.algorithms.base import Guarantee
from surepick.arrays.types import IntArray


@dataclass(frozen=True, eq=False)
class Answer:
    """What a run concluded.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], labels=["one", "two"])
    >>> answer = sp.identify(problem, lambda arm: float(arm), delta=0.1)
    >>> answer.label, bool(answer.guarantee)
    ('two', True)
    """

    arm: int  #: index of the chosen candidate (of the chosen arm, unless candidates differ)
    label: str  #: its label
    samples: int  #: pulls used
    pulls: IntArray  #: pulls per arm
    guarantee: Guarantee  #: what is promised, in words; false when nothing is
    survivors: tuple[int, ...]  #: candidates not ruled out (the answer among them)
    equivalent: tuple[int, ...]  #: candidates with the very features of the answer
    batches: int  #: batches used
    algorithm: str  #: registry name of the algorithm
    delta: float
    epsilon: float
    _record: dict[str, Any] = field(repr=False)

    def __eq__(self, other: object) -> bool:
        return self.to_dict() == other.to_dict() if isinstance(other, Answer) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.arm, self.samples, self.algorithm))

    def certificate(self) -> dict[str, Any]:
        """Everything needed to re-check this answer, as a JSON-ready dict.

        ``surepick.verify`` checks it; ``json.dump`` stores it.
        """
        from surepick.run.certificate import make_certificate

        return make_certificate(self.to_dict(), self._record)

    def linked(self, chain: dict[str, Any] | None) -> Answer:
        """The same, with the head of the chain of the study that it is from."""
        return replace(self, _record=self._record | {"chain": chain})

    def reported(self, traffic: dict[str, Any]) -> Answer:
        """The same, with the shares by which visitors were sent in each batch."""
        return replace(self, _record=self._record | {"traffic": traffic})

    def to_dict(self) -> dict[str, Any]:
        """The answer itself (without the evidence) as plain JSON-ready values."""
        return {
            "arm": self.arm,
            "label": self.label,
            "samples": self.samples,
            "batches": self.batches,
            "guarantee": {"kind": self.guarantee.kind, "text": str(self.guarantee)},
            "survivors": list(self.survivors),
            "equivalent": list(self.equivalent),
            "algorithm": self.algorithm,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "pulls": self.pulls.tolist(),
        }

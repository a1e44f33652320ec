"""What is close enough, named while a study is under way: options turned out to be nearly alike.

It holds from then on, by what is measured later; nothing has to be assumed about why or when it was
named (:mod:`surepick.proof.accepting` has the proof). As changes of the options do, it takes
effect when what is open is finished.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from surepick.errors import InvalidInputError
from surepick.run import Run
from surepick.run.changes import ACCEPTED
from surepick.study.acts.base import Field, Record, Scene
from surepick.study.acts.options import ChangeRun, Planned
from surepick.study.segments import segment_of


@dataclass(frozen=True)
class Accepted(Record):
    """What is close enough from then on.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["red", "blue"], noise=1.0)
    >>> study = sp.create_study("greys", problem, storage="memory://")
    >>> study.accept(0.2, reason="nobody sees less").said
    'From now on an option within 0.2 of the best is accepted.'
    """

    epsilon: float
    asked: int  #: the batch that was open at the time
    waits: bool  #: whether it was open, and has to be finished first
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was done with; None: on this machine
    unit: str = "batch"  #: of what is finished first: a batch, or a period of traffic

    @property
    def said(self) -> str:
        """What was done, as a sentence or two."""
        after = f" The open {self.unit} is finished first." if self.waits else ""
        return f"From now on an option within {self.epsilon:g} of the best is accepted.{after}"


class _Accept(ChangeRun):
    change = Accepted
    kind, link = "accept", ACCEPTED
    short = "Accept from now on what is nearly as good as the best."
    about = (
        "Accept from now on whatever is within epsilon of the best, as options are nearly alike. "
        "The guarantee stands, whatever you have seen: what shows that an option is close enough "
        "is measured from now on. The batch that is open is finished first. It cannot be undone."
    )
    fields = (
        Field(
            "epsilon",
            float,
            "How much worse than the best the answer may be, in the unit of rewards.",
            limits={"exclusiveMinimum": 0},
            example=0.02,
            unit="lead",
        ),
    )
    needs_reason = True

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        if segment_of(json.loads(scene.record.meta)) is not None:
            raise InvalidInputError(
                "epsilon: where each segment has an answer of its own, all of them accept the same "
                "from the start; set it when the test is made"
            )
        return super().check(scene, given)

    def demand(self, run: Run) -> None:
        """Nothing beside what the run itself refuses."""

    def changed(self, planned: Planned) -> Accepted:
        return Accepted.from_dict({"unit": planned.unit, **planned.content})


ACCEPT = _Accept()

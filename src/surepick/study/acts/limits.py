"""How much may be measured, changed while a study is under way.

A link says which limits hold from then on: for all batches that were asked for later. The study may
go on by that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from surepick.errors import InvalidInputError
from surepick.run.changes import NONE, Limits
from surepick.storage.contract import Transaction
from surepick.storage.records import Link
from surepick.study.acts.base import Act, Changing, Field, Record, Scene, Step, Who
from surepick.study.pulls import said_by
from surepick.study.traffic.rules import sends_traffic
from surepick.text import plural

LIMITED = "limited"


@dataclass(frozen=True)
class LimitChange(Record):
    """What may be measured from then on.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["red", "blue"])
    >>> study = sp.create_study("paints", problem, storage="memory://")
    >>> study.limit(budget=300, reason="the rest of the money").said
    'At most 1,000,000 measurements; budget 300.'
    """

    max_samples: int | None
    budget: float | None
    asked: int  #: batches that had been asked for by then
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was done with; None: on this machine

    @property
    def said(self) -> str:
        """The limits, as a sentence."""
        parts = []
        if self.max_samples is not None:
            parts.append(f"at most {plural(self.max_samples, 'measurement')}")
        if self.budget is not None:
            parts.append(f"budget {self.budget:,.12g}")
        text = "; ".join(parts) or "no limit"
        return f"{text[0].upper()}{text[1:]}."

    @property
    def change(self) -> dict[str, Any]:
        """As a run keeps it, and a certificate lists it."""
        limits = Limits(self.max_samples, self.budget)._asdict()
        who = said_by(self.by, self.token)
        return {"asked": self.asked, **limits, "reason": self.reason, "by": who, "at": self.at}


def read(tx: Transaction, study: int) -> list[LimitChange]:
    """All changes of a study's limits, in order."""
    return [LimitChange.from_dict(json.loads(one.content)) for one in tx.links(study, [LIMITED])]


class _Limit(Changing):
    change = LimitChange
    kind, link = "limit", LIMITED
    short = "Change how much may be measured."
    about = (
        "Change how many measurements there may be, and what they may cost, in all. What was asked "
        "for is measured in any case. A study that has ended because a limit was reached goes on, "
        "if the new one is higher. The guarantee does not depend on it."
    )
    fields = (
        Field(
            "max_samples",
            int | Literal["none"],
            "Total number of measurements; none takes the limit away.",
            None,
            {"minimum": 1},
        ),
        Field(
            "budget",
            float | Literal["none"],
            "Total cost of measurements; none takes the limit away.",
            None,
            {"exclusiveMinimum": 0},
            example=500,
        ),
    )

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        given = self.filled(given)
        if given["max_samples"] is None and given["budget"] is None:
            raise InvalidInputError("max_samples, budget: say which limit to change")
        return given

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Change limits; the same act again (its answer was lost, perhaps) changes nothing."""
        run, at = scene.run()
        made = scene.storage.read(lambda tx: read(tx, scene.record.id))
        if made and run.limits.but(**given) == run.limits:
            last = made[-1]
            if Who(last.reason, last.by, last.token) == who:
                return self.done(last.to_dict(), who, last.at)
        asked, new = run.asked, run.limit(**given)
        change = LimitChange(*new, asked, at.now, who.by, who.reason, who.token)
        run.limit_changes[-1] = change.change
        if not run.stopped and not sends_traffic(scene.record):
            run.ask()  # it may have ended, and goes on
        return Step(at, change.to_dict(), run, at.finished and run.stopped)

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return LimitChange.from_dict(content).to_dict()


LIMIT = _Limit()


def as_sent(value: Any) -> Any:
    """A limit as JSON has it, which knows no infinity."""
    return NONE if value == float("inf") else value

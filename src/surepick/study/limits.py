"""Limits of a study that were changed while it was under way.

Such acts are links of the study's chain: each says which limits hold from then on, who said so,
when and why. They hold for all batches that were asked for later.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from surepick.run import Run
from surepick.run.limits import Limits
from surepick.storage.contract import Transaction
from surepick.study.pulls import said_by
from surepick.text import plural

LIMITED = "limited"


@dataclass(frozen=True)
class LimitChange:
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

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self)


def read(tx: Transaction, study: int) -> list[LimitChange]:
    """All changes of a study's limits, in order."""
    names = LimitChange.__dataclass_fields__
    found = [json.loads(link.content) for link in tx.links(study, [LIMITED])]
    return [LimitChange(**{name: content[name] for name in names}) for content in found]


def status_of(run: Run, samples: int, cost: float) -> dict[str, Any]:
    """What is spent and what is left; of measurements that were told, counted or not yet."""
    most, budget = run.limits
    return {
        "max_samples": most,
        "samples_left": None if most is None else max(0, most - samples),
        "budget": budget,
        "spent": cost,
        "left": None if budget is None else max(0.0, budget - cost),
        "in_money": run.problem.costs is not None,
    }

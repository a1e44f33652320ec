"""Options that were added to a study, or retired, while it was under way.

These acts are links of the study's chain: each says what was added or retired, who did it, when and
why. They take effect when the block of measurements that is open is complete.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from surepick.run import Run
from surepick.run.option_changes import ADDED, RETIRED
from surepick.storage.contract import Transaction
from surepick.storage.records import Link
from surepick.study.pulls import said_by

KINDS = (ADDED, RETIRED)


@dataclass(frozen=True)
class OptionChange:
    """Options that came or went.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["red", "blue"])
    >>> study = sp.create_study("colours", problem, storage="memory://")
    >>> study.add(["green"], reason="the new catalogue").said
    'Added: green. It comes with the next batch.'
    """

    change: str  #: "added" or "retired"
    labels: tuple[str, ...]
    asked: int  #: the batch that was open at the time
    waits: bool  #: whether it was open, and had to be finished first
    at: float  #: the database's clock
    by: str | None  #: who did it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was done with; None: on this machine

    @property
    def said(self) -> str:
        """What was done, as a sentence or two."""
        names = ", ".join(self.labels[:10])
        if len(self.labels) > 10:
            names += f" and {len(self.labels) - 10} more"
        one = len(self.labels) == 1
        if self.change == ADDED:
            after = f" {'It comes' if one else 'They come'} with the next batch."
            return f"Added: {names}.{after if self.waits else ''}"
        after = " The open batch is finished first." if self.waits else ""
        return f"Retired: {names}.{after}"

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self) | {"labels": list(self.labels)}


class Act:
    """One link: what is done to a run."""

    def __init__(self, content: dict[str, Any], kind: str) -> None:
        self.content, self.kind = content, kind

    @property
    def asked(self) -> int:
        """The batch that was open."""
        return self.content["asked"]

    @property
    def waits(self) -> bool:
        """Whether it was open, so that this came after it."""
        return self.content["waits"]

    def apply(self, run: Run) -> None:
        """Do it; a run that has a batch open does it later."""
        content = self.content
        who = said_by(content["by"], content["token"])
        said = {"reason": content["reason"], "by": who, "at": content["at"]}
        if self.kind == ADDED:
            own = {"noise": content["noise"], "costs": content.get("costs")}
            run.add(content["rows"], content["labels"], **own, **said)
        else:
            run.retire(content["labels"][0], **said)

    @property
    def change(self) -> OptionChange:
        """What there is to say of it."""
        own = {name: self.content[name] for name in ("asked", "waits", "at", "by", "reason")}
        labels = tuple(self.content["labels"])
        return OptionChange(self.kind, labels, token=self.content["token"], **own)


def read(tx: Transaction, study: int) -> list[Act]:
    """All acts of a study, in order."""
    return [of_link(link) for link in tx.links(study, KINDS)]


def of_link(link: Link) -> Act:
    """The act that a link is about."""
    return Act(json.loads(link.content), link.kind)


def grown_columns(columns: dict[str, list[Any]], acts: Sequence[Act]) -> dict[str, list[Any]]:
    """The cells of the study's table, with those of all newcomers behind them."""
    found = {name: list(cells) for name, cells in columns.items()}
    for act in acts:
        for name, cells in act.content.get("cells", {}).items():
            found[name] += cells
    return found

"""Rewards that were corrected or withdrawn after they were told.

These acts are links of the study's chain: each says for every pull what was told, what counts
instead (nothing, where it was withdrawn), who changed it, when and why. What counts now is in the
log of tells.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from surepick.storage.contract import Transaction
from surepick.storage.records import Link, Tell
from surepick.study.pulls import said_by

CORRECTED, WITHDRAWN = "corrected", "withdrawn"
KINDS = (CORRECTED, WITHDRAWN)

#: what to know about it, for users
CAUTION = (
    "The guarantee stands if you would have made this change whatever the reading had been. For "
    "example, you checked every reading of one day, one device or one list, or every reading that "
    "was pointed out, and corrected what had been written down wrongly. Measuring again because a "
    "reading looks wrong is different: it needs a rule from the start (surepick new … --again)."
)


@dataclass(frozen=True)
class Change:
    """What became of a reward after it was told.

    Examples
    --------
    >>> import surepick as sp
    >>> study = sp.create_study("changed", sp.Problem([[1.0], [2.0]]), storage="memory://")
    >>> (pull,) = study.ask()
    >>> _ = study.tell(pull.id, 42.0)
    >>> change = study.correct(pull.id, 4.2, reason="the point was forgotten")
    >>> change.old, change.new, change.counted
    (42.0, 4.2, False)
    """

    pull: int
    arm: int
    batch: int  #: the batch that the pull belongs to
    asked: int  #: the batch that was open, and so the last that was asked for, at the time
    old: float | None  #: the reward before; None: it had been withdrawn
    new: float | None  #: the reward that counts from now on; None: it was withdrawn
    at: float  #: the database's clock
    by: str | None  #: who changed it, if that was said
    reason: str
    token: str | None = None  #: id of the token it was changed with; None: on this machine
    stratum: str | None = None  #: the day, plate, … of the pull

    @property
    def counted(self) -> bool:
        """Whether its batch was complete: then everything was worked out again."""
        return self.batch < self.asked

    @property
    def said(self) -> str:
        """What was done, as a sentence."""
        if self.new is not None:
            before = (
                " (it was withdrawn before)" if self.old is None else f" instead of {self.old:g}"
            )
            return f"Pull {self.pull}: {self.new:g} now counts{before}."
        again = "" if self.counted else "; the pull will be handed out again"
        return f"Pull {self.pull}: {self.old:g} no longer counts{again}."

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return asdict(self) | {"counted": self.counted}

    def certified(self, skipped: Sequence[int]) -> dict[str, Any]:
        """As certificates list it, which do not have the batches of these numbers."""
        names = ("pull", "arm", "old", "new", "at", "reason")
        who = said_by(self.by, self.token)
        batch, asked = (n - sum(one < n for one in skipped) for n in (self.batch, self.asked))
        own = {name: getattr(self, name) for name in names}
        own["batch"] = None if self.batch in skipped else batch
        return own | {"asked": asked, "by": who}


def read(tx: Transaction, study: int) -> list[Change]:
    """All changes of a study, in order."""
    return [one for link in tx.links(study, KINDS) for one in of_link(link)]


def of_link(link: Link) -> list[Change]:
    """The changes that a link of the chain is about."""
    content = json.loads(link.content)
    return [
        Change(
            one["pull"],
            one["arm"],
            one["batch"],
            content["asked"],
            None if one["was"] is None else one["was"][0],
            one["now"],
            link.at,
            content["by"],
            content["reason"],
            content["token"],
            one["stratum"],
        )
        for one in content["changes"]
    ]


def content_of(
    changes: Sequence[Change], tells: dict[int, Tell], effect: dict[str, Any]
) -> dict[str, Any]:
    """What the link of an act says; ``tells`` are the rewards as they were."""
    first = changes[0]
    return {
        "asked": first.asked,
        "by": first.by,
        "token": first.token,
        "reason": first.reason,
        "changes": [
            {
                "pull": one.pull,
                "arm": one.arm,
                "batch": one.batch,
                "stratum": one.stratum,
                "was": _told(tells.get(one.pull)),
                "now": one.new,
            }
            for one in changes
        ],
        **effect,
    }


def _told(tell: Tell | None) -> list[Any] | None:
    return None if tell is None else [tell.value, tell.worker, tell.at, tell.token]


def undone(rows: dict[int, Tell], contents: Iterable[dict[str, Any]]) -> dict[int, Tell] | None:
    """The rewards as they were before these acts, newest first; None where they do not fit."""
    rows = dict(rows)
    for content in contents:
        for one in reversed(content["changes"]):
            pull, there = one["pull"], rows.pop(one["pull"], None)
            if (None if there is None else there.value) != one["now"]:
                return None
            if one["was"] is not None:
                value, worker, at, token = one["was"]
                rows[pull] = Tell(pull, one["arm"], value, worker, at, token, one["stratum"])
    return rows

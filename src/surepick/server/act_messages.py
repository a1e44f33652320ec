"""What is answered about acts: in one form for all, and as the addresses of 0.2 answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from surepick.server.models import Answered


class ActRow(Answered):
    """Something that was done to a study."""

    kind: str
    at: float
    by: str | None
    reason: str
    token: str | None = Field(description="Id of the token that was used.")
    said: str = Field(description="What was done, in words.")
    details: dict[str, Any]


class ActDone(Answered):
    """What was done; null if nothing had to be."""

    act: ActRow | None


class ActList(Answered):
    """What was done to a study, in order."""

    acts: list[ActRow]


# -- as 0.2 answers -------------------------------------------------------------------------
class Paused(Answered):
    """Whether something had to be changed."""

    changed: bool


class ChangeRow(Answered):
    """What became of a reward after it was told."""

    pull: int
    arm: int
    batch: int
    asked: int = Field(description="The batch that was open at the time.")
    old: float | None = Field(description="Null if the reward had been withdrawn.")
    new: float | None = Field(description="Null if the reward was withdrawn.")
    at: float
    by: str | None
    reason: str
    token: str | None = Field(description="Id of the token that made the change.")
    counted: bool = Field(description="Whether everything was recomputed.")


class ChangeList(Answered):
    """Rewards that were corrected or withdrawn."""

    changes: list[ChangeRow]


class OptionChangeRow(Answered):
    """Options that came or went."""

    change: Literal["added", "retired"]
    labels: list[str]
    asked: int = Field(description="The batch that was open at the time.")
    waits: bool = Field(description="Whether that batch had to be finished first.")
    at: float
    by: str | None
    reason: str
    token: str | None = Field(description="Id of the token that was used.")


class OptionChangeList(Answered):
    """All of them, in order."""

    changes: list[OptionChangeRow]


class LimitChangeRow(Answered):
    """What may be measured from then on."""

    max_samples: int | None
    budget: float | None
    asked: int = Field(description="Batches that had been asked for at the time.")
    at: float
    by: str | None
    reason: str
    token: str | None = Field(description="Id of the token that was used.")


class LimitChangeList(Answered):
    """All of them, in order."""

    changes: list[LimitChangeRow]


class RecordedOf(Answered):
    """What became of a report."""

    period: str
    status: Literal["accepted", "duplicate", "checked"]
    visits: int
    left: int = Field(description="Options that are still in.")
    finished: bool


class ReportRow(Answered):
    """What became of one row of a report."""

    arm: int
    label: str
    bucket: int | None = Field(description="Of reports by bucket; or the number of the segment.")
    segment: str | None
    old: list[float] = Field(description="Visits, sum, and perhaps the sum of squares.")
    new: list[float]


class ReportChangeRow(Answered):
    """What became of a report after it was recorded."""

    period: str
    number: int
    asked: int = Field(description="Number of periods that had shares at the time.")
    rows: list[ReportRow]
    at: float
    by: str | None
    reason: str
    token: str | None = Field(description="Id of the token that made the change.")


class ReportChangeList(Answered):
    """Reports that were corrected."""

    changes: list[ReportChangeRow]

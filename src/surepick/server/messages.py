"""What workers and holders of tokens send and get; see also :mod:`surepick.server.models`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from surepick.server.models import Answered, Finite, Name, SheetBody, example
from surepick.study.pulls import Told

Pull = Annotated[int, Field(ge=0, lt=2**62)]


# -- work -----------------------------------------------------------------------------------
class AskBody(BaseModel):
    """A worker asks for pulls."""

    model_config = example(n=1, worker="lab-1", lease=300, wait=20)

    n: Annotated[int, Field(ge=1, le=10_000)] = 1
    worker: Name | None = Field(
        None, description="Your name. If you ask again, you first get the pulls you still hold."
    )
    lease: Annotated[Finite, Field(gt=0, le=1e9)] = Field(
        300.0, description="Seconds until the pulls may be given to others."
    )
    wait: Annotated[Finite, Field(ge=0, le=30)] = Field(
        0.0, description="Seconds to wait for a first pull if there is none now."
    )
    stratum: Name | None = Field(
        None, description="In a study with strata: the plate, operator, … for these pulls."
    )
    same: bool = Field(
        False, description="Pulls of one option only, as many as the open batches have of it."
    )


class PullOut(Answered):
    """A measurement to make."""

    id: int
    arm: int
    label: str
    attempt: int
    stratum: str | None = Field(None, description="The day, plate, … that the pull belongs to.")
    item: int | None = Field(None, description="The item to measure the option on.")
    features: dict[str, Any] = Field({}, description="The option's row of the table.")


class AskReply(Answered):
    """What to measure."""

    pulls: list[PullOut]
    finished: bool


class RewardBody(BaseModel):
    """The reward of a pull."""

    model_config = example(pull=0, reward=0.25)

    pull: Pull
    reward: Finite
    label: str | None = Field(
        None,
        max_length=2_000,
        description="The option that was measured; refused if the pull was for another one.",
    )


class TellBody(BaseModel):
    """A worker tells rewards: all are recorded, or none."""

    model_config = example(rewards=[{"pull": 0, "reward": 0.25}], worker="lab-1")

    rewards: Annotated[list[RewardBody], Field(max_length=10_000)]
    worker: Name | None = None
    strict: bool = Field(False, description="Refuse rewards that are far from all earlier ones.")


class ToldAll(Answered):
    """What became of the rewards."""

    told: list[Told]


class Fail(BaseModel):
    """A worker could not measure a pull."""

    model_config = example(pull=0, reason="the sensor was off", worker="lab-1")

    pull: Pull
    reason: str = Field("", max_length=2_000)
    worker: Name | None = None


class Failed(Answered):
    """Whether the pull is back in line."""

    returned: bool


# -- corrections ----------------------------------------------------------------------------
Reason = Annotated[str, Field(min_length=1, max_length=2_000)]


class Correction(BaseModel):
    """A reward that was told wrongly."""

    model_config = example(pull=0, reward=4.2, reason="the point was forgotten", by="ann")

    pull: Pull
    reward: Finite = Field(description="The correct reward.")
    reason: Reason = Field(description="Reason; shown in the certificate.")
    by: Name | None = None


class Withdrawal(BaseModel):
    """Rewards that do not count: that of one pull, or all that came with one token."""

    model_config = example(pull=0, reason="the sensor was broken", by="ann")

    pull: Pull | None = None
    token: Annotated[str, Field(min_length=1, max_length=16)] | None = Field(
        None, description="Instead of a pull: the id of a token."
    )
    reason: Reason
    by: Name | None = None


class Said(BaseModel):
    """Who pauses, resumes or stops a study, and why."""

    model_config = example(reason="over the weekend", by="ann")

    reason: str = Field("", max_length=2_000)
    by: Name | None = None


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


# -- traffic --------------------------------------------------------------------------------
class SplitBody(BaseModel):
    """A site asks by which shares to send visitors."""

    model_config = example(visits=10_000)

    visits: Annotated[int, Field(ge=1, lt=10**12)] | None = Field(
        None, description="Also give whole numbers for this many visits."
    )
    period: Name | None = Field(
        None, description="Name of the period; a new name starts a new period."
    )


class SplitOf(Answered):
    """Shares of a period."""

    number: int
    period: str | None
    shares: dict[str, float] = Field(description="By label; they sum to 1.")
    visits: dict[str, int] | None
    since: float
    csv: str = Field(description="The shares as a table: label, share, and visits if requested.")


class RecordBody(BaseModel):
    """A site reports a period: by label, or as a table."""

    model_config = example(period="monday", report={"a": [1000, 12], "b": [990, 17]})

    period: Name
    report: dict[str, Any] | None = Field(
        None,
        description="For each label [visits, sum]; with bounded rewards [visits, sum, squares]; "
        "with numbers of unknown scale an object of [visits, sum] by bucket.",
    )
    table: SheetBody | None = Field(None, description="Instead: a table with these columns.")
    check: bool = Field(False, description="Only check whether the report could be recorded.")


class RecordedOf(Answered):
    """What became of a report."""

    period: str
    status: Literal["accepted", "duplicate", "checked"]
    visits: int
    left: int = Field(description="Options that are still in.")
    finished: bool


class ReportCorrection(BaseModel):
    """A report that was wrong: what really came of the period."""

    model_config = example(
        period="monday", report={"a": [990, 12], "b": [980, 17]}, reason="bots", by="ann"
    )

    period: Name
    report: dict[str, Any] | None = Field(
        None, description="In the same form as for recording a period."
    )
    table: SheetBody | None = Field(None, description="Instead: a table.")
    reason: Reason = Field(description="Reason; shown in the certificate.")
    by: Name | None = None


class ReportRow(Answered):
    """What became of one row of a report."""

    arm: int
    label: str
    bucket: int | None
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


# -- access ---------------------------------------------------------------------------------
class LogIn(BaseModel):
    """Logging in on the page."""

    model_config = example(token="sp_…")

    token: Annotated[str, Field(min_length=1, max_length=200)]


class Session(Answered):
    """A login of the page."""

    role: str
    studies: list[str] | None
    csrf: str | None


class NewToken(BaseModel):
    """A token to be made."""

    model_config = example(role="worker", studies=["layouts"], expires_in=86400)

    role: Literal["admin", "worker", "viewer"]
    studies: Annotated[list[Name], Field(min_length=1, max_length=1000)] | None = None
    expires_in: Annotated[Finite, Field(gt=0, le=1e10)] | None = Field(
        None, description="Seconds; never by default."
    )
    note: str = Field("", max_length=200, description="Who the token is for.")


class TokenRow(Answered):
    """What is known about a token."""

    id: str
    role: str
    studies: list[str] | None
    created: float
    expires: float | None
    note: str


class TokenList(Answered):
    """All tokens; never the secrets."""

    tokens: list[TokenRow]


class TokenMade(TokenRow):
    """A new token; the secret is shown only here."""

    token: str


class Health(Answered):
    """That the service runs."""

    status: Literal["ok"]


# -- what was told -----------------------------------------------------------------------------
class RewardColumns(Answered):
    """Every reward that counts, as columns, in the order of the pulls."""

    pulls: list[int]
    arms: list[int]
    values: list[float]
    times: list[float]
    strata: list[str] | None = Field(
        None, description="The stratum of each pull, if there are strata."
    )


class EventRow(Answered):
    """Something said about a pull that changes no estimate."""

    pull: int
    arm: int
    kind: str
    worker: str | None
    value: float | None
    note: str
    at: float
    token: str | None = Field(None, description="Id of the token that sent it.")
    count: int = Field(1, description="How often; repeats are counted.")


class EventLog(Answered):
    """What else was said; ``next`` is what to ask for after this."""

    events: list[EventRow]
    next: int

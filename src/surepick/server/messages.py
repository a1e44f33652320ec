"""What workers and holders of tokens send and get; see also :mod:`surepick.server.models`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from surepick.server.models import Answered, Finite, Name, example
from surepick.study.pulls import Told

Pull = Annotated[int, Field(ge=0, lt=2**62)]


# -- work -----------------------------------------------------------------------------------
class AskBody(BaseModel):
    """A worker asks for measurements."""

    model_config = example(n=1, worker="lab-1", lease=300, wait=20)

    n: Annotated[int, Field(ge=1, le=10_000)] = 1
    worker: Name | None = Field(
        None, description="Your name. If you ask again, you first get what you still hold."
    )
    lease: Annotated[Finite, Field(gt=0, le=1e9)] = Field(
        300.0, description="Seconds until the measurements may be given to others."
    )
    wait: Annotated[Finite, Field(ge=0, le=30)] = Field(
        0.0, description="Seconds to wait for a first measurement if there is none now."
    )
    stratum: Name | None = Field(
        None, description="In a study with strata: the plate, operator, … for these measurements."
    )
    request: Annotated[str, Field(min_length=1, max_length=64)] | None = Field(
        None,
        description="An id of this ask, new for each and the same when it is repeated because its "
        "answer was lost: then it gives the same measurements, and none counts as measured again.",
    )
    same: bool = Field(
        False, description="Of one option only, as many as the open batches have of it."
    )


class Thing(Answered):
    """A part of what a judge sees of an option."""

    name: str = Field(description="The column that it comes from.")
    kind: Literal["text", "file", "picture", "link"] = Field(
        description="A file is a picture that came with the study; a picture is one of another "
        "site that may be shown."
    )
    content: str


class Shown(Answered):
    """What a judge sees: of the one that comes first, of the second, and the same for both."""

    both: list[Thing]
    first: list[Thing]
    second: list[Thing]


class PullOut(Answered):
    """A measurement to make."""

    id: int
    arm: int | None = Field(None, description="Judges are not told which options they compare.")
    label: str | None = None
    attempt: int
    stratum: str | None = Field(None, description="The day, plate, … that it belongs to.")
    item: int | None = Field(None, description="The item to measure the option on.")
    first: str | None = Field(
        None, description="Where two options are compared: the one to show first."
    )
    second: str | None = Field(None, description="And the one to show second.")
    features: dict[str, Any] = Field({}, description="The option's row of the table.")
    shown: Shown | None = Field(
        None, description="Where two options are compared: what a judge sees of them."
    )


class CanaryOf(Answered):
    """A cell of a complete table that is to be measured once more, where one is due."""

    pulls: list[PullOut]


class AskReply(Answered):
    """What to measure."""

    pulls: list[PullOut]
    finished: bool


#: which of two options is better, in words
Better = Annotated[str, Field(max_length=10_000)]


class RewardBody(BaseModel):
    """The reward of a measurement."""

    model_config = example(pull=0, reward=0.25)

    pull: Pull
    reward: Finite | Better = Field(
        description="A number; where two options are compared, the label of the better one or tie."
    )
    numbers: dict[str, Finite] | None = Field(
        None,
        max_length=100,
        description="Further numbers of the measurement by their names, where the study has such.",
    )
    label: str | None = Field(
        None,
        max_length=2_000,
        description="The option that was measured; refused if the measurement was for another one.",
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
    """A worker could not make a measurement."""

    model_config = example(pull=0, reason="the sensor was off", worker="lab-1")

    pull: Pull
    reason: str = Field("", max_length=2_000)
    worker: Name | None = None
    final: bool = Field(
        False,
        description="It cannot be measured at all. Where a finite table is filled in it then "
        "counts as the worst score, and is listed with the answer.",
    )


class Failed(Answered):
    """Whether the measurement is back in line, or counts as the worst score."""

    returned: bool


class Keep(BaseModel):
    """Workers say which measurements they are still making."""

    model_config = example(held={"lab-1": [0]}, lease=30)

    held: Annotated[
        dict[Name, Annotated[list[Pull], Field(max_length=1_000)]], Field(max_length=1_000)
    ] = Field(description="The numbers of the measurements, by the names of their workers.")
    lease: Annotated[Finite, Field(gt=0, le=1e9)] = Field(
        300.0, description="Seconds from now until they may be given to others."
    )


class Kept(Answered):
    """Who has which measurements now, of those who came with the same token."""

    held: dict[str, list[int]]


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


class PeriodOf(Answered):
    """A period that has its shares."""

    number: int
    period: str | None
    since: float = Field(description="When its shares were stored, in seconds.")
    until: float = Field(description="When it ended; if it is still running, now.")
    shares: dict[str, float] = Field(description="By label.")
    recorded: bool
    window: float = Field(description="Seconds that visitors have to respond.")


class PeriodsOf(Answered):
    """All periods of a study, in order."""

    periods: list[PeriodOf]


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

    role: Literal["admin", "worker", "viewer", "judge"]
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
    """Every reward that counts, as columns, in the order of the measurements."""

    pulls: list[int]
    arms: list[int]
    values: list[float]
    times: list[float]
    strata: list[str] | None = Field(
        None, description="The stratum of each measurement, if there are strata."
    )
    numbers: list[str] | None = Field(
        None, description="Further numbers of each measurement as JSON, if there are any."
    )


class EventRow(Answered):
    """Something said about a measurement that changes no estimate."""

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


# -- acts ------------------------------------------------------------------------------------
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

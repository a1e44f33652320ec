"""What requests and answers look like; the OpenAPI description is made from this.

It is one file because what a study is made from and what is said of it are read together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, create_model

from surepick.study.settings import Setting, known
from surepick.study.spec import MISFIT, NOISE

Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Matrix = list[list[Finite]]
Cell = str | bool | int | Finite | None
Probability = Annotated[float, Field(gt=0, lt=1)]
_TABLE = "label,price,colour\na,1,red\nb,2,blue\nc,3,red\nd,4,blue\n"


def example(**example: Any) -> ConfigDict:
    """Settings of a request's body: exact types, no unknown fields, and an example."""
    return ConfigDict(strict=True, extra="forbid", json_schema_extra={"examples": [example]})


class Answered(BaseModel):
    """An answer; programs should expect fields that are new to them."""

    model_config = ConfigDict(extra="allow")


class ErrorBody(BaseModel):
    """Why a request was refused."""

    kind: str = Field(description="Name of the error, as in surepick.errors.")
    message: str


class Refusal(BaseModel):
    """The answer to a request that was refused."""

    error: ErrorBody


# -- tables ---------------------------------------------------------------------------------
class SheetBody(BaseModel):
    """A table: the text of a CSV file, or columns of cells."""

    model_config = example(csv=_TABLE)

    csv: str | None = Field(None, description="Column names, then one line per option.")
    columns: dict[str, list[Cell]] | None = Field(None, description="The cells, instead of csv.")
    index: list[str] | None = Field(None, description="Labels of the rows, with columns.")
    source: str = Field("", max_length=500, description="Name of the file.")


class TableBody(SheetBody):
    """A table of options, and what in it describes them."""

    model_config = example(csv=_TABLE, features=["price", "colour"])

    features: list[str] | str | None = Field(
        None, description="Columns; all but the label by default."
    )
    formula: str | None = Field(None, description="Instead: 'price + C(colour)*C(layout)'.")
    unstructured: bool = Field(False, description="Use no features at all.")
    label: str | None = Field(None, description="Column with the names of the options.")
    cost: str | None = Field(None, description="Column with the cost of measuring each option.")


Misfit = Finite | str | None


class PlanRequest(TableBody):
    """What to forecast."""

    model_config = example(csv=_TABLE, features=["price"], gap=0.5, noise=0.5, trials=2)

    rewards: Annotated[str, Field(max_length=100)] | None = Field(
        None,
        description="What a measurement gives: yes-no, LO..HI, symmetric, any, …; by default any, "
        "or symmetric where features are trusted.",
    )
    gap: Annotated[Finite, Field(gt=0)] | None = Field(
        None, description="Lead of the best option that should be detected; not for yes-no."
    )
    base_rate: Probability | None = Field(
        None, description="For yes-no: how often the second best option says yes."
    )
    lift: Annotated[Finite, Field(gt=0)] | None = Field(
        None,
        description="For yes-no: how much more often the best option says yes; 0.2 means 20 % "
        "more often (less often where smaller is better).",
    )
    minimise: bool = Field(False, description="Smaller is better.")
    noise: Annotated[Finite, Field(gt=0)] | None = Field(
        None,
        description="How much repeated measurements of one option differ; 1, or a quarter of LO..HI"
        " by default.",
    )
    noise_is: Literal["guessed", "equal", "known"] = Field(
        "guessed", description="What the study will know about the noise."
    )
    misfit: Misfit = Field(None, description=MISFIT + " 'any' by default.")
    delta: Probability = 0.05
    trials: Annotated[int, Field(ge=2, le=200)] = 30


class TableColumn(Answered):
    """A column of a table."""

    name: str
    kind: Literal["number", "text"]
    levels: int = Field(description="Different values.")
    examples: list[str]
    missing: int
    feature: bool = Field(
        description="Whether the column describes an option, unlike a name or an id."
    )


class TableSummary(Answered):
    """What would become of the table."""

    options: int
    features: list[str]
    rank: int
    notes: list[str]


class TableContent(Answered):
    """What is in a table."""

    columns: list[TableColumn]
    label: str | None = Field(description="The column that names the options, if one does.")
    rows: int
    problem: TableSummary | None
    error: str | None


class PlanOf(Answered):
    """A forecast, as ``surepick plan --json`` prints it."""

    forecast: list[dict[str, Any]]
    notes: list[str]
    files: list[str]


# -- studies --------------------------------------------------------------------------------
class Bounds(BaseModel):
    """Rewards that lie between two numbers."""

    model_config = example(low=0, high=10)
    low: Finite
    high: Finite
    most: Finite | None = Field(
        None, description="Where given: rewards up to this (null: however large) count as `high`."
    )


# What is known about the noise; which texts there are is checked by ``StudySpec``.
Noise = Finite | str | Bounds | list[Finite] | None


class ProblemBody(BaseModel):
    """Options as features."""

    model_config = example(arms=[[1, 0], [0, 1], [0.8, 0.6]], labels=["a", "b", "mix"])

    arms: Matrix
    candidates: Matrix | None = None
    labels: list[str] | None = None
    candidate_labels: list[str] | None = None
    noise: Noise = Field(
        None, description=NOISE + " By default 'symmetric', or 'any' where features only guide."
    )
    misfit: Misfit = Field(None, description=MISFIT + " 0 by default.")
    costs: list[Finite] | None = Field(None, description="The cost of measuring each option.")
    minimise: bool = Field(False, description="Smaller rewards are better.")
    numbers: dict[str, Any] | None = Field(
        None, description="Further numbers of a measurement by their names, and what each is."
    )


#: files by name: texts, and pictures as data URLs
FilesBody = dict[str, str]


class TrafficBody(BaseModel):
    """Rules of a site's traffic."""

    model_config = example(at_least="5%", control="a", control_share="20%", window="7d")

    at_least: Finite | str | list[Finite | str] = Field(
        0.0,
        description="Smallest share of an option that is still in, such as 5%; how long the test "
        "runs at least, such as 7d; or both.",
    )
    lasts: Finite | str = Field(0.0, description="How long it runs at least, by itself: 7d.")
    control: str | None = Field(None, description="Label of the option that always keeps a share.")
    control_share: Finite | str | None = Field(None, description="Smallest share of the control.")
    window: Finite | str = Field(0.0, description="Time to respond: seconds, or a text such as 7d.")


def checked(**limits: Any) -> Any:
    """Limits that are described here and checked by what the values are for."""
    return Field(json_schema_extra=limits)


_TYPES: dict[str, Any] = {
    "number": Finite,
    "integer": int,
    "string": str,
    "boolean": bool,
    "object": dict[str, Any],
    "array": list[Any],
}
_INSIDE = ("type", "items", "additionalProperties")


def _type_of(schema: Mapping[str, Any]) -> Any:
    """The type of a setting's values; ``StudySpec`` checks them, and says what is wrong."""
    if "anyOf" in schema:
        found = _type_of(schema["anyOf"][0])
        for one in schema["anyOf"][1:]:
            found |= _type_of(one)
        return found
    if "$ref" in schema:
        return globals()[schema["$ref"]]
    found = _TYPES[schema["type"]]
    if "items" in schema:
        found = list[_type_of(schema["items"])]
    elif "additionalProperties" in schema:
        found = dict[str, _type_of(schema["additionalProperties"])]
    limits = {key: value for key, value in schema.items() if key not in _INSIDE}
    return Annotated[found, checked(**limits)] if limits else found


def _taken(setting: Setting) -> Any:
    found, said = _type_of(setting.schema), setting.helped()
    if setting.required:
        return found, Field(description=said)
    nullable = setting.default is None or setting.empty
    return (found | None if nullable else found), Field(setting.default, description=said)


class NewStudy(
    create_model("Settings", **{name: _taken(setting) for name, setting in known().items()})
):
    """A study to be created: the fields of ``surepick.study.StudySpec``, which checks them."""

    model_config = example(
        name="layouts", table={"csv": _TABLE, "features": ["price"]}, noise="yes-no", delta=0.05
    )

    source: str = Field("", max_length=500, description="Where the table comes from.")
    key: str | None = Field(
        None,
        max_length=100,
        description="A text of your choice; a request with the same text counts as a repetition.",
    )


class SettingOf(Answered):
    """A setting that people are asked for."""

    name: str
    question: str
    hint: str
    kind: str = Field(description="The type that its JSON schema names: number, boolean, ….")
    default: Any
    choices: list[tuple[Any, str]] = Field(description="Values and their words; none: any value.")
    empty: str = Field(description="What it means to say nothing; nothing: the default is shown.")
    traffic: bool | None = Field(
        description="Whether it is asked for only in traffic studies (true), only elsewhere "
        "(false), or everywhere."
    )
    pairs: bool | None = Field(
        description="Whether it is asked for only where options are compared two at a time (true), "
        "only elsewhere (false), or everywhere."
    )
    first: bool = Field(description="Whether it is asked for at once, not among further settings.")
    refused: dict[str, str] = Field(
        description="Of which shapes of data it cannot be asked, and why: table, pairs, …."
    )


class RewardsOf(Answered):
    """What a measurement may give, where one word says it."""

    noise: str
    words: str


class SettingsOf(Answered):
    """What people are asked about a new study, besides its options."""

    settings: list[SettingOf]
    rewards: list[RewardsOf]


class BatchOf(Answered):
    """The open batch of a study, with those that were begun ahead of it."""

    number: int
    size: int
    told: int
    leased: int
    waiting: int
    ahead: int = Field(0, description="How many of these belong to later batches.")


class Limits(Answered):
    """How much may be measured, and what is left of it; None: no limit."""

    max_samples: int | None
    samples_left: int | None
    budget: float | None
    spent: float = Field(description="Total cost of the measurements; without costs, each costs 1.")
    left: float | None
    in_money: bool = Field(description="Whether options have costs.")
    cells: int | None = Field(description="All that a finite set of items has to measure.")


class Near(Answered):
    """Two options that are nearly equal, and what could be accepted."""

    options: list[str] = Field(description="The leader, and the one closest to it.")
    lead: float = Field(description="By how much it is ahead so far.")
    resolved: float = Field(description="The least lead that as much work again would tell.")
    further: int = Field(description="Measurements (or visits) that are as much work again.")
    epsilon: float = Field(description="What could be accepted from now on.")
    near: str = Field(description="The same in words.")
    refused: str = Field(description="Why that is not possible here; empty where it is.")
    message: str


class PromiseOf(Answered):
    """What a study promises."""

    kind: str = Field(description="Kind of the guarantee; 'none' and 'heuristic' promise nothing.")
    text: str = Field(description="The promise in a sentence, without its conditions.")
    close: str = Field(description="What an option is that epsilon accepts; empty without epsilon.")
    others: str = Field(description="What options are then that are not ruled out.")


class Status(Answered):
    """A study at a glance."""

    name: str
    algorithm: str
    delta: float
    epsilon: float
    promise: PromiseOf
    finished: bool
    samples: int
    uncounted: int = Field(
        0, description="Once finished: rewards of a batch that was not complete."
    )
    cost: float | None = Field(None, description="The cost of these, if options have costs.")
    limits: Limits
    started_with: int = Field(description="Number of undecided options at the start.")
    survivors: list[int]
    survivor_labels: list[str]
    circle: list[str] = Field(
        [],
        description="Compared two at a time, where no option beats every other: options of which "
        "each is shown to beat the next one, and the last the first. Empty while none is known.",
    )
    leader: str | None
    labels: list[str]
    estimates: list[float | None] | None
    means: list[float | None]
    behind: list[float] | None
    standard_error: list[float] | None
    evidence: list[float] | None
    wins: list[float | None] | None = Field(
        None,
        description="Where the best is the option that usually wins: the share of direct "
        "comparisons that each option lost to the best, or seems to lose.",
    )
    pulls: list[int]
    failures: list[int]
    unmeasured: list[dict[str, Any]] = Field(
        [],
        description="Cells of a complete table that could not be measured and count as the worst "
        "score: label, item, reason.",
    )
    batch: BatchOf
    standing: dict[str, Any] = Field(
        description="What is known about every option, in columns: state, estimate, distance "
        "behind the best with its interval, and the p-value of “this option is the "
        "best”; with a baseline, the lift."
    )
    rewards: str = Field(description="What a measurement gives, in words.")
    pairs: bool = Field(description="Whether options are compared two at a time.")
    numbers: list[str] = Field(
        [], description="Further numbers that every measurement must have, as there are limits."
    )
    items: int | None = Field(description="How many items options are measured on, if any.")
    strata: str | None = Field(description="What days, plates, … are called; null: there are none.")
    options_change: bool = Field(description="Whether options can be added and retired.")
    noise: float | None
    noise_estimated: bool
    noise_stated: bool = Field(description="Whether somebody said how much measurements vary.")
    chain: dict[str, Any] | None = Field(description="Head of the chain of events.")
    revision: int = Field(description="Number of changes so far (rewards, options, stops).")
    retired: list[str] = Field(description="Options that were retired.")
    coming: list[str] = Field(description="Options that join with the next batch.")
    going: list[str] = Field(description="Options that are retired after this batch.")
    near: Near | None = Field(None, description="Options that are nearly equal, if any are.")
    paused: bool
    checks: dict[str, Any]
    warnings: list[str]
    traffic: dict[str, Any] | None = Field(
        None, description="For traffic studies: the morning summary."
    )


class Created(Answered):
    """A new study."""

    name: str
    notes: list[str] = Field(description="What was dropped or merged.")
    study: Status


class StudyRow(Answered):
    """A study in the list of studies."""

    name: str
    algorithm: str
    pairs: bool = Field(description="Whether options are compared two at a time.")
    delta: float | None
    options: int | None
    samples: int
    survivors: int | None
    finished: bool
    paused: bool
    measuring: bool = Field(description="Whether a worker or a website is measuring now.")
    answer: str | None
    created: float
    broken: str | None = Field(None, description="Why the study cannot be read.")


class StudyList(Answered):
    """All studies that the caller may see."""

    studies: list[StudyRow]


class Definition(Answered):
    """What a study was created with; arrays as surepick's own JSON writes them."""

    name: str
    algorithm: str
    settings: dict[str, Any]
    problem: dict[str, Any]
    meta: dict[str, Any]
    seed: int
    order_seed: int | None  #: of the order of pulls; null: visitors come in none
    created: float


class ProgressOf(Answered):
    """Where a study stands, in a few numbers."""

    batch: int
    first: int
    size: int
    asked: int
    told: int
    ahead: int
    early: int
    samples: int
    finished: bool
    paused: bool


class StandingOf(Answered):
    """How often an option won, where options are compared two at a time."""

    option: str
    state: str
    won: float = Field(description="Comparisons won; a tie counts half.")
    met: int
    share: float | None
    low: float = Field(description="Its average chance of winning lies between these two.")
    high: float
    strength: float | None = Field(
        description="A Bradley–Terry model's estimate, in log-odds: how far the option is ahead of "
        "the average one. It proves nothing."
    )
    strength_low: float | None
    strength_high: float | None


class JudgeOf(Answered):
    """What a judge said, in numbers."""

    name: str | None
    token: str | None = Field(description="Id of the token that was used.")
    comparisons: int
    first: int = Field(description="How often the one that was shown first was preferred.")
    second: int
    ties: int
    agreement: float | None = Field(description="With others, on the same two options.")
    shared: int = Field(description="Comparisons of two options that others compared, too.")
    prefers: Literal["first", "second"] | None = Field(
        description="The side that this judge seems to prefer, whatever is shown there."
    )
    said: str = Field(description="What that means, in words; empty where there is no such side.")


class AgreementOf(Answered):
    """How far judges say the same of the same two options."""

    share: float | None
    comparisons: int


class JudgementOf(Answered):
    """One comparison."""

    pull: int
    at: float
    judge: str | None
    token: str | None
    first: str
    second: str
    better: str | None = Field(description="None: a tie.")
    item: str | None


class JudgementsOf(Answered):
    """Who judged what, where options are compared two at a time."""

    comparisons: int
    options: list[str]
    won: list[list[float]] = Field(description="How often the row won against the column.")
    met: list[list[int]]
    standings: list[StandingOf]
    judges: list[JudgeOf]
    agreement: AgreementOf
    latest: list[JudgementOf]


class HistoryRow(Answered):
    """A complete batch."""

    batch: int
    samples: int
    survivors: int


class HistoryOf(Answered):
    """How the survivors shrank."""

    batches: list[HistoryRow]

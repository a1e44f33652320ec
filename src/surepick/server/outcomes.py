"""What came of a study, as the service sends it; see also :mod:`surepick.server.models`."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from surepick.server.models import Answered


class AnswerOf(Answered):
    """The answer, as ``surepick answer --json`` prints it."""

    finished: bool
    study: str
    arm: int
    label: str
    samples: int
    batches: int
    guarantee: dict[str, Any] = Field(
        description="Its kind, the text of the certificate, and a version in plain words."
    )
    survivors: list[int]
    equivalent: list[int]
    arms: list[int] | None = Field(None, description="All of them, if several were asked for.")
    labels: list[str] | None = Field(None, description="Their labels, best first.")
    cost: float | None = Field(
        None, description="Total cost of the measurements, if options have costs."
    )
    p_value: float | None = Field(None, description="The p-value of “another option is the best”.")
    better: list[str] | None = Field(
        None, description="Labels of the better options, with a baseline."
    )
    worse: list[str] | None = None
    undecided: list[str] | None = None
    close: list[str] | None = Field(
        None, description="Of the undecided ones, those within epsilon of the baseline."
    )
    ruled_out: list[str] | None = Field(
        None,
        description="With limits and a baseline: those that are not better, or break a limit. The "
        "better ones keep all limits then.",
    )
    lifts: dict[str, list[float | None]] | None = Field(
        None, description="For each option: how far it is above the baseline, with an interval."
    )
    wins: dict[str, float] | None = Field(
        None,
        description="Of numbers of any kind: the share of its direct comparisons with each other "
        "option that the answer won.",
    )
    best_mean: str | None = Field(
        None, description="Of numbers of any kind: who has the best mean, if another option does."
    )
    circle: list[str] | None = Field(
        None,
        description="Of numbers of any kind: options of which each won most of its comparisons "
        "with the next one, and the last with the answer, as measured. It seems that nobody beats "
        "everybody.",
    )
    minimise: bool | None = Field(None, description="Whether smaller is better.")
    quantile: float | None = Field(None, description="Which quantile was asked for, if one was.")
    quantiles: dict[str, float] | None = Field(
        None, description="That quantile of the measurements of each option."
    )
    limits: dict[str, dict[str, dict[str, Any]]] | None = Field(
        None,
        description="Where limits have to be kept: by limit and label, the verdict (keeps, breaks, "
        "not clear yet), the mean of what was measured, and between which ends it lies.",
    )
    on_items: dict[str, Any] | None = Field(
        None,
        description="On a complete table: how many items there are, how many were met, who ties, "
        "and between which ends the lead over the closest other option lies on new items.",
    )
    unmeasured: list[dict[str, Any]] | None = Field(
        None,
        description="Cells of a complete table that could not be measured and count as the worst "
        "score: label, item, reason.",
    )
    checks: dict[str, Any]


class ForecastOf(Answered):
    """How many more measurements, or periods of traffic; null where that cannot be said yet."""

    low: int | None = Field(description="Eight of ten simulated studies take at least this many …")
    middle: int | None = Field(description="Half of them take more.")
    high: int | None = Field(description="… and at most this many.")
    simulated: int
    why: str = Field(description="Why there is no forecast, if there is none.")
    unit: str = Field(description="What is counted.")
    slow: bool = Field(description="Whether more seconds might give a forecast.")
    text: str


class Certificate(Answered):
    """The proof of an answer; ``surepick verify`` checks it."""

    format: str
    version: int
    digest: str


class Envelope(Answered):
    """The proof of an answer in an envelope (DSSE), with a statement of in-toto inside."""

    payload: str = Field(description="The statement, in base64.")
    payloadType: str
    signatures: list[dict[str, str]]


class PublicKey(Answered):
    """The key with which certificates and chain heads are signed."""

    algorithm: str
    key: str | None = Field(description="In hexadecimal; null where nothing is signed.")
    pem: str | None = Field(description="The same, as files of other tools hold it.")


class Verdict(Answered):
    """What the independent verifier says about the certificate."""

    valid: bool
    message: str

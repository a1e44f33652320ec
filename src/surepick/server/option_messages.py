"""Messages about options that come and go; see also :mod:`surepick.server.messages`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from surepick.server.messages import Reason
from surepick.server.models import Answered, Finite, Name, SheetBody, example


class NewOptions(BaseModel):
    """Options to be added: a table with the columns of the study's own, or labels."""

    model_config = example(table={"csv": "label,price,colour\nnew,5,green\n"}, reason="it is new")

    table: SheetBody | None = None
    labels: list[str] | None = Field(None, max_length=10_000, description="Instead of a table.")
    rows: list[list[Finite]] | None = Field(
        None, description="Features of the options, if the study was made from a problem."
    )
    noise: list[Finite] | None = Field(
        None, description="Noise scales of the options, if each has its own."
    )
    costs: list[Finite] | None = Field(
        None, description="Cost of measuring each option, if costs differ."
    )
    reason: str = Field("", max_length=2_000, description="Reason; shown in the certificate.")
    by: Name | None = None


class Retirement(BaseModel):
    """An option that is not there any more."""

    model_config = example(label="a", reason="sold out", by="ann")

    label: Annotated[str, Field(min_length=1)]
    reason: Reason
    by: Name | None = None


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

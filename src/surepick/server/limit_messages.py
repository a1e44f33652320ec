"""Messages about how much may be measured; see also :mod:`surepick.server.messages`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from surepick.server.models import Answered, Finite, Name, checked, example


class NewLimits(BaseModel):
    """Other limits; what is left out stays as it is, and "none" takes a limit away."""

    model_config = example(budget=500, reason="the rest of the money", by="ann")

    max_samples: Annotated[int, checked(minimum=1)] | Literal["none"] | None = None
    budget: Annotated[Finite, checked(exclusiveMinimum=0)] | Literal["none"] | None = None
    reason: str = Field("", max_length=2_000, description="Reason; shown in the certificate.")
    by: Name | None = None


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

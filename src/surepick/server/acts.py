"""What people do to studies, as requests and answers have it; made from the kinds of acts."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel, Field, create_model

from surepick.server.models import Name, SheetBody, example
from surepick.study import acts
from surepick.study.acts.base import NEEDED, ActKind
from surepick.study.sheet import Sheet

_IN_CERTIFICATES = "Reason; shown in the certificate."


@cache
def model_of(kind: ActKind) -> type[BaseModel]:
    """The body of a request."""
    fields: dict[str, Any] = {}
    for one in kind.fields:
        type_ = SheetBody if one.type is Sheet else one.type
        default = ... if one.default is NEEDED else one.default
        said = Field(default, description=one.help, json_schema_extra=dict(one.limits) or None)
        fields[one.name] = (type_ | None if one.default is None else type_, said)
    least, default = (1, ...) if kind.needs_reason else (0, "")
    reason = Field(default, min_length=least, max_length=2_000, description=_IN_CERTIFICATES)
    shown = {one.name: one.example for one in kind.fields if one.example is not None}
    shown |= {"reason": "it was found to be wrong"} if kind.needs_reason else {}
    name = "".join(part.capitalize() for part in kind.kind.split("-"))
    config = example(**shown)
    config["allow_inf_nan"] = False
    return create_model(
        f"{name}Act",
        __config__=config,
        __doc__=kind.about,
        **fields,
        reason=(str, reason),
        by=(Name | None, Field(None, description="Who does it.")),
    )


def given_of(kind: ActKind, body: BaseModel) -> tuple[dict[str, Any], str, str | None]:
    """What a body brings: the fields, why and who."""
    fields = {one.name for one in kind.fields}
    given = body.model_dump(include=fields, exclude_none=True)
    said = body.model_dump(include={"reason", "by"})
    return given, said["reason"], said["by"]


def large_paths() -> tuple[str, ...]:
    """How the addresses of acts end that may bring tables."""
    return tuple(f"/acts/{one.kind}" for one in acts.kinds() if one.large)

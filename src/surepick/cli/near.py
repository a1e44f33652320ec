"""Options that are nearly equal, on a terminal: the three ways out, and what each costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surepick.text import typed

if TYPE_CHECKING:
    from surepick.study import Study


def with_near(study: Study, content: dict[str, Any], seconds: float) -> dict[str, Any]:
    """A status that also says what accepting would take, where options are nearly equal."""
    near = content["near"]
    if near is None or near["refused"]:
        return content
    soon = study.forecast(seconds, epsilon=near["epsilon"])
    return content | {"near": near | {"forecast": soon.to_dict()}}


def ways_out(name: str, content: dict[str, Any]) -> list[str]:
    """What to do about options that are nearly equal, and what each way costs."""
    near = content["near"]
    if near is None:
        return []
    accept = f"Accepting is not possible here: {near['refused']}."
    if not near["refused"]:
        how = typed("accept", name, f"{near['epsilon']:g}", more="--reason …")
        said = f"Accept what is within {near['near']} of the best, from now on: {how}"
        accept = f"{said} ({_lower(near['forecast']['text'])})"
    return [
        near["message"],
        f"  1. {accept}",
        f"  2. Go on ({_lower(content['forecast']['text'])})",
        f"  3. End undecided, with nothing proven of these: {typed('stop', name)}",
    ]


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]

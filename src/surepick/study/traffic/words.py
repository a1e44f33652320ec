"""What a study of traffic has to say, in sentences for people who run a site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surepick.arrays.types import FloatArray

_NAMED = 5  # options that a sentence names at most


def headline(at: dict[str, Any]) -> str:
    """Who is ahead, and how sure that is."""
    leader = at["leader"]
    if leader is None:
        return f"Nothing is known yet about the {at['labels']} options."
    rate = mean_text(at["leader_mean"], at["yes_no"])
    if at["finished"]:
        if not at["promised"]:
            return f"Stopped: {leader} looks best ({rate}), without a guarantee."
        chance = percent(at["risk"])
        return f"Decided: {leader} is best ({rate}). The chance that this is wrong is {chance}."
    others = at["left"] - 1
    return (
        f"{leader} is ahead ({rate}), and {others} other{'' if others == 1 else 's'} may still be "
        f"better. If you stopped now, the chance that this is wrong would be {percent(at['risk'])}."
    )


def next_step(at: dict[str, Any]) -> str:
    """What to do."""
    name = at["name"]
    if at["ratio"]["alarm"]:
        return (
            "Stop, and repair how visitors are assigned; what was reported so far proves nothing. "
            "Then start again."
        )
    if at["finished"]:
        return f"Send everybody to {at['leader']}. For the proof: surepick answer {name}"
    if not at["open"]:
        return f"Begin the next period with new shares: surepick split {name}"
    first = at["open"][0]["period"]
    when = "when its window has closed" if at["window"] else "when it is over"
    which = "The period that runs" if first is None else f"Period {first!r}"
    return f"{which} is to be recorded {when}: surepick record {name} REPORT --period " + (
        "NAME" if first is None else first
    )


def ratio_message(
    labels: Sequence[str],
    off: Sequence[int],
    counts: FloatArray,
    expected: FloatArray,
    alarm: bool,
) -> str:
    """Whether counts agree with shares, and who is off."""
    if not alarm:
        return "Visitors came in the shares that they were sent by, as far as counts can tell."
    some = [f"{labels[i]} got {counts[i]:,.0f} instead of {expected[i]:,.0f}" for i in off[:_NAMED]]
    more = f", and {len(off) - _NAMED} more" if len(off) > _NAMED else ""
    who = f" ({'; '.join(some)}{more})" if some else ""
    return (
        f"Visitors did not come in the shares that they were sent by{who}. Then who sees which "
        f"option may depend on how they respond, and comparisons mean nothing: look for visitors "
        f"that are lost, redirected or counted twice."
    )


def percent(share: float) -> str:
    """At most so much; never rounded down to nothing."""
    if share >= 0.995:
        return "up to 100 %"
    digits = 0 if share >= 0.1 else 1 if share >= 0.01 else 2
    return f"at most {max(100 * share, 0.01):.{digits}f} %"


def mean_text(mean: float | None, yes_no: bool) -> str:
    """A mean as people read it: a rate in percent, another number as it is."""
    if mean is None:
        return "nobody yet"
    return f"{100 * mean:.3g} %" if yes_no else f"{mean:.4g}"

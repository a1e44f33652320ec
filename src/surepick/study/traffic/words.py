"""What a study of traffic has to say, in sentences for people who run a site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from surepick.algorithms.findings import PROVEN
from surepick.arrays.types import FloatArray
from surepick.run.words import promise, sureness
from surepick.text import typed

_NAMED = 5  # options that a sentence names at most


def headline(at: dict[str, Any]) -> str:
    """Who is ahead, and how sure that is."""
    leader = at["leader"]
    if leader is None:
        return f"Nothing is known yet about the {at['labels']} options."
    if at["claims"] is not None:
        return _compared(at)
    rate = mean_text(at["leader_mean"], at["yes_no"])
    if at["finished"]:
        if at["kind"] not in PROVEN:
            return f"Stopped: {leader} looks best ({rate}), without a guarantee."
        if at["kind"] == "eps-pac":
            decided = f"Decided: {leader} is within {at['epsilon']:.12g} of the best ({rate})."
        else:
            decided = f"Decided: {leader} is best ({rate})."
        return f"{decided} {promise(at['kind'], at['delta'], at['epsilon'])}"
    if at["ratio"]["alarm"]:
        return (
            f"{leader} is ahead ({rate}), but visitors did not arrive in the shares that were "
            "set, so this proves nothing."
        )
    others = at["left"] - 1
    if at["epsilon"]:
        supposing = f"If another option were more than {at['epsilon']:.12g} better"
        return f"{leader} is ahead ({rate}). {sureness(at['risk'], supposing)}"
    return (
        f"{leader} is ahead ({rate}), and {others} other{'' if others == 1 else 's'} may still be "
        f"better. {sureness(at['risk'])}"
    )


def _compared(at: dict[str, Any]) -> str:
    """What is known where options are compared with a baseline."""
    found = f"Compared with {at['claims']['baseline']}: {at['claims']['counted']}."
    if at["ratio"]["alarm"]:
        return (
            f"{found} Visitors did not arrive in the shares that were set, so this proves nothing."
        )
    if at["finished"]:
        if at["kind"] not in PROVEN:
            return f"Stopped, without a guarantee. {found}"
        return f"Decided. {found} {promise(at['kind'], at['delta'])}"
    return found


def worth(at: dict[str, Any]) -> str | None:
    """How far the leader is from the control; None where there is nothing to compare."""
    leader, control = at["leader"], at["control"]
    if at["lift"] is None or leader is None:
        return None
    if leader == control:
        return f"{control} is the control: nothing is ahead of it."
    found = at["lift"][at["leader_index"]]
    if found is None:
        return None
    lead, low, high = (_points(x, at["yes_no"]) for x in found)
    word = "ahead of" if found[0] >= 0 and not at["minimise"] else "from"
    unit, sure = " points" if at["yes_no"] else "", f"{100 * (1 - at['delta']):.4g} %"
    unclear = found[2] >= 0 if at["minimise"] else found[1] <= 0
    better = at["finished"] and at["kind"] == "pac" and unclear
    known = "It is proven to be better, but how much better is less certain: " if better else ""
    ends = f"between {low} and {high} ({sure} interval, however often you look)"
    begin = f"{leader} is {lead}{unit} {word} {control} (the control)"
    return f"{begin}. {known}{ends}." if known else f"{begin}; {ends}."


def ahead(at: dict[str, Any]) -> str | None:
    """How long it will take; None where that cannot be said, or it is over."""
    n = at["periods_left"]
    if n is None or at["finished"]:
        return None
    times = f"About {n:,} more period{'' if n == 1 else 's'} like the last ones"
    days = at["days_left"]
    return f"{times}, or so." if days is None else f"{times}: {_long(days)}, or so."


def next_step(at: dict[str, Any]) -> tuple[str, str | None]:
    """What to do, and the command that does it."""
    name = at["name"]
    if at["ratio"]["alarm"]:
        return (
            "Stop, repair how visitors are assigned, and start again. The reports so far prove "
            "nothing.",
            None,
        )
    if at["finished"]:
        answer = typed("answer", name)
        if at["claims"] is not None:
            return "Send visitors to the better options.", answer
        if at["kind"] not in PROVEN:
            return f"If you have to choose now, send everybody to {at['leader']}.", answer
        return f"Send everybody to {at['leader']}.", answer
    if not at["open"]:
        return "Begin the next period with new shares.", typed("split", name)
    first = at["open"][0]["period"]
    when = "when its window has closed" if at["window"] else "when it is over"
    which = "the current period" if first is None else f"period {first!r}"
    called = "NAME" if first is None else first
    return f"Record {which} {when}.", typed("record", name, "REPORT", "--period", called)


def step(at: dict[str, Any]) -> str:
    """What to do next, for those at a terminal."""
    command = f" ({at['command']})" if at["command"] else ""
    return f"Next: {at['next']}{command}"


def ratio_message(
    labels: Sequence[str],
    off: Sequence[int],
    counts: FloatArray,
    expected: FloatArray,
    alarm: bool,
) -> str:
    """Whether counts agree with shares, and who is off."""
    if not alarm:
        return "As far as the counts can tell, visitors arrived in the shares that were set."
    some = [f"{labels[i]} got {counts[i]:,.0f} instead of {expected[i]:,.0f}" for i in off[:_NAMED]]
    more = f", and {len(off) - _NAMED} more" if len(off) > _NAMED else ""
    who = f" ({'; '.join(some)}{more})" if some else ""
    return (
        f"Visitors did not arrive in the shares that were set{who}. Who sees which option may "
        "then depend on how they respond, and comparisons mean nothing. Look for visitors who are "
        "lost, redirected or counted twice."
    )


def mean_text(mean: float | None, yes_no: bool) -> str:
    """A mean as people read it: a rate in percent, another number as it is."""
    if mean is None:
        return "nobody yet"
    return f"{100 * mean:.3g} %" if yes_no else f"{mean:.4g}"


def _points(x: float, yes_no: bool) -> str:
    return f"{100 * x:+.2f}" if yes_no else f"{x:+.4g}"


def _long(days: float) -> str:
    hours = 24.0 * days
    n, unit = (round(hours), "hour") if hours < 47.5 else (round(days), "day")
    return f"{max(n, 1):,} {unit}{'' if max(n, 1) == 1 else 's'}"

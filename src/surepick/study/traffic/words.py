"""What a study of traffic has to say, in sentences for people who run a site."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from surepick.algorithms.limits.limit import Limit
from surepick.arrays.types import FloatArray
from surepick.promise import NOBODY, PROVEN, sureness
from surepick.statistics.own_past import Moved
from surepick.text import typed

_NAMED = 5  # options that a sentence names at most


def headline(at: dict[str, Any]) -> str:
    """Who is ahead, and how sure that is."""
    leader = at["leader"]
    if leader is None:
        return f"Nothing is known yet about the {at['labels']} options."
    if at["claims"] is not None:
        return _compared(at)
    if at["within"] is not None:
        return _cheapest(at)
    if at["guardrails"]:
        return _guarded(at) if at["top"] == 1 else _best_few_guarded(at)
    if at["several"]:
        return _best_few(at)
    rate = mean_text(at["leader_mean"], at["yes_no"])
    if at["finished"]:
        if at["kind"] not in PROVEN:
            return f"Stopped: {leader} looks best ({rate}), without a guarantee."
        if at["kind"] == "eps-pac":
            decided = f"Decided: {leader} is within {at['near']} of the best ({rate})."
        else:
            decided = f"Decided: {leader} is best ({rate})."
        return f"{decided} {at['promise']}"
    others, sure = at["left"] - 1, sureness(at["risk"])
    better = f", and {others} other{'' if others == 1 else 's'} may still be better. {sure}"
    if at["epsilon"]:
        supposing = f"If another option were more than {at['near']} better"
        better = f". {sureness(at['risk'], supposing)}"
    return _so_far(at, f"{leader} is ahead ({rate})", better)


def _so_far(at: dict[str, Any], said: str, sure: str, more: str = "") -> str:
    """What is said before the end, with why it proves nothing, what is waited for, or how sure."""
    doubt = _unproven(at)
    if doubt:
        return f"{said}, but {doubt}"
    if at["waiting"] is not None:
        sure = f". {at['waiting']['message']}"
    return f"{said}. {more}{sure[1:]}" if more else f"{said}{sure}"


def _cheapest(at: dict[str, Any]) -> str:
    """What is known where the cheapest that is good enough is looked for."""
    if at["finished"] and at["kind"] == NOBODY:
        return _guarded(at)
    what = f" the cheapest within {at['within']} of the best"
    if at["guardrails"]:
        what = f", of those that keep {listed([one['title'] for one in at['guardrails']])},{what}"
    who, rate = at["leader"], mean_text(at["leader_mean"], at["yes_no"])
    if at["finished"] and at["kind"] not in PROVEN:
        return f"Stopped: {who} seems to be{what} ({rate}), without a guarantee."
    if at["finished"] and at["kind"] == "eps-pac":
        near = f"by at most {at['near']} not good enough itself"
        return f"Decided: {who} is no dearer than{what}, and {near} ({rate}). {at['promise']}"
    if at["finished"]:
        return f"Decided: {who} is{what} ({rate}). {at['promise']}"
    still = f"; {at['left']} options are not decided yet."
    return _so_far(at, f"{who} seems to be{what} ({rate})", still)


def _guarded(at: dict[str, Any]) -> str:
    """What is known where options have to keep limits."""
    leader, rate = at["leader"], mean_text(at["leader_mean"], at["yes_no"])
    limits = listed([one["title"] for one in at["guardrails"]])
    if at["finished"] and at["kind"] == NOBODY:
        return f"Decided: no option keeps {limits}. {at['promise']}"
    if at["finished"] and at["kind"] not in PROVEN:
        return f"Stopped: {leader} looks best ({rate}), without a guarantee. {_broken(at)}".strip()
    if at["finished"] and at["kind"] == "eps-pac":
        near = f" and is within {at['near']} of the best that does" if at["epsilon"] else ""
        said = f"Decided: {leader} keeps {limits}{near} ({rate})."
    elif at["finished"]:
        said = f"Decided: {leader} is the best that keeps {limits} ({rate})."
    elif not at["left"]:
        said = f"No option seems to keep {limits}"
    else:
        said = f"{leader} looks like the best that keeps {limits} ({rate})"
    if at["finished"]:
        return " ".join(filter(None, (said, _broken(at), at["promise"])))
    them = "it" if len(at["guardrails"]) == 1 else "them"
    supposing = f"If another option were the best that keeps {them}, or none kept {them}"
    return _so_far(at, said, f". {sureness(at['risk'], supposing)}", _broken(at))


def _broken(at: dict[str, Any]) -> str:
    """Options that have more than the leader, and are not chosen."""
    means, sign = at["means"], -1.0 if at["minimise"] else 1.0
    own, said = at["leader_mean"], list[str]()
    for one in at["guardrails"]:
        better = [
            f"{label} ({mean_text(means[label], at['yes_no'])})"
            for label in one["breaks"]
            if own is not None and means[label] is not None and sign * (means[label] - own) > 0
        ]
        if better:
            what = one["title"] if len(at["guardrails"]) > 1 else "this limit"
            verbs = ("look", "break", "are") if len(better) > 1 else ("looks", "breaks", "is")
            look, breaks, are = verbs
            said.append(
                f"{listed(better)} {look} better, but {breaks} {what} and {are} not chosen."
            )
    return " ".join(said)


def _unproven(at: dict[str, Any]) -> str:
    """Why reports prove nothing, if so."""
    if at["ratio"]["alarm"]:
        return "visitors did not arrive in the shares that were set, so this proves nothing."
    if moved(at):
        who = listed(at["own_past"]["off"])
        return f"{who} did not keep to earlier rates as the others did, so this proves nothing."
    return ""


def kept_text(limit: Limit, mean: float, verdict: str, rate: bool) -> str:
    """How an option stands to a limit: its mean, or how far that is from the other option's."""
    if math.isnan(mean):
        return "nobody yet"
    if limit.than is None:
        return f"{mean_text(mean, rate)}, {verdict}"
    return f"{_points(mean, rate)}{' pt' if rate else ''}, {verdict}"


def _best_few(at: dict[str, Any]) -> str:
    """What is known where the m best are asked for."""
    found = listed([f"{label} ({mean_text(mean, at['yes_no'])})" for label, mean in at["several"]])
    if at["finished"] and at["kind"] in PROVEN:
        within = f" to within {at['near']}" if at["kind"] == "eps-pac" else ""
        return f"Decided: the {len(at['several'])} best are {found}{within}. {at['promise']}"
    if at["finished"]:
        return f"Stopped: {found} look best, without a guarantee."
    so_far = f"The {len(at['several'])} best so far are {found}"
    return _so_far(at, so_far, f"; {at['left']} options are not decided yet.")


def _best_few_guarded(at: dict[str, Any]) -> str:
    """The same of those that keep limits, of which there may be fewer."""
    limits = listed([one["title"] for one in at["guardrails"]])
    best = at["several"] or [(at["leader"], at["leader_mean"])]
    found = listed([f"{label} ({mean_text(mean, at['yes_no'])})" for label, mean in best])
    if at["finished"] and at["kind"] == NOBODY:
        return _guarded(at)
    if at["finished"] and at["kind"] not in PROVEN:
        return f"Stopped: {found} look best, without a guarantee."
    if at["finished"] and len(best) < at["top"]:
        only = f"only {found} keep{'s' if len(best) == 1 else ''} {limits}"
        return f"Decided: {only}. {at['promise']}"
    if at["finished"]:
        said = f"the {len(best)} best that keep {limits} are {found}"
        return " ".join(filter(None, (f"Decided: {said}.", _broken(at), at["promise"])))
    so_far = f"Of the options that seem to keep {limits} the best so far are {found}"
    return _so_far(at, so_far, f"; {at['left']} options are not decided yet.", _broken(at))


def _compared(at: dict[str, Any]) -> str:
    """What is known where options are compared with a baseline."""
    found = f"Compared with {at['claims']['baseline']}: {at['claims']['counted']}"
    if at["guardrails"]:
        found += f", where better ones also keep {listed([o['title'] for o in at['guardrails']])}"
    if not at["finished"] or _unproven(at):
        return _so_far(at, found, ".")
    if at["kind"] not in PROVEN:
        return f"Stopped, without a guarantee. {found}."
    return f"Decided. {found}. {at['promise']}"


def waiting_message(waiting: dict[str, Any]) -> str:
    """Since when it is decided, and what is waited for."""
    decided = f"Decided in period {waiting['decided']!r}"
    what = []
    if waiting["until"] is not None:
        moment = datetime.fromtimestamp(waiting["until"], UTC)
        what.append(f"until {moment:%-d %B %Y, %H:%M} UTC, as was asked for")
    again = [f"{listed(waiting['unseen'])} to be behind"] if waiting["unseen"] else []
    again += waiting["limits"]
    if again and waiting["reports"]:
        what.append(f"for {listed(again)} in later reports, too")
    elif again:
        what.append("for the next report to say the same")
    elif not waiting["reports"]:
        what.append("for one more report")
    rest = waiting["most"] - waiting["reports"]
    given_up = ""
    if waiting["reports"] and again and waiting["until"] is None:
        more = f"{rest} more report{'' if rest == 1 else 's'}"
        given_up = f" If that does not show in {more}, there will be no guarantee."
    return f"{decided}; the answer waits {' and '.join(what) or 'for one more report'}.{given_up}"


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
    if word == "ahead of":  # which says that it is more
        lead = lead.removeprefix("+")
        if found[1] >= 0:
            low, high = low.removeprefix("+"), high.removeprefix("+")
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
    if not n or at["finished"]:
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
    if moved(at):
        return (
            f"Find out what happened to {listed(at['own_past']['off'])}. If a report was wrong, "
            "correct it; if the site was, repair it and start again.",
            typed("record", name, "REPORT", "--period", "NAME", "--correct", "--reason", "…"),
        )
    if at["finished"]:
        answer = typed("answer", name)
        if at["kind"] == NOBODY:
            return (
                "Choose none of them: none keeps the limits. Keep what you have, or start a new "
                "study with a wider limit.",
                answer,
            )
        if at["claims"] is not None:
            return "Send visitors to the better options.", answer
        if at["several"]:
            best = listed([label for label, _ in at["several"]])
            if at["kind"] not in PROVEN:
                return f"If you have to choose now, send visitors to {best}.", answer
            return f"Send visitors to {best}.", answer
        if at["kind"] not in PROVEN:
            return f"If you have to choose now, send {_everybody(at)} to {at['leader']}.", answer
        return f"Send {_everybody(at)} to {at['leader']}.", answer
    if not at["open"]:
        return "Begin the next period with new shares.", typed("split", name)
    first = at["open"][0]["period"]
    when = "when its window has closed" if at["window"] else "when it is over"
    which = "the current period" if first is None else f"period {first!r}"
    called = "NAME" if first is None else first
    return f"Record {which} {when}.", typed("record", name, "REPORT", "--period", called)


def _everybody(at: dict[str, Any]) -> str:
    """Of whom the answer is."""
    return "everybody" if at["segment"] is None else f"everybody of {at['segment']['name']}"


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


def scattered_message(times: float, column: str | None) -> str:
    """That counts scatter more than those of visitors would."""
    what = "Successes" if column is None else f"Counts of {column}"
    return (
        f"{what} of the options scatter about {times:.2g} times as much from period to period as "
        "those of independent visitors would. Are sessions or page views counted instead of "
        "visitors, or some visitors several times? Then there is no guarantee: count each visitor "
        "once. It may also be that the rates of single options fluctuate."
    )


def moved(at: dict[str, Any]) -> bool:
    """Whether an option went its own way."""
    return at["own_past"] is not None and at["own_past"]["alarm"]


def listed(labels: Sequence[str]) -> str:
    """A few names."""
    more = [f"{len(labels) - _NAMED} more"] if len(labels) > _NAMED else []
    *first, last = [*labels[:_NAMED], *more]
    return f"{', '.join(first)} and {last}" if first else last


KEPT_RATIOS = (
    "As far as the counts can tell, each option's rate kept its ratio to the others' from period "
    "to period."
)


def moved_messages(
    labels: Sequence[str],
    found: Sequence[Moved],
    periods: Sequence[str],
    counts: Sequence[tuple[FloatArray, FloatArray]],
    number: str | None,
) -> list[str]:
    """Which options went their own way, and in which period that was seen; by which number."""
    return [_moved(labels, one, periods[one.period], counts, number) for one in found]


def _moved(
    labels: Sequence[str],
    one: Moved,
    period: str,
    counts: Sequence[tuple[FloatArray, FloatArray]],
    number: str | None,
) -> str:
    label, until = labels[one.option], counts[: one.period + 1]
    if one.other is not None:
        by = "" if number is None else f" in {number}"
        which = "better" if number is None else "above the other"
        return (
            f"{label} and {labels[one.other]} have changed places{by}: by period {period!r} each "
            f"was clearly ahead of the other at some time. Which one is {which} then depends on "
            "when one looks. A novelty may have worn off."
        )
    (now, hits), before = until[-1], until[:-1]
    what = number or "successes"
    if one.dead:
        visits = sum(float(n[one.option]) for n, _ in until)
        none = "no success" if number is None else f"no {number}"
        seen = "" if number is None else f" by period {period!r}"
        return (
            f"{label} has had {none} in {visits:,.0f} visits{seen}, where others had many. Are its "
            f"{what} counted?"
        )
    visits, sold = (sum(float(row[k][one.option]) for row in before) for k in (0, 1))
    of = "" if number is None else f" of {number}"
    return (
        f"The rate{of} of {label} went its own way in period {period!r}: "
        f"{hits[one.option]:,.0f} of {now[one.option]:,.0f} visits, after {sold:,.0f} of "
        f"{visits:,.0f} before, while the others kept their ratios. Look for bots, and for {what} "
        "that are not counted or are counted twice. It cannot be seen whether this period is wrong "
        "or the earlier ones."
    )


def mean_text(mean: float | None, yes_no: bool) -> str:
    """A mean as people read it: a rate in percent, another number as it is."""
    if mean is None:
        return "nobody yet"
    return f"{100 * mean:.3g} %" if yes_no else f"{mean:.4g}"


def _points(x: float, yes_no: bool) -> str:
    return f"{100 * x:+.2f}" if yes_no else f"{x:+.4g}"


def duration(seconds: float) -> str:
    """A window as people say it: whole days where it has some."""
    for size, unit in ((86_400.0, "day"), (3600.0, "hour"), (60.0, "minute")):
        if seconds >= size and seconds % size == 0.0:
            n = round(seconds / size)
            return f"{n:,} {unit}{'' if n == 1 else 's'}"
    return f"{seconds:g} seconds"


def _long(days: float) -> str:
    hours = 24.0 * days
    n, unit = (round(hours), "hour") if hours < 47.5 else (round(days), "day")
    return f"{max(n, 1):,} {unit}{'' if max(n, 1) == 1 else 's'}"

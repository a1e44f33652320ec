"""Periods, strata and batches that were set aside for all options, as a certificate lists them.

What came of them is not part of the evidence. The list says what was left out, by whom and why, and
whether it was recorded before anything came of it; the statement says of each entry what that rests
on. So neither can be removed without the other.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

from surepick.verifier import conditions, exact
from surepick.verifier.check import Check

_FIELDS = {"of", "name", "decided", "left_out", "reason", "by", "at"}
_SHARES = {"from", "asked"}  # of periods: which shares may rest on it
#: how it was decided, and the condition that stands for it
_DECIDED = {
    "in advance": conditions.ASIDE_IN_ADVANCE,
    "blind": conditions.ASIDE_BLIND,
    "afterwards": conditions.ASIDE,
}
_PERIOD, _BATCH = "period", "batch"
_LONGEST = 200


def check_set_aside(check: Check) -> None:
    """The list must make sense."""
    entries: list[dict[str, Any]] = []
    if "set_aside" in check.body:
        entries = exact.mappings(check.body["set_aside"], "what was set aside")
        check.demand(entries, "its list of what was set aside is empty")
    traffic = check.body.get("traffic")
    for number, entry in enumerate(entries):
        where = f"what was set aside, {number}"
        due = _FIELDS | (set() if traffic is None else _SHARES)
        check.demand(entry.keys() == due, f"{where}: it does not say what it has to")
        for field in ("of", "name", "reason"):
            text = exact.text(entry[field], f"{where}: its {field}")
            check.demand(text.strip(), f"{where}: its {field} is empty")
        check.demand(entry["decided"] in _DECIDED, f"{where}: it does not say how it was decided")
        many = exact.whole(entry["left_out"], f"{where}: how much was left out")
        check.demand(many >= 0, f"{where}: less than nothing was left out")
        exact.number(entry["at"], f"{where}: its time")
        if entry["by"] is not None:
            exact.text(entry["by"], f"{where}: who did it")
        if traffic is None:
            _check_pulls(check, entry, where)
        else:
            _check_period(check, entry, where)
    names = [(one["of"], one["name"]) for one in entries]
    check.demand(len(set(names)) == len(names), "something was set aside twice")
    _check_changes(check, entries)


def set_aside_in(body: dict[str, Any]) -> list[str]:
    """The sentences of what was set aside, of a list that makes sense."""
    found = []
    for decided, sentence in _DECIDED.items():
        some = [one for one in body.get("set_aside", []) if one["decided"] == decided]
        if some:
            found.append(sentence.format(what=_what(some), who=_who(some)))
    return found


def left_out(body: dict[str, Any]) -> list[str]:
    """What was set aside, by whom and why, line by line, of a list that makes sense."""
    unit = "visits" if "traffic" in body else "measurements"
    return [
        f"{one['of']} '{one['name']}' ({one['left_out']:,} {unit}), by "
        f"{'somebody' if one['by'] is None else one['by']}: {one['reason']}"
        for one in body.get("set_aside", [])
    ]


def _check_period(check: Check, entry: dict[str, Any], where: str) -> None:
    check.demand(entry["of"] == _PERIOD, f"{where}: only periods of visitors can be")
    names = [one["name"] for one in check.body["traffic"]["periods"]]
    check.demand(entry["name"] not in names, f"period {entry['name']!r} was set aside, and counts")
    begin, end = (exact.whole(entry[name], f"{where}: its {name}") for name in ("from", "asked"))
    known = entry["decided"] == "in advance"  # no shares rest on what was left out from the start
    check.demand(0 <= begin <= end and (begin == end or not known), f"{where}: no such shares")


def _check_pulls(check: Check, entry: dict[str, Any], where: str) -> None:
    check.demand(entry["of"] != _PERIOD, f"{where}: there are no periods")
    if entry["of"] == _BATCH:
        check.demand(entry["name"].isdecimal(), f"{where}: a batch has a number")
        check.demand(entry["decided"] != "in advance", f"{where}: it was asked for before")
        return
    there = {batch.get("stratum") for batch in check.batches}
    check.demand(entry["name"] not in there, f"{entry['name']!r} was set aside, and counts")
    many = entry["left_out"]
    check.demand(many == 0 or entry["decided"] != "in advance", f"{where}: it had begun")


def _check_changes(check: Check, entries: list[dict[str, Any]]) -> None:
    """Measurements that were withdrawn as a part of something that was set aside."""
    if "traffic" in check.body:
        return
    counts = [0] * len(entries)
    for change in exact.mappings(check.body.get("corrections", []), "its corrections"):
        if "aside" in change:
            number = exact.whole(change["aside"], "what a measurement was set aside with")
            check.demand(0 <= number < len(counts), "a measurement was set aside with nothing")
            check.demand(change["new"] is None, "a measurement was set aside, and counts")
            counts[number] += 1
    for entry, count in zip(entries, counts, strict=True):
        said = entry["left_out"]
        check.demand(said == count, "not as many measurements were set aside as it says")


def _what(entries: list[dict[str, Any]]) -> str:
    """What was set aside, in words."""
    found = ", ".join(f"{one['of']} '{one['name']}'" for one in entries)
    return found if len(found) <= _LONGEST else f"{len(entries)} × {entries[0]['of']}"


def _who(entries: list[dict[str, Any]]) -> str:
    names = dict.fromkeys("somebody" if one["by"] is None else one["by"] for one in entries)
    found = ", ".join(names)
    return found if len(found) <= _LONGEST else f"{len(names)} people"

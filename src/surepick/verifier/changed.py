"""What was changed on the way, and counts otherwise than at first, as a certificate lists it.

Measurements and reports that were corrected or withdrawn, what was set aside for all options, cells
of a table that could not be measured. What was told at first is not part of the evidence: the sums
are those of the values that count. The lists say what was changed, by whom and why, so that whoever
reads them can judge whether that had to do with the rewards; on that the statement rests, which has
a sentence for each. So neither can be removed without the other.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

from surepick.verifier import conditions, exact
from surepick.verifier.check import Check
from surepick.verifier.noise import read_noise
from surepick.verifier.order import overlapping

_OF_PULLS = {"pull", "arm", "batch", "asked", "old", "new"}


def check_corrections(check: Check) -> None:
    """The list must be complete and make sense; an empty one is left out."""
    if "corrections" not in check.body:
        return
    entries = exact.mappings(check.body["corrections"], "its corrections")
    check.demand(entries, "its list of corrections is empty")
    if "traffic" in check.body:
        check_report_corrections(check, entries)
        return
    known: dict[tuple[int, str | None], Any] = {}  # what a number of a pull was last changed to
    further = exact.mapping(check.body["problem"].get("numbers", {}), "further numbers")
    for place, entry in enumerate(entries):
        where = f"correction {place}"
        exact.event(entry, where, _OF_PULLS | (entry.keys() & {"number", "aside"}), known=True)
        number = None
        if "number" in entry:
            number = exact.text(entry["number"], f"{where}: its number")
            check.demand(number in further, f"{where} is about a number that there is not")
            check.demand(entry["new"] is not None, f"{where} withdraws a number alone")
        pull, arm, asked = (
            exact.whole(entry[name], f"{where}: its {name}") for name in ("pull", "arm", "asked")
        )
        batch = 0  # where nothing of it is left, it has no number
        if entry["batch"] is not None:
            batch = exact.whole(entry["batch"], f"{where}: its batch")
        latest = len(check.batches) if overlapping(check) else asked
        fits = pull >= 0 and 0 <= batch <= max(asked, latest)
        check.demand(fits, f"{where} is about no batch of this run")
        check.demand(0 <= arm < len(check.arms), f"{where} is about an unknown arm")
        for name in ("old", "new"):
            if entry[name] is not None:
                exact.number(entry[name], f"{where}: its {name} value")
        key = (pull, number)
        check.demand(
            entry["old"] != entry["new"] and known.get(key, entry["old"]) == entry["old"],
            f"{where} changes nothing, or not what was there",
        )
        # A reward that is withdrawn before it counts is measured again, whatever comes of it.
        known[key] = entry["new"]
        # Where nothing of its batch is left, nobody can see any more which of the two it was.
        if entry["new"] is None and (entry["batch"] is None or batch >= asked):
            known = {one: value for one, value in known.items() if one[0] != pull}


# -- reports of traffic -------------------------------------------------------------------
_OF_REPORTS = {"period", "asked", "rows"}
_ROW = {"arm", "bucket", "old", "new"}
_BUCKETS = 16  # of visitors, where rewards have no bounds
_Key = tuple[int, int, int | None]  # period, arm, bucket


def check_report_corrections(check: Check, entries: list[dict[str, Any]]) -> None:
    """The list must make sense, and lead to what the batches have."""
    known: dict[_Key, list[float]] = {}  # what a row was last changed to
    for number, entry in enumerate(entries):
        where = f"correction {number}"
        exact.event(entry, where, _OF_REPORTS, known=True)
        period, asked = (
            exact.whole(entry[name], f"{where}: its {name}") for name in ("period", "asked")
        )
        # Once another report was corrected, later ones may not be needed any more.
        check.demand(0 <= period < asked, f"{where} is about no period of this run")
        rows = exact.mappings(entry["rows"], f"{where}: its rows")
        check.demand(rows, f"{where} changes nothing")
        for row in rows:
            key, old, new = _row(check, row, period, where)
            fits = old != new and known.get(key, old) == old
            check.demand(fits, f"{where} changes nothing, or not what was there")
            known[key] = new
    for (period, arm, bucket), row in known.items():
        if period < len(check.batches):
            found = _there(check.batches[period], arm, bucket, not check.kind.shares)
            check.demand(
                found is None or found == row[:2],
                f"period {period}: arm {arm} does not have the numbers that it was corrected to",
            )


def _there(batch: dict[str, Any], arm: int, bucket: int | None, merged: bool) -> list[float] | None:
    """Visits and sum of a row as they count; None where buckets were put together."""
    parts = batch.get("parts", [0] * len(batch["arms"]))
    rows = zip(batch["arms"], parts, batch["counts"], batch["sums"], strict=True)
    own = {int(part): [float(n), float(s)] for k, part, n, s in rows if k == arm}
    if merged and bucket is not None and own and len(own) < _BUCKETS:
        return None
    return own.get(bucket or 0, [0.0, 0.0])


def _row(
    check: Check, row: dict[str, Any], period: int, where: str
) -> tuple[_Key, list[float], list[float]]:
    check.demand(row.keys() == _ROW, f"{where}: a row does not say what it has to")
    arm = exact.whole(row["arm"], f"{where}: its arm")
    check.demand(0 <= arm < len(check.arms), f"{where} is about an unknown arm")
    bucket, by_bucket = row["bucket"], check.kind.by_bucket
    check.demand(
        (bucket is not None) == by_bucket, f"{where} is not about a row that such reports have"
    )
    if bucket is not None:
        bucket = exact.whole(bucket, f"{where}: its bucket")
        most = len(check.kind.shares) or _BUCKETS
        check.demand(0 <= bucket < most, f"{where} is about an unknown bucket")
    old, new = (
        [float(x) for x in exact.numbers(row[name], f"{where}: its {name} numbers")]
        for name in ("old", "new")
    )
    # visits, sums, and sums of squares; the same of further numbers
    numbers = exact.mapping(check.body["problem"].get("numbers", {}), "further numbers")
    kinds = [read_noise(one, len(check.raw_arms), check.demand) for one in numbers.values()]
    columns = 1 + sum(2 if kind.squares else 1 for kind in (check.kind, *kinds))
    check.demand(len(old) == len(new) == columns, f"{where}: a row has other columns")
    return (period, arm, bucket), old, new


# -- what was set aside for all options ---------------------------------------------------
_ASIDE = {"of", "name", "decided", "left_out"}
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
        exact.event(entry, where, _ASIDE | (set() if traffic is None else _SHARES), known=True)
        for field in ("of", "name"):
            text = exact.text(entry[field], f"{where}: its {field}")
            check.demand(text.strip(), f"{where}: its {field} is empty")
        check.demand(entry["decided"] in _DECIDED, f"{where}: it does not say how it was decided")
        many = exact.whole(entry["left_out"], f"{where}: how much was left out")
        check.demand(many >= 0, f"{where}: less than nothing was left out")
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


# -- cells that could not be measured -----------------------------------------------------
def check_unmeasured(check: Check) -> None:
    """Those that are listed are cells of the table, with the worst score; an empty list is none."""
    if "unmeasured" not in check.body:
        return
    entries = exact.mappings(check.body["unmeasured"], "its cells that were not measured")
    check.demand(entries, "its list of cells that were not measured is empty")
    check.demand(check.table is not None, "it has no table with cells that were not measured")
    check.demand(check.kind.bounded, "its scores have no bounds")
    worst = check.kind.high if check.smaller else check.kind.low
    scores = {
        (arm, place): score
        for batch in check.batches
        for arm, place, score in zip(batch["arms"], batch["parts"], batch["sums"], strict=True)
    }
    seen = set()
    for entry in entries:
        check.demand(entry.keys() == {"arm", "at", "reason"}, "a cell does not say what it has to")
        exact.text(entry["reason"], "why a cell was not measured")
        cell = (exact.whole(entry["arm"], "a cell's arm"), exact.whole(entry["at"], "its place"))
        check.demand(cell in scores and cell not in seen, "a cell that was not measured is none")
        check.demand(scores[cell] == worst, "a cell that was not measured has a better score")
        seen.add(cell)

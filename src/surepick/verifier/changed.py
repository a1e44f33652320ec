"""What was changed on the way, and counts otherwise than at first, as a certificate lists it.

Measurements and reports that were corrected or withdrawn, what was set aside for all options, cells
of a table that could not be measured. What was told at first is not part of the evidence: the sums
are those of the values that count. The lists say what was changed, by whom and why, so that whoever
reads them can judge whether that had to do with the rewards; on that the statement rests, which has
a sentence for each. So neither can be removed without the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from surepick.verifier import conditions, exact
from surepick.verifier.check import Check
from surepick.verifier.order import overlapping
from surepick.verifier.record import (
    Batch,
    Event,
    PullCorrection,
    Record,
    ReportCorrection,
    Row,
    SetAside,
)


def check_corrections(check: Check) -> None:
    """The list must be complete and make sense."""
    known: dict[tuple[int, str | None], float | None] = {}  # what a pull was last changed to
    rows: dict[_Key, list[float]] = {}  # the same of a row
    for place, one in enumerate(check.record.corrections):
        where, of_report = f"correction {place}", isinstance(one, ReportCorrection)
        fits = of_report == (check.record.traffic is not None)
        check.demand(fits, f"{where} does not say what it has to")
        if isinstance(one, ReportCorrection):
            _check_report(check, one, where, rows)
        else:
            known = _check_pull(check, one, where, known)
    for (period, arm, bucket), row in rows.items():
        if period < len(check.batches):
            found = _there(check.batches[period], arm, bucket, not check.kind.shares)
            check.demand(
                found is None or found == row[:2],
                f"period {period}: arm {arm} does not have the numbers that it was corrected to",
            )


def _check_pull(
    check: Check, one: PullCorrection, where: str, known: dict[tuple[int, str | None], float | None]
) -> dict[tuple[int, str | None], float | None]:
    if one.number is not None:
        there = one.number in check.numbers
        check.demand(there, f"{where} is about a number that there is not")
        check.demand(one.new is not None, f"{where} withdraws a number alone")
    latest = max(one.asked, len(check.batches) if overlapping(check) else one.asked)
    # where nothing of its batch is left, it has no number
    fits = one.pull >= 0 and 0 <= (one.batch or 0) <= latest
    check.demand(fits, f"{where} is about no batch of this run")
    check.demand(0 <= one.arm < len(check.arms), f"{where} is about an unknown arm")
    key = (one.pull, one.number)
    check.demand(
        one.old != one.new and known.get(key, one.old) == one.old,
        f"{where} changes nothing, or not what was there",
    )
    # A reward that is withdrawn before it counts is measured again, whatever comes of it.
    known[key] = one.new
    # Where nothing of its batch is left, nobody can see any more which of the two it was.
    if one.new is None and (one.batch is None or one.batch >= one.asked):
        known = {about: value for about, value in known.items() if about[0] != one.pull}
    return known


# -- reports of traffic -------------------------------------------------------------------
_BUCKETS = 16  # of visitors, where rewards have no bounds
_Key = tuple[int, int, int | None]  # period, arm, bucket


def _check_report(
    check: Check, one: ReportCorrection, where: str, known: dict[_Key, list[float]]
) -> None:
    # Once another report was corrected, later ones may not be needed any more.
    check.demand(0 <= one.period < one.asked, f"{where} is about no period of this run")
    check.demand(one.rows, f"{where} changes nothing")
    for row in one.rows:
        _check_row(check, row, where)
        key = (one.period, row.arm, row.bucket)
        fits = row.old != row.new and known.get(key, row.old) == row.old
        check.demand(fits, f"{where} changes nothing, or not what was there")
        known[key] = row.new


def _there(batch: Batch, arm: int, bucket: int | None, merged: bool) -> list[float] | None:
    """Visits and sum of a row as they count; None where buckets were put together."""
    rows = zip(batch.rows, batch.counts.tolist(), batch.sums.tolist(), strict=True)
    own = {part: [float(n), s] for (k, part), n, s in rows if k == arm}
    if merged and bucket is not None and own and len(own) < _BUCKETS:
        return None
    return own.get(bucket or 0, [0.0, 0.0])


def _check_row(check: Check, row: Row, where: str) -> None:
    check.demand(0 <= row.arm < len(check.arms), f"{where} is about an unknown arm")
    bucket, most = row.bucket, len(check.kind.shares) or _BUCKETS
    check.demand(
        (bucket is not None) == check.kind.by_bucket,
        f"{where} is not about a row that such reports have",
    )
    check.demand(bucket is None or 0 <= bucket < most, f"{where} is about an unknown bucket")
    # visits, sums, and sums of squares; the same of further numbers
    columns = 1 + sum(1 + kind.squares for kind in (check.kind, *check.numbers.values()))
    fine = len(row.old) == len(row.new) == columns
    check.demand(fine, f"{where}: a row has other columns")


# -- what was set aside for all options ---------------------------------------------------
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
    entries, traffic = check.record.set_aside, check.record.traffic
    for number, one in enumerate(entries):
        where = f"what was set aside, {number}"
        check.demand(one.decided in _DECIDED, f"{where}: it does not say how it was decided")
        check.demand(one.left_out >= 0, f"{where}: less than nothing was left out")
        shares = (one.from_ is not None) + (one.asked is not None)
        fits = shares == (0 if traffic is None else 2)
        check.demand(fits, f"{where} does not say what it has to")
        if traffic is None:
            _check_pulls(check, one, where)
        else:
            names = [period.name for period in traffic.periods]
            _check_period(one, names, where)
    names = [(one.of, one.name) for one in entries]
    check.demand(len(set(names)) == len(names), "something was set aside twice")
    if traffic is None:
        _check_changes(check)


def set_aside_in(record: Record) -> list[str]:
    """The sentences of what was set aside, of a list that makes sense."""
    found = []
    for decided, sentence in _DECIDED.items():
        some = [one for one in record.set_aside if one.decided == decided]
        if some:
            found.append(sentence.format(what=_what(some), who=_who(some)))
    return found


def left_out(record: Record) -> tuple[str, ...]:
    """What was set aside, by whom and why, line by line, of a list that makes sense."""
    unit = "measurements" if record.traffic is None else "visits"
    return tuple(
        f"{one.of} '{one.name}' ({one.left_out:,} {unit}), by {one.who}: {one.reason}"
        for one in record.set_aside
    )


def _check_period(one: SetAside, names: list[str], where: str) -> None:
    exact.demand(one.of == _PERIOD, f"{where}: only periods of visitors can be")
    exact.demand(one.name not in names, f"period {one.name!r} was set aside, and counts")
    begin, end = one.from_ or 0, one.asked or 0
    known = one.decided == "in advance"  # no shares rest on what was left out from the start
    fits = 0 <= begin <= end and (begin == end or not known)
    exact.demand(fits, f"{where}: no such shares")


def _check_pulls(check: Check, one: SetAside, where: str) -> None:
    known = one.decided == "in advance"
    check.demand(one.of != _PERIOD, f"{where}: there are no periods")
    if one.of == _BATCH:
        check.demand(one.name.isdecimal(), f"{where}: a batch has a number")
        check.demand(not known, f"{where}: it was asked for before")
        return
    there = {batch.stratum for batch in check.batches}
    check.demand(one.name not in there, f"{one.name!r} was set aside, and counts")
    check.demand(one.left_out == 0 or not known, f"{where}: it had begun")


def _check_changes(check: Check) -> None:
    """Measurements that were withdrawn as a part of something that was set aside."""
    counts = [0] * len(check.record.set_aside)
    for change in check.record.corrections:
        if isinstance(change, PullCorrection) and change.aside is not None:
            there = 0 <= change.aside < len(counts)
            check.demand(there, "a measurement was set aside with nothing")
            check.demand(change.new is None, "a measurement was set aside, and counts")
            counts[change.aside] += 1
    said = [one.left_out for one in check.record.set_aside]
    check.demand(said == counts, "not as many measurements were set aside as it says")


def _what(entries: Sequence[SetAside]) -> str:
    """What was set aside, in words."""
    found = ", ".join(f"{one.of} '{one.name}'" for one in entries)
    return found if len(found) <= _LONGEST else f"{len(entries)} × {entries[0].of}"


def _who(entries: Sequence[Event]) -> str:
    names = dict.fromkeys(one.who for one in entries)
    found = ", ".join(names)
    return found if len(found) <= _LONGEST else f"{len(names)} people"


# -- cells that could not be measured -----------------------------------------------------
def check_unmeasured(check: Check) -> None:
    """Those that are listed are cells of the table, with the worst score."""
    cells = [(one.arm, one.at) for one in check.record.unmeasured]
    if not cells:
        return
    check.demand(check.table is not None, "it has no table with cells that were not measured")
    check.demand(check.kind.bounded, "its scores have no bounds")
    worst = check.kind.high if check.smaller else check.kind.low
    scores: dict[tuple[int, int], float] = {}
    for batch in check.batches:
        scores |= zip(batch.rows, batch.sums.tolist(), strict=True)
    there = len(set(cells)) == len(cells) and scores.keys() >= set(cells)
    check.demand(there, "a cell that was not measured is none")
    lowest = all(scores[cell] == worst for cell in cells)
    check.demand(lowest, "a cell that was not measured has a better score")

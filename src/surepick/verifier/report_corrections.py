"""Reports of traffic that were corrected after they were recorded, as a certificate lists them.

What a period was reported as at first is not part of the evidence. The list says what was changed,
so that whoever reads it can judge whether that had to do with the numbers; on that the statement
rests. The numbers that it ends with are those of the batches.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.noise import read_noise

_FIELDS = {"period", "asked", "rows", "at", "by", "reason"}
_ROW = {"arm", "bucket", "old", "new"}
_BUCKETS = 16  # of visitors, where rewards have no bounds
_Key = tuple[int, int, int | None]  # period, arm, bucket


def check_report_corrections(check: Check, entries: list[dict[str, Any]]) -> None:
    """The list must make sense, and lead to what the batches have."""
    known: dict[_Key, list[float]] = {}  # what a row was last changed to
    for number, entry in enumerate(entries):
        where = f"correction {number}"
        check.demand(entry.keys() == _FIELDS, f"{where} does not say what it has to")
        period, asked = (
            exact.whole(entry[name], f"{where}: its {name}") for name in ("period", "asked")
        )
        # Once another report was corrected, later ones may not be needed any more.
        check.demand(0 <= period < asked, f"{where} is about no period of this run")
        exact.number(entry["at"], f"{where}: its time")
        check.demand(exact.text(entry["reason"], f"{where}: its reason"), f"{where} has no reason")
        if entry["by"] is not None:
            exact.text(entry["by"], f"{where}: who made it")
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

"""Rewards that were corrected or withdrawn after they were told, as a certificate lists them.

What was told at first is not part of the evidence: the sums are those of the values that count. The
list says what was changed, so that whoever reads it can judge whether the changes were made for
reasons that have nothing to do with the rewards; on that the statement rests.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import Any

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.overlap import overlapping
from surepick.verifier.report_corrections import check_report_corrections

_FIELDS = {"pull", "arm", "batch", "asked", "old", "new", "at", "by", "reason"}


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
        fields = entry.keys() - {"number", "aside"}
        check.demand(fields == _FIELDS, f"{where} does not say what it has to")
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
        exact.number(entry["at"], f"{where}: its time")
        check.demand(exact.text(entry["reason"], f"{where}: its reason"), f"{where} has no reason")
        if entry["by"] is not None:
            exact.text(entry["by"], f"{where}: who made it")
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

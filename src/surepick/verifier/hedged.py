"""Pulls that were measured more than once for one reward.

Handed out twice, of which the first reward counts: which of two rewards comes first must not depend
on what they are, as whoever is quicker to report a success would otherwise decide which are seen.
Handed out again, as a measurement failed or came too late: only rewards of those that succeed in
time are seen, and whether they do must not depend on what they are. No certificate can show either,
so both are part of the statement.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from surepick.verifier import exact
from surepick.verifier.check import Check

_COUNTED = {
    "hedged": "handed out twice",
    "lost": "handed out again for want of a reward",
    "again": "measured again by a rule",
}


def check_hedged(check: Check) -> None:
    """How many there were of each, if there were any."""
    for name, words in _COUNTED.items():
        if name in check.body:
            count = exact.whole(check.body[name], f"its pulls that were {words}")
            check.demand(count > 0, f"it has no pulls that were {words}, and lists them")

"""Pulls that were handed out twice, of which the first reward counts.

Which of two rewards comes first must not depend on what they are: whoever is quicker to report a
success would otherwise decide which are seen. No certificate can show that, so it is part of the
statement.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from surepick.verifier import exact
from surepick.verifier.check import Check


def check_hedged(check: Check) -> None:
    """How many there were, if there were any."""
    if "hedged" in check.body:
        count = exact.whole(check.body["hedged"], "its pulls that were handed out twice")
        check.demand(count > 0, "it has no pulls that were handed out twice, and lists them")

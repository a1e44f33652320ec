"""What a certificate may conclude about several candidates that are the best.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

from typing import NamedTuple

from surepick.verifier import exact, published
from surepick.verifier.check import Check


class Chosen(NamedTuple):
    """What was shown; candidates by their numbers."""

    m: int  #: how many were asked for
    left: list[int]  #: those that were not dropped
    close: dict[int, set[int]]  #: who was shown to be at most epsilon better than each of these


def read_top(check: Check) -> int:
    """How many are asked for, which must be what the algorithm was set to."""
    asked = exact.mapping(check.evidence["question"], "the question")
    m = exact.whole(asked["top"], "how many were asked for")
    check.demand(m >= 2 and set(asked) == {"top"}, "the question says more than it should")
    if published.is_own(check):
        check.demand(
            check.settings.get("top") == m,
            "the question is not the one that the algorithm was set to",
        )
    check.top = m
    return m


def check_chosen(check: Check, found: Chosen) -> None:
    """The claim must follow from who is left."""
    claim, m = check.claim, found.m
    chosen = exact.whole_numbers(claim["candidates"], "those that were chosen").tolist()
    known = all(0 <= one < len(check.candidates) for one in chosen)
    check.demand(
        known and len(chosen) == len(set(chosen)) == m, f"it does not choose {m} candidates"
    )
    check.demand(claim["candidate"] == chosen[0], "the answer is not the first of those chosen")
    check.demand(check.label(chosen[0]) == claim["label"], "the label is another candidate's")
    check.demand(claim["survivors"] == found.left, "the survivors are not those claimed")
    kind = claim["guarantee"]
    check.demand(kind in ("pac", "eps-pac", "heuristic", "none"), f"unknown claim {kind!r}")
    if len(found.left) >= m:  # else one of the best was dropped: probability at most delta
        check.demand(set(chosen) <= set(found.left), "a candidate that was dropped is chosen")
    if kind == "none":
        return
    check.demand(check.risk <= check.delta * (1 + 1e-9), "the levels add up to more than delta")
    others = set(found.left) - set(chosen)
    if kind == "pac" or check.epsilon == 0:
        check.demand(not others, "other candidates are still in the race")
    for a in chosen if others else ():
        far = sorted(others - found.close.get(a, set()))
        check.demand(not far, f"candidate {far[0] if far else ''} may be more than epsilon better")
    check.checked += len(others)

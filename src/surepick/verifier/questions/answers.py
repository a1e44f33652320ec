"""What a certificate may conclude about candidates that are left, or were dropped."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.questions.claims import Comparison, check_comparison
from surepick.verifier.statement import check_claims_statement, check_statement


class Chosen(NamedTuple):
    """What was shown of several; candidates by their numbers."""

    m: int  #: how many were asked for
    left: list[int]  #: those that were not dropped
    close: dict[int, set[int]]  #: who was shown to be at most epsilon better than each of these


def check_dropped(
    check: Check,
    named: np.ndarray,
    recorded: np.ndarray,
    capital: np.ndarray,
    enough: np.ndarray,
    rounding: float,
    where: str,
) -> None:
    """The capital against those that are dropped must be what is recorded, and high enough."""
    what = f"{where}: the log capital against"
    check.agree_all(recorded, capital, lambda i: f"{what} {named[i]}", rounding)
    low = f"{where}: the capital against"
    check.demand_all(enough, lambda i: f"{low} {named[i]} is not high enough")
    check.checked += len(named)


def check_p_value(
    check: Check, candidates: np.ndarray, log_capital: np.ndarray, rounding: float
) -> None:
    """How sure an answer is that may not be proven; a claim need not say it.

    While another candidate b is the best, the capital against b ever reaches 1/p with probability
    at most p, and the least one is not above it.
    """
    if "p_value" not in check.claim:
        return
    claimed = exact.number(check.claim["p_value"], "the claim's p-value")
    others = candidates != check.first_like(check.claim["candidate"])
    due = math.exp(-max(float(log_capital[others].min(initial=math.inf)), 0.0))
    check.demand(
        abs(claimed - due) <= due * (1e-6 + rounding),
        f"its p-value is given as {claimed:g}, but the data give {due:g}",
    )


def check_left(check: Check, left: list[int], *kinds: str) -> None:
    """The answer must be one of those that are left, and its claim of one of these kinds."""
    claim, chosen = check.claim, check.claim["candidate"]
    check.demand(claim["survivors"] == left, "the survivors are not those claimed")
    check.demand(0 <= chosen < len(check.candidates), "the answer is no candidate")
    check.demand(chosen in left or not left, "the answer is not among the survivors")
    check.demand(check.label(chosen) == claim["label"], "the label is another candidate's")
    kind = claim["guarantee"]
    check.demand(kind in kinds, f"unknown claim {kind!r}")


def check_risk(check: Check) -> None:
    """Levels must add up to no more than delta."""
    check.demand(
        check.risk <= check.delta * (1 + 1e-9),
        f"the levels add up to {check.risk:g}, more than delta = {check.delta:g}",
    )


def conclude_left(check: Check, survivors: list[int]) -> None:
    """The claim must follow from who is left, one of each kind."""
    left = [i for i in check.alike(survivors).tolist() if i not in check.gone]
    check_left(check, left, "pac", "eps-pac", "heuristic", "none")
    check.demand(left, "the answer is not among the survivors")
    kind, chosen = check.claim["guarantee"], check.claim["candidate"]
    if kind in ("pac", "eps-pac"):
        check_risk(check)
    if kind == "pac":
        alone = all(check.same(i, chosen) for i in left)
        check.demand(alone, "other candidates are still in the race")
    check_statement(check, len(survivors))


def conclude_claims(check: Check, found: Comparison) -> None:
    """The claim must say what was shown against a baseline."""
    check_comparison(check, found)
    check_claims_statement(check, found)


# -- several ------------------------------------------------------------------------------
def read_top(check: Check) -> int:
    """How many are asked for, which must be what the algorithm was set to."""
    asked = exact.mapping(check.evidence["question"], "the question")
    m = exact.whole(asked["top"], "how many were asked for")
    check.demand(m >= 2 and set(asked) == {"top"}, "the question says more than it should")
    own = not published.is_own(check) or check.settings.get("top") == m
    check.demand(own, "the question is not the one that the algorithm was set to")
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
    check_risk(check)
    others = set(found.left) - set(chosen)
    if kind == "pac" or check.epsilon == 0:
        check.demand(not others, "other candidates are still in the race")
    for a in chosen if others else ():
        far = sorted(others - found.close.get(a, set()))
        check.demand(not far, f"candidate {far[0] if far else ''} may be more than epsilon better")
    check.checked += len(others)


def conclude_chosen(check: Check, found: Chosen) -> None:
    """The claim must follow from who is left of those that were asked for."""
    check_chosen(check, found)
    check_statement(check, len(found.left))

"""Answers of traffic that waited: what was decided must show again in the reports after it.

A rival is whoever was not decided in one of the reports that decided, from the first of their
second half on, newcomers too, and is still there; an option that others are compared with is one as
well. Where the answer is all that is left of them, everybody who is there is. Whoever the answer
says is better than a rival must be ahead of it in the later reports alone, by one standard error at
least, the lead being the average of what two options differ by within each period (weights
nk/(n + k)). There must be one such report, and the time that was asked for must be over. Nothing is
bet on them. Where only one option is there, and no limit is to be kept, nothing has to be shown.

Where limits have to be kept (rule 2), the answer must keep each of them there by one standard
error, up to its tolerance. What each of the others must show again is what was clearest, in
standard errors of all reports up to the decision: that the answer is ahead of it, or that it breaks
a certain limit. If nobody keeps the limits, it is one of the latter. Where options are compared
with a baseline, or a number, that holds of each: the better ones are ahead of it and keep all
limits; of the others what was clearest, that they are behind it or break a certain limit.

Where the cheapest that is good enough is asked for, the answer must be good enough beside each of
them, and of each that is cheaper the option that was most clearly too far ahead must be so again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from surepick.verifier import exact
from surepick.verifier.check import Check
from surepick.verifier.noise import Noise
from surepick.verifier.options import at_first
from surepick.verifier.payoffs.limits import Limit, kind_of, limits_of
from surepick.verifier.record import Batch, Traffic

PROVEN = ("pac", "eps-pac", "claims", "fdr", "nobody")
_SLACK = 1e-6


class _Shown(NamedTuple):
    """Something that must show again: sign · (better − worse) + margin is above 0."""

    better: int
    worse: int | None  #: None: the number 0
    margin: float
    sign: float
    column: str | None  #: the further number; None: rewards
    kind: Noise
    words: str


def check_waiting(check: Check, traffic: Traffic) -> None:
    """What it says of its waiting."""
    waits = traffic.waits
    known = waits.rule == (2 if check.rule == "keeping" else 1)
    check.demand(known, "traffic: what it waits for is not a rule that is known")
    check.demand(waits.least >= 0.0, "traffic: the time it takes at least is negative")
    times = [period.after for period in traffic.periods if period.after is not None]
    said = len(times) == len(traffic.periods)
    check.demand(said, "traffic: it does not say the time of each report")
    proven, reports = check.claim["guarantee"] in PROVEN, len(check.batches)
    there = set(range(len(check.arms))) - check.gone
    if waits.decided is None:
        alone = len(there) == 1 and not _ways(check, [*there])
        said = not proven or not reports or alone
        check.demand(said, "traffic: it does not say when it was decided")
        return
    decided = waits.decided
    check.demand(1 <= decided <= reports, "traffic: it was decided by reports that are not there")
    check.waited = reports - decided
    if not proven:
        return
    due = _ways(check, _rivals(check, there, decided))
    if len(there) == 1 and not due:
        return
    check.demand(check.waited >= 1, "traffic: no report came after the decision")
    check.demand(max(times) >= waits.least, "traffic: it ended before its time was over")
    later = check.batches[decided:]
    for ways in due:
        if len(ways) > 1:
            clear = [_errors(check.batches[:decided], one) for one in ways]
            near = max(clear) - _SLACK * max(abs(max(clear)), 1.0)
            ways = [one for one, own in zip(ways, clear) if own == max(clear) or own >= near]
        check.demand(
            any(_errors(later, one) >= 1.0 - _SLACK for one in ways),
            f"traffic: that {ways[0].words} did not show again after it was decided",
        )
        check.checked += 1


def _ways(check: Check, rivals: list[int]) -> list[list[_Shown]]:
    """What must show again, each with the ways in which it may have been decided."""
    nobody = check.claim["guarantee"] == "nobody"
    if "cheapest" in check.evidence.get("question", {}) and not nobody:
        return _ways_of_cheapest(check, rivals)
    if check.rule != "keeping":
        return [[_ahead(check, *one)] for one in _leads(check, rivals)]
    limits, claim, asked = limits_of(check), check.claim, check.evidence.get("question", {})
    if "claims" in asked:
        return _ways_of_claims(check, rivals, limits)
    chosen = claim.get("candidates") or [claim["candidate"]]
    chosen = [] if nobody else chosen
    found = [[_keeps(check, own, x)] for x in chosen for own in limits if own.reference != x]
    # Where fewer are left than were asked for, all others break a limit.
    ahead_of = [[x] for x in chosen] if len(chosen) == asked.get("top", 1) else [[]]
    for rival in (one for one in rivals if one not in chosen):
        if _breaks_itself(limits, rival):
            continue
        broken = [_breaks(check, own, rival) for own in limits if own.reference != rival]
        for some in ahead_of:
            ways = [_ahead(check, x, rival, check.epsilon) for x in some] + broken
            found += [ways] if ways else []
    return found


def _ways_of_cheapest(check: Check, rivals: list[int]) -> list[list[_Shown]]:
    """The answer is good enough beside all; cheaper ones are too far behind one that was clear."""
    chosen, within = check.claim["candidate"], check.evidence["question"]["cheapest"]
    limits = limits_of(check) if check.rule == "keeping" else []
    some = [r for r in sorted({chosen, *rivals}) if not _breaks_itself(limits, r)]
    broken = {r: [_breaks(check, own, r) for own in limits if own.reference != r] for r in some}
    found = [[_keeps(check, own, chosen)] for own in limits if own.reference != chosen]
    enough = within + check.epsilon
    found += [[_ahead(check, chosen, r, enough), *broken[r]] for r in some if r != chosen]
    costs = check.costs
    if costs is None:
        exact.refuse("it does not say what options cost")
    for one in some:
        if (costs[one], one) < (costs[chosen], chosen):
            ahead = [_ahead(check, r, one, -within) for r in some if r != one]
            found.append(ahead + broken[one])
    return found


def _breaks_itself(limits: list[Limit], arm: int) -> bool:
    """Whether it breaks a limit that compares it with itself, for certain."""
    return any(one.reference == arm and not one.itself for one in limits)


def _ways_of_claims(check: Check, rivals: list[int], limits: list[Limit]) -> list[list[_Shown]]:
    """What must show again where options beat a baseline and keep limits, each by itself."""
    found = []
    for one in (i for i in rivals if i in check.claim["better"]):
        found.append([_beside(check, one, True)])
        found += [[_keeps(check, own, one)] for own in limits if own.reference != one]
    for one in (i for i in rivals if i in check.claim["ruled_out"]):
        if _breaks_itself(limits, one):
            continue
        broken = [_breaks(check, own, one) for own in limits if own.reference != one]
        found.append([_beside(check, one, False), *broken])
    return found


def _beside(check: Check, arm: int, better: bool) -> _Shown:
    """That an option is better than the baseline, or the number; or worse."""
    asked = check.evidence["question"]
    if "baseline" in asked:
        ends = (arm, asked["baseline"]) if better else (asked["baseline"], arm)
        return _ahead(check, *ends, 0.0)
    sign = check.sign if better else -check.sign
    words = f"{check.label(arm)} is {'better' if better else 'worse'} than {asked['threshold']:g}"
    return _Shown(arm, None, -sign * asked["threshold"], sign, None, check.kind, words)


def _ahead(check: Check, better: int, worse: int, margin: float) -> _Shown:
    words = f"{check.label(better)} is ahead of {check.label(worse)}"
    return _Shown(better, worse, margin, check.sign, None, check.kind, words)


def _keeps(check: Check, limit: Limit, arm: int) -> _Shown:
    sign, words = (1.0 if limit.up else -1.0), f"{check.label(arm)} keeps {limit.text}"
    margin, kind = limit.tolerance - sign * limit.mark, kind_of(check, limit)
    return _Shown(arm, limit.reference, margin, sign, limit.column, kind, words)


def _breaks(check: Check, limit: Limit, arm: int) -> _Shown:
    sign, words = (-1.0 if limit.up else 1.0), f"{check.label(arm)} breaks {limit.exactly}"
    own = (limit.reference, -sign * limit.mark, sign, limit.column)
    return _Shown(arm, *own, kind_of(check, limit), words)


def _rivals(check: Check, there: set[int], decided: int) -> list[int]:
    """Who must be seen again: see above."""
    asked, claim = check.evidence.get("question", {}), check.claim
    if asked.get("claims") == "fdr":  # what is claimed on average may be taken back until the end
        return sorted(there)
    if "cheapest" in asked:  # to be good enough is to be so beside everybody
        return sorted(there)
    undecided = _undecided(check)
    found = {arm for arms in undecided[decided // 2 : decided] for arm in arms}
    if "baseline" in asked:
        found.add(asked["baseline"])
    if check.rule == "keeping":
        found |= {one.reference for one in limits_of(check) if one.reference is not None}
    named = set(claim.get("candidates") or [claim["candidate"]])
    if claim["guarantee"] == "nobody":
        named = set()
    # Who was retired after the last report had been seen by then.
    turns = [turn for turn in check.record.options if turn.batch < len(check.batches)]
    gone = {arm for turn in turns if not turn.added for arm in turn.arms}
    return sorted(found & there if found - gone - named else there)


def _undecided(check: Check) -> list[set[int]]:
    """Who was not decided when each report came, by what is recorded of blocks and options."""
    turns, found = list(check.record.options), []
    there = set(range(at_first(check)))
    still, claims = set(there), check.evidence.get("claims", [])
    for number, block in enumerate(check.evidence["blocks"], start=1):
        if block["batches"]:
            while turns and turns[0].batch <= len(found):
                turn = turns.pop(0)
                there = there | set(turn.arms) if turn.added else there - set(turn.arms)
                back = not turn.added and still.issuperset(turn.arms)
                # If one goes that might have been the answer, anyone may be.
                still = set(there) if back else (still | set(turn.arms)) & there
            found.append(set(still))
        if "dropped" in block:
            still -= {row["candidate"] for row in block["dropped"]}
        still -= {one["candidate"] for one in claims if one["block"] == number}
    return found


def _leads(check: Check, rivals: list[int]) -> list[tuple[int, int, float]]:
    """Who is said to be better than whom, or not worse by more than a margin."""
    claim, asked = check.claim, check.evidence.get("question", {})
    if "better" not in claim:
        named = claim.get("candidates") or [claim["candidate"]]
        return [(a, b, check.epsilon) for a in named for b in rivals if b not in named]
    if "baseline" not in asked:  # a number, which has no visitors
        return []
    base, found = asked["baseline"], []
    for one in rivals:
        found += [(one, base, 0.0)] if one in claim["better"] else []
        found += [(base, one, 0.0)] if one in claim["worse"] else []
        if one in claim["close"]:
            found += [(one, base, check.epsilon), (base, one, check.epsilon)]
    return found


def _errors(batches: Sequence[Batch], one: _Shown) -> float:
    """Standard errors by which something shows in some reports."""
    lead = variance = 0.0
    for batch in batches:
        told = batch if one.column is None else batch.about(one.column)
        n, total, spread = _of(told, one.better, one.kind)
        k, other, also = (0.0,) * 3 if one.worse is None else _of(told, one.worse, one.kind)
        if not n or (one.worse is not None and not k):
            continue
        weight = n if one.worse is None else n * k / (n + k)
        apart = total / n - (other / k if k else 0.0)
        lead += weight * (one.sign * apart + one.margin)
        variance += weight * (spread + also) / (n + k)
    if variance <= 0.0:
        return math.inf if lead > 0.0 else -math.inf
    return lead / math.sqrt(variance)


def _of(batch: Batch, arm: int, kind: Noise) -> tuple[float, float, float]:
    """Visits of an arm, the sum of their rewards or of a number, and what these differ by."""
    own = batch.of(batch.arms == arm)
    n, total = own.counts.astype(float), own.sums
    if kind.shares:
        return _of_mix(own, kind.shares)
    if kind.zero_one:
        spread = total * (1.0 - total / n)
    elif own.spreads is not None:
        spread = own.spreads
    else:
        spread = n * kind.units(own.arms) ** 2
    return float(n.sum()), float(total.sum()), float(spread.sum())


def _of_mix(batch: Batch, shares: tuple[float, ...]) -> tuple[float, float, float]:
    """Visits and sums where visitors are counted by segment: as many of one rate as tell as much.

    None where nobody came of some segment.
    """
    if len(batch.arms) < len(shares) or batch.parts is None:
        return 0.0, 0.0, 0.0
    of = np.argsort(batch.parts)
    each = np.array_equal(batch.parts[of], np.arange(len(shares)))
    exact.demand(each, "visitors are not of the segments that there are")
    share, n = np.array(shares), batch.counts[of].astype(float)
    yes = batch.sums[of] / n
    uneven = float((share**2 / n).sum())
    mean, varies = float((share * yes).sum()), float((share**2 * yes * (1.0 - yes) / n).sum())
    return 1.0 / uneven, mean / uneven, varies / uneven**2

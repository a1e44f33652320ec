"""The sentence that a certificate may say: exactly the published one for what was checked.

It is put together here from its parts, as the guarantee of an answer is: what the algorithm
promises, and on what the promise rests. Whoever adds a part to the one adds it to the other.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, NamedTuple

from surepick.verifier import conditions, exact, published
from surepick.verifier.caps import cap_reached
from surepick.verifier.changed import set_aside_in
from surepick.verifier.check import Check
from surepick.verifier.noise import yes_and_no
from surepick.verifier.order import overlapping
from surepick.verifier.questions.claims import Comparison
from surepick.verifier.stated import Stated

#: rules and thresholds -> the theorem behind them
THEOREMS = {
    "phases": "phased elimination with fixed-design widths; union over one-sided comparisons",
    "pooled": "the capital bet against the best candidate is a supermartingale; Ville's inequality",
    "complete": "items in random order, each cell measured once; the capital bet against the best "
    "option is a supermartingale; Ville's inequality",
    "keeping": "the capital bet against the best option that keeps the limits is a "
    "supermartingale; Ville's inequality",
    "static": "allocation fixed in advance; one-sided tests valid at all looks, union over rivals",
    "pairs": "the capital bet against whoever is the answer is a supermartingale; Ville's "
    "inequality",
    "alba": "noise widths given the draws, bias by the norm bound; union over one-sided "
    "comparisons",
    "intervals": "one interval per arm, union over arms, rounds and pull counts",
    "ellipsoid": "self-normalised confidence ellipsoid, valid in all rounds at once",
    "self-normalised": "GLR stop; self-normalised bound (method of mixtures)",
    "pairwise": "GLR stop; self-normalised bounds, one for each pair and one for all",
    "determinant": "GLR stop; Jedra and Proutière 2020, determinant threshold",
    "regularised": "GLR stop; Degenne et al. 2020, regularised threshold",
    "round-robin": "GLR stop on full rounds; one-dimensional mixture per rival",
}
_UNKNOWN_ORDER = "nobody who made an option knew in which order items would come"
_MEASURED_AGAIN = "each measurement is made anew or a score is the same whenever it is measured"
_NOT_SYMMETRIC = (
    "all rewards are 0 or 1, and yes or no is not as likely to be above its mean as below by the "
    "same amount (say that rewards are yes or no: noise='yes-no', --rewards yes-no)"
)
_LOOKED = (
    "the share of wrong claims is limited only where it is not stopped by somebody who sees rewards"
)
#: how sure something is that is no matter of chance
CERTAIN = " for certain"
_NO, _OTHERWISE = "no guarantee: ", "; otherwise it would be "
# Why an answer withdraws what it would promise: checks do not hold, or measurements failed.
_BROKEN = (
    "the noise is not what the study was told",
    "visitors did not come in the shares they were sent by",
    "what was decided did not show again in the reports after it",
    "an option did not keep to its own past",
    "rewards reach further to one side of their mean than to the other",
    "some options vary more than others",
    "the linear model does not fit",
    "rewards changed over time",
    "the same numbers came back to the last digit, as if one draw was counted often",
    "random numbers were set back between measurements, so one draw counted often",
    "how long a run takes depends on which one was before it",
)
_ONE_FAILED = re.compile(r".+ failed \d+ of \d+ times, far more often than the other arms")
_ALL_FAILED = re.compile(r"\d+ of \d+ measurements failed")


class _Proper(NamedTuple):
    """The algorithm that decides, inside of those that are around it."""

    name: str
    rule: str
    threshold: str | None  #: of the GLR stop
    evidence: dict[str, Any]


def check_statement(check: Check, left: int) -> None:
    """The sentence must be the published one; ``left`` kinds of candidates are not ruled out."""
    kind = check.claim["guarantee"]
    if kind in ("pac", "eps-pac"):
        check.demand(
            not _clicks(check),
            "all rewards are 0 or 1: yes or no is not the noise that the statement rests on",
        )
    sentences = _sentences(check, kind, left)
    settle(check, sentences + _withdrawn(check, kind, left))


def settle(check: Check, allowed: list[Stated]) -> None:
    """The sentence must be one of these."""
    kind, statement = check.claim["guarantee"], check.claim["statement"]
    found = next((one for one in allowed if one.text == statement), None)
    check.demand(
        found is not None,
        f"the statement should be {allowed[0].text!r}; it is {statement!r:.400}"
        if allowed
        else f"the claim {kind!r} does not follow from a stop like this one",
    )
    check.stated = found


def check_claims_statement(check: Check, found: Comparison, keep: str = "") -> None:
    """The sentence on claims against a baseline must be the published one; ``keep``: limits."""
    kind, statement = check.claim["guarantee"], check.claim["statement"]
    proven = "fdr" if found.claims == "fdr" else "claims"
    if kind == proven:
        by_hand = check.record.stopped is not None and bool(found.open)
        check.demand(kind != "fdr" or not by_hand, "somebody stopped it who may have seen rewards")
        check.demand(
            not _clicks(check),
            "all rewards are 0 or 1: yes or no is not the noise that the statement rests on",
        )
    promised = _of_claims(check, found, keep)
    allowed = promised
    if kind == "none":
        nothing = _left_open(check, found, Stated(compares=True, smaller=check.smaller))
        allowed = [nothing] if found.open else []
    elif kind == "heuristic":
        why = statement.removeprefix(_NO).rpartition(_OTHERWISE)[0]
        fits = why == _NOT_SYMMETRIC if _clicks(check) else _is_reason(why)
        by_hand = check.record.stopped is not None
        fits |= why == _LOOKED and by_hand and found.claims == "fdr"
        allowed = [replace(one, why=why) for one in promised] if fits else []
    settle(check, allowed)


def _of_claims(check: Check, found: Comparison, keep: str) -> list[Stated]:
    against = found.words if found.baseline is None else repr(check.label(found.baseline))
    about = f"claims against {against}"
    if keep:
        about = f"claims about which options are better than {against} and keep {keep}"
    bets = "capital bet against what is true is a supermartingale"
    if found.claims == "fdr":
        share = f"a share of at most {check.delta:.12g} is wrong"
        said = Stated(f"of all {about}, {share}", " on average", f"{bets}; e-BH")
    else:
        theorem = f"{bets}; Ville's inequality, closed testing"
        said = Stated(f"all {about} are right", sure(check.delta), theorem)
    said = replace(said, compares=True, against=against)
    return [_resting(check, _left_open(check, found, said))]


def _left_open(check: Check, found: Comparison, said: Stated) -> Stated:
    return _ended(check, said, len(found.open)) if found.open else said


def _sentences(check: Check, kind: str, left: int) -> list[Stated]:
    """What may be said; an algorithm of somebody else's may cite a theorem in short."""
    if kind == "none":
        return _stopped_early(check, left)
    proper = _proper(check)
    clicks = _clicks(check)
    if kind == "heuristic":
        used = "eps-pac" if left > check.top else "pac"
        if proper.threshold == "heuristic" or (not _is_known(proper) and not clicks):
            stops = f"{proper.name} stops by a heuristic threshold"
            return [joined(check, Stated(why=stops, several=check.top > 1))]
        if clicks:
            promises = _promises(check, proper, used)
            return [replace(_resting(check, one), why=_NOT_SYMMETRIC) for one in promises]
        return []
    if proper.threshold == "heuristic":
        return []
    return [_resting(check, one) for one in _promises(check, proper, kind)]


def _clicks(check: Check) -> bool:
    """Whether rewards are yes or no, though nobody said so: no noise that bets rest on here."""
    return check.kind.symmetric and yes_and_no([*check.past, *check.batches])


def _withdrawn(check: Check, kind: str, left: int) -> list[Stated]:
    """What it may say if a study withdraws what its answer would otherwise promise."""
    if kind != "heuristic" or _clicks(check):
        return []
    return withdrawn(check, _sentences(check, "eps-pac" if left > check.top else "pac", left))


def withdrawn(check: Check, promised: list[Stated]) -> list[Stated]:
    """These, with the reason for which they are withdrawn; none where there is no such reason."""
    why, found, _ = check.claim["statement"].removeprefix(_NO).rpartition(_OTHERWISE)
    return [replace(said, why=why) for said in promised] if found and _is_reason(why) else []


def _is_reason(why: str) -> bool:
    """Whether a study may withdraw what its answer promises for this."""
    broken = why.split(" and ")
    fine = broken == [text for text in _BROKEN if text in broken]
    return fine or _is_failures(why)


def _is_failures(why: str) -> bool:
    """Whether it says of arms, or of all measurements, how many failed; one after the other.

    Looked at from its end: the name of an arm may be any text, with a semicolon, too.
    """
    rest, more = why, ";"
    while more:
        if not _ALL_FAILED.fullmatch(rest.rpartition("; ")[2]):
            return _ONE_FAILED.fullmatch(rest) is not None
        rest, more, _ = rest.rpartition("; ")
    return True


def _resting(check: Check, said: Stated) -> Stated:
    """A promise with all that it rests on."""
    if _on_items(check):
        return resting(check, said, check.kind.rests_on(items=True))
    noise = check.meaning or check.kind.rests_on(items=False)
    return resting(check, said, _features(check), noise, *check.further)


def resting(check: Check, said: Stated, *model: str) -> Stated:
    """A promise with all that it rests on, of which its model are these conditions."""
    alone = "" if said.sure == CERTAIN else conditions.ALONE
    visitors = check.record.traffic is not None  # who are counted, and not measured again
    afresh = "" if check.table is not None or visitors else conditions.AFRESH
    return joined(check, said, alone, *model, afresh)


def _on_items(check: Check) -> bool:
    return check.items is not None or check.table is not None


def joined(check: Check, said: Stated, *model: str) -> Stated:
    """What is said, with the conditions of its model and all others that it rests on."""
    parts = list(model)
    if check.past_counts:
        parts = [*parts, conditions.PAST]
    if check.items is not None:
        average = f"best on average over all {check.items} items"
        parts = [*parts, f"{average}, if {_MEASURED_AGAIN}, and {_UNKNOWN_ORDER}"]
    if check.table is not None:
        same = f"if a score is the same whenever it is measured, and {_UNKNOWN_ORDER}"
        better = "better" if "better" in check.claim else "best"
        these = "this item" if check.table == 1 else f"these {check.table} items"
        parts = [*parts, f"{better} on {these}, {same}"]
    if any(batch.stratum is not None for batch in check.batches):
        parts = [*parts, conditions.STRATA]
    if check.table is None and overlapping(check):
        parts = [*parts, conditions.OVERLAP]
    if any(getattr(one, "aside", None) is None for one in check.record.corrections):
        parts = [*parts, conditions.CHANGED]
    if check.record.options:
        parts = [*parts, conditions.TURNED]
    parts += conditions.stated_in(check)
    parts += set_aside_in(check.record)
    if check.record.unmeasured:
        parts.append(conditions.UNMEASURED.format(cells=len(check.record.unmeasured)))
    if check.record.traffic is not None:
        parts += conditions.of_visitors(check.record.traffic.window, _steady(check))
    if check.record.traffic is not None and check.rule == "keeping":
        parts = [*parts, conditions.KEEPS]
    if check.rule == "pooled" and check.dealt:
        parts = [*parts, conditions.ONE_RATE]
    return replace(said, conditions=tuple(filter(None, parts)), smaller=check.smaller)


def _steady(check: Check) -> str:
    """What must not change from period to period."""
    asked = check.evidence.get("question", {})
    if "threshold" in asked:
        return conditions.SIDES
    return conditions.GAPS if check.epsilon > 0 or "cheapest" in asked else conditions.LEADS


def _features(check: Check) -> str:
    """How far features are trusted."""
    if check.rule == "pairs":  # they guide, and prove nothing
        return ""
    if math.isinf(check.misfit):
        return "whatever the features are worth"
    if check.misfit > 0:
        return f"if the features are right to within {check.misfit:.12g}"
    if check.whiten.shape[1] == len(check.arms) and not check.separate:
        return ""
    return "if rewards are linear in the features"


def _promises(check: Check, proper: _Proper, kind: str) -> list[Stated]:
    """What the algorithm itself promises."""
    several = "candidates" in check.claim
    if check.certain and kind == "pac":
        best = _best(check)
        why = "everything that could change it was measured"
        return [Stated(best, CERTAIN, why, several=several)]
    theorem = THEOREMS.get(proper.threshold or proper.rule)
    if theorem is None:
        return []
    named = _near_the_best(check) if kind == "eps-pac" else _best(check)
    theorem += f", union over {check.top}" if check.top > 1 else ""
    theorems = [theorem] if _is_known(proper) else [theorem, theorem.partition(";")[0]]
    needs = _conditions(proper.evidence)
    how = sure(check.delta)
    return [Stated(named, how, text, needs, several=several) for text in theorems]


def _best(check: Check) -> str:
    return check.best if check.top == 1 else check.several.format(check.top)


def _near_the_best(check: Check) -> str:
    if check.near:
        return check.near
    if check.top == 1:
        return check.kind.near(check.best, check.epsilon, _on_items(check))
    return check.kind.near_several(check.top, check.epsilon)


def _conditions(evidence: dict[str, Any]) -> str:
    if "norm_bound" not in evidence:
        return ""
    found = f"provided that ‖theta*‖ <= {exact.number(evidence['norm_bound'], 'norm_bound'):g}"
    lam = evidence.get("regularisation", published.REGULARISATION)
    if lam != published.REGULARISATION:
        found += f" and that regularisation={lam:g} was set in advance"
    return found


def _ended(check: Check, said: Stated, left: int) -> Stated:
    """What is said of a run that has not finished: why it was stopped."""
    by_hand = check.record.stopped is not None
    how, limit = ("by hand", None) if by_hand else cap_reached(check)
    return replace(said, stopped=how, limit=limit, left=left)


def _stopped_early(check: Check, left: int) -> list[Stated]:
    by_hand = check.record.stopped is not None
    early = _ended(check, Stated(several=check.top > 1, smaller=check.smaller), left)
    proper = _proper(check)
    needs = _conditions(proper.evidence)
    known = _promises(check, proper, "pac") and not needs
    if not by_hand or not known or _clicks(check) or check.broken:
        return [early]
    # Who was dropped is not the best: that does not depend on when somebody stops.
    best = f"{_best(check)} {'are' if check.top > 1 else 'is'}"
    among = replace(early, what=f"{best} among those {left}", sure=sure(check.delta))
    return [_resting(check, among), early]


def sure(delta: float) -> str:
    """How sure something is that is wrong with this probability at most."""
    least = f"{1 - delta:.12g}" if delta >= 1e-9 else f"1 - {delta:g}"
    return f" with probability at least {least}"


def _proper(check: Check) -> _Proper:
    evidence = check.evidence
    algorithm = check.record.algorithm
    while "inner" in evidence:
        algorithm = published.inner_algorithm(check, algorithm.settings)
        evidence = evidence["inner"] or {}
    name = algorithm.name
    # Where there is but one candidate, nothing was measured, and there is no evidence inside.
    rule = evidence.get("rule", published.RULES.get(name))
    threshold = evidence["threshold"] if rule == "glr" else None
    return _Proper(name, rule, threshold, evidence)


def _is_known(proper: _Proper) -> bool:
    return proper.name.removesuffix(published.HEURISTIC) in published.RULES

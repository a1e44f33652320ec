"""The sentence that a certificate may say: exactly the published one for what was checked.

It is put together here from its parts, as the guarantee of an answer is: what the algorithm
promises, and on what the promise rests. Whoever adds a part to the one adds it to the other.

Part of the verifier: nothing here is shared with the algorithms.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from surepick.verifier import exact, published
from surepick.verifier.check import Check
from surepick.verifier.comparison import Comparison
from surepick.verifier.limits import limit_reached
from surepick.verifier.noise import yes_and_no

#: rules and thresholds -> the theorem behind them
_THEOREMS = {
    "phases": "phased elimination with fixed-design widths; union over one-sided comparisons",
    "pooled": "the capital bet against the best candidate is a supermartingale; Ville's inequality",
    "complete": "items in random order, each cell measured once; the capital bet against the best "
    "option is a supermartingale; Ville's inequality",
    "static": "allocation fixed in advance; one-sided tests valid at all looks, union over rivals",
    "pairs": "the capital bet against whoever is the answer is a supermartingale; Ville's "
    "inequality",
    "alba": "noise widths given the draws, bias by the norm bound; union over one-sided "
    "comparisons",
    "intervals": "one interval per arm, union over arms, rounds and pull counts",
    "ellipsoid": "self-normalised confidence ellipsoid, valid in all rounds at once",
    "self-normalised": "GLR stop; self-normalised bound (method of mixtures)",
    "determinant": "GLR stop; Jedra and Proutière 2020, determinant threshold",
    "regularised": "GLR stop; Degenne et al. 2020, regularised threshold",
    "round-robin": "GLR stop on full rounds; one-dimensional mixture per rival",
}
_STRATA = "provided that the stratum a pull belongs to did not depend on rewards"
_OVERLAP = "provided that measurements do not depend on each other, as batches overlapped"
_HEDGED = (
    "provided that how long a measurement takes does not depend on its reward, as some pulls were "
    "handed out twice"
)
_LOST = (
    "provided that whether a measurement fails or comes too late does not depend on its reward, as "
    "some were made again"
)
_AGAIN = (
    "provided that a measurement which went well is hardly ever measured again, as some were that "
    "came out far from all before, by a rule fixed at the start, and the second counts"
)
_PAST = "provided that what was measured in the past did not depend on rewards"
_TURNED = "among all options that were ever added and not retired"
_CHANGED = (
    "provided that which rewards were looked at again, and then corrected or withdrawn, depended "
    "neither on the rewards nor on whom one favours"
)
_NOT_SYMMETRIC = (
    "all rewards are 0 or 1, and yes or no is not as likely to be above its mean as below by the "
    "same amount (say that rewards are yes or no: noise='yes-no', --rewards yes-no)"
)
_LOOKED = (
    "the share of wrong claims is limited only where it is not stopped by somebody who sees rewards"
)
_SMALLER = "where smaller is better"
_NO, _OTHERWISE = "no guarantee: ", "; otherwise it would be "
# Why an answer withdraws what it would promise: checks do not hold, or measurements failed.
_BROKEN = (
    "the noise is not what the study was told",
    "visitors did not come in the shares they were sent by",
    "rewards reach further to one side of their mean than to the other",
    "some options vary more than others",
    "the linear model does not fit",
    "rewards changed over time",
)
_ONE_FAILED = r".+ failed \d+ of \d+ times, far more often than the other arms"
_ALL_FAILED = r"\d+ of \d+ measurements failed"
_FAILED = re.compile(f"(?:{_ONE_FAILED}|{_ALL_FAILED})(?:; (?:{_ONE_FAILED}|{_ALL_FAILED}))*")
_ESTIMATED = (
    "no guarantee: the noise scale is an estimate, so that it holds only approximately that this is"
)


class _Proper(NamedTuple):
    """The algorithm that decides, inside of those that are around it."""

    name: str
    rule: str
    threshold: str | None  #: of the GLR stop
    evidence: dict[str, Any]
    estimated: bool  #: whether an estimate of the noise is around it


def check_statement(check: Check, left: int) -> None:
    """The sentence must be the published one; ``left`` kinds of candidates are not ruled out."""
    kind, statement = check.claim["guarantee"], check.claim["statement"]
    if kind in ("pac", "eps-pac"):
        check.demand(
            not _clicks(check),
            "all rewards are 0 or 1: yes or no is not the noise that the statement rests on",
        )
    sentences = _sentences(check, kind, left)
    check.demand(
        statement in sentences or _is_withdrawn(check, kind, left),
        f"the statement should be {sentences[0]!r}; it is {statement!r:.400}"
        if sentences
        else f"the claim {kind!r} does not follow from a stop like this one",
    )


def check_claims_statement(check: Check, found: Comparison) -> None:
    """The sentence on claims against a baseline must be the published one."""
    kind, statement = check.claim["guarantee"], check.claim["statement"]
    proven = "fdr" if found.control == "fdr" else "claims"
    if kind == proven:
        by_hand = check.body.get("stopped") == "by hand" and bool(found.open)
        check.demand(kind != "fdr" or not by_hand, "somebody stopped it who may have seen rewards")
        check.demand(
            not _clicks(check),
            "all rewards are 0 or 1: yes or no is not the noise that the statement rests on",
        )
    promised = _of_claims(check, found)
    allowed = promised
    if kind == "none":
        left = _left_open(check, found)
        allowed = [f"no guarantee: {left}; nothing is claimed{_aside(check)}"] if left else []
    elif kind == "heuristic":
        why = statement.removeprefix(_NO).rpartition(_OTHERWISE)[0]
        fits = why == _NOT_SYMMETRIC if _clicks(check) else _is_reason(why)
        by_hand = check.body.get("stopped") == "by hand"
        fits |= why == _LOOKED and by_hand and found.control == "fdr"
        allowed = [f"{_NO}{why}{_OTHERWISE}{text}" for text in promised] if fits else []
    check.demand(
        statement in allowed,
        f"the statement should be {allowed[0]!r}; it is {statement!r:.400}"
        if allowed
        else f"the claim {kind!r} does not follow from a stop like this one",
    )


def _of_claims(check: Check, found: Comparison) -> list[str]:
    """What claims against a baseline may say."""
    against = found.words if found.baseline is None else repr(check.label(found.baseline))
    bets = "capital bet against what is true is a supermartingale"
    if found.control == "fdr":
        share = f"a share of at most {check.delta:.12g} is wrong on average"
        text = f"of all claims against {against}, {share} ({bets}; e-BH)"
    else:
        text = f"all claims against {against} are right with probability at least {_sure(check)} "
        text += f"({bets}; Ville's inequality, closed testing)"
    left = _left_open(check, found)
    return _resting(check, f"{text}; {left}" if left else text)


def _left_open(check: Check, found: Comparison) -> str:
    n = len(found.open)
    return f"stopped {_why(check)} with {n} option{'s' if n > 1 else ''} undecided" if n else ""


def _sentences(check: Check, kind: str, left: int) -> list[str]:
    """What may be said; an algorithm of somebody else's may cite a theorem in short."""
    if kind == "none":
        return _stopped_early(check, left)
    proper = _proper(check)
    clicks = _clicks(check)
    if kind == "heuristic":
        used = "eps-pac" if left > check.top else "pac"
        if proper.estimated:
            promised = _promises(check, proper, used)
            return [joined(check, [f"{_ESTIMATED} {text}", _way(check)]) for text in promised]
        if proper.threshold == "heuristic" or (not _is_known(proper) and not clicks):
            stops = f"no guarantee: {proper.name} stops by a heuristic threshold"
            return [joined(check, [stops, _way(check)])]
        if clicks:
            promises = _promises(check, proper, used)
            promised = [said for text in promises for said in _resting(check, text)]
            says = f"no guarantee: {_NOT_SYMMETRIC}; otherwise it would be"
            return [f"{says} {text}" for text in promised]
        return []
    if proper.estimated or proper.threshold == "heuristic":
        return []
    return [said for text in _promises(check, proper, kind) for said in _resting(check, text)]


def _clicks(check: Check) -> bool:
    """Whether rewards are yes or no, though nobody said so: no noise that bets rest on here."""
    return check.kind.symmetric and yes_and_no([*check.past, *check.batches])


def _is_withdrawn(check: Check, kind: str, left: int) -> bool:
    """Whether it says why a study withdraws exactly what its answer would otherwise promise."""
    statement = check.claim["statement"]
    why, found, promise = statement.removeprefix(_NO).rpartition(_OTHERWISE)
    if kind != "heuristic" or not found or not statement.startswith(_NO) or _clicks(check):
        return False
    return _is_reason(why) and promise in _sentences(
        check, "eps-pac" if left > check.top else "pac", left
    )


def _is_reason(why: str) -> bool:
    """Whether a study may withdraw what its answer promises for this."""
    broken = why.split(" and ")
    fine = broken == [text for text in _BROKEN if text in broken]
    return fine or _FAILED.fullmatch(why) is not None


def _resting(check: Check, promise: str) -> list[str]:
    """A promise with all that it rests on; what earlier releases left out may be left out."""
    way = _way(check)
    if _on_items(check):
        return [joined(check, [promise, way, check.kind.rests_on(items=True)])]
    noise = check.meaning or check.kind.rests_on(items=False)
    return [joined(check, [promise, way, features, noise]) for features in _features(check)]


def _on_items(check: Check) -> bool:
    return check.items is not None or check.table is not None


def _way(check: Check) -> str:
    """Which way is better, where it is not the usual one."""
    return _SMALLER if check.smaller else ""


def _aside(check: Check) -> str:
    return " (smaller is better)" if check.smaller else ""


def joined(check: Check, parts: list[str]) -> str:
    """A sentence of these parts, with all else that the record makes it rest on."""
    if check.past_counts:
        parts = [*parts, _PAST]
    if check.items is not None:
        parts = [*parts, f"best on average over all {check.items} items"]
    if check.table is not None:
        same = "if a score is the same whenever it is measured"
        parts = [*parts, f"best on these {check.table} items, {same}"]
    if any("stratum" in batch for batch in check.batches):
        parts = [*parts, _STRATA]
    if any("after" in batch for batch in check.batches):
        parts = [*parts, _OVERLAP]
    if check.body.get("hedged"):
        parts = [*parts, _HEDGED]
    if check.body.get("lost"):
        parts = [*parts, _LOST]
    if check.body.get("again"):
        parts = [*parts, _AGAIN]
    if check.body.get("corrections"):
        parts = [*parts, _CHANGED]
    if check.body.get("options"):
        parts = [*parts, _TURNED]
    return "; ".join(filter(None, parts))


def _features(check: Check) -> list[str]:
    """How far features are trusted. Earlier releases did not say that rewards must be linear."""
    if check.rule == "pairs":  # they guide, and prove nothing
        return [""]
    if math.isinf(check.misfit):
        return ["whatever the features are worth"]
    if check.misfit > 0:
        return [f"if the features are right to within {check.misfit:.12g}"]
    separate = check.body["problem"]["candidates"] is not None
    if check.whiten.shape[1] == len(check.arms) and not separate:
        return [""]
    return ["if rewards are linear in the features", ""]


def _promises(check: Check, proper: _Proper, kind: str) -> list[str]:
    """What the algorithm itself promises."""
    near = check.near or f"within {check.epsilon:.12g} of {check.best}"
    best = near if kind == "eps-pac" else check.best
    if check.certain and kind == "pac":
        return [f"{best} for certain (everything that could change it was measured)"]
    theorem = _THEOREMS.get(proper.threshold or proper.rule)
    if theorem is None:
        return []
    named = [best]
    if check.top > 1:
        named = [f"the {check.top} best"]
        if kind == "eps-pac":
            named = _near_the_best(check, named[0])
        theorem += f", union over {check.top}"
    theorems = [theorem] if _is_known(proper) else [theorem, theorem.partition(";")[0]]
    conditions = _conditions(proper.evidence)
    return [
        f"{one} with probability at least {_sure(check)} ({text}){conditions}"
        for one in named
        for text in theorems
    ]


def _near_the_best(check: Check, best: str) -> list[str]:
    """The m best up to epsilon; earlier releases, where larger was better, said it like that."""
    within = [f"worse than the worst of {best}"]
    within += [] if check.smaller else [f"below the lowest of {best}"]
    each = f"{check.top} options, each at most {check.epsilon:.12g}"
    return [f"{each} {text}," for text in within]


def _conditions(evidence: dict[str, Any]) -> str:
    if "norm_bound" not in evidence:
        return ""
    found = f", provided that ‖theta*‖ <= {exact.number(evidence['norm_bound'], 'norm_bound'):g}"
    lam = evidence.get("regularisation", published.REGULARISATION)
    if lam != published.REGULARISATION:
        found += f" and that regularisation={lam:g} was set in advance"
    return found


def _why(check: Check) -> str:
    """Why a run that has not finished was stopped."""
    return "by hand" if check.body.get("stopped") == "by hand" else limit_reached(check)


def _stopped_early(check: Check, left: int) -> list[str]:
    by_hand = check.body.get("stopped") == "by hand"
    early = (
        f"no guarantee: stopped {_why(check)} with {left} candidate{'s' if left > 1 else ''} left; "
        f"the answer is {'those that look' if check.top > 1 else 'the one that looks'} best"
        f"{_aside(check)}"
    )
    proper = _proper(check)
    conditions = _conditions(proper.evidence)
    known = _promises(check, proper, "pac") and not proper.estimated and not conditions
    if not by_hand or not known or _clicks(check):
        return [early]
    # Who was dropped is not the best: that does not depend on when somebody stops.
    best = f"the {check.top} best are" if check.top > 1 else f"{check.best} is"
    among = f", and {best} among those {left} with probability at least {_sure(check)}"
    if _on_items(check):
        return [joined(check, [early + among, check.kind.rests_on(items=True)]), early]
    noise = check.meaning or check.kind.rests_on(items=False)
    return [
        *(joined(check, [early + among, one, noise]) for one in _features(check)),
        early,
    ]


def _sure(check: Check) -> str:
    return f"{1 - check.delta:.12g}" if check.delta >= 1e-9 else f"1 - {check.delta:g}"


def _proper(check: Check) -> _Proper:
    evidence, estimated = check.evidence, False
    algorithm: dict[str, Any] = {"name": check.algorithm, "settings": check.settings}
    while "inner" in evidence:
        estimated |= evidence["rule"] == "estimated-noise"
        algorithm = published.inner_algorithm(check, algorithm["settings"])
        evidence = evidence["inner"] or {}
    name = algorithm["name"]
    # Where there is but one candidate, nothing was measured, and there is no evidence inside.
    rule = evidence.get("rule", published.RULES.get(name))
    threshold = evidence["threshold"] if rule == "glr" else None
    return _Proper(name, rule, threshold, evidence, estimated)


def _is_known(proper: _Proper) -> bool:
    return proper.name.removesuffix(published.HEURISTIC) in published.RULES

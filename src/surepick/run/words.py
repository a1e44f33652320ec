"""A guarantee in the words of somebody who decides: how sure it is, and what that takes.

Certificates hold the exact sentence, with the theorem behind it, and verifiers check it. Here the
same is said for everybody else. A part that is not known here is said as it stands: no condition
gets lost on the way.
"""

from __future__ import annotations

import re

from surepick.algorithms.findings import PROVEN
from surepick.problem.noise import EqualNoise, SymmetricNoise
from surepick.run.guarantee import (
    CHANGED,
    ITEMS_PROVIDED,
    LOOKED,
    LOST_PROVIDED,
    NOT_SYMMETRIC,
)
from surepick.run.past import PROVIDED
from surepick.run.strata import STRATA_PROVIDED
from surepick.verifier.verify import Verification

_NO, _OTHERWISE = "no guarantee: ", "; otherwise it would be "
_THEOREM = re.compile(r"(?<=\d) \(|(?<=on average) \(")
_BASELINE = re.compile(r"claims against .*(?= are right with probability|, a share of)", re.DOTALL)
_BEST = re.compile(r"(?:within (\S+) of )?the (?:(\d+) )?best with probability at least")
_STOPPED = re.compile(r"stopped (.+) with (\d+) (?:candidate|option)s? (left|undecided)")
_AMONG = re.compile(r", and (the (?:\d+ )?best (?:is|are) among those \d+) with probability.*")
_MOST = re.compile(r"by (max_samples|budget)=(\S+)")

#: what a promise rests on, as certificates say it, and as people do
_CONDITIONS = {
    "if rewards are linear in the features": "if the effects of features add up (rewards are "
    "linear in them)",
    SymmetricNoise().provided: "if a measurement is as likely to come out too high as too low by "
    "the same amount",
    EqualNoise().provided: "if measurements of all options vary by the same amount, and normally",
    ITEMS_PROVIDED: "if what two options differ by on an item is as likely to be above its mean "
    "as below it by the same amount",
    PROVIDED: "if what was measured before did not depend on how it came out",
    STRATA_PROVIDED: "if where a measurement belongs (its day, plate, …) did not depend on how it "
    "came out",
    LOST_PROVIDED: "if whether a measurement fails or comes too late has nothing to do with its "
    "result (some were made again)",
    CHANGED: "if which measurements were looked at again, and changed, depended neither on how "
    "they had come out nor on whom one favours",
}
_REASONS = {
    NOT_SYMMETRIC: "all rewards are 0 or 1, and the study was not told that they are yes or no "
    "(start it with --rewards yes-no, in Python noise='yes-no')",
    LOOKED: "somebody stopped it who may have seen rewards, and then a share of wrong claims has "
    "no limit",
}


def in_plain_words(guarantee: str, delta: float) -> str:
    """The sentences for a guarantee with this error probability.

    Examples
    --------
    >>> exact = "the best with probability at least 0.95 (by a theorem; see there); if rewards are "
    >>> print(in_plain_words(exact + "linear in the features", 0.05))
    The chance that another option is better is at most 5 %. This holds if the effects of \
features add up (rewards are linear in them).
    >>> early = "no guarantee: stopped by hand with 3 candidates left; the answer is the one that "
    >>> print(in_plain_words(early + "looks best", 0.05))
    It looks best, but that is not proven: the study was stopped by hand with 3 options left.
    """
    compared = "claims" in guarantee or "claimed" in guarantee
    text = _without_theorem(_BASELINE.sub("claims against it", guarantee))
    if text.startswith(_NO):
        return _not_proven(text.removeprefix(_NO), delta, compared)
    promise, *parts = text.split("; ")
    promise, provided, more = promise.partition(", provided that ")
    parts = [provided[2:] + more, *parts] if provided else parts
    stopped = [_how(part) for part in parts if _STOPPED.fullmatch(part)]
    parts = [part for part in parts if not _STOPPED.fullmatch(part)]
    said = [_promised(promise, delta), *(f"The study {how}." for how in stopped), _rests(parts)]
    return " ".join(filter(None, said))


def verdict(result: Verification) -> list[str]:
    """What the check of a certificate came to, line by line."""
    if result.guarantee in ("pac", "eps-pac"):
        found = f"The certificate holds: the answer is {', '.join(result.labels) or result.label}."
    elif result.guarantee in PROVEN:
        found = "The certificate holds: what it says about the options is proven."
    else:
        found = "The record is in order, but it does not prove the answer."
    done = f"{result.checked:,} comparison{'' if result.checked == 1 else 's'} worked out again"
    plain = in_plain_words(result.statement, result.delta)
    return [found, plain, f"{done} by an independent program. Replay: {result.replay}."]


def explained(result: Verification) -> list[str]:
    """The same for those who want to know exactly."""
    lines = [f"Exactly: {result.statement}."]
    if result.guarantee in PROVEN:
        used = f"Error probability: at most {result.delta:g}, of which {result.risk:.3g} is used."
        lines.append(used)
    return lines


def chance(delta: float) -> str:
    """A small probability.

    Examples
    --------
    >>> chance(0.05), chance(1e-6)
    ('5 %', '1 in 1,000,000')
    """
    return f"{100 * delta:.3g} %" if delta >= 0.001 else f"1 in {1 / delta:,.0f}"


def _promised(promise: str, delta: float) -> str:
    most = f"is at most {chance(delta)}."
    best = _BEST.match(promise)
    if best and best[2]:
        by = f" to within {best[1]}" if best[1] else ""
        return f"The chance that these are not the {best[2]} best{by} {most}"
    if best:
        by = f" by more than {best[1]}" if best[1] else ""
        return f"The chance that another option is better{by} {most}"
    if promise.startswith("all claims against"):
        return f"The chance that anything of this is wrong {most}"
    if promise.startswith("of all claims against"):
        return f"On average, at most {chance(delta)} of what is said here is wrong."
    return f"{promise[:1].upper()}{promise[1:]}."


def _not_proven(text: str, delta: float, compared: bool) -> str:
    why, _, _ = text.partition(_OTHERWISE)
    looks = "None of this is proven" if compared else "It looks best, but that is not proven"
    if "look best" in text or re.search(r"the \d+ best", text):
        looks = "They look best, but that is not proven"
    stopped, *rest = why.split("; ")
    if not _STOPPED.fullmatch(stopped):
        return f"{looks}: {_REASONS.get(why, why.partition(', so that')[0])}."
    if compared:
        return f"Nothing is claimed: the study {_how(stopped)}."
    said, among = [f"{looks}: the study {_how(stopped)}."], _AMONG.search(rest[0]) if rest else None
    if among:
        best = among[1][:1].upper() + among[1][1:]
        said += [f"{best}; the chance that this is wrong is at most {chance(delta)}."]
        said += [_rests(rest[1:])]
    return " ".join(filter(None, said))


def _how(stopped: str) -> str:
    found = _STOPPED.fullmatch(stopped)
    assert found is not None
    how, count = found[1], int(found[2])
    most = _MOST.fullmatch(how)
    if most:
        how = (
            f"after {int(most[2]):,} measurements, the most it was allowed,"
            if most[1] == "max_samples"
            else f"as its budget of {float(most[2]):,.12g} was spent,"
        )
    return f"was stopped {how} with {count:,} option{'' if count == 1 else 's'} {found[3]}"


def sureness(p_value: float) -> str:
    """How sure an answer is that is not proven."""
    if p_value >= 1:
        return "Nothing speaks against each of the others yet (p-value 1)."
    return (
        f"If another option is the best, so much speaks for this one with a chance of at most "
        f"{chance(p_value)}, however often one looks (p-value {p_value:.2g})."
    )


def _rests(parts: list[str]) -> str:
    """On what it rests, as a sentence or two."""
    parts = [_CONDITIONS.get(part, part.replace("provided that", "if", 1)) for part in parts]
    meant = [f"“Best” is meant {one[5:]}." for one in parts if one.startswith("best on average")]
    holds = [part for part in parts if part and not part.startswith("best on average")]
    *first, last = holds or [""]
    listed = f"{', '.join(first)}, and {last}" if first else last
    return " ".join(filter(None, [*meant, f"This holds {listed}." if listed else ""]))


def _without_theorem(text: str) -> str:
    """Without what stands in parentheses after a probability, other ones within it included."""
    while found := _THEOREM.search(text):
        depth, end = 0, found.start()
        for end in range(found.start() + 1, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if not depth:
                break
        text = text[: found.start()] + text[end + 1 :]
    return text

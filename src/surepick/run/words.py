"""A guarantee in the words of somebody who decides: how sure it is, and what that takes.

Certificates hold the exact sentence, with the theorem behind it, and verifiers check it. Here the
same is said for everybody else. A part that is not known here is said as it stands: no condition
gets lost on the way.
"""

from __future__ import annotations

import math
import re

from surepick.algorithms.findings import NOBODY, PROVEN
from surepick.algorithms.questions import percentile
from surepick.problem.noise import (
    ITEMS_PROVIDED,
    AnyNumber,
    EqualNoise,
    Preference,
    SymmetricNoise,
)
from surepick.run.guarantee import (
    AGAIN_PROVIDED,
    CHANGED,
    LOOKED,
    LOST_PROVIDED,
    NOT_SYMMETRIC,
    SMALLER,
    TURNED,
)
from surepick.run.past import PROVIDED
from surepick.run.strata import STRATA_PROVIDED
from surepick.text import plural
from surepick.verifier.verify import Verification

_NO, _OTHERWISE = "no guarantee: ", "; otherwise it would be "
_THEOREM = re.compile(r"(?<=\d) \(|(?<=on average) \(|(?<=for certain) \(")
_BASELINE = re.compile(r"claims against .*(?= are right with probability|, a share of)", re.DOTALL)
_BEST = re.compile(r"(?:within (\S+) of )?the (?:(\d+) )?best with probability at least")
_NEAR = re.compile(
    r"(\d+) options, each at most (\S+) (?:worse than the worst|below the lowest) of the \d+ best, "
    "with"
)
_STOPPED = re.compile(r"stopped (.+) with (\d+) (?:candidate|option)s? (left|undecided)")
_ARROWS = "of which "  # each of some options beats the next one
_PAIRED = re.compile(r"preferred in at least (\S+) of all comparisons to the one that beats")
_AMONG = re.compile(
    r", and (the (?:(?:\d+ )?best|one that [\w ]+(?:, if there is one,)?) (?:is|are) among those "
    r"\d+) with probability.*"
)
_THESE = re.compile(r"best on these (\d+) items, (if .*)")
_CERTAIN = re.compile(r"the best for certain")
_MOST = re.compile(r"by (max_samples|budget)=(\S+)")
_QUANTILE = re.compile(r"where better means a better (\S+)-quantile, .*")

#: what better means, as certificates say it, and as people do
MEANINGS = {
    SMALLER: "Smaller is better here.",
    AnyNumber().provided: "Better means here: wins more than half of direct comparisons, one "
    "measurement of each; if no option beats all others, any may be named.",
    AnyNumber().provided_on_items: "Better means here: wins on more than half of the items; if no "
    "option beats all others, any may be named.",
}
#: of these, where epsilon is a share of comparisons
_BY_WINS = (AnyNumber().provided, AnyNumber().provided_on_items)
#: what a promise rests on, as certificates say it, and as people do
_CONDITIONS = {
    "if rewards are linear in the features": "if the effects of features add up (rewards are "
    "linear in them)",
    SymmetricNoise().provided: "if a measurement is as likely to come out too high as too low by "
    "the same amount",
    EqualNoise().provided: "if the noise is normal and the same for all options",
    ITEMS_PROVIDED: "if the difference between two options on an item is as likely to be above "
    "its mean as below it by the same amount",
    Preference().provided: "if no comparison depends on how the others came out (a tie counts half "
    "for each)",
    PROVIDED: "if the past measurements were chosen without looking at results",
    STRATA_PROVIDED: "if nobody chose the day, plate, … of a measurement because of results",
    LOST_PROVIDED: "if measurements fail, or come too late, for reasons that have nothing to do "
    "with their results (some were made again)",
    AGAIN_PROVIDED: "if valid measurements were hardly ever repeated (some readings far from all "
    "earlier ones were, and the second one counts)",
    CHANGED: "if nobody chose which measurements to check and change because of their results or "
    "a favourite option",
}
_REASONS = {
    NOT_SYMMETRIC: "all rewards are 0 or 1, but the study was not created for yes-no rewards "
    "(--rewards yes-no, in Python noise='yes-no')",
    LOOKED: "it was stopped by somebody who may have seen rewards, so the share of wrong claims "
    "may be larger than requested",
}


def in_plain_words(
    guarantee: str, delta: float, conditions: bool = True, it: str | None = None
) -> str:
    """The sentences for a guarantee with this error probability; conditions can be left out.

    What was chosen is called "it", or as it is told to be called.

    Examples
    --------
    >>> exact = "the best with probability at least 0.95 (by a theorem; see there); if rewards are "
    >>> print(in_plain_words(exact + "linear in the features", 0.05))
    Of 100 studies like this one, at most 5 name a wrong option. This holds if the effects of \
features add up (rewards are linear in them).
    >>> early = "no guarantee: stopped by hand with 3 candidates left; the answer is the one that "
    >>> print(in_plain_words(early + "looks best", 0.05))
    It looks best, but that is not proven: the study was stopped by hand with 3 options left.
    """
    compared = "claims" in guarantee or "claimed" in guarantee
    text = _without_theorem(_BASELINE.sub("claims against it", guarantee))
    if text.startswith(_NO):
        said = _not_proven(text.removeprefix(_NO), delta, compared, conditions)
        return re.sub("^It(?= looks best)", lambda _: it or "It", said)
    promised, *parts = text.split("; ")
    promised, provided, more = promised.partition(", provided that ")
    parts = [provided[2:] + more, *parts] if provided else parts
    by_wins = any(part in _BY_WINS for part in parts)
    beaten = [part for part in parts if part.startswith(_ARROWS)]
    parts = [part for part in parts if part not in beaten]
    stopped = [_how(part) for part in parts if _STOPPED.fullmatch(part)]
    parts = [part for part in parts if not _STOPPED.fullmatch(part)]
    said = [
        _promised(promised, delta, it or "It", by_wins),
        *(f"The study {how}." for how in stopped),
    ]
    said += [f"{part.removeprefix(_ARROWS).partition(' with probability')[0]}." for part in beaten]
    return " ".join(filter(None, [*said, _rests(parts) if conditions else ""]))


def verdict(result: Verification) -> list[str]:
    """What the check of a certificate came to, line by line."""
    if result.guarantee in ("pac", "eps-pac"):
        found = f"The certificate holds: the answer is {', '.join(result.labels) or result.label}."
    elif result.guarantee == NOBODY:
        found = "The certificate holds: no option beats every other."
    elif result.guarantee in PROVEN:
        found = "The certificate holds: what it says about the options is proven."
    else:
        found = "The record is in order, but it does not prove the answer."
    done = f"{plural(result.checked, 'comparison')} worked out again"
    plain = in_plain_words(result.statement, result.delta)
    lines = [found, plain, f"{done} by an independent program. Replay: {result.replay}."]
    if result.unknown:
        lines.insert(1, f"Unknown to this version, and not checked: {', '.join(result.unknown)}.")
    why = result.replay.removeprefix("not done").removeprefix(": ")
    if not result.complete:
        lines.insert(0, f"NOT fully verified. The run could not be repeated: {why}.")
        lines[1] = f"Apart from that: {lines[1][:1].lower()}{lines[1][1:]}"
    elif not result.replayed:
        lines[0] = f"Without a replay{f' ({why})' if why else ''}: {found[:1].lower()}{found[1:]}"
    return lines


def explained(result: Verification) -> list[str]:
    """The exact statement of a certificate, and how much of its error probability is used."""
    lines = [f"Exactly: {result.statement}."]
    if result.guarantee in PROVEN:
        used = f"Error probability: at most {result.delta:g}, of which {result.risk:.3g} is used."
        lines.append(used)
    return lines


def promise(kind: str, delta: float, epsilon: float = 0.0, top: int = 1) -> str:
    """What a guarantee of this kind comes to: how many of many studies may go wrong.

    It is about studies, not about one answer: a small error probability is no probability that an
    option which was named is wrong.

    Examples
    --------
    >>> promise("pac", 0.05)
    'Of 100 studies like this one, at most 5 name a wrong option.'
    >>> promise("eps-pac", 0.01, epsilon=0.2)
    'Of 100 studies like this one, at most 1 names an option that is not within 0.2 of the best.'
    >>> promise("fdr", 0.1)
    'On average over studies like this one, at most 10 % of the claims are wrong.'
    """
    if kind == "fdr":
        share = f"at most {100 * delta:.3g} % of the claims are wrong"
        return f"On average over studies like this one, {share}."
    if kind == "claims":
        return f"{_of_many(delta, 'make')} a wrong claim."
    best = "the best" if top == 1 else f"the {top} best"
    if kind == "eps-pac":
        return f"{_of_many(delta, 'name')} an option that is not within {epsilon:.12g} of {best}."
    if top > 1:
        return f"{_of_many(delta, 'are')} wrong about {best}."
    return f"{_of_many(delta, 'name')} a wrong option."


def withdrawn(why: str) -> str:
    """What is left of a promise where something speaks against what it rests on."""
    return f"Nothing is promised: {why}."


def out_of(share: float, tolerance: float = 0.001) -> tuple[int, int]:
    """A share as whole numbers, so many of so many; rounded up, by no more than the tolerance.

    Examples
    --------
    >>> out_of(0.05), out_of(0.025), out_of(1e-6), out_of(0.0123, tolerance=0.1)
    ((5, 100), (25, 1000), (1, 1000000), (13, 1000))
    """
    many = 100
    while many < 10**15:
        few = math.ceil(share * many * (1 - 1e-12))
        if few <= share * many * (1 + tolerance):
            return few, many
        many *= 10
    return 1, math.floor(1 / max(share, 1e-300))


_SINGULAR = {"name": "names", "make": "makes", "are": "is", "rule": "rules"}


def _of_many(delta: float, verb: str) -> str:
    few, many = out_of(delta)
    verb = _SINGULAR[verb] if few == 1 else verb
    return f"Of {_written(many)} studies like this one, at most {few:,} {verb}"


def _written(many: int) -> str:
    return f"{many:,}" if many <= 10**9 else f"{many:.3g}"


def _promised(said: str, delta: float, it: str, by_wins: bool = False) -> str:
    best, near = _BEST.match(said), _NEAR.match(said)
    if _CERTAIN.match(said):
        return "It is certain: everything that could change the answer was measured."
    not_so = f"{_of_many(delta, 'name')} one that is not."
    if near:
        return f"Each is within {near[2]} of the {near[1]} best. {not_so}"
    if best and best[1] and by_wins:
        most = f"{100 * (0.5 + float(best[1])):.3g} %"
        with_it = f"of direct comparisons with {'it' if it == 'It' else it}"
        return f"{it} is the best, or the best wins at most {most} {with_it}. {not_so}"
    if best and best[1]:
        return f"{it} is within {best[1]} of the best. {not_so}"
    if best:
        return promise("pac", delta, top=int(best[2] or 1))
    if said.startswith("all claims against"):
        return promise("claims", delta)
    if _PAIRS.match(said):
        return _of_pairs(said, delta, it)
    if said.startswith("of all claims against"):
        return promise("fdr", delta)
    return f"{said[:1].upper()}{said[1:]}."


_PAIRS = re.compile(r"(?:within \S+ of |preferred in )?.*(?:beats every other|wins most)")


def _of_pairs(said: str, delta: float, it: str) -> str:
    """What was shown of options that were compared two at a time."""
    close, within = _PAIRED.match(said), re.match(r"within (\S+) of the one that wins most", said)
    wrong = promise("pac", delta)
    if close:
        most, this = f"{1 - float(close[1]):.12g}", "this one" if it == "It" else it
        said = f"If any option beats every other, it is preferred to {this} in at most {most} of"
        return f"{said} all comparisons. {_of_many(delta, 'name')} one that is not so close."
    if within:
        return f"{it} wins at most {within[1]} less often than the one that wins most. {wrong}"
    if said.startswith("no option"):
        return f"No option beats every other one. {_of_many(delta, 'are')} wrong about that."
    if ", if there is one," in said:
        found = "it is this one" if it == "It" else f"it is {it}"
        return f"If any option beats every other, {found}; that it does is not shown yet. {wrong}"
    if "wins most" in said:
        return f"{it} wins most. {wrong}"
    return f"{it} beats every other option. {wrong}"


def _not_proven(text: str, delta: float, compared: bool, conditions: bool) -> str:
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
        it = "one of them" if "best are" in best else "it"
        said += [f"{best}: {rules_out_the_best(delta, it)}."]
        said += [_rests(rest[1:]) if conditions else ""]
    return " ".join(filter(None, said))


def _how(stopped: str) -> str:
    found = _STOPPED.fullmatch(stopped)
    assert found is not None
    how, count = found[1], int(found[2])
    most = _MOST.fullmatch(how)
    if most:
        how = (
            f"after {plural(int(most[2]), 'measurement')}, the most it was allowed,"
            if most[1] == "max_samples"
            else f"because its budget of {float(most[2]):,.12g} was spent,"
        )
    return f"was stopped {how} with {plural(count, 'option')} {found[3]}"


def sureness(p_value: float, supposing: str = "If another option were the best") -> str:
    """How sure an answer is that is not proven.

    Examples
    --------
    >>> sureness(0.03)
    'If another option were the best, at most 3 of 100 studies would ever show evidence this \
strong, however often you look (p-value 0.03).'
    """
    few, many = out_of(p_value, tolerance=0.1)
    if few >= many:
        return "Another option could just as well be the best (p-value 1)."
    return (
        f"{supposing}, at most {few:,} of {_written(many)} studies would ever show evidence this "
        f"strong, however often you look (p-value {p_value:.2g})."
    )


def rules_out_the_best(delta: float, it: str = "the best") -> str:
    """How many of many studies do, where some options were ruled out and others are left."""
    said = _of_many(delta, "rule")
    return f"{said[:1].lower()}{said[1:]} {it} out"


def _rests(parts: list[str]) -> str:
    """On what it rests, as a sentence or two."""
    these = [found for part in parts if (found := _THESE.fullmatch(part))]
    parts = [part for part in parts if not _THESE.fullmatch(part)]
    means = [_meaning(part) for part in parts]
    parts = [_CONDITIONS.get(part, part.replace("provided that", "if", 1)) for part in parts]
    parts = ["" if said else part for part, said in zip(parts, means)]
    meant = [f"“Best” is meant {one[5:]}." for one in parts if one.startswith("best on average")]
    meant += [f"“Best” means best on these {one[1]} items." for one in these]
    meant += [f"“Best” means best {one}." for one in parts if one == TURNED]
    meant += [said for said in means if said]
    parts += [one[2] for one in these]
    holds = [one for one in parts if one and one != TURNED and not one.startswith("best on ave")]
    *first, last = holds or [""]
    listed = f"{', '.join(first)}, and {last}" if first else last
    return " ".join(filter(None, [*meant, f"This holds {listed}." if listed else ""]))


def _meaning(part: str) -> str:
    """What better means, where a part of a guarantee says that."""
    found = _QUANTILE.match(part)
    if found is None:
        return MEANINGS.get(part, "")
    return (
        f"Better means here: a better {percentile(float(found[1]))}. This holds if measurements of "
        "an option vary in the same way all the time, whatever that way is."
    )


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

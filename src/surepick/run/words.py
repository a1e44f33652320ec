"""What the check of a certificate came to, and how sure an answer is that is not proven."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surepick.promise import IF_ANY, NOBODY, PROVEN, SHOWN, out_of, written
from surepick.text import plural

if TYPE_CHECKING:
    from surepick.verifier.verify import Verification


#: on what every certificate rests, whoever made it
UNSEEN = (
    "It rests on what no certificate can show: that its measurements ({rewards}) are those that "
    "were made, none left out, added or changed, and that its settings and seeds were fixed before "
    "them."
)


def verdict(result: Verification) -> list[str]:
    """What the check of a certificate came to, line by line."""
    if result.guarantee in ("pac", "eps-pac"):
        found = f"The certificate holds: the answer is {', '.join(result.labels) or result.label}"
        limited = "the limits" in result.plain  # which plain words do not repeat
        found += f", {result.stated.what.rstrip(',')}." if limited else "."
    elif result.guarantee == NOBODY:
        found = f"The certificate holds: {result.stated.what}."
    elif result.guarantee == IF_ANY:
        found = (
            f"The certificate holds, but not that any option is the best: {result.label} is "
            f"{result.stated.what.rstrip(',')}."
        )
    elif result.guarantee in PROVEN:
        found = "The certificate holds: what it says about the options is proven."
    else:
        found = "The record is in order, but it does not prove the answer."
    done = f"{plural(result.checked, 'comparison')} worked out again"
    lines = [found, result.plain, f"{done} by an independent program. Replay: {result.replay}."]
    if result.guarantee in SHOWN:
        lines.append(UNSEEN.format(rewards=result.rewards))
    if result.left_out:
        lines.insert(2, f"Set aside for all options: {'; '.join(result.left_out)}.")
    if result.unknown:
        lines.insert(1, f"Unknown to this version, and not checked: {', '.join(result.unknown)}.")
    why = result.replay.removeprefix("not done").removeprefix(": ")
    if not result.complete:
        lines.insert(0, f"NOT fully verified. The run could not be repeated{_how_far(why)}.")
        lines[1] = f"Apart from that: {lines[1][:1].lower()}{lines[1][1:]}"
    elif not result.replayed:
        lines[0] = f"Without a replay{f' ({why})' if why else ''}: {found[:1].lower()}{found[1:]}"
    return lines


def _how_far(why: str) -> str:
    """How far a run could not be repeated, and why."""
    for outcome, how in (("in part", " in full"), ("not exactly", " exactly")):
        if why.startswith(f"{outcome}: "):
            return f"{how}: {why.removeprefix(f'{outcome}: ')}"
    return f": {why}"


def explained(result: Verification) -> list[str]:
    """The exact statement of a certificate, and how much of its error probability is used."""
    lines = [f"Exactly: {result.statement}."]
    if result.guarantee in PROVEN:
        used = f"Error probability: at most {result.delta:g}, of which {result.risk:.3g} is used."
        lines.append(used)
    return lines


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
        f"{supposing}, at most {few:,} of {written(many)} studies would ever show evidence this "
        f"strong, however often you look (p-value {p_value:.2g})."
    )

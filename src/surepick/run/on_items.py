"""What an answer on a finite set of items says beside its promise, for these items and new ones.

That an option has the largest total over these items is proven without a word about others. What it
means for new items, drawn as these were, is a matter of how many there are: here the lead over
whoever comes closest, between two ends that hold whichever pair of options that turned out to be.
It rests on items that were met when both were there, and on which nothing was known before; that
nobody had their texts in view when making an option is for people to know.
"""

from __future__ import annotations

from typing import Any

from surepick.algorithms.base import State
from surepick.problem import Problem
from surepick.text import plural


def on_items(problem: Problem, state: State, splits: bool = False) -> dict[str, Any] | None:
    """As plain values; None where there is nothing to say, and nothing of new items for splits."""
    found = state.on_items()
    if found is None:
        return None
    labels = problem.labels
    rival = None if splits else found.rival
    return {
        "items": found.items,
        "met": found.met,
        "tied": [labels[i] for i in found.tied],
        "tie": _tie(state, found.tied),
        "ahead": labels[found.ahead],
        "rival": None if rival is None else labels[rival],
        "lead_on_new": None if rival is None else [found.low, found.high],
        "sure": found.sure,
        "sampled": found.sampled,
    } | ({"noun": "split"} if splits else {})


def _tie(state: State, tied: list[int]) -> str:
    """What is said of those that tie."""
    claims = state.claims()
    if claims is not None:
        return f"{'has' if len(tied) == 1 else 'have'} the same total as {claims.baseline}"
    last = "" if set(tied) == set(state.named()) else " for the last place"
    return f"tie{last}: they have the same total"


def in_words(said: dict[str, Any] | None) -> str:
    """What an answer on items says of them, as a sentence or two.

    Examples
    --------
    >>> said = {"items": 90, "met": 40, "tied": [], "rival": "b", "lead_on_new": [-0.1, 0.25]}
    >>> in_words(said | {"ahead": "a", "sure": 0.95})
    'Shown on these 90 items, of which 40 were needed. On new items like these, a would be ahead \
of b by -0.1 to 0.25 (in 95 of 100 studies), if no option was made with these items in view: there \
b may be the better one.'
    """
    if said is None:
        return ""
    items, met = said["items"], said["met"]
    needed = "" if met == items else f", of which {met} {'was' if met == 1 else 'were'} needed"
    about = f"Shown on these {plural(items, said.get('noun', 'item'))}{needed}."
    tied = said["tied"]
    if tied:
        about = f"{_and(tied)} {said.get('tie', 'tie: they have the same total')}. {about}"
    if said["rival"] is None:
        return about
    low, high = said["lead_on_new"]
    ends = f"by {low:.2g} to {high:.2g} (in {100 * said['sure']:.4g} of 100 studies)"
    lead = f"On new items like these, {said['ahead']} would be ahead of {said['rival']} {ends}"
    lead = f"{lead}, if no option was made with these items in view"
    may = "" if low > 0 else f": there {said['rival']} may be the better one"
    return f"{about} {lead}{may}."


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last

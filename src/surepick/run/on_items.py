"""What an answer on a finite set of items says beside its promise, for these items and new ones.

That an option has the largest total over these items is proven without a word about others. What it
means for new items, drawn as these were, is a matter of how many there are: here the lead over
whoever comes closest, between two ends that hold whichever pair of options that turned out to be.
"""

from __future__ import annotations

from typing import Any

from surepick.algorithms.base import State
from surepick.problem import Problem
from surepick.text import plural


def on_items(problem: Problem, state: State) -> dict[str, Any] | None:
    """As plain values; None where there is nothing to say."""
    found = state.on_items()
    if found is None:
        return None
    labels = problem.labels
    return {
        "items": found.items,
        "met": found.met,
        "tied": [labels[i] for i in found.tied],
        "rival": None if found.rival is None else labels[found.rival],
        "lead_on_new": None if found.rival is None else [found.low, found.high],
        "sure": found.sure,
    }


def in_words(label: str, said: dict[str, Any] | None) -> str:
    """The same as a sentence or two.

    Examples
    --------
    >>> said = {"items": 90, "met": 40, "tied": [], "rival": "b", "lead_on_new": [-0.1, 0.25]}
    >>> in_words("a", said | {"sure": 0.95})
    'Shown on these 90 items, of which 40 were needed. On new items like these, a would be ahead \
of b by -0.1 to 0.25 (in 95 of 100 studies): there b may be the better one.'
    """
    if said is None:
        return ""
    items, met = said["items"], said["met"]
    needed = "" if met == items else f", of which {met} {'was' if met == 1 else 'were'} needed"
    about = f"Shown on these {plural(items, 'item')}{needed}."
    if len(said["tied"]) > 1:
        *first, last = said["tied"]
        about = f"{', '.join(first)} and {last} tie: they have the same total. {about}"
    if said["rival"] is None:
        return about
    low, high = said["lead_on_new"]
    ends = f"by {low:.2g} to {high:.2g} (in {100 * said['sure']:.4g} of 100 studies)"
    lead = f"On new items like these, {label} would be ahead of {said['rival']} {ends}"
    may = "" if low > 0 else f": there {said['rival']} may be the better one"
    return f"{about} {lead}{may}."

"""What an answer shows beside its promise: wins, quantiles, items, and cells that failed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from surepick.algorithms.base import State, ToldPulls
from surepick.algorithms.questions import percentile
from surepick.arrays.types import FloatArray
from surepick.problem import Problem
from surepick.proof.payoffs.quantiles import quantile
from surepick.text import plural


def shares_won(
    batches: Iterable[dict[str, Any]], arm: int, n_arms: int, on_items: bool = False
) -> FloatArray:
    """The share of its comparisons with each arm that ``arm`` won; ties count half.

    Measurements of one batch are compared with each other, as bets compare them; on items, only
    those on the same item.

    Examples
    --------
    >>> batch = {"arms": np.array([0, 0, 1]), "sums": np.array([2.0, 5.0, 2.0])}
    >>> shares_won([batch], 0, 3).tolist()
    [nan, 0.75, nan]
    """
    won, met = np.zeros(n_arms), np.zeros(n_arms)
    for batch in batches:
        arms, values = np.asarray(batch["arms"]), np.asarray(batch["sums"], dtype=float)
        mine = arms == arm
        if on_items:
            own = dict(zip(np.asarray(batch["parts"])[mine].tolist(), values[mine].tolist()))
            against = np.array([own.get(item, math.nan) for item in batch["parts"].tolist()])
            there = ~np.isnan(against) & ~mine
            better = (against > values) + 0.5 * (against == values)
            np.add.at(won, arms[there], better[there])
            np.add.at(met, arms[there], 1.0)
            continue
        order = np.sort(values[mine])
        below = np.searchsorted(order, values, side="left")
        upto = np.searchsorted(order, values, side="right")
        np.add.at(won, arms, len(order) - 0.5 * (below + upto))
        np.add.at(met, arms, float(len(order)))
    met[arm] = 0.0
    return np.divide(won, met, out=np.full(n_arms, math.nan), where=met > 0)


def circle(
    batches: list[dict[str, Any]], arm: int, n_arms: int, on_items: bool = False
) -> list[int]:
    """Arms of which each won most comparisons with the next, and the last with ``arm``.

    It begins with ``arm`` and is as short as can be; empty where there is none.

    Examples
    --------
    >>> dice = np.array([[2, 4, 9], [1, 6, 8], [3, 5, 7]])
    >>> batch = {"arms": np.repeat([0, 1, 2], 3), "sums": dice.ravel()}
    >>> circle([batch], 0, 3)
    [0, 1, 2]
    """
    beats: dict[int, list[int]] = {}  # whom each has won most comparisons with
    before, reached = {arm: arm}, [arm]  # by whom one was reached first, nearest first
    for one in reached:
        shares = shares_won(batches, one, n_arms, on_items)
        beats[one] = np.flatnonzero(shares > 0.5).tolist()
        if arm in beats[one]:
            found = [one]
            while found[0] != arm:
                found.insert(0, before[found[0]])
            return found
        for other in beats[one]:
            if other not in before:
                before[other] = one
                reached.append(other)
    return []


def wins_in_words(
    label: str, wins: dict[str, float], best_mean: str | None, circle: tuple[str, ...] = ()
) -> str:
    """How often the answer won, with whom it was closest, and whether means say otherwise.

    Examples
    --------
    >>> wins_in_words("tea", {"milk": 0.8, "coffee": 0.61}, None)
    'tea won 61 % of its direct comparisons with coffee, and more with every other option.'
    >>> wins_in_words("tea", {"milk": 0.8}, "milk")
    'tea usually wins, although milk has the better mean: tea won 80 % of its direct comparisons \
with milk.'
    >>> print(wins_in_words("tea", {"milk": 0.6, "juice": 0.44}, None, ("tea", "milk", "juice")))
    tea won only 44 % of its direct comparisons with juice. It seems that no option beats all \
others: as measured, tea usually beats milk, milk beats juice, and juice beats tea.
    """
    if not wins:
        return ""
    nearest = min(wins, key=lambda other: wins[other])
    lost = wins[nearest] < 0.5
    said = f"{100 * wins[nearest]:.0f} % of its direct comparisons with {nearest}"
    said = f"{label} won {'only ' if lost else ''}{said}"
    if lost:
        return f"{said}. {_in_a_circle(circle)}".rstrip()
    if len(wins) > 1:
        said += ", and more with every other option"
    if best_mean is not None:
        said = f"{label} usually wins, although {best_mean} has the better mean: {said}"
    return f"{said}."


def _in_a_circle(labels: tuple[str, ...]) -> str:
    if not labels:
        return ""
    pairs = list(zip(labels, [*labels[1:], labels[0]]))
    first, *more = (f"{one} beats {other}" for one, other in pairs)
    first = first.replace(" beats ", " usually beats ", 1)
    return (
        "It seems that no option beats all others: as measured, "
        f"{', '.join([first, *more[:-1]])}, and {more[-1]}."
    )


def quantiles_of(batches: Iterable[dict[str, Any]], p: float, n_arms: int) -> FloatArray:
    """The p-quantile of each arm's measurements; not a number where it has none.

    Examples
    --------
    >>> batch = {"arms": np.array([0, 0, 1]), "counts": np.ones(3), "sums": np.array([2.0, 5, 4])}
    >>> quantiles_of([batch], 0.5, 3).tolist()
    [2.0, 4.0, nan]
    """
    own: list[list[float]] = [[] for _ in range(n_arms)]
    for batch in batches:
        for arm, count, total in zip(batch["arms"], batch["counts"], batch["sums"]):
            own[int(arm)] += [float(total) / int(count)] * int(count)
    return np.array([quantile(np.sort(some), p) if some else math.nan for some in own])


def quantiles_in_words(
    label: str, measured: dict[str, float], p: float, proven: bool = True, minimise: bool = False
) -> str:
    """The quantile of the answer, and of the option that comes next.

    Examples
    --------
    >>> quantiles_in_words("tea", {"tea": 3.2, "milk": 2.5, "water": 1.0}, 0.95)
    'tea has the largest 95th percentile: 3.2 in its own measurements; next is milk with 2.5.'
    >>> quantiles_in_words("tea", {"tea": 3.2, "milk": 4.5}, 0.5, proven=False, minimise=True)
    'tea seems to have the smallest median: 3.2 in its own measurements; next is milk with 4.5.'
    """
    if label not in measured:
        return ""
    has = "has" if proven else "seems to have"
    most, next_ = ("smallest", min) if minimise else ("largest", max)
    said = (
        f"{label} {has} the {most} {percentile(p)}: {measured[label]:.6g} in its own measurements"
    )
    others = {name: value for name, value in measured.items() if name != label}
    if others:
        second = next_(others, key=lambda name: others[name])
        said += f"; next is {second} with {others[second]:.6g}"
    return f"{said}."


def on_items(problem: Problem, state: State, splits: bool = False) -> dict[str, Any] | None:
    """What a finite set of items says, of these items and of new ones; nothing of new splits.

    That an option has the largest total over these items is proven without a word about others.
    For new items, drawn as these were, there is the lead over whoever comes closest, between two
    ends that hold whichever pair of options that turned out to be.
    """
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


def items_in_words(said: dict[str, Any] | None) -> str:
    """What an answer on items says of them, as a sentence or two.

    Examples
    --------
    >>> said = {"items": 90, "met": 40, "tied": [], "rival": "b", "lead_on_new": [-0.1, 0.25]}
    >>> items_in_words(said | {"ahead": "a", "sure": 0.95})
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


_FEW = 3  # that are named in a sentence


class Unmeasured(NamedTuple):
    """A cell of a finite table that could not be measured, and counts as the worst score.

    Whoever filled in the table by hand would have to put something there, too. So nothing is
    assumed about why it failed, beyond what is assumed of every score: that it does not depend on
    when it was asked for.
    """

    label: str
    item: int
    reason: str


def counted(
    cells: Iterable[Unmeasured], problem: Problem, state: State, told: Iterable[ToldPulls]
) -> list[tuple[Unmeasured, dict[str, Any]]]:
    """Those of them that count, each also by its place in the order of items, as in batches."""
    arms = {label: arm for arm, label in enumerate(problem.labels)}
    wanted = {(arms[cell.label], cell.item): cell for cell in cells}
    found: list[tuple[Unmeasured, dict[str, Any]]] = []
    for batch in told if wanted else ():
        items, places = state.items_of(batch.pulls), batch.pulls.parts
        if items is None or places is None:
            continue
        for arm, item, place in zip(batch.pulls.arms.tolist(), items.tolist(), places.tolist()):
            cell = wanted.get((arm, item))
            if cell is not None:
                found.append((cell, {"arm": arm, "at": place, "reason": cell.reason}))
    return found


def unmeasured_in_words(cells: tuple[Unmeasured, ...]) -> str:
    """A sentence that names the first of them.

    Examples
    --------
    >>> unmeasured_in_words((Unmeasured("red", 7, "TimeoutError"),))
    '1 cell could not be measured and counts as the worst score: red on item 7 (TimeoutError).'
    """
    if not cells:
        return ""
    named = ", ".join(f"{one.label} on item {one.item} ({one.reason:.80})" for one in cells[:_FEW])
    more = "" if len(cells) <= _FEW else f", and {len(cells) - _FEW:,} more"
    counts = "counts" if len(cells) == 1 else "count"
    head = f"{plural(len(cells), 'cell')} could not be measured and {counts} as the worst score"
    return f"{head}: {named}{more}."

"""Who won direct comparisons, as measured: what an answer about numbers of any kind shows.

Measurements of one batch are compared with each other, as bets compare them; on items, only those
on the same item.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray


def shares_won(
    batches: Iterable[dict[str, Any]], arm: int, n_arms: int, on_items: bool = False
) -> FloatArray:
    """The share of its comparisons with each arm that ``arm`` won; ties count half.

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


def in_words(
    label: str, wins: dict[str, float], best_mean: str | None, circle: tuple[str, ...] = ()
) -> str:
    """How often the answer won, with whom it was closest, and whether means say otherwise.

    Examples
    --------
    >>> in_words("tea", {"milk": 0.8, "coffee": 0.61}, None)
    'tea won 61 % of its direct comparisons with coffee, and more with every other option.'
    >>> in_words("tea", {"milk": 0.8}, "milk")
    'tea usually wins, although milk has the better mean: tea won 80 % of its direct comparisons \
with milk.'
    >>> print(in_words("tea", {"milk": 0.6, "juice": 0.44}, None, ("tea", "milk", "juice")))
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

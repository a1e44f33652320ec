"""Options that come and go between two blocks: what becomes of the capital.

Somebody who adds a better option again and again moves the target, and somebody who retires the
best after it rightly ruled out the second best leaves nobody. So neither "a newcomer starts with
all of its capital" nor "who was ruled out stays out" keeps the promise. These rules do, account
by account:

- A newcomer starts with what the account began with, or with the least that it holds against any
  option that is left, if that is less.
- When w is retired, the account holds against everybody at most what it held against w, and who had
  been ruled out is back. Where w itself had been ruled out, nothing changes.

Why: let M be the capital against the option that is the best at the time. Between changes its bets
have an expectation of at most 1. A newcomer that becomes the best starts with no more than M, as
the best so far is left (if it was ruled out, that was the error already). When the best is retired,
whoever is the best then has no more than it had. So M is a supermartingale that begins with 1,
whatever the changes react to, and Ville's inequality gives delta.

With epsilon, capital on "not more than epsilon better than the k-th leader" is about the best, too,
and follows the first rule. But it may have grown rightly while nobody was that much better; by
adding and retiring in turn one could try again and again. So after a retirement these accounts
begin anew, under new numbers of leaders, which all together have no more than before. What is
behind them, where it differs from one option to another, follows both rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.arrays.types import BoolArray, FloatArray, IntArray
from surepick.problem import Problem
from surepick.proof.accepting import Shares

GONE = -1  #: in the place of the pulls after which a candidate was dropped: it was retired
NOBODY = -1  #: in the place of a leader whose accounts count no more


def newcomers_start(start: FloatArray, left: FloatArray) -> FloatArray:
    """Log capital of a newcomer in each account.

    Parameters
    ----------
    start
        What the accounts begin with, (J,).
    left
        What they hold against each option that is left, (n, J).
    """
    return np.minimum(start, left.min(axis=0)) if len(left) else start


def entered(memory: dict[str, Any], start: FloatArray, count: int) -> dict[str, Any]:
    """The memory of bets on the best with so many newcomers behind all other candidates."""
    left = memory["dropped_at"] == 0
    capital, spare, close = memory["capital"], memory["spare"], memory["close"]
    own = np.tile(newcomers_start(start, capital[left]), (count, 1))
    on_closeness = [
        np.vstack([held, np.tile(newcomers_start(start, held[left]), (count, 1))]) for held in spare
    ]
    return memory | {
        "capital": np.vstack([capital, own]),
        "dropped_at": np.append(memory["dropped_at"], np.zeros(count, dtype=np.int64)),
        "spare": np.array(on_closeness).reshape(len(spare), len(capital) + count, len(start)),
        "close": np.hstack([close, np.zeros((len(close), count), dtype=bool)]),
        "led": memory["led"][:1],  # sums for intervals have a column for each candidate
        "behind": _behind(memory, lambda shares: shares.enter(count, left)),
    }


def retired(memory: dict[str, Any], place: int) -> dict[str, Any]:
    """The memory of bets on the best without this candidate."""
    dropped, capital = memory["dropped_at"].copy(), memory["capital"]
    was_left = dropped[place] == 0
    dropped[place] = GONE
    if not was_left:
        return memory | {"dropped_at": dropped}
    dropped[dropped > 0] = 0
    return memory | {
        "capital": np.minimum(capital, capital[place]),
        "dropped_at": dropped,
        "leaders": [NOBODY] * len(memory["leaders"]),
        "behind": _behind(memory, lambda shares: shares.leave(place)),
        "close": np.zeros_like(memory["close"]),
    }


def _behind(memory: dict[str, Any], change: Callable[[Shares], None]) -> list[Any]:
    """What is behind closeness, once options came or went."""
    shares = Shares(0.0)
    shares.load(memory["behind"])
    change(shares)
    return shares.save()


def first_left(problem: Problem, candidate: int, gone: BoolArray) -> int:
    """The first of those like this candidate that is left; itself where none is."""
    like = np.flatnonzero((problem.same_as == candidate) & ~gone)
    return int(like[0]) if len(like) else candidate


def covers(problem: Problem, measured: IntArray, offered: IntArray) -> bool:
    """Whether what was measured of some arms says something about all of these."""
    known = problem.features[measured]
    both = problem.features[np.union1d(measured, offered)]
    return _rank(known) == _rank(both)


def _rank(rows: FloatArray) -> int:
    return int(np.linalg.matrix_rank(rows, tol=1e-9)) if len(rows) else 0


def turned(
    memory: dict[str, Any],
    before: Problem,
    after: Problem,
    gone: BoolArray,
    accounts: FloatArray,
) -> dict[str, Any]:
    """The memory of a state once options came or went.

    Parameters
    ----------
    before, after
        The problems; the second has the options of the first, and perhaps more behind them.
    gone
        Which of its options are retired, (K,).
    accounts
        Capital that accounts begin with.
    """
    count = after.n_arms - before.n_arms
    memory = memory | {
        "first": _longer(memory["first"], count),
        "totals": [_longer(column, count) for column in memory["totals"]],
        "retired": gone,
    }
    if "cells" in memory:  # of each option, segment by segment
        some = memory["cells"]
        none = np.zeros((len(some), count, some.shape[2]))
        memory["cells"] = np.concatenate([some, none], axis=1)
    places = len(after.distinct) - len(before.distinct)
    if places:
        memory = entered(memory, np.log(accounts), places)
    for place, first in enumerate(after.distinct):
        if memory["dropped_at"][place] != GONE and gone[after.same_as == first].all():
            memory = retired(memory, place)
    return memory


def _longer(column: Any, count: int) -> Any:
    return np.append(column, np.zeros(count, dtype=column.dtype))

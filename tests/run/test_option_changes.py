"""Changes of options, without a run around them."""

from __future__ import annotations

import numpy as np
import pytest

from surepick.errors import InvalidInputError, RunStateError, UnknownNameError
from surepick.problem import Problem
from surepick.run.changes import (
    Options,
    addition,
    before_changes,
    check_added,
    retirement,
    said,
    take_effect,
)

TWO = Problem([[1.0, 0.0], [0.0, 1.0]], noise=1.0, labels=["a", "b"])
NOBODY = Options(TWO, frozenset())


def made(*changes):
    found, problem, gone = [], TWO, np.zeros(2, dtype=bool)
    for told, change in enumerate(changes):
        own = change | said("why", {"by": "me"})
        problem, gone, listed = take_effect(own, problem, gone, told)
        found.append(listed)
    return found, problem, gone


def test_changes_take_effect_one_by_one_and_are_listed():
    added = addition([[1.0, 1.0]], ["c"], None, None)
    found, problem, gone = made(added, {"change": "retired", "label": "a"})
    assert problem.labels == ("a", "b", "c")
    assert gone.tolist() == [True, False, False]
    assert [(one["change"], one["arms"], one["batch"]) for one in found] == [
        ("added", [2], 0),
        ("retired", [0], 1),
    ]
    assert found[0]["by"] == "me"
    assert before_changes(problem, found).labels == TWO.labels


def test_what_waits_is_looked_ahead_at_without_taking_effect():
    waiting = [addition([[2.0, 1.0]], ["c"], None, None), {"change": "retired", "label": "b"}]
    ahead = NOBODY.after(waiting)
    assert (ahead.problem.labels, ahead.retired) == (("a", "b", "c"), {1})
    assert TWO.labels == ("a", "b")
    with pytest.raises(RunStateError, match="joins with the next"):
        retirement("c", TWO, ahead)
    with pytest.raises(InvalidInputError, match="already retired"):
        retirement("b", TWO, ahead)
    assert retirement("a", TWO, ahead)["label"] == "a"


def test_what_cannot_go_or_come_is_refused():
    with pytest.raises(UnknownNameError):
        retirement("z", TWO, NOBODY)
    with pytest.raises(InvalidInputError, match="only option left"):
        retirement("a", TWO, Options(TWO, frozenset({1})))
    with pytest.raises(InvalidInputError, match="already exists"):
        NOBODY.after([addition([[1.0, 1.0]], ["a"], None, None)])
    twin = NOBODY.after([addition([[1.0, 0.0]], ["c"], None, None)]).problem
    with pytest.raises(InvalidInputError, match="same features as 'a'"):
        check_added(TWO, twin)

"""Of many combinations some are tried in every run; none is lost."""

import itertools

from tests.breadth import each_value, first

AXES = ("abcde", [1, 2], [10, 20], [True])


def is_always_tried(param):
    return not param.marks


def test_every_combination_is_there_and_every_value_is_always_tried():
    params = each_value(*AXES)
    assert [param.values for param in params] == list(itertools.product(*AXES))
    always = [param.values for param in params if is_always_tried(param)]
    assert len(always) == 5
    for place, axis in enumerate(AXES):
        assert {values[place] for values in always} == set(axis)
    assert {values[1:3] for values in always} == {(1, 10), (1, 20), (2, 10), (2, 20)}


def test_what_is_left_out_is_left_to_the_validation():
    left = [param for param in each_value(*AXES) if not is_always_tried(param)]
    assert {mark.name for param in left for mark in param.marks} == {"validation"}
    assert first(2, range(2)) == [0, 1]
    some = first(2, "abcd")
    assert some[:2] == ["a", "b"]
    assert [param.values for param in some[2:]] == [("c",), ("d",)]
    assert {mark.name for param in some[2:] for mark in param.marks} == {"validation"}

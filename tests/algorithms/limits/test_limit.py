"""Limits as people write them."""

import numpy as np
import pytest

import surepick as sp
from surepick.algorithms.limits.limit import Limit, parse_limit, parse_limits
from surepick.errors import InvalidInputError, InvalidTypeError


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("latency <= 50", Limit("latency", False, 50.0)),
        ("accuracy >= 90%", Limit("accuracy", True, 0.9)),
        ("accuracy ≥ .9 ± 1%", Limit("accuracy", True, 0.9, None, 0.01)),
        ("accuracy at least 0.9 +/- 0.01", Limit("accuracy", True, 0.9, None, 0.01)),
        ("refunds <= control + 0.2%", Limit("refunds", False, 0.002, "control")),
        ("refunds <= the old page - 0.1", Limit("refunds", False, -0.1, "the old page")),
        ("speed >= now", Limit("speed", True, 0.0, "now")),
        ("speed >= a-b", Limit("speed", True, 0.0, "a-b")),
        ("p95 of latency <= 50", Limit("latency", False, 50.0, quantile=0.95)),
        ("median of time per call <= 1e-3", Limit("time per call", False, 1e-3, quantile=0.5)),
        ("mean of cost <= -2", Limit("cost", False, -2.0)),
    ],
)
def test_what_is_meant(text, found):
    assert parse_limit(text) == found
    assert parse_limit(str(found)) == found  # what is written is read as it was meant


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("latency", "no '<=' or '>='"),
        ("latency < 50", "in place of '<'"),
        ("latency = 50", "in place of '='"),
        ("1 <= latency <= 50", "no '<=' or '>='"),
        ("latency <= 50 ± much", "tolerance 'much'"),
        ("latency <= 50 ± 0", "tolerance '0'"),
        ("latency <= 50 ± 1 ± 2", "written once"),
        ("p100 of latency <= 50", "percentile"),
        ("p95 of latency <= control", "only be compared with a number"),
    ],
)
def test_what_is_refused(text, why):
    with pytest.raises(InvalidInputError, match="keep: ") as refused:
        parse_limit(text)
    assert why in str(refused.value)


def test_several_limits():
    assert len(parse_limits(["a <= 1", "a >= 0", "b <= 1"])) == 3
    assert parse_limits("a <= 1") == parse_limits(["a <= 1"])
    for wrong, error in (([], InvalidInputError), (3, InvalidTypeError), ([3], InvalidTypeError)):
        with pytest.raises(error, match="keep"):
            parse_limits(wrong)
    with pytest.raises(InvalidInputError, match="more than one limit like 'a <= 2'"):
        parse_limits(["a <= 1", "a <= 2"])


def test_a_quantile_is_a_share_of_measurements():
    upper, lower = parse_limit("p95 of t <= 50"), parse_limit("p5 of t >= 10")
    values = np.array([10.0, 9.0, 50.0, 51.0])
    assert upper.read(values).tolist() == [1, 1, 1, 0]
    assert (upper.up, upper.mark) == (True, 0.95)
    assert lower.read(values).tolist() == [1, 0, 1, 1]
    assert (lower.up, lower.mark) == (True, 0.95)


def asked(keep, numbers, noise="yes-no", **more):
    problem = sp.Problem.unstructured(["now", "new"], noise=noise, numbers=numbers)
    return sp.algorithms.PooledPeleg(0.05, keep=keep, **more).start(problem)


@pytest.mark.parametrize(
    ("keep", "numbers", "why"),
    [
        (["latency <= 5"], {"cost": (0, 1)}, "no further number is called 'latency'"),
        (["cost <= 5"], {"cost": (0, 1)}, "kept by all or by none"),
        (["cost <= 5"], {"cost": "any"}, "Limit a quantile instead"),
        (["cost <= old + 1"], {"cost": (0, 9)}, "no option is called 'old'"),
    ],
)
def test_limits_that_cannot_be_shown(keep, numbers, why):
    with pytest.raises(InvalidInputError, match=why):
        asked(keep, numbers)


def test_what_limits_cannot_be_combined_with():
    for more in ({"quantile": 0.5}, {"items": 5}, {"complete": 5}):
        with pytest.raises(InvalidInputError, match="keep: "):
            asked(["cost <= 1"], {"cost": (0, 9)}, **more)
    with pytest.raises(InvalidInputError, match="median of cost"):
        asked(["cost <= 1"], {"cost": "symmetric"}, noise="any")
    with pytest.raises(InvalidInputError, match="give one for all"):
        asked(["cost <= 1"], {"cost": (0, 9)}, noise=[1.0, 2.0])
    problem = sp.Problem([[1, 0], [1, 1], [1, 2]], noise="yes-no", numbers={"cost": (0, 9)})
    with pytest.raises(InvalidInputError, match="let them guide only"):
        sp.algorithms.PooledPeleg(0.05, keep=["cost <= 1"]).start(problem)


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ({"reward": (0, 1)}, "ranked by"),
        ({"a <= b": (0, 1)}, "begins with a letter"),
        ({"3": (0, 1)}, "begins with a letter"),
        ({"a": (1, 0)}, "'a'"),
        ({"a": "pairs"}, "'a' can be"),
        ({"a": [1.0, 2.0]}, "'a' can be"),
        ([1], "must say what is known"),
    ],
)
def test_numbers_that_are_none(numbers, why):
    with pytest.raises((InvalidInputError, InvalidTypeError), match="numbers") as refused:
        sp.Problem.unstructured(2, numbers=numbers)
    assert why in str(refused.value)


def test_a_problem_with_numbers_comes_back_from_its_file():
    numbers = {"latency": (0, 100), "failed": "yes-no", "note": "any", "drift": "symmetric"}
    problem = sp.Problem.unstructured(3, noise=(0, 1), numbers=numbers)
    again = sp.Problem.from_dict(problem.to_dict())
    assert again == problem
    assert {name: kind.kind for name, kind in again.numbers.items()} == {
        "latency": "bounded",
        "failed": "yes-no",
        "note": "any",
        "drift": "symmetric",
    }
    assert problem != sp.Problem.unstructured(3, noise=(0, 1))
    assert "numbers" not in sp.Problem.unstructured(3).to_dict()

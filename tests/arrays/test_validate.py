"""Numbers as users give them, and what they may be."""

import pytest

import surepick as sp
from surepick.arrays.validate import risk
from surepick.errors import InvalidInputError


@pytest.mark.parametrize("delta", [0.5, 0.95, 0.999])
def test_how_sure_one_is_is_not_how_wrong_one_may_be(delta):
    with pytest.raises(InvalidInputError, match=r"delta is the probability of a wrong answer"):
        sp.create_study("s", sp.Problem.unstructured(["a", "b"]), storage="memory://δ", delta=delta)
    assert risk(0.4999, "delta") == 0.4999
    with pytest.raises(InvalidInputError, match=r"right with 0\.95, give 0\.05"):
        risk(0.95, "delta")


@pytest.mark.parametrize(
    "fields",
    [{"max_samples": 10**60}, {"items": 2**53 + 1}, {"complete": 10**400}, {"top": 10**60}],
)
def test_sizes_have_a_largest(fields):
    (name,) = fields
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    with pytest.raises(InvalidInputError, match=rf"{name} must be at most"):
        sp.create_study("s", problem, storage="memory://sizes", **fields)


def test_nobody_waits_for_ten_thousand_years():
    problem = sp.Problem.unstructured(["a", "b"], noise="yes-no")
    study = sp.create_study("s", problem, storage="memory://waits")
    with pytest.raises(InvalidInputError, match="lease must be at most"):
        study.ask(1, lease=1e12)
    with pytest.raises(InvalidInputError, match="n must be at most"):
        study.ask(10**60)
    study.close()

"""Parts of an error probability for options that come one after the other."""

from fractions import Fraction

import pytest

import surepick as sp
from surepick.statistics.spending import Spent, parts_of_all, shares_of_leads


@pytest.mark.parametrize("first", [1, 2, 5])
@pytest.mark.parametrize("n", [5, 40])
def test_however_many_come_all_parts_together_are_less_than_all(first, n):
    exact = [Fraction(1, first + 1)] * first
    exact += [Fraction(first, first + 1) / (k * (k + 1)) for k in range(first, n)]
    assert parts_of_all(first, n).tolist() == pytest.approx([float(one) for one in exact])
    still_to_come = Fraction(first, first + 1) / n
    assert sum(exact) + still_to_come == 1


def test_some_of_the_first_may_need_none():
    assert parts_of_all(4, 4, among=3).tolist() == pytest.approx([4 / 15] * 3 + [4 / 15])


def test_shares_that_add_up_to_more_are_refused():
    assert Spent("both", 0.05, {"one": 0.02, "two": 0.03}).total <= 0.05
    with pytest.raises(ArithmeticError, match="shares of 0"):
        Spent("both", 0.05, {"one": 0.02, "two": 0.0301})
    with pytest.raises(ArithmeticError):
        Spent("both", 0.05, {"one": float("nan")})


@pytest.mark.parametrize("first", [2, 3, 7])
def test_leads_over_the_control_share_delta_without_end(first):
    for n in (first, first + 1, first + 50):
        shares = shares_of_leads(0.05, first, n, 0)
        assert 0.0 < shares[1:].sum() < 0.05
        assert (shares[:first] == shares_of_leads(0.05, first, first, 0)).all()


@pytest.mark.parametrize(
    ("noise", "asked"),
    [
        ((0, 1), {"keep": ["latency <= 0.5"]}),
        ("any", {"quantile": 0.9}),
        ((0, 1), {"complete": 20}),
        ((0, 1), {}),
    ],
)
def test_a_run_lists_what_it_says_beside_its_answer(noise, asked):
    numbers = {"latency": (0, 1)} if "keep" in asked else {}
    problem = sp.Problem.unstructured(["a", "b", "c"], noise=noise, numbers=numbers)
    answer, *beside = sp.algorithms.PooledPeleg(0.05, **asked).start(problem).risks()
    assert (answer.said, answer.total) == ("the answer", 0.05)
    assert len(beside) == (1 if asked else 0)
    for one in beside:
        assert 0.025 < one.total <= 0.05 * (1 + 1e-12)


def test_shares_of_the_answer_are_those_by_which_it_is_decided():
    pairs = sp.Problem.pairs(list("abcd"))
    answer, circle = sp.algorithms.get("pairs", delta=0.06).start(pairs).risks()
    assert set(answer.shares.values()) == {0.015}
    assert (circle.own, circle.risk, circle.total) == (True, 0.03, pytest.approx(0.03))
    problem = sp.Problem.unstructured(list("abcd"), noise=1.0, numbers={"cost": (0, 1)})
    near = sp.algorithms.PooledPeleg(0.06, keep=["cost <= 0.5"], epsilon=0.1).start(problem)
    answer, *beside = near.risks()
    assert answer["ruling out"] == pytest.approx(0.95 * 0.06)
    assert answer.total == pytest.approx(0.06)
    assert all(one.own for one in beside)
    plain = sp.Problem.unstructured(list("abcd"), noise=1.0)
    (answer,) = sp.algorithms.PooledPeleg(0.06, top=3).start(plain).risks()
    assert answer.shares == {f"best {i}": 0.02 for i in (1, 2, 3)}

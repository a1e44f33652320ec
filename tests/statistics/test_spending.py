"""Parts of an error probability for options that come one after the other."""

from fractions import Fraction

import pytest

from surepick.statistics.spending import parts_of_all


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

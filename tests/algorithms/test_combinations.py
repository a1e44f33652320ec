"""Every question of every shape: it begins, or the one table says why not."""

import pytest
from benchmarks.combinations import main, tried

from surepick.algorithms import combinations
from surepick.errors import InvalidInputError


def test_the_table_says_what_happens(capsys):
    assert main() == 0
    printed = capsys.readouterr().out
    for rows in combinations.REFUSED.values():
        for one in rows.values():
            assert one.why in printed
            assert one.said.endswith(".")


def test_at_most_so_many_are_refused():
    assert sum(map(len, combinations.REFUSED.values())) <= 28


@pytest.mark.parametrize(
    ("question", "shape"), [("quantile", "pairs"), ("guess", "table"), ("quantile", "items")]
)
def test_errors_are_made_from_it(question, shape):
    one = combinations.refused(question, shape)
    assert tried(question, shape) == f"{question}: {one.why}; {one.cure}"
    with pytest.raises(InvalidInputError, match=one.why[:30]):
        combinations.check(question, shape)

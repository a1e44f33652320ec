"""Sets of directions: the two kinds answer alike."""

from __future__ import annotations

import numpy as np
import pytest

from surepick.design import AllPairs, Listed
from surepick.errors import InvalidInputError


@pytest.mark.parametrize(("m", "d"), [(2, 1), (7, 3), (60, 5), (900, 2), (700, 12)])
def test_pairs_are_the_list_of_differences(m, d):
    rng = np.random.default_rng(m)
    points = rng.normal(size=(m, d)) + 1e3
    root = rng.normal(size=(d, d))
    pairs = AllPairs(points)
    listed = Listed(pairs.vectors(pairs.indices()))
    assert pairs.count == listed.count == m * (m - 1) // 2
    value, index = pairs.worst(root)
    assert value == pytest.approx(listed.worst(root)[0], rel=1e-9)
    assert ((pairs.vectors([index]) @ root) ** 2).sum() == pytest.approx(value, rel=1e-9)
    a = ((listed.vectors(listed.indices()) @ root) ** 2).sum(axis=1)
    for threshold in (0.0, 0.5 * value, 0.99 * value, 1.01 * value):
        found = pairs.violators(root, threshold, 10)
        assert len(found) <= 10
        assert len(np.unique(found)) == len(found)
        assert (len(found) > 0) == bool((a > threshold).any())
        image = ((pairs.vectors(found) @ root) ** 2).sum(axis=1)
        assert (image > threshold * (1 - 1e-9)).all()
        assert (np.diff(image) <= 1e-6 * value).all()
        if len(found):
            assert image[0] == pytest.approx(value, rel=1e-9)


def test_listed_violators_are_the_largest():
    rows = np.arange(1.0, 21.0)[:, None]
    assert Listed(rows).violators(np.eye(1), 17.0**2, 10).tolist() == [19, 18, 17]
    assert Listed(rows).violators(np.eye(1), 0.0, 2).tolist() == [19, 18]
    assert Listed(rows).violators(np.eye(1), 500.0, 2).tolist() == []


def test_duplicates_never_violate():
    pairs = AllPairs([[1.0, 2.0]] * 5)
    assert pairs.worst(np.eye(2))[0] == 0.0
    assert len(pairs.violators(np.eye(2), 0.0, 10)) == 0


def test_bad_points():
    with pytest.raises(InvalidInputError, match="two points"):
        AllPairs([[1.0, 2.0]])
    with pytest.raises(InvalidInputError, match="points at row 1, column 0"):
        AllPairs([[1.0], [np.nan]])

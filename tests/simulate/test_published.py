"""Instances from other people's papers: as these describe them."""

import math

import numpy as np
import pytest

from surepick.bench.named import build_instance
from surepick.errors import InvalidInputError
from surepick.simulate import published


def test_a_crowd_is_second_best():
    instance = published.many_arms(200, rng=4)
    arms = instance.problem.arms
    assert arms[instance.best].tolist() == [1.0, 0.0]
    gaps = np.delete(instance.gaps, [instance.best, 199])
    assert gaps.min() >= 1 - math.cos(0.78)
    assert gaps.max() <= 1 - math.cos(0.88)
    assert arms[199] @ arms[0] == pytest.approx(0.0, abs=0.11)  # it tells a turn of θ best


def test_copies_are_turned_by_omega():
    problem = published.transductive(3, omega=0.3).problem
    points = problem.candidates
    assert points.shape == (6, 6)
    cosines = points @ points.T
    assert np.diagonal(cosines, 3) == pytest.approx(np.full(3, math.cos(0.3)))
    assert np.diagonal(cosines) == pytest.approx(np.ones(6))


def test_the_end_of_optimism_in_five_dimensions():
    instance = published.end_of_optimism(5, epsilon=0.2)
    assert np.sort(instance.gaps).tolist() == pytest.approx([0.0] + [0.2] * 4 + [1.0] * 4)
    assert np.linalg.norm(instance.problem.arms[-1]) ** 2 == pytest.approx(0.8**2 + 0.4**2)


def test_random_features_have_a_largest_singular_value_of_one():
    arms = published.random_features(4, 9, rng=1).problem.arms
    assert np.linalg.svd(arms, compute_uv=False)[0] == pytest.approx(1.0)
    again = build_instance("random_features:d=4,k=9,rng=1").problem.arms
    assert np.array_equal(arms, again)


def test_drugs_against_fits_score_above_those_that_cause_them():
    instance = published.drugs()
    assert len(instance.problem.labels) == 10
    assert instance.means[:5].min() > instance.means[5:].max() + 0.06
    # their means over all 180 recorded scores, and the gap between the two best
    assert instance.means.mean() == pytest.approx(0.4354, abs=1e-4)
    assert np.sort(instance.gaps)[1] == pytest.approx(0.0066)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: published.many_arms(2), "k must be"),
        (lambda: published.end_of_optimism(3, epsilon=1.0), "epsilon must lie between 0 and 1"),
        (lambda: published.transductive(0), "d must be"),
    ],
)
def test_what_cannot_be_built_is_refused(make, says):
    with pytest.raises(InvalidInputError, match=says):
        make()

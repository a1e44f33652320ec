import itertools

import numpy as np
import pytest

from surepick.errors import InvalidInputError
from surepick.simulate import families


def drawn():
    return {
        "gaussian": lambda rng: families.gaussian(4, 20, gap=0.3, rng=rng),
        "nearly_tied": lambda rng: families.nearly_tied(40, 4, gap=0.3, rng=rng),
        "probes": lambda rng: families.probes(6, 12, gap=0.3, rng=rng),
        "factorial": lambda rng: families.factorial("3x2x2", 1, gap=0.3, rng=rng),
    }


@pytest.mark.parametrize("name", drawn())
def test_the_draw_is_determined_by_rng_and_the_runner_up_by_gap(name):
    make = drawn()[name]
    one, same, other = make(3), make(3), make(4)
    assert one.problem == same.problem
    np.testing.assert_array_equal(one.theta, same.theta)
    assert one.problem != other.problem or not np.array_equal(one.theta, other.theta)
    for instance in (one, other):
        assert np.sort(instance.gaps)[1] == pytest.approx(0.3)


def test_nearly_tied_has_two_good_arms_that_differ_in_one_direction():
    instance = families.nearly_tied(500, 6, gap=0.05, rng=1)
    assert instance.problem.n_arms == 500
    assert np.argsort(instance.gaps)[:2].tolist() == [0, 1]
    assert (instance.gaps[2:] >= 0.4 - 1e-12).all()
    difference = instance.problem.arms[0] - instance.problem.arms[1]
    np.testing.assert_allclose(difference, [0.05, 1, 0, 0, 0, 0], atol=1e-15)


def test_probes_measure_parts_and_choose_among_combinations():
    problem = families.probes(7, 20, parts=3).problem
    assert problem.transductive
    assert problem.n_arms == 8
    assert len(np.unique(problem.candidates, axis=0)) == 20
    assert (problem.candidates.sum(axis=1) == 3).all()
    assert set(np.unique(problem.candidates)) == {0.0, 1.0}


def test_factorial_is_a_model_of_main_effects_and_two_way_interactions():
    instance = families.factorial([4, 3, 2, 2], interactions=2, rng=5)
    arms = instance.problem.arms
    assert arms.shape == (48, 1 + (3 + 2 + 1 + 1) + (6 + 3 + 3 + 2 + 2 + 1))
    assert instance.problem.rank == arms.shape[1]
    assert instance.problem.labels[0] == "1-1-1-1"
    assert instance.problem.labels[-1] == "4-3-2-2"
    # Effects coding on all layouts: every effect averages to nothing.
    np.testing.assert_allclose(arms[:, 1:].mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.parametrize("interactions", [0, 1, 3])
def test_factorial_means_interact_only_where_told(interactions):
    sizes = (3, 2, 4)
    instance = families.factorial(sizes, interactions, rng=2)
    means = instance.means.reshape(sizes)
    found = 0
    for i, j in itertools.combinations(range(3), 2):
        other = ({0, 1, 2} - {i, j}).pop()
        table = means.mean(axis=other)
        additive = table.mean(axis=0) + table.mean(axis=1)[:, None] - table.mean()
        found += not np.allclose(table, additive)
    assert found == interactions


def test_wines_are_the_table_that_is_shipped():
    instance = families.wines(noise=2.0)
    problem = instance.problem
    assert (problem.n_arms, problem.n_features, problem.noise) == (178, 12, 2.0)
    assert len(problem.distinct) == 178
    assert problem.labels[0] == "wine 1"
    np.testing.assert_allclose(problem.arms.mean(axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(problem.arms.std(axis=0), 1.0, atol=1e-4)
    assert np.sort(instance.gaps)[1] == pytest.approx(0.345, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: families.gaussian(3, 1), "k must be"),
        (lambda: families.gaussian(3, 5, gap=0), "gap must be above 0"),
        (lambda: families.nearly_tied(10, gap=0.5), "below 0.4"),
        (lambda: families.probes(4, 3, parts=5), "parts must be at most d"),
        (lambda: families.probes(4, 7, parts=2), "between 2 and 6"),
        (lambda: families.factorial("4"), "at least two factors"),
        (lambda: families.factorial("4x1"), "at least two factors"),
        (lambda: families.factorial("axb"), "at least two factors"),
        (lambda: families.factorial("2x2", interactions=2), "between 0 and 1"),
    ],
)
def test_bad_parameters_are_refused(make, says):
    with pytest.raises(InvalidInputError, match=says):
        make()

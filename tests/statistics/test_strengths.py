"""Bradley–Terry fits: the one maximum, with position bias and features."""

import numpy as np
import pytest

from surepick.statistics.strengths import RIDGE, fit_strengths
from surepick.verifier.payoffs.pairs import Seen


def _table(rng, K, n):
    counts = rng.poisson(n, (K, K)).astype(float)
    np.fill_diagonal(counts, 0)
    return counts, rng.binomial(counts.astype(int), 0.5) + 0.0


@pytest.mark.parametrize("n", [0.1, 2.0, 200.0])
def test_the_verifier_fits_the_same(n):
    rng = np.random.default_rng(4)
    counts, sums = _table(rng, 6, n)
    features = rng.standard_normal((6, 2))
    for given in (None, features):
        fitted = fit_strengths(counts, sums, given)
        seen = Seen(6)
        if given is not None:
            seen.take(given)
        seen.n, seen.s = counts, sums
        theta, bias = seen.fit()
        assert fitted.values == pytest.approx(theta, abs=1e-9)
        assert fitted.bias == pytest.approx(bias, abs=1e-9)


def test_a_bias_for_the_left_is_no_strength():
    # Whoever comes first wins three of four times; no option is better than another.
    counts = np.full((4, 4), 20.0)
    np.fill_diagonal(counts, 0.0)
    fitted = fit_strengths(counts, 0.75 * counts)
    assert np.abs(fitted.values).max() < 1e-9
    assert fitted.bias == pytest.approx(np.log(3), abs=0.05)
    assert fitted.preferred() == pytest.approx(np.full((4, 4), 0.5))


def test_features_speak_for_options_that_were_not_compared():
    counts, sums = np.zeros((4, 4)), np.zeros((4, 4))
    counts[0, 1] = counts[1, 0] = 30.0
    sums[0, 1], sums[1, 0] = 27.0, 3.0
    alike = np.array([[1.0], [0.0], [1.0], [0.0]])
    without, guided = fit_strengths(counts, sums), fit_strengths(counts, sums, alike)
    assert without.values[2] == pytest.approx(0.0, abs=1e-12)
    assert guided.values[2] > guided.values[3] + 0.1


def test_uncertainty_is_the_prior_where_nothing_was_compared():
    fitted = fit_strengths(np.zeros((3, 3)), np.zeros((3, 3)))
    assert fitted.covariance == pytest.approx(np.eye(3) / RIDGE)
    assert fitted.scores() == pytest.approx([0.5, 0.5, 0.5])

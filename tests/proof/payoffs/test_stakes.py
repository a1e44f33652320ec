import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import truncnorm

from surepick.arrays.backend import backend_named
from surepick.proof.payoffs.stakes import STAKES, array_stakes, normal_stakes


@given(st.floats(-4.9, 30), st.floats(-6, 6).map(np.exp))
def test_they_are_quantiles_of_the_cut_normal(z, precision):
    found = normal_stakes(z * np.sqrt(precision), precision)
    shares = (np.arange(STAKES) + 0.5) / STAKES
    law = truncnorm(-z, np.inf, loc=z / np.sqrt(precision), scale=1 / np.sqrt(precision))
    np.testing.assert_allclose(found[::-1], law.ppf(shares), rtol=1e-6, atol=1e-9)


@given(st.floats(-1e6, 1e6), st.floats(-30, 30).map(np.exp))
def test_they_are_never_negative_and_never_missing(score, precision):
    found = normal_stakes(score, precision)
    assert (found >= 0).all()
    assert np.isfinite(found).all()
    assert (np.diff(found) <= 0).all()


@given(st.floats(-20, 20), st.floats(-3, 3).map(np.exp), st.integers(-30, 30))
def test_the_unit_of_rewards_does_not_matter(score, precision, power):
    unit = 2.0**power
    scaled = normal_stakes(score / unit, precision / unit**2)
    np.testing.assert_allclose(scaled, unit * normal_stakes(score, precision), rtol=1e-12)


def test_the_same_on_another_library():
    torch = backend_named("torch")
    score, precision = np.linspace(-30, 30, 50), np.geomspace(0.01, 100, 50)
    found = array_stakes(torch, torch.put(score), torch.put(precision))
    expected = normal_stakes(score, precision)
    for s in range(STAKES):
        assert torch.host(found[s]) == pytest.approx(expected[:, s], rel=1e-9, abs=1e-12)

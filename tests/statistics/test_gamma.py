"""The gamma function, and quantiles of chi-squared, beside SciPy's."""

import numpy as np
import pytest
from scipy.special import chdtri, gammaln

from surepick.statistics.gamma import log_gamma, upper_quantile


def test_log_gamma_is_scipys():
    x = np.concatenate([np.arange(0.5, 60, 0.5), np.geomspace(1e-12, 1e9, 300), [0.0]])
    assert log_gamma(x) == pytest.approx(gammaln(x), rel=1e-13, abs=1e-13)
    assert float(log_gamma(3.5)) == pytest.approx(gammaln(3.5), rel=1e-14)


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 299, 5000, 1_000_000])
@pytest.mark.parametrize("p", [1e-6, 0.001, 0.025, 0.5, 0.975, 0.999])
def test_it_is_scipys(freedom, p):
    assert upper_quantile(freedom, p) == pytest.approx(chdtri(freedom, p), rel=1e-8)

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from surepick.statistics.mixture import SCALES, log_evidence


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 30.0))
def test_what_is_above_the_bar_is_the_same_with_and_without_it(seed, bar):
    rng = np.random.default_rng(seed)
    variance = rng.uniform(0.1, 50.0, size=40)
    total = rng.normal(size=40) * 4 * variance**0.5
    first = variance / rng.uniform(1.0, 100.0, size=40)
    every, some = log_evidence(total, variance, first), log_evidence(total, variance, first, bar)
    assert np.array_equal(every >= bar, some >= bar)
    assert np.array_equal(every[every >= bar], some[some >= bar])


def test_it_is_the_average_over_drifts():
    total, variance, first = 7.0, 4.0, 0.5

    def paid(drift: float, precision: float) -> float:
        density = 2 * math.sqrt(precision / (2 * math.pi)) * math.exp(-precision * drift**2 / 2)
        return density * math.exp(drift * total - drift**2 * variance / 2)

    paid_on_average = sum(
        quad(paid, 0, 60, args=(scale * first,), points=[0.001, 0.1, 2])[0] for scale in SCALES
    ) / len(SCALES)
    found = log_evidence(np.array([total]), np.array([variance]), np.array([first]))
    assert math.isclose(found[0], math.log(paid_on_average), rel_tol=1e-6)

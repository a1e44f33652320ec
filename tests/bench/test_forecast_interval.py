"""The interval around a simulated mean: Student's, at 95 %."""

import numpy as np
import pytest
from scipy import stats

from surepick import Problem
from surepick.bench.forecast import ASKED, HALF_GAP, LeadToFind, forecast

PROBLEM = Problem([[1, 0], [1, 1], [1, 2], [1, 4]], noise=2.0)


@pytest.mark.validation
@pytest.mark.parametrize("trials", [3, 12])
def test_the_interval_is_students(trials):
    found = forecast(
        LeadToFind(PROBLEM, gap=0.5, delta=0.1, algorithms=["pooled-peleg"], trials=trials)
    )
    for scenario in (ASKED, HALF_GAP):
        pulls = found.runs["pulls"][found.runs["scenario"] == scenario].astype(float)
        cell = found.cell("pooled-peleg", scenario)
        error = stats.sem(pulls)
        assert error > 0
        low, high = stats.t.interval(0.95, trials - 1, loc=pulls.mean(), scale=error)
        assert cell["high"] == pytest.approx(high)
        assert cell["low"] == pytest.approx(max(low, 0.0))
        assert [cell[q] for q in ("q10", "q50", "q90")] == pytest.approx(
            np.quantile(pulls, [0.1, 0.5, 0.9])
        )

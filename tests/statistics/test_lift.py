"""Intervals for leads over a control: they hold at all looks, whatever the level of the day."""

import numpy as np
import pytest

from surepick.statistics.lift import Lifts, Sums


@pytest.mark.validation
@pytest.mark.parametrize("yes_no", [True, False])
def test_intervals_hold_at_all_looks_and_shrink(yes_no):
    rng, missed, widths = np.random.default_rng(5), 0, []
    rates = np.array([0.05, 0.06, 0.03])
    for _ in range(40):
        lifts = Lifts(3, 0, 0.0, 1.0, yes_no)
        inside = True
        for _ in range(8):
            counts = rng.multinomial(3000, [0.4, 0.3, 0.3]).astype(float)
            level = 0.02 * rng.random()  # of the day; it cancels
            hits = rng.binomial(counts.astype(int), rates + level).astype(float)
            lifts.add(Sums(counts, hits, hits - hits**2 / counts))
            low, high = lifts.intervals(0.2)
            inside &= bool((low[1:] <= rates[1:] - 0.05).all())
            inside &= bool((high[1:] >= rates[1:] - 0.05).all())
        missed += not inside
        widths.append(float(high[1] - low[1]))
    assert missed <= 2 * 0.2 * 40
    assert np.mean(widths) < 0.04
    assert lifts.estimates()[1:] == pytest.approx([0.01, -0.02], abs=0.012)

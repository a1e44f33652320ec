"""Figures of experiments say what could mislead."""

import pytest

from surepick.report.plots import BELOW, Curve, Panel, draw_panel


@pytest.mark.parametrize(("mean", "said"), [(200.0, True), (300.0, False)])
def test_a_curve_below_the_lower_bound_is_explained(mean, said):
    curve = Curve("rage", [10.0, 20.0], [mean, 4000.0], [30.0, 300.0])
    svg = draw_panel(Panel("Unit sphere", "d", [curve], ([10.0, 20.0], [250.0, 320.0])), ["svg"])
    assert (BELOW in svg["svg"].decode()) == said

"""Figures of experiments say what could mislead."""

import re

import pytest

from surepick.report.plots import BELOW, Curve, Panel, draw_panel


@pytest.mark.parametrize(("mean", "said"), [(200.0, True), (300.0, False)])
def test_a_curve_below_the_lower_bound_is_explained(mean, said):
    curve = Curve("rage", [10.0, 20.0], [mean, 4000.0], [30.0, 300.0])
    svg = draw_panel(Panel("Unit sphere", "d", [curve], ([10.0, 20.0], [250.0, 320.0])), ["svg"])
    assert (BELOW in svg["svg"].decode()) == said


@pytest.mark.some(2)
@pytest.mark.parametrize(
    ("means", "ticks"),
    [
        ([300.0, 9000.0], {"500", "1,000", "2,000", "5,000"}),  # between powers of ten, too
        ([300.0, 9e6], {"1,000", "10,000", "100,000", "1,000,000"}),
        ([4e6, 2e7], {"5,000,000", "10,000,000", "20,000,000"}),  # an even axis
    ],
)
def test_ticks_are_plain_numbers(means, ticks):
    curve = Curve("rage", [0.05, 1e6], means, [30.0, 300.0])
    svg = draw_panel(Panel("Unit sphere", "d", [curve]), ["svg"])["svg"].decode()
    written = set(re.findall(r"<!-- (.+?) -->", svg))
    assert ticks | {"0.05", "1,000,000"} <= written
    assert not any(re.search(r"\de\d|10\^|mathdefault", text) for text in written)

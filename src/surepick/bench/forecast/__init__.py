"""How many measurements will it take? The question, drawn truths, and their simulation."""

from surepick.bench.forecast.fixed import AB_TEST, LARGEST, fixed_sample
from surepick.bench.forecast.lead import (
    ALGORITHMS,
    ASKED,
    HALF_DELTA,
    HALF_GAP,
    LeadToFind,
    study_noise,
)
from surepick.bench.forecast.run import LOWER_BOUND, Forecast, forecast
from surepick.bench.forecast.truths import Room, draw, draw_within

__all__ = [
    "AB_TEST",
    "ALGORITHMS",
    "ASKED",
    "HALF_DELTA",
    "HALF_GAP",
    "LARGEST",
    "LOWER_BOUND",
    "Forecast",
    "LeadToFind",
    "Room",
    "draw",
    "draw_within",
    "fixed_sample",
    "forecast",
    "study_noise",
]

"""Forecasts, as ``surepick plan`` makes them; a helper works them out.

How long a forecast takes depends on what the caller asks, and is not known in advance. A helper
holds up nobody else, and is ended when its time is over.
"""

from __future__ import annotations

import math
from typing import Any

from surepick.problem.contents import as_misfit
from surepick.server import models
from surepick.server.creation import problem_of
from surepick.study.extremes import refusing_extremes


def forecast_for(body: models.PlanRequest) -> dict[str, Any]:
    """The forecast for a table."""
    from surepick.bench.forecast import LeadToFind, forecast, study_noise

    told, guess = study_noise(body.rewards, body.noise, body.noise_is)
    misfit = math.inf if body.misfit in ("any", None) else body.misfit
    with refusing_extremes():
        made = problem_of(body, told, as_misfit(misfit))
        question = LeadToFind(
            made.problem.with_direction(body.minimise),
            body.gap,
            body.delta,
            noise=guess,
            base_rate=body.base_rate,
            lift=body.lift,
            trials=body.trials,
        )
        found = forecast(question)
    rows = [{key: _plain(value) for key, value in row.items()} for row in found.summary.rows()]
    return {"forecast": rows, "notes": [*made.notes, *found.notes], "files": []}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value

"""Forecasts, as ``surepick plan`` makes them, in a process of their own.

How long a forecast takes depends on what the caller asks, and is not known in advance. In a process
of its own it holds up nobody else, and can be ended when its time is over.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import sys
from typing import Any

from surepick.errors import InvalidInputError, ServiceError, SurepickError
from surepick.problem.contents import as_misfit
from surepick.server import models
from surepick.server.bodies import Large, parsed, valid
from surepick.server.creation import problem_of
from surepick.study.extremes import refusing_extremes

_log = logging.getLogger(__name__)


async def plan(body: models.PlanRequest | Large, seconds: float) -> dict[str, Any]:
    """The forecast for a table, if it takes no longer than this."""
    sent = body.content if isinstance(body, Large) else body.model_dump_json().encode()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", __name__, stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        async with asyncio.timeout(seconds):
            said, complaints = await process.communicate(sent)
    except TimeoutError:
        raise InvalidInputError(
            f"the forecast takes longer than {seconds:g} s: try fewer trials, a larger gap or "
            f"fewer options"
        ) from None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        _log.error("a forecast failed: %s", complaints.decode(errors="replace")[-2000:])
        raise ServiceError("the forecast failed; see the log of the service")
    found = json.loads(said)
    if "refused" in found:
        raise InvalidInputError(found["refused"])
    return found


def forecast_for(body: models.PlanRequest) -> dict[str, Any]:
    """The forecast for a table."""
    from surepick.bench.forecast import LeadToFind, forecast, study_noise

    told, guess = study_noise(body.rewards, body.noise, body.noise_is)
    misfit = math.inf if body.misfit in ("any", None) else body.misfit
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


def main() -> None:
    """The process: a request on stdin, its answer on stdout."""
    try:
        body = valid(models.PlanRequest, parsed(sys.stdin.buffer.read()))
        with refusing_extremes():
            answer = forecast_for(body)
    except SurepickError as error:
        answer = {"refused": str(error)}
    sys.stdout.write(json.dumps(answer, allow_nan=False))


if __name__ == "__main__":
    main()

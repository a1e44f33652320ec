"""Reports: whole blocks in totals, with the counts that they came to."""

from __future__ import annotations

from surepick.algorithms.pulls import ToldPulls
from surepick.errors import RunStateError
from surepick.run.run import Run


def tell_report(run: Run, told: ToldPulls) -> None:
    """Tell a run what came of a period: one row of ``told.pulls`` for each option; unchecked.

    Nobody planned these counts. The run must not have asked for pulls: then this is its next block.
    """
    if run.stopped:
        raise RunStateError("the run has stopped; its answer is in run.answer")
    run.tell_totals(run.put(told.pulls), told.sums, told.spreads)

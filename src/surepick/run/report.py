"""Reports: whole blocks in totals, with the counts that they came to."""

from __future__ import annotations

from surepick.algorithms.pulls import ToldPulls
from surepick.errors import RunStateError
from surepick.run.run import Run
from surepick.run.sharing import traffic_of


def tell_report(
    run: Run, told: ToldPulls, elapsed: float | None = None, deal: str | None = None
) -> None:
    """Tell a run what came of a period: one row of ``told.pulls`` for each option; unchecked.

    Nobody planned these counts. The run must not have asked for pulls: then this is its next block.
    Reported so many seconds after the first shares were fixed, where that matters. The first one is
    dealt by the seed ``deal``, if there is one and counts can be dealt.
    """
    if run.stopped:
        raise RunStateError("the run has stopped; its answer is in run.answer")
    if deal is not None and run.batches == len(run.skipped):
        run.state.deal_by(deal)
    before, compared = run.state.finished, None
    if run.waits is not None:
        compared = traffic_of(run).compared()
    numbers = None
    if run.state.further:  # others are reported, and nothing is bet on them
        assert told.numbers is not None
        numbers = {one.name: told.numbers[one.name] for one in run.state.further}
    run.tell_totals(run.put(told.pulls), told.sums, told.spreads, numbers)
    if run.waits is not None and compared is not None:
        run.waits.take(run, compared, elapsed, before)

"""Reports: whole blocks in totals, with the counts that they came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.algorithms.pulls import ToldPulls
from surepick.errors import InvalidInputError, RunStateError
from surepick.run.run import Run
from surepick.run.sharing import Sharing, traffic_of
from surepick.run.waiting import Waiting


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


_MOVED = 5e-4  # by which rounding on another kind of processor may change a share


class ReportsAgain:
    """Follows the periods of a certificate."""

    def __init__(self, body: dict[str, Any], turned: Callable[[Run, int], Run]) -> None:
        self._turned = turned  # a run with the options that a period of this number has
        self._turns = {
            one["batch"] for name in ("options", "accepted") for one in body.get(name, [])
        }
        traffic = body["traffic"]
        self._sharing = Sharing(traffic["at_least"], traffic["control"], traffic["control_share"])
        self._left = list(enumerate(traffic["periods"]))
        self._after = [period.get("after") for period in traffic["periods"]]
        self.waits = Waiting(traffic["waits"]["least"])
        self._corrections = body.get("corrections", [])
        self._aside = body.get("set_aside", [])
        self._fixed: set[int] = set()  # periods that got their shares before a correction
        self._last: tuple[int, Any] | None = None  # reports so far, and shares, of a period
        self._exact = True

    def take(self, run: Run, told: ToldPulls) -> tuple[bool, bool]:
        """Tell the next report.

        Returns whether all shares so far were exactly those that follow, and whether those of this
        period may rest on a report as it was before it was corrected: then nothing follows.
        """
        here = run.batches
        run.waits = self.waits
        while self._left and self._left[0][1]["settled"] == run.batches:
            number, period = self._left.pop(0)
            shares = np.array(period["shares"])
            settled, before = (-1, None) if self._last is None else self._last
            due = before
            if due is None or settled != run.batches or number in self._turns:
                due = self._sharing.shares(self._turned(run, number), before)
            if self._before_correction(number, period["settled"]):
                self._fixed.add(number)
            elif not np.array_equal(shares, due):
                self._exact = False
                if np.abs(shares - due).max() > _MOVED:
                    raise InvalidInputError(
                        f"the shares of period {period['name']!r} do not follow from earlier "
                        f"reports"
                    )
            self._last = (run.batches, shares)
        tell_report(run, told, self._after[here])
        return self._exact, here in self._fixed

    def _before_correction(self, number: int, settled: int) -> bool:
        """Whether shares may rest on a report as it was before it was corrected, or set aside."""
        changed = any(
            one["period"] < settled and number < one["asked"] for one in self._corrections
        )
        return changed or any(one["from"] <= number < one["asked"] for one in self._aside)

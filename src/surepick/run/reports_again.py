"""The shares of a traffic certificate, worked out again from the reports before them.

How many visitors came is a fact; by which shares they were sent follows from earlier reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.algorithms.pulls import ToldPulls
from surepick.errors import InvalidInputError
from surepick.run.report import tell_report
from surepick.run.run import Run
from surepick.run.sharing import Sharing
from surepick.run.waiting import Waiting

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

"""The shares of a traffic certificate, worked out again from the reports before them.

How many visitors came is a fact; by which shares they were sent follows from earlier reports.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.algorithms.pulls import Told
from surepick.errors import InvalidInputError
from surepick.run.report import tell_report
from surepick.run.run import Run
from surepick.run.sharing import Sharing

_MOVED = 5e-4  # by which rounding on another kind of processor may change a share


class ReportsAgain:
    """Follows the periods of a certificate."""

    def __init__(self, traffic: dict[str, Any]) -> None:
        self._sharing = Sharing(traffic["at_least"], traffic["control"], traffic["control_share"])
        self._left = list(traffic["periods"])
        self._last: tuple[int, Any] | None = None  # reports so far, and shares, of a period
        self._exact = True

    def take(self, run: Run, told: Told) -> bool:
        """Tell the next report; whether all shares so far were exactly those that follow."""
        while self._left and self._left[0]["settled"] == run.batches:
            period = self._left.pop(0)
            shares = np.array(period["shares"])
            if self._last is not None and self._last[0] == run.batches:
                due = self._last[1]
            else:
                due = self._sharing.shares(run, None if self._last is None else self._last[1])
            if not np.array_equal(shares, due):
                self._exact = False
                if np.abs(shares - due).max() > _MOVED:
                    raise InvalidInputError(
                        f"the shares of period {period['name']!r} do not follow from earlier "
                        f"reports"
                    )
            self._last = (run.batches, shares)
        tell_report(run, told)
        return self._exact

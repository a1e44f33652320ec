"""Shares of the visitors of a site that people accept: worked out from earlier reports alone.

Any shares leave the guarantee as it is, as long as they are fixed before the visitors come. These
follow what the algorithm wants half-way from period to period, leave nothing to options that are
ruled out, and keep what was asked for: a least share for everybody still in, and one for the
control, which stays on the site whatever happens to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surepick.algorithms.base import TrafficPlan
from surepick.arrays.types import FloatArray
from surepick.errors import InvalidInputError
from surepick.run.run import Run

_KEPT = 0.5  # part of the last shares in the new ones: they move smoothly
_FINE, _MANY = 1_000_000, 200  # shares are whole ten-thousandths; with many options finer ones
_COARSE = 10_000


@dataclass(frozen=True)
class Sharing:
    """What people ask of shares.

    Examples
    --------
    >>> import surepick as sp
    >>> run = sp.algorithms.get("pooled-peleg", delta=0.1).start(sp.Problem(np.eye(4)))
    >>> Sharing(control=0, control_share=0.4).shares(run, None).tolist()
    [0.4, 0.2, 0.2, 0.2]
    """

    at_least: float = 0.0  #: share of every option that is still in
    control: int | None = None  #: number of the option that is never taken off the site
    control_share: float = 0.0  #: its share, at least

    def shares(self, run: Run, before: FloatArray | None) -> FloatArray:
        """Shares of the next period, one per option; they sum to 1.

        ``before`` are those of the last period; None: there was none.
        """
        traffic = traffic_of(run)
        shown = None
        if run.waits is not None and run.waits.compared and run.state.finished:
            shown = run.waits.shares(run)
        least = np.where(traffic.compared() if shown is None else shown > 0.0, self.at_least, -1.0)
        if self.control is not None:
            least[self.control] = max(self.control_share, least[self.control])
        kept = least >= 0.0
        wanted = traffic.wanted_shares() if shown is None else shown
        if before is not None and shown is None:  # else some come back who had none
            before = np.append(before, np.zeros(len(kept) - len(before)))  # of those that came
            rest = np.where(kept, before, 0.0)
            if rest.sum() > 0.0:
                wanted = _KEPT * rest / rest.sum() + (1.0 - _KEPT) * wanted
        least = np.where(kept, least, 0.0)
        if self.control is not None:  # what the control keeps is not there for the others
            others = np.arange(len(least)) != self.control
            room = (1.0 - least[self.control]) / max(int((kept & others).sum()), 1)
            least[others] = np.minimum(least[others], room)
        else:
            least = np.minimum(least, 1.0 / max(int(kept.sum()), 1))
        units = _FINE if len(least) > _MANY else _COARSE
        return _rounded(_raised(np.where(kept, wanted, 0.0), least), units)


def traffic_of(run: Run) -> TrafficPlan:
    """What the run's algorithm says about the next visitors."""
    found = run.state.traffic()
    if found is None:
        name = run.algorithm.registered_name()
        raise InvalidInputError(
            f"traffic: {name} cannot share out visitors of a site; use pooled-peleg"
        )
    return found


def _raised(shares: FloatArray, least: FloatArray) -> FloatArray:
    """Shares of at least so much; those above it give what it takes, in proportion."""
    low = np.zeros(len(shares), dtype=bool)
    while True:
        rest, left = shares[~low].sum(), 1.0 - least[low].sum()
        scale = left / rest if rest > 0.0 else 0.0
        more = ~low & (shares * scale < least)
        if not more.any():
            raised = np.where(low, least, shares * scale)
            return raised / raised.sum()
        low |= more


def _rounded(shares: FloatArray, units: int) -> FloatArray:
    """Whole parts of one, which sum to it; whoever has a share keeps one unit at least."""
    due = shares * units
    parts = np.floor(due + 1e-9)
    parts[(parts == 0) & (shares > 0)] = 1.0
    order = np.argsort(parts - due, kind="stable")  # who lacks most comes first
    missing = int(units - parts.sum())
    if missing >= 0:
        parts[order[:missing]] += 1.0
    else:
        parts[np.argmax(parts)] += missing
    return parts / units


def in_whole_visits(shares: FloatArray, visits: int) -> list[int]:
    """So many visits in these shares, as whole numbers.

    Examples
    --------
    >>> in_whole_visits(np.array([0.5, 0.3, 0.2]), 11)
    [6, 3, 2]
    """
    due = shares * visits
    parts = np.floor(due + 1e-9).astype(np.int64)
    order = np.argsort(parts - due, kind="stable")
    parts[order[: visits - int(parts.sum())]] += 1
    return parts.tolist()

"""Shares for periods of traffic.

Shares are stored before anybody sees them. What the database holds decides; a call whose end was
not heard of can be made again.
"""

from __future__ import annotations

import json

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, RunStateError
from surepick.run import Run
from surepick.run.sharing import in_whole_visits
from surepick.storage.contract import Transaction
from surepick.storage.traffic import Period, Report
from surepick.study import chain
from surepick.study.desk.desk import Desk
from surepick.study.pulls import as_name
from surepick.study.traffic.report import MOST_VISITS
from surepick.study.traffic.results import Split
from surepick.study.traffic.rules import demanded_rules


class TrafficDesk:
    """The desk of a study of traffic."""

    def __init__(self, desk: Desk) -> None:
        self.rules = demanded_rules(desk.record)
        self.desk, self._study = desk, desk.record.id
        self.sharing = self.rules.sharing(desk.problem)

    # -- shares ----------------------------------------------------------------------------
    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """Shares of the period that is under way, or of a new one; see :meth:`Study.split`."""
        if visits is not None:
            visits = whole(visits, "visits", least=1)
            if visits >= MOST_VISITS:
                raise InvalidInputError(f"visits must be below {MOST_VISITS:,}; got {visits}")
        name = None if period is None else as_name(period, "period")
        while True:
            run, _ = self.desk.load()
            found = self.desk.storage.write(lambda tx, run=run: self._split(tx, run, name))
            if found is not None:
                return self._shown(found, visits)

    def _split(self, tx: Transaction, run: Run, name: str | None) -> Period | None:
        """The period meant; None: others have gone on since the run was loaded."""
        at = tx.progress(self._study, lock=True)
        known = None if name is None else tx.period_named(self._study, name)
        if known is not None:
            return known
        if at.finished:
            raise RunStateError("the study is finished: send all visitors to its answer")
        if at.batch != run.batches:
            return None
        periods = tx.periods(self._study, max(at.batch - 1, 0))
        running = [one for one in periods if one.number >= at.batch]
        if running and name is None:
            return running[-1]
        if running and running[-1].name is None:
            tx.name_period(self._study, running[-1].number, str(name))
            return tx.period_named(self._study, str(name))
        last = periods[-1] if periods else None
        if last is not None and last.settled == at.batch:
            shares = last.shares  # nothing was reported since
        else:
            before = None if last is None else _shares(last)
            shares = json.dumps(self.sharing.shares(run, before).tolist())
        number = 0 if last is None else last.number + 1
        new = Period(number, name, shares, at.batch, at.now)
        tx.add_period(self._study, new)
        chain.split(tx, self._study, new, at.now)
        return new

    def _shown(self, period: Period, visits: int | None) -> Split:
        labels, shares = self.desk.problem.labels, _shares(period)
        counts = None
        if visits is not None:
            counts = dict(zip(labels, in_whole_visits(shares, visits)))
        return Split(
            period.number, period.name, dict(zip(labels, shares.tolist())), counts, period.at
        )

    # -- what there is ---------------------------------------------------------------------
    def periods(self) -> list[Period]:
        """All periods, in order."""
        return self.desk.storage.read(lambda tx: tx.periods(self._study))

    def reports(self) -> list[Report]:
        """All reports, in the order of the periods."""
        return self.desk.storage.read(lambda tx: tx.reports(self._study))


def _shares(period: Period) -> FloatArray:
    return np.array(json.loads(period.shares), dtype=np.float64)

"""Shares for periods of traffic.

Shares are stored before anybody sees them. What the database holds decides; a call whose end was
not heard of can be made again.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.arrays.types import FloatArray
from surepick.arrays.validate import whole
from surepick.errors import InvalidInputError, RunStateError
from surepick.run import Run
from surepick.run.sharing import in_whole_visits
from surepick.storage.contract import Transaction
from surepick.storage.records import Period, Report
from surepick.study import chain
from surepick.study.acts.reports import set_aside
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
        # The control keeps the share that it began with, whoever comes later.
        self.sharing = self.rules.sharing(desk.first_problem)

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
                return self._shown(found, run, visits)

    def _split(self, tx: Transaction, run: Run, name: str | None) -> Period | None:
        """The period meant; None: others have gone on since the run was loaded."""
        at = tx.progress(self._study, lock=True)
        known = None if name is None else tx.period_named(self._study, name)
        if known is not None:
            return known
        if at.finished:
            raise RunStateError(
                "the study is finished: there are no more shares; its answer says how sure it is"
            )
        if at.batch != run.batches:
            return None
        gone = set_aside(tx, self._study)
        periods = tx.periods(self._study, 0 if gone else max(at.batch - 1, 0))
        running = [one for one in periods if one.number >= at.batch]
        if running and name is None:
            return running[-1]
        if running and running[-1].name is None:
            tx.change(self._study, replace(running[-1], name=str(name)))
            return tx.period_named(self._study, str(name))
        number = periods[-1].number + 1 if periods else 0
        counts = [one for one in periods if one.name not in gone]  # as if there were no others
        last, left_out = counts[-1] if counts else None, len(periods) - len(counts)
        turned = any(one["batch"] == number - left_out for one in run.option_changes)
        turned |= any(one["after"] == number for one in run.waiting)
        new = [one for one in counts if last and last.settled <= one.number < at.batch]
        if last is not None and not new and not turned:
            shares = last.shares  # nothing was reported since
        else:
            before = None if last is None else _shares(last)
            ahead = run.all_changed() if run.waiting else run
            shares = json.dumps(self.sharing.shares(ahead, before).tolist())
        new = Period(number, name, shares, at.batch, at.now)
        tx.add(self._study, new)
        chain.split(tx, self._study, new, at.now)
        return new

    def _shown(self, period: Period, run: Run, visits: int | None) -> Split:
        """Shares by label; who is retired is no option any more, unless it still has a share."""
        labels, shares = run.problem_ahead.labels, _shares(period)
        gone = {labels[i] for i in run.retired} | {one.get("label") for one in run.waiting}
        there = [i for i, share in enumerate(shares) if share or labels[i] not in gone]
        counts = None
        if visits is not None:
            whole_visits = in_whole_visits(shares, visits)
            counts = {labels[i]: whole_visits[i] for i in there}
        own = {labels[i]: float(shares[i]) for i in there}
        return Split(period.number, period.name, own, counts, period.at)

    # -- what there is ---------------------------------------------------------------------
    def listed(self) -> list[dict[str, Any]]:
        """All periods as JSON-ready values; see :meth:`Study.periods`."""
        run, _ = self.desk.load()

        def read(tx: Transaction) -> tuple[float, list[Period], list[Report]]:
            return tx.progress(self._study).now, tx.periods(self._study), tx.reports(self._study)

        now, periods, reports = self.desk.storage.read(read)
        found = []
        for i, one in enumerate(periods):
            ends = [now, *(later.at for later in periods[i + 1 : i + 2])]
            until = min(ends + [report.at for report in reports[i : i + 1]])
            shares = self._shown(one, run, None).shares
            found.append(
                {"number": one.number, "period": one.name, "since": one.at, "until": until}
                | {"shares": shares, "recorded": i < len(reports), "window": self.rules.window}
            )
        return found

    def periods(self) -> list[Period]:
        """All periods, in order."""
        return self.desk.storage.read(lambda tx: tx.periods(self._study))

    def reports(self) -> list[Report]:
        """All reports, in the order of the periods."""
        return self.desk.storage.read(lambda tx: tx.reports(self._study))


def _shares(period: Period) -> FloatArray:
    return np.array(json.loads(period.shares), dtype=np.float64)

"""Correcting the report of a period: everything is worked out again from all reports.

The guarantee stands as with single rewards: shares were fixed before their visitors came, and stay
what they were; rivals and stakes are worked out again from the earlier reports as they now are. If
which numbers are looked at again has nothing to do with them, what counts now is as good a report
as any other.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from surepick.errors import InvalidInputError, RunStateError
from surepick.run.codec import dumps
from surepick.storage.contract import Transaction
from surepick.storage.records import StudyProgress
from surepick.storage.traffic import Period, Report
from surepick.study import chain
from surepick.study.desk import rebuild
from surepick.study.desk.correct import Who
from surepick.study.pulls import as_name
from surepick.study.traffic.block import told_of
from surepick.study.traffic.changes import CORRECTED, ReportChange, changed_rows, read
from surepick.study.traffic.desk import TrafficDesk
from surepick.study.traffic.report import Counts, read_report


def correct_report(desk: TrafficDesk, report: Any, period: str, who: Who) -> ReportChange:
    """Let another report count for a period that was recorded.

    A correction that was made before is not made again: a request may be repeated when its answer
    was lost.
    """
    name, storage, labels = as_name(period, "period"), desk.desk.storage, desk.desk.problem.labels
    study = desk.desk.record
    while True:
        at, due, periods, reports = storage.read(lambda tx: _read(tx, study.id, name))
        counts = read_report(desk.desk.problem, report, np.array(json.loads(due.shares)))
        old, content = reports[due.number], counts.to_json()
        if Counts.from_json(old.content).reported == counts.reported:
            earlier = [
                one
                for one in storage.read(lambda tx: read(tx, study.id, labels))
                if one.number == due.number
            ]
            if not earlier:
                raise InvalidInputError(
                    f"period {name!r} already has these numbers; nothing was changed"
                )
            return earlier[-1]
        rows = changed_rows(old.content, content, labels)
        made = ReportChange(name, due.number, periods, rows, 0.0, who.by, who.reason, who.token)
        reports[due.number] = replace(old, content=content)
        act = _Act(desk, at, made, old, reports)
        if storage.write(act.write):
            return replace(made, at=act.now)


def _read(
    tx: Transaction, study: int, name: str
) -> tuple[StudyProgress, Period, int, list[Report]]:
    at, due = tx.progress(study), tx.period_named(study, name)
    if due is None or due.number >= at.batch:
        raise RunStateError(f"period {name!r} was not recorded; there is nothing to correct")
    return at, due, len(tx.periods(study)), tx.reports(study)


class _Act:
    """What is written in one transaction, if the study still stands where it stood."""

    def __init__(
        self,
        desk: TrafficDesk,
        at: StudyProgress,
        made: ReportChange,
        old: Report,
        reports: list[Report],
    ) -> None:
        self._study, self._labels = desk.desk.record, desk.desk.problem.labels
        self._at, self._made, self._old, self._reports = at, made, old, reports
        storage = desk.desk.storage
        self._run, self._left = storage.read(
            lambda tx: rebuild.follow_reports(tx, self._study, reports, corrected=True)
        )
        self._text = self._run.to_json()
        self.now = 0.0

    def write(self, tx: Transaction) -> bool:
        """Whether it was written; False: something else happened first."""
        study, made, new = self._study, self._made, self._reports[self._made.number]
        now = tx.progress(study.id, lock=True)
        if self._is_there(tx, now):
            return True
        here = (now.batch, now.revision, now.finished, len(tx.periods(study.id)))
        if here != (self._at.batch, self._at.revision, self._at.finished, made.asked):
            return False
        self.now = now.now
        content = {
            "period": made.number,
            "name": made.period,
            "asked": made.asked,
            "by": made.by,
            "token": made.token,
            "reason": made.reason,
            "was": self._old.content,
            "now": new.content,
        }
        stopped = self._run.stopped
        chain.change(tx, study, CORRECTED, content | chain.effect(self._text, stopped), now.now)
        tx.change_report(study.id, new)
        visits = self._change_batches(tx)
        tx.set_summary(study.id, replace(rebuild.summary_of(self._run), batch=now.batch))
        tx.set_snapshot(study.id, now.batch, self._text)
        after = replace(now, first=visits, finished=stopped, revision=now.revision + 1)
        tx.set_progress(study.id, after)
        return True

    def _is_there(self, tx: Transaction, now: StudyProgress) -> bool:
        """Whether an earlier try was written, and only its confirmation was lost."""
        if now.revision != self._at.revision + 1:
            return False
        made = read(tx, self._study.id, self._labels)
        if not made or replace(made[-1], at=0.0) != self._made:
            return False
        self.now = made[-1].at
        return True

    def _change_batches(self, tx: Transaction) -> int:
        """Write what the batches from this period on have become; returns all visits."""
        first = self._made.number
        begun = tx.batch(self._study.id, first)
        assert begun is not None
        visits = begun.first
        for number, report in enumerate(self._reports[first:], first):
            kept = tx.batch(self._study.id, number)
            assert kept is not None
            counts, pulls = Counts.from_json(report.content), kept.pulls
            if number == first:
                pulls = dumps(told_of(counts, self._run.problem.n_arms).pulls.columns())
            size = sum(counts.visits)
            changed = replace(
                kept, first=visits, size=size, pulls=pulls, survivors=self._left[number]
            )
            tx.change_batch(self._study.id, changed)
            visits += size
        return visits

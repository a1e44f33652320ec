"""The part of a study here that is about traffic."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from surepick.study.core import StudyCore
from surepick.study.desk.desk import Desk
from surepick.study.desk.turn import who_of
from surepick.study.traffic import changes
from surepick.study.traffic.changes import ReportChange
from surepick.study.traffic.correct import correct_report
from surepick.study.traffic.look import Traffic
from surepick.study.traffic.results import Recorded, Split


class TrafficStudy(StudyCore):
    """The part of :class:`surepick.Study` that sends visitors by shares and takes reports."""

    desk: Desk

    @cached_property
    def traffic(self) -> Traffic:
        """Shares and reports, where the study is one of traffic."""
        return Traffic(self.desk)

    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """See :meth:`StudyCore.split`."""
        return self.traffic.desk.split(visits, period)

    def record(self, report: Any, period: str, *, check: bool = False) -> Recorded:
        """See :meth:`StudyCore.record`."""
        return self.traffic.desk.record(report, period, check=check)

    def correct_report(
        self, period: str, report: Any, *, reason: str, by: str | None = None
    ) -> ReportChange:
        """See :meth:`StudyCore.correct_report`."""
        who = who_of(reason, by, None, needed=True)
        return correct_report(self.traffic.desk, report, period, who)

    def report_changes(self) -> list[ReportChange]:
        """See :meth:`StudyCore.report_changes`."""
        labels, study = self.problem.labels, self.desk.record.id
        return self.desk.storage.read(lambda tx: changes.read(tx, study, labels))

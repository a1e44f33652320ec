"""What every study of traffic offers, be it in a database here or with a service."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from surepick.study.traffic.changes import ReportChange
from surepick.study.traffic.results import Recorded, Split


class TrafficCore(ABC):
    """The part of :class:`surepick.study.StudyCore` that is about traffic."""

    @abstractmethod
    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """By which shares to send visitors: those of the period under way, or of the next one.

        They are stored before they are shown, stay the same while the period lasts, and follow
        from earlier reports alone. A period ends by the clock or by a number of visitors, never by
        how they respond.

        Parameters
        ----------
        visits
            Also show the shares as whole numbers of so many visits.
        period
            The period's name. A new one begins a new period, although earlier ones are not
            recorded yet; without a name the newest of those that are not is meant.
        """

    @abstractmethod
    def record(self, report: Any, period: str, *, check: bool = False) -> Recorded:
        """Take in what came of a period; once this returns, it is kept, and counts once.

        Every visitor belongs to the period in which the option was assigned, whenever the
        response came. Periods are recorded in their order; the same report again changes nothing.

        Parameters
        ----------
        report
            ``{label: (visits, successes)}``, with bounded rewards ``(visits, sum, squares)``, with
            numbers of unknown scale ``{label: {bucket: (visits, sum)}}``; or a table (a CSV or
            Parquet file, a DataFrame) with such columns.
        period
            Its name.
        check
            Only look whether it could be recorded; what is wrong is said as otherwise.
        """

    @abstractmethod
    def correct_report(
        self, period: str, report: Any, *, reason: str, by: str | None = None
    ) -> ReportChange:
        """Let another report count for a period that was recorded, as the first one was wrong.

        Everything is worked out again: a study that had ended may go on, and one that goes on may
        end. Old and new numbers, who, when and why are kept, exported and part of the certificate.

        The guarantee stands if which reports, and which of their numbers, are looked at again
        depends neither on the numbers nor on whom somebody favours.

        Parameters
        ----------
        period, report
            The name of the period, and what really came of it; see :meth:`record`.
        reason
            Why; anybody who sees the certificate can read it.
        by
            Who corrects it.
        """

    @abstractmethod
    def report_changes(self) -> list[ReportChange]:
        """All corrections of reports, in the order in which they were made."""

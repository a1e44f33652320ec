"""Traffic in a study of a service: what is sent, and what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surepick.arrays.validate import whole
from surepick.client.transport import Transport
from surepick.client.turning import said
from surepick.study.pulls import as_name
from surepick.study.sheet import Sheet
from surepick.study.traffic.changes import ReportChange, RowChange
from surepick.study.traffic.core import TrafficCore
from surepick.study.traffic.results import Recorded, Split, plain


def split_body(visits: int | None, period: str | None) -> dict[str, Any]:
    """What asks for the shares of a period."""
    body: dict[str, Any] = {}
    if visits is not None:
        body["visits"] = whole(visits, "visits", least=1)
    if period is not None:
        body["period"] = as_name(period, "period")
    return body


def split_of(found: dict[str, Any]) -> Split:
    """The shares of a period."""
    return Split(*(found[key] for key in Split.__dataclass_fields__))


def record_body(report: Any, period: str, check: bool = False) -> dict[str, Any]:
    """What reports a period, or asks whether that could be done."""
    body: dict[str, Any] = {"period": as_name(period, "period")}
    if check:
        body["check"] = True
    if isinstance(report, Mapping):
        return body | {"report": plain(report)}
    return body | {"table": Sheet.of(report).to_dict()}


def recorded_of(found: dict[str, Any]) -> Recorded:
    """What became of a report."""
    return Recorded(*(found[key] for key in Recorded.__dataclass_fields__))


def correction_body(report: Any, period: str, reason: str, by: str | None) -> dict[str, Any]:
    """What corrects the report of a period."""
    return record_body(report, period) | said(reason, by)


def report_changes_of(found: dict[str, Any]) -> list[ReportChange]:
    """Corrections of reports as the service sends them."""
    names = [name for name in ReportChange.__dataclass_fields__ if name != "rows"]
    return [
        ReportChange(rows=tuple(map(_row, one["rows"])), **{name: one[name] for name in names})
        for one in found["changes"]
    ]


def _row(row: dict[str, Any]) -> RowChange:
    numbers = (tuple(row["old"]), tuple(row["new"]))
    return RowChange(row["arm"], row["label"], row["bucket"], *numbers)


class RemoteTraffic(TrafficCore):
    """The part of :class:`surepick.client.RemoteStudy` that is about it."""

    _transport: Transport
    _path: str

    def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """See :meth:`StudyCore.split`."""
        return split_of(self._transport.post(f"{self._path}/split", split_body(visits, period)))

    def record(self, report: Any, period: str, *, check: bool = False) -> Recorded:
        """See :meth:`StudyCore.record`."""
        body = record_body(report, period, check)
        return recorded_of(self._transport.post(f"{self._path}/record", body))

    def correct_report(
        self, period: str, report: Any, *, reason: str, by: str | None = None
    ) -> ReportChange:
        """See :meth:`StudyCore.correct_report`."""
        body = correction_body(report, period, reason, by)
        return report_changes_of(self._transport.post(f"{self._path}/report-changes", body))[0]

    def report_changes(self) -> list[ReportChange]:
        """See :meth:`StudyCore.report_changes`."""
        return report_changes_of(self._transport.get(f"{self._path}/report-changes"))


class AwaitedTraffic:
    """The part of :class:`surepick.client.AsyncStudy` that is about it."""

    async def _get(self, rest: str, **query: Any) -> Any:
        raise NotImplementedError

    async def _post(self, rest: str, body: dict[str, Any], wait: float = 0.0) -> Any:
        raise NotImplementedError

    async def split(self, visits: int | None = None, period: str | None = None) -> Split:
        """See :meth:`surepick.Study.split`."""
        return split_of(await self._post("/split", split_body(visits, period)))

    async def record(self, report: Any, period: str, *, check: bool = False) -> Recorded:
        """See :meth:`surepick.Study.record`."""
        return recorded_of(await self._post("/record", record_body(report, period, check)))

    async def correct_report(
        self, period: str, report: Any, *, reason: str, by: str | None = None
    ) -> ReportChange:
        """See :meth:`surepick.Study.correct_report`."""
        body = correction_body(report, period, reason, by)
        return report_changes_of(await self._post("/report-changes", body))[0]

    async def report_changes(self) -> list[ReportChange]:
        """See :meth:`surepick.Study.report_changes`."""
        return report_changes_of(await self._get("/report-changes"))

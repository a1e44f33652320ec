"""Periods and reports of traffic as SQL, the same for every database."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import asdict
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from surepick.storage.sql.statements import fields_of
from surepick.storage.sql.tables import periods, reports
from surepick.storage.traffic import ENDLESS, Period, Report, TrafficRows

_s, _n, _last = bindparam("_s"), bindparam("_n"), bindparam("_last")
_PERIOD = select(*fields_of(periods, Period)).where(periods.c.study == _s)
_PERIODS = _PERIOD.where(periods.c.number >= _n, periods.c.number < _last).order_by(
    periods.c.number
)
_NAMED = _PERIOD.where(periods.c.name == bindparam("_name"))
_REPORTS = (
    select(*fields_of(reports, Report))
    .where(reports.c.study == _s, reports.c.period >= _n, reports.c.period < _last)
    .order_by(reports.c.period)
)
_CHANGE = update(reports).where(reports.c.study == _s, reports.c.period == _n)
_NAME = update(periods).where(periods.c.study == _s, periods.c.number == _n)


class SqlTraffic(TrafficRows):
    """Part of a transaction."""

    @abstractmethod
    def _run(self, query: Any, values: Any = None) -> Any: ...

    @abstractmethod
    def _write(self, statement: Any, *rows: Any) -> None: ...

    def add_period(self, study: int, period: Period) -> None:
        self._write(insert(periods), {"study": study, **asdict(period)})

    def name_period(self, study: int, number: int, name: str | None) -> None:
        self._write(_NAME, {"_s": study, "_n": number, "name": name})

    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Period(*row) for row in self._run(_PERIODS, values)]

    def period_named(self, study: int, name: str) -> Period | None:
        row = self._run(_NAMED, {"_s": study, "_name": name}).one_or_none()
        return None if row is None else Period(*row)

    def add_report(self, study: int, report: Report) -> None:
        self._write(insert(reports), {"study": study, **asdict(report)})

    def change_report(self, study: int, report: Report) -> None:
        self._write(_CHANGE, {"_s": study, "_n": report.period, "content": report.content})

    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        values = {"_s": study, "_n": first, "_last": last}
        return [Report(*row) for row in self._run(_REPORTS, values)]

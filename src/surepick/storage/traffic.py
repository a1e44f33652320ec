"""What storages keep of traffic: periods with the shares of their visitors, and reports of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace

ENDLESS = 2**62


@dataclass(frozen=True)
class Period:
    """A time in which visitors are sent by shares that stay the same; stored before it begins."""

    number: int  #: 0 for the first
    name: str | None  #: None: not named yet
    shares: str  #: JSON: one for each option
    settled: int  #: reports that the shares were worked out from
    at: float  #: the database's clock when the shares were stored


@dataclass(frozen=True)
class Report:
    """What came of a period: the first that was reported, and the only one that counts."""

    period: int  #: number of the period
    content: str  #: JSON: options, visits, sums
    at: float  #: the database's clock
    token: str | None = None  #: id of the token it came with; None: from this machine


class TrafficRows(ABC):
    """The operations of a transaction on traffic; part of the contract of storages."""

    @abstractmethod
    def add_period(self, study: int, period: Period) -> None:
        """Add a period of the (locked) study; its number and its name must be new."""

    @abstractmethod
    def name_period(self, study: int, number: int, name: str | None) -> None:
        """Give a period that was not reported this name, which must be new; or take its name."""

    @abstractmethod
    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        """The periods from this number up to but not including ``last``, in order."""

    @abstractmethod
    def period_named(self, study: int, name: str) -> Period | None:
        """The period of this name."""

    @abstractmethod
    def add_report(self, study: int, report: Report) -> None:
        """Add the report of a period, which has none."""

    @abstractmethod
    def change_report(self, study: int, report: Report) -> None:
        """Write the corrected content of a report that is there already."""

    @abstractmethod
    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        """The reports of these periods, in order."""


@dataclass
class KeptTraffic:
    """Traffic of one study in memory."""

    periods: dict[int, Period] = field(default_factory=dict)
    reports: dict[int, Report] = field(default_factory=dict)


class TrafficInMemory(TrafficRows):
    """The traffic part of a transaction in memory, kept in dicts."""

    undo: list[Callable[[], object]]

    @abstractmethod
    def _traffic(self, study: int) -> KeptTraffic: ...

    @abstractmethod
    def _add(self, kept: dict, new: dict) -> None: ...

    def add_period(self, study: int, period: Period) -> None:
        self._add(self._traffic(study).periods, {period.number: period})

    def name_period(self, study: int, number: int, name: str | None) -> None:
        kept = self._traffic(study).periods
        old = kept[number]
        kept[number] = replace(old, name=name)
        self.undo.append(lambda: kept.update({number: old}))

    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        kept = sorted(self._traffic(study).periods.items())
        return [period for number, period in kept if first <= number < last]

    def period_named(self, study: int, name: str) -> Period | None:
        kept = self._traffic(study).periods.values()
        return next((one for one in kept if one.name == name), None)

    def add_report(self, study: int, report: Report) -> None:
        self._add(self._traffic(study).reports, {report.period: report})

    def change_report(self, study: int, report: Report) -> None:
        kept = self._traffic(study).reports
        old = kept[report.period]
        kept[report.period] = replace(old, content=report.content)
        self.undo.append(lambda: kept.update({old.period: old}))

    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        kept = sorted(self._traffic(study).reports.items())
        return [report for number, report in kept if first <= number < last]

"""Website tests with an answer for each segment: a study for each, side by side.

Everything that a study knows, it knows for its segment: shares, reports, what its answer waits for,
its own past, its certificate. What is here deals reports out to them and puts together what they
say. Nothing is decided here, and the guarantee of all is a union bound over theirs
(:mod:`surepick.study.segments`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from surepick.algorithms.registry import DEFAULT
from surepick.errors import (
    InvalidInputError,
    InvalidTypeError,
    RunStateError,
    SurepickError,
    UnknownStudyError,
)
from surepick.problem import Problem
from surepick.promise import NOBODY
from surepick.run import Answer
from surepick.run.certificate import fingerprint
from surepick.run.sharing import in_whole_visits
from surepick.study.acts.aside import SetAside
from surepick.study.core import StudyCore
from surepick.study.manage import STORAGE, list_studies, load_study, store_each
from surepick.study.segments import Segment, promise_of_all, segment_of
from surepick.study.sheet import Sheet
from surepick.study.spec import described
from surepick.study.traffic.report import SEGMENT, columns_of, rows_of
from surepick.study.traffic.results import Recorded, as_flags, as_rows
from surepick.text import typed

if TYPE_CHECKING:
    from surepick.storage import Storage
    from surepick.study.study import Study


@dataclass(frozen=True)
class SegmentShares:
    """By which shares to send the visitors of one segment.

    Examples
    --------
    >>> SegmentShares({"bold": 1.0}, None, decided=True).to_dict()["shares"]
    {'bold': 1.0}
    """

    shares: dict[str, float]  #: by label; of a segment that is decided, all go to its answer
    visits: dict[str, int] | None  #: the same as whole numbers of visits, if they were asked for
    decided: bool  #: whether nobody of this segment need be counted any more
    number: int | None = None  #: of the period, 0 for the first; None: it is decided
    period: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return dict(vars(self))


@dataclass(frozen=True)
class SegmentSplits:
    """By which shares to send visitors, segment by segment; :func:`surepick.assign` takes it.

    Examples
    --------
    >>> phone = SegmentShares({"old": 0.5, "bold": 0.5}, None, False, 0)
    >>> desk = SegmentShares({"bold": 1.0}, None, True)
    >>> print(SegmentSplits({"phone": phone, "desk": desk}).to_csv(), end="")
    segment,label,share
    phone,old,0.500000
    phone,bold,0.500000
    desk,bold,1.000000
    """

    segments: dict[str, SegmentShares]

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        return {"segments": {name: one.to_dict() for name, one in self.segments.items()}}

    def to_csv(self) -> str:
        """As a table with the columns segment, label and share, and visits if asked for."""
        return as_rows({name: (one.shares, one.visits) for name, one in self.segments.items()})

    def to_flags(self, test: str) -> dict[str, Any]:
        """As flags that OpenFeature's flagd reads, one for each segment: ``test-segment``."""
        flags = {f"{test}-{name}": one.shares for name, one in self.segments.items()}
        return as_flags({flag: shares for flag, shares in flags.items() if shares})


@dataclass(frozen=True)
class SegmentAnswers:
    """The answers of all segments.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem([[1.0], [2.0]], labels=["one", "two"])
    >>> answer = sp.identify(problem, lambda arm: float(arm), delta=0.025)
    >>> SegmentAnswers("shop", 0.05, {"phone": answer, "desk": answer}).labels
    {'phone': 'two', 'desk': 'two'}
    """

    of: str  #: the name of the test
    delta: float  #: any of the answers is wrong with at most this probability
    answers: dict[str, Answer]

    @property
    def labels(self) -> dict[str, str]:
        """The answer of each segment."""
        return {name: one.label for name, one in self.answers.items()}

    def to_dict(self) -> dict[str, Any]:
        """As JSON-ready values."""
        own = {name: one.to_dict() for name, one in self.answers.items()}
        return {"of": self.of, "delta": self.delta, "segments": own}

    def certificate(self) -> dict[str, Any]:
        """The certificates of all segments, as one, for :func:`surepick.run.verify_segments`."""
        own = {name: one.certificate() for name, one in self.answers.items()}
        test = {one["segment"]["test"] for one in own.values()}
        if len(test) > 1:
            raise RunStateError(f"the answers of {self.of!r} are of several tests of this name")
        body = {"format": FORMAT, "version": 1, "of": self.of, "delta": self.delta}
        body |= {"test": test.pop()}
        body |= {"segments": own}
        return body | {"digest": fingerprint(body)}


FORMAT = "surepick-segments"


class SegmentStudies:
    """A website test with an answer for each segment: its studies, by segment.

    Each is a study like any other, under a name of its own (``shop@phone``), with everything that
    studies of traffic have; what is not here is done to it.

    Examples
    --------
    >>> import surepick as sp
    >>> problem = sp.Problem.unstructured(["old", "bold"], noise="yes-no")
    >>> test = SegmentStudies.create("shop", problem, "memory://by segment", segments="phone, desk")
    >>> test.split().segments["desk"].shares
    {'old': 0.5, 'bold': 0.5}
    >>> counts = {"old": {"phone": (300, 9), "desk": (200, 12)}}
    >>> counts |= {"bold": {"phone": (310, 25), "desk": (190, 3)}}
    >>> {name: one.status for name, one in test.record(counts, "monday").items()}
    {'phone': 'accepted', 'desk': 'accepted'}
    """

    def __init__(self, studies: Mapping[str, Study]) -> None:
        self.studies = dict(studies)  #: by segment; those of a service have what all studies have
        segment = next(iter(self.parts.values()))
        self.name, self.delta = segment.of, segment.delta

    @classmethod
    def create(
        cls,
        name: str,
        problem: Problem | None = None,
        storage: str | Storage = STORAGE,
        *,
        table: Any = None,
        **fields: Any,
    ) -> SegmentStudies:
        """Start a test: a study for each segment, all or none; as :func:`surepick.create_study`.

        ``delta`` is that of all answers together, and ``segments`` has the names of the segments.
        """
        fields.setdefault("traffic", True)
        spec = described(name, problem, fields.pop("algorithm", DEFAULT), table, fields)
        return cls(store_each(spec, storage))

    @classmethod
    def load(cls, name: str, storage: str | Storage = STORAGE) -> SegmentStudies:
        """Open a test that is there, from any process."""
        return cls.among(name, list_studies(storage), lambda own: load_study(own, storage))

    @classmethod
    def among(cls, name: str, names: Iterable[str], load: Any) -> SegmentStudies:
        """A test among the studies of these names, each of which ``load`` opens."""
        begin = [one for one in names if one.startswith(f"{name}@")]
        found: dict[str, Study] = {}
        parts = dict[str, Segment]()
        for one in begin:
            study = load(one)
            part = segment_of(study.meta)
            if part is not None and part.of == name and part.studies[part.name] == one:
                found[part.name], parts[part.name] = study, part
        if not found:
            raise UnknownStudyError(f"no test with an answer for each segment is called {name!r}")
        everyone = next(iter(parts.values())).all
        gone = [one for one in everyone if one not in found]
        if gone:
            raise UnknownStudyError(
                f"{name!r}: the study of segment {gone[0]!r} is not there any more; the others "
                f"hold by themselves ({', '.join(one.name for one in found.values())})"
            )
        return cls({one: found[one] for one in everyone})

    @property
    def parts(self) -> dict[str, Segment]:
        """What each study is part of."""
        found = {name: segment_of(one.meta) for name, one in self.studies.items()}
        return {name: one for name, one in found.items() if one is not None}

    # -- shares and reports ----------------------------------------------------------------
    def split(
        self, visits: Mapping[str, int] | int | None = None, period: str | None = None
    ) -> SegmentSplits:
        """By which shares to send visitors, segment by segment; see :meth:`StudyCore.split`.

        ``visits`` are those of each segment. Where a segment is decided, all go to its answer.
        """
        if visits is not None and not isinstance(visits, Mapping):
            visits = dict.fromkeys(self.studies, visits)
        given = {} if visits is None else dict(visits)
        for name in given:
            self._known(name, "visits")
        if self.finished:
            raise RunStateError(
                "all segments are decided: there are no more shares; the answers say how sure it is"
            )
        return SegmentSplits(
            {name: _shares(one, given.get(name), period) for name, one in self.studies.items()}
        )

    def record(self, report: Any, period: str, *, check: bool = False) -> dict[str, Recorded]:
        """Hand in what came of a period: a table with a column ``segment``, or a dict.

        All parts are checked before any is recorded. If that is cut off, the same report again
        records what is missing. A segment that is decided needs no more reports (its part has the
        status ``"decided"``), and one of which nobody came (``"nobody"``) goes on with its shares.

        Parameters
        ----------
        report
            As for :meth:`StudyCore.record`, with a row for each option and segment, or
            ``{label: {segment: …}}``.
        period
            Its name.
        check
            Only look whether it could be recorded.
        """
        return self.record_each(self._dealt(report), period, check=check)

    def set_aside(
        self, period: str, *, reason: str, blind: bool = False, by: str | None = None
    ) -> dict[str, SetAside]:
        """Set a period aside for all versions, in every segment; see :meth:`Study.set_aside`.

        A segment that was decided before the period has no part in it.
        """
        return {
            name: study.set_aside(period=period, reason=reason, blind=blind, by=by)
            for name, study in self.studies.items()
            if not study.progress().finished or _is_recorded(study, period)
        }

    def record_each(
        self, reports: Mapping[str, Any], period: str, *, check: bool = False
    ) -> dict[str, Recorded]:
        """As :meth:`record`, with a report for each segment, as its study takes it."""
        found, asked, empty = dict[str, Recorded](), dict[str, Any](), dict[str, Any]()
        for name in reports:
            self._known(name, "report")
        for name, study in self.studies.items():
            came = name in reports and _came(reports[name], name)
            status = _not_needed(study, period, came, name in reports)
            if status is None and not came and not _is_recorded(study, period):
                empty[name] = _of_nobody(study)
            elif status is None:
                asked[name] = reports[name]
            else:
                left = len(study.status()["survivors"])
                found[name] = Recorded(period, status, 0, left, study.finished)
        if not (asked or empty) and self.finished:
            raise RunStateError(
                f"all segments are decided: period {period!r} came after the end and does not count"
            )
        if not (asked or empty):
            raise InvalidInputError(
                "visits: nobody came of a segment that is not decided; keep the shares and report "
                "a longer period"
            )
        for only in (True,) if check else (True, False):  # nothing is stored that is half right
            for name, own in (asked | empty).items():
                with _of_segment(name):
                    found[name] = self.studies[name].record(own, period, check=only)
        return {name: found[name] for name in self.studies}

    def _dealt(self, report: Any) -> Mapping[str, Any]:
        """What is reported of each segment."""
        if isinstance(report, Mapping):
            return self._dealt_by_label(report)
        sheet = Sheet.of(report)
        table = sheet.read("report")
        if SEGMENT not in table.cells:
            raise InvalidInputError(
                f"{table.where}: there is no column {SEGMENT!r}, which says of whom a row is; a "
                f"report has the columns {', '.join(self.columns)}"
            )
        for i, cell in enumerate(table.cells[SEGMENT]):
            self._known(str(cell).strip(), table.at(i, SEGMENT))
        # Each study takes the rows of its segment, and says where a mistake is.
        return dict.fromkeys(self.studies, sheet)

    def _dealt_by_label(self, report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        found = dict[str, dict[str, Any]]()
        for label, parts in report.items():
            if not isinstance(parts, Mapping):
                raise InvalidTypeError(
                    f"report[{label!r}] must be a dict by segment; got {parts!r:.80}"
                )
            for name, cells in parts.items():
                self._known(name, f"report[{label!r}]")
                found.setdefault(name, {})[label] = cells
        return found

    def _known(self, name: Any, where: str) -> str:
        if name not in self.studies:
            raise InvalidInputError(
                f"{where}: no segment is called {name!r:.80}; there are {', '.join(self.studies)}"
            )
        return name

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a report has."""
        label, *others = columns_of(next(iter(self.studies.values())).problem)
        return (label, SEGMENT, *others)

    # -- where it stands -------------------------------------------------------------------
    @property
    def finished(self) -> bool:
        """Whether every segment has its answer."""
        return all(one.progress().finished for one in self.studies.values())

    @property
    def answers(self) -> SegmentAnswers:
        """The answers of all segments, once they are there."""
        left = [name for name, one in self.studies.items() if not one.progress().finished]
        if left:
            raise RunStateError(f"test {self.name!r} is not finished: {', '.join(left)} undecided")
        own = {name: one.answer for name, one in self.studies.items()}
        return SegmentAnswers(self.name, self.delta, own)

    @property
    def promise(self) -> str:
        """What holds of all answers together."""
        return promise_of_all(len(self.studies), self.delta)

    @property
    def next(self) -> str:
        """What to do when a period is recorded, for those at a terminal."""
        if self.finished:
            return f"All segments are decided. Next: {typed('answer', self.name)}"
        return f"Next: Begin the next period with new shares. ({typed('split', self.name)})"

    def status(self) -> dict[str, Any]:
        """Where every segment stands, as JSON-ready values."""
        own = {name: one.status() for name, one in self.studies.items()}
        finished = all(one["finished"] for one in own.values())
        said = {"name": self.name, "delta": self.delta, "finished": finished}
        return said | {"promise": self.promise, "segments": own}

    def __repr__(self) -> str:
        return f"SegmentStudies({', '.join(one.name for one in self.studies.values())})"


def _shares(study: StudyCore, visits: int | None, period: str | None) -> SegmentShares:
    """The shares of one segment; where it is decided, those of its answer."""
    if not study.progress().finished:
        found = study.split(visits, period)
        return SegmentShares(found.shares, found.visits, False, found.number, found.period)
    best = _best(study)
    shares = dict.fromkeys(best, 1.0 / max(len(best), 1))
    counts = None
    if visits is not None:
        whole = in_whole_visits(np.array([*shares.values()]), visits) if best else []
        counts = dict(zip(best, map(int, whole), strict=True))
    return SegmentShares(shares, counts, True)


def _best(study: StudyCore) -> tuple[str, ...]:
    """Who gets the visitors of a segment that is decided; nobody where none keeps the limits."""
    answer = study.answer
    if answer.guarantee.kind == NOBODY:
        return ()
    if not answer.lifts:
        return answer.labels
    baseline = getattr(study.algorithm.asked, "baseline", None)
    if isinstance(baseline, int):
        baseline = study.problem.labels[baseline]
    return answer.better or (() if baseline is None else (baseline,))


def _not_needed(study: StudyCore, period: str, came: bool, reported: bool) -> str | None:
    """Why a segment has no part in a report; None: it has."""
    finished, periods = study.progress().finished, study.periods()
    if _is_recorded(study, period):
        return None if reported else DUPLICATE
    if finished:
        return DECIDED
    named = any(one["period"] == period for one in periods)
    return NOBODY_CAME if not came and not named else None


def _is_recorded(study: StudyCore, period: str) -> bool:
    return any(one["period"] == period and one["recorded"] for one in study.periods())


def _of_nobody(study: StudyCore) -> dict[str, Any]:
    """The report of a period in which nobody came."""
    columns = columns_of(study.problem)
    cells: Any = (0,) * (len(columns) - columns.index("visits"))
    if "bucket" in columns:
        cells = {0: cells}
    running = next(one for one in study.periods() if not one["recorded"])
    return {label: cells for label, share in running["shares"].items() if share}


DECIDED, NOBODY_CAME, DUPLICATE = "decided", "nobody", "duplicate"


def _came(report: Any, segment: str) -> bool:
    """Whether a report does not say plainly that nobody of the segment came."""
    if isinstance(report, Mapping):
        return any(map(_anybody, report.values()))
    visits = rows_of(Sheet.of(report).read("report"), segment).cells.get("visits")
    return visits is None or any(map(_some, visits))


def _some(cell: Any) -> bool:
    """Whether a cell does not say plainly that nobody came."""
    return str(cell).strip() not in ("0", "0.0", "")


def _anybody(cells: Any) -> bool:
    if isinstance(cells, Mapping):  # by bucket
        return any(map(_anybody, cells.values()))
    return not isinstance(cells, Sequence) or not cells or _some(cells[0])


@contextmanager
def _of_segment(name: str) -> Iterator[None]:
    """Errors say of which segment they are."""
    try:
        yield
    except SurepickError as error:
        raise type(error)(f"segment {name}: {error}") from None

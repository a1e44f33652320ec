"""What a storage keeps: plain values, one class per table.

``Tell`` is the truth of a study: every reward that counts, once. ``Event`` is everything else
that was said (repeats, contradictions, failures). ``Lease`` lists the pulls that are out or
waiting; a pull leaves it when it is told. ``StudyProgress`` and the snapshot only save work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StudyRecord:
    """What a study was created with; never changed afterwards."""

    id: int
    name: str
    key: str  #: drawn at random by whoever created it, to recognise its own work
    algorithm: str  #: registry name
    settings: str  #: JSON
    problem: str  #: JSON
    seed: int
    meta: str  #: JSON; whatever the creator wants to keep with the study
    created: float = 0.0  #: set by the storage


@dataclass(frozen=True)
class StudyProgress:
    """Where a study stands; its row is what transactions lock."""

    batch: int  #: number of the open batch: the first that is not complete
    first: int  #: number of the open batch's first pull
    size: int  #: pulls in the open batch; 0 once finished
    asked: int = 0  #: of those, and of the batches ahead, handed out at least once
    told: int = 0  #: of those in the open batch, told
    finished: bool = False
    claimed_by: str | None = None  #: who is working out the next batch
    claimed_until: float = 0.0
    revision: int = 0  #: how often rewards were corrected or withdrawn
    paused: bool = False  #: nothing is handed out
    ahead: int = 0  #: pulls in batches that were asked for while the open one is not complete
    early: int = 0  #: of those, told
    now: float = 0.0  #: the database's clock when this was read

    @property
    def complete(self) -> bool:
        """Whether the open batch has all its rewards, so that the study can go on."""
        return not self.finished and self.told == self.size

    @property
    def last(self) -> int:
        """The number that the next pull will have that has not been asked for yet."""
        return self.first + self.size + self.ahead

    @property
    def measured(self) -> int:
        """Rewards told so far, also of batches that are not complete."""
        return self.first + self.told + self.early

    @property
    def uncounted(self) -> int:
        """Of these, once finished: told for batches that were not complete by then."""
        return self.told + self.early if self.finished else 0

    @property
    def samples(self) -> int:
        """Rewards told so far that count, or will."""
        return self.measured - self.uncounted

    @property
    def place(self) -> tuple[int, int, int, bool, bool]:
        """What must not have changed since somebody worked out what to do."""
        return self.batch, self.revision, self.ahead, self.finished, self.paused

    def after(self, size: int, finished: bool, told: int = 0) -> StudyProgress:
        """Where the study stands once it has gone on to a batch of ``size`` pulls.

        Of these, so many were told before, where the batch was asked for ahead.
        """
        fresh = self.ahead == 0
        return StudyProgress(
            self.batch + 1,
            self.first + self.size,
            size,
            asked=0 if fresh else self.asked - self.size,
            told=told,
            finished=finished,
            revision=self.revision,
            paused=self.paused and not finished,
            ahead=0 if fresh else self.ahead - size,
            early=self.early - told,
        )

    def claimed(self, by: str, until: float) -> StudyProgress:
        """This progress with the right to compute the next batch given to ``by``."""
        return replace(self, claimed_by=by, claimed_until=until)


@dataclass(frozen=True)
class BatchRecord:
    """The pulls of one batch, as the algorithm asked for them."""

    number: int
    first: int  #: number of its first pull
    size: int
    pulls: str  #: JSON: the arms and how often each
    survivors: int | None = None  #: candidates that are still in after it, once it is complete
    after: int | None = None  #: batches that were complete when it was asked for; None: all before


@dataclass(frozen=True)
class Closed:
    """What a complete batch came to."""

    number: int
    samples: int  #: pulls up to its end
    survivors: int  #: candidates that are still in after it


@dataclass(frozen=True)
class Summary:
    """What lists show of a study, as of the batch that is open; saves loading all of it."""

    batch: int
    options: int
    survivors: int
    answer: str | None  #: label of the answer, once finished


class Overview(NamedTuple):
    """What lists show of a study."""

    study: StudyRecord
    at: StudyProgress
    summary: Summary | None
    out: bool  #: somebody has a pull now


class Holder(NamedTuple):
    """Who holds pulls: a worker, and the token with which it came to the service."""

    worker: str
    token: str | None = None  #: None: on this machine

    def has(self, one: Lease) -> bool:
        """Whether they hold this pull, as the first or the second."""
        return self in ((one.worker, one.token), (one.second, one.second_token))


ANONYMOUS = "~"  #: begins the names that are made up for workers without one
CLOCK_SLACK = 5.0  #: seconds by which a clock may be set back without anybody minding


@dataclass(frozen=True)
class Lease:
    """A pull that has been handed out and not been told, or passed over when others were."""

    pull: int
    arm: int
    worker: str | None  #: None: back in line after a failure, or passed over
    until: float  #: from then on anyone may have it
    attempts: int = 1  #: how often it was handed out; 0: it was passed over so far
    token: str | None = None  #: id of the token it was handed to; None: to somebody on this machine
    since: float = 0.0  #: when this worker got it first
    last: str | None = None  #: while nobody has it: who had it last
    stratum: str | None = None  #: the day, plate, … it belongs to, as of when it was handed out
    second: str | None = None  #: who else has it, where it was handed out twice
    second_token: str | None = None
    request: str | None = None  #: id of the ask by which it was handed out last
    second_request: str | None = None  #: of that of the second

    def is_of(self, worker: str | None, token: str | None) -> bool:
        """Whether it is theirs to tell: they hold it, or held it last.

        Without a token they are on this machine, and can reach the database anyway. A pull that
        was handed to nobody by name is anybody's of that token.
        """
        if self.second is not None and self.is_of_second(worker, token):
            return True
        if token is not None and token != self.token:
            return False
        holder = self.worker or self.last
        return worker is None or holder is None or holder.startswith(ANONYMOUS) or worker == holder

    def is_of_second(self, worker: str | None, token: str | None) -> bool:
        """Whether they are the second whom it was handed to; who says no name is the first."""
        return worker is not None and worker == self.second and token in (None, self.second_token)

    def given_up_by_first(self) -> Lease:
        """The lease once the first worker has given it up: the second alone holds it."""
        left = replace(self, worker=self.second, token=self.second_token)
        return replace(left, request=self.second_request).given_up_by_second()

    def given_up_by_second(self) -> Lease:
        """The lease once the second worker has given it up."""
        return replace(self, second=None, second_token=None, second_request=None)

    def asked_for(self, holder: Holder, request: str | None) -> Lease:
        """The lease once one of its holders has been handed it again, by an ask of this id."""
        if holder == (self.second, self.second_token):
            return replace(self, second_request=request)
        return replace(self, request=request)

    def is_from(self, holder: Holder, request: str | None) -> bool:
        """Whether this holder was handed it by the ask of this id."""
        second = holder == (self.second, self.second_token)
        return request is not None and request == (self.second_request if second else self.request)

    def free(self, now: float) -> bool:
        """Whether anyone may have it: its time is over, or the clock was set back since."""
        return self.until <= now or self.since > now + CLOCK_SLACK


@dataclass(frozen=True)
class Tell:
    """The reward of one pull: the first that was told, or what it was corrected to since."""

    pull: int
    arm: int
    value: float
    worker: str | None
    at: float
    token: str | None = None  #: id of the token it came with; None: from this machine
    stratum: str | None = None  #: the day, plate, … of its pull
    numbers: str | None = None  #: further numbers of the measurement by their names, as JSON


@dataclass(frozen=True)
class Event:
    """Something said about a pull that changes no estimate.

    Kinds: ``duplicate`` (the same reward again), ``conflict`` (another reward, refused),
    ``late`` (someone else had told it), ``failed`` and ``expired`` (no reward; back in line),
    ``renewed`` (handed out again to the worker who had it), ``hedged`` (handed out to a second
    worker), ``again`` (far from all before, measured again).
    """

    pull: int
    arm: int
    kind: str
    worker: str | None
    value: float | None
    note: str
    at: float
    token: str | None = None
    count: int = 1  #: how often; repeats of one pull, kind and token are counted, not kept


@dataclass(frozen=True)
class Link:
    """Something that happened to a study, chained to all that happened before."""

    number: int  #: 0 for the first
    kind: str
    content: str  #: JSON
    at: float  #: the database's clock
    digest: str  #: SHA-256 of all of this and of the digest before, in hexadecimal


@dataclass(frozen=True)
class Rewards:
    """The rewards of a range of pulls, as parallel arrays in the order of the pulls."""

    pulls: NDArray[np.int64]
    arms: NDArray[np.int64]
    values: NDArray[np.float64]
    times: NDArray[np.float64]
    strata: NDArray[np.str_] | None = None  #: of each pull; None where the study has none
    numbers: list[str] | None = None  #: further numbers of each, as JSON; None: there are none

    @classmethod
    def of(cls, rows: Sequence[Sequence[Any]]) -> Rewards:
        """From rows of pull, arm, value, time, stratum and further numbers."""
        pulls, arms, values, times, strata, more = zip(*rows) if rows else ((),) * 6
        named = bool(strata) and strata[0] is not None  # all of a study have one, or none
        return cls(
            np.array(pulls, dtype=np.int64),
            np.array(arms, dtype=np.int64),
            np.array(values, dtype=np.float64),
            np.array(times, dtype=np.float64),
            np.array(strata, dtype=np.str_) if named else None,
            list(more) if more and more[0] is not None else None,
        )

    def part(self, places: slice | NDArray[np.bool_]) -> Rewards:
        """Those at some places: from one to another, or where it is said to be one of them."""
        strata, numbers = None if self.strata is None else self.strata[places], self.numbers
        if numbers:
            cut = isinstance(places, slice)
            numbers = numbers[places] if cut else [*compress(numbers, places)]
        own = (self.pulls[places], self.arms[places], self.values[places], self.times[places])
        return Rewards(*own, strata, numbers)


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

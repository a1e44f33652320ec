"""What every storage does: transactions over a handful of plain operations.

The rules of studies (who gets which pull, which tell counts) are written once, on top of
these operations; a storage only keeps rows, keeps time, and makes transactions atomic and
durable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from surepick.errors import UnknownStudyError
from surepick.storage.records import (
    ENDLESS,
    BatchRecord,
    Closed,
    Event,
    Holder,
    Lease,
    Link,
    Overview,
    Period,
    Report,
    Rewards,
    StudyProgress,
    StudyRecord,
    Summary,
    Tell,
)

T = TypeVar("T")
Numbered = BatchRecord | Lease | Tell | Period | Report  #: rows that may be changed
Row = Numbered | Link | Event


class Transaction(ABC):
    """The operations inside one transaction. Nothing is visible to others before it ends.

    Examples
    --------
    >>> import surepick as sp
    >>> storage = sp.storage.open_storage("memory://transaction")
    >>> storage.read(lambda tx: tx.studies())
    []
    """

    # -- studies ---------------------------------------------------------------------------
    @abstractmethod
    def add_study(self, study: StudyRecord, start: StudyProgress) -> StudyRecord:
        """Add a study (its ``id`` and ``created`` are chosen here); the name must be free."""

    @abstractmethod
    def find_study(self, name: str) -> StudyRecord | None:
        """The study of this name."""

    @abstractmethod
    def studies(self) -> list[StudyRecord]:
        """All studies, in the order of their creation."""

    @abstractmethod
    def overview(self) -> list[Overview]:
        """All studies with what lists show of each, in as many steps however many there are."""

    @abstractmethod
    def remove_study(self, study: int) -> None:
        """Remove a study with everything it has."""

    @abstractmethod
    def find_progress(self, study: int, lock: bool) -> StudyProgress | None:
        """Where a study stands, and the time; ``lock`` makes other writers of it wait."""

    @abstractmethod
    def set_progress(self, study: int, at: StudyProgress) -> None:
        """Write where the (locked) study stands."""

    def progress(self, study: int, *, lock: bool = False) -> StudyProgress:
        """Where a study stands, or an error when it is gone."""
        found = self.find_progress(study, lock)
        if found is None:
            raise UnknownStudyError("the study has been deleted")
        return found

    # -- rows ------------------------------------------------------------------------------
    @abstractmethod
    def add(self, study: int, *rows: Row) -> None:
        """Add rows of one kind; an error where a study has their number or pull, or name, already.

        Links and periods are those of a (locked) study; a pull can have only one reward.
        """

    @abstractmethod
    def change(self, study: int, *rows: Numbered) -> None:
        """Put rows of one kind in the place of those of the same number or pull."""

    @abstractmethod
    def drop(self, study: int, kind: type[Lease | Tell], pulls: Sequence[int]) -> None:
        """Remove pulls from those that are out, or from those that have rewards."""

    # -- batches and snapshots -------------------------------------------------------------
    @abstractmethod
    def batch(self, study: int, number: int) -> BatchRecord | None:
        """The batch of this number."""

    @abstractmethod
    def close_batch(self, study: int, number: int, survivors: int) -> None:
        """Write how many candidates are still in after this batch."""

    @abstractmethod
    def closed_batches(self, study: int, last: int) -> list[Closed]:
        """The complete batches before ``last``, in order."""

    @abstractmethod
    def set_summary(self, study: int, summary: Summary) -> None:
        """Keep what lists show, instead of what was kept before."""

    @abstractmethod
    def summary(self, study: int) -> Summary | None:
        """What lists show; None before it was first kept."""

    @abstractmethod
    def set_snapshot(self, study: int, batch: int, run: str) -> None:
        """Keep the run as it stands when ``batch`` is open, instead of the one kept before."""

    @abstractmethod
    def snapshot(self, study: int) -> tuple[int, str] | None:
        """The snapshot: which batch was open, and the run as JSON."""

    @abstractmethod
    def add_past(self, study: int, past: str) -> None:
        """Keep what was measured before the study (as JSON); once, when it is created."""

    @abstractmethod
    def past(self, study: int) -> str | None:
        """What was measured before the study, if anything."""

    # -- the chain -------------------------------------------------------------------------
    @abstractmethod
    def last_link(self, study: int) -> Link | None:
        """The newest link, if there is any."""

    @abstractmethod
    def links(self, study: int, kinds: Iterable[str] | None = None) -> list[Link]:
        """The links in order; all of them, or these kinds."""

    # -- leases ----------------------------------------------------------------------------
    @abstractmethod
    def leases(self, study: int, pulls: Sequence[int]) -> dict[int, Lease]:
        """Those of these pulls that are handed out or waiting."""

    @abstractmethod
    def leases_of(self, study: int, worker: str, token: str | None, n: int) -> list[Lease]:
        """The first ``n`` pulls handed to this worker of this token, as the first or the second."""

    @abstractmethod
    def longest_out(self, study: int, now: float, last: int, n: int) -> list[Lease]:
        """The ``n`` pulls before ``last`` that one worker alone has had for longest."""

    @abstractmethod
    def waiting(self, study: int, now: float, n: int) -> list[Lease]:
        """The ``n`` pulls whose time ran out first (or which failed first).

        After them those that were handed out in the future: somebody has set the clock back, and
        nobody can say how long they have been out.
        """

    @abstractmethod
    def count_leases(self, study: int, now: float) -> tuple[int, int]:
        """How many pulls are out, and how many wait to be handed out again."""

    # -- the log ---------------------------------------------------------------------------
    @abstractmethod
    def tells(self, study: int, pulls: Sequence[int]) -> dict[int, Tell]:
        """What was told for these pulls."""

    @abstractmethod
    def told(self, study: int, first: int, last: int) -> list[Tell]:
        """All that was told for the pulls from ``first`` up to but not including ``last``."""

    @abstractmethod
    def rewards(self, study: int, first: int, last: int, since: float | None = None) -> Rewards:
        """What was told for the pulls from ``first`` up to but not including ``last``.

        With ``since``, only what was told then or later, by the database's clock.
        """

    @abstractmethod
    def totals(self, study: int, first: int, last: int) -> dict[int, tuple[int, float]]:
        """For each arm among those pulls: how many, and about what their rewards add up to.

        For display only: databases add in different orders, so the last digits may differ.
        """

    @abstractmethod
    def count_or_add_events(self, study: int, new: Sequence[Event]) -> None:
        """Add events, but raise the count of one with the same pull, kind and token, if any."""

    @abstractmethod
    def events(self, study: int, kinds: Iterable[str] | None = None) -> list[Event]:
        """That record, in order; all of it, or these kinds."""

    @abstractmethod
    def count_events(self, study: int, kinds: Iterable[str]) -> dict[int, int]:
        """How many events of these kinds each arm has (arms without any are left out)."""

    # -- traffic ---------------------------------------------------------------------------
    @abstractmethod
    def periods(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Period]:
        """The periods from this number up to but not including ``last``, in order."""

    @abstractmethod
    def period_named(self, study: int, name: str) -> Period | None:
        """The period of this name."""

    @abstractmethod
    def reports(self, study: int, first: int = 0, last: int = ENDLESS) -> list[Report]:
        """The reports of these periods, in order."""


class Storage(ABC):
    """A place where studies live.

    Examples
    --------
    >>> import surepick as sp
    >>> storage = sp.storage.open_storage("memory://contract")
    >>> storage.read(lambda tx: tx.find_study("layouts")) is None
    True
    """

    url: str  #: how it was opened, without any password

    @abstractmethod
    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work`` in one transaction and make its writes durable.

        ``work`` may be run several times (after a lost connection, say), so it must have no
        effect but through the transaction, and must recognise what it did already. If it
        raises, nothing is written.
        """

    @abstractmethod
    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run ``work``, which only reads, against one consistent state."""

    # -- the usual case in one step --------------------------------------------------------
    # Where a database is far away, a transaction of several steps costs as many journeys, during
    # which others wait for the study. A storage may take the usual case of an ask or a tell in one
    # step. Anything unusual it must leave alone and return None: then the rules decide.
    def ask_one(
        self,
        study: int,
        batch: int,
        place: int,
        arms: Sequence[int],
        holder: Holder,
        lease: float,
        request: str | None = None,
    ) -> tuple[int, Lease] | None:
        """Hand out the next pull of this batch for the first time.

        Parameters
        ----------
        study, batch
            The study, which must have this batch open.
        place, arms
            The arms of the next few pulls from this place in the batch on; the next pull must be
            among them.
        holder, lease, request
            Who gets it, who must hold no other pull, for how many seconds, and by which ask.

        Returns
        -------
        The place in the batch of the pull, and its lease.
        """
        return None

    def tell_one(
        self, study: int, pull: int, value: float, worker: str | None, token: str | None
    ) -> bool | None:
        """Take in the reward of a pull that is the teller's and not the last of its batch."""
        return None

    def check(self) -> None:  # noqa: B027
        """Raise where the place itself is seen to be damaged; takes time in proportion to it."""

    def close(self) -> None:  # noqa: B027
        """Let go of connections."""

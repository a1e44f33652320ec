"""A run made again from what was recorded of it, batch by batch.

Two go this way: a study whose run is worked out again from its log, and whoever replays a
certificate. Options come and go as they did, every batch is asked for, together with those that
were asked for while it was open, and is told. What differs is how a record is read, and what is
made of a batch that would not be asked for now: a study refuses it as damage, a replay compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from surepick.run.batch import Batch
from surepick.run.run import Run

Change = Callable[[Run], object]  #: of options, or of what is accepted
Turn = tuple[bool, Change]  #: whether a batch was open when it was made, and the change


class RecordedBatch(Protocol):
    """A batch of a record, and the options that changed before it was asked for or told."""

    def option_changes(self, run: Run) -> Iterable[Turn]: ...

    #: not where it says nothing any more, or the run has its answer
    def is_told(self, run: Run) -> bool: ...

    #: the batch as it was asked for, or an error where it cannot have been
    def ask(self, run: Run) -> Batch: ...

    #: batches that were asked for while it was open; once
    def ask_ahead(self, run: Run) -> None: ...
    def tell(self, run: Run, batch: Batch) -> None: ...


def retrace(run: Run, record: Iterable[RecordedBatch]) -> Iterator[RecordedBatch]:
    """Take a run through a record; each batch is handed on when it has been told."""
    for recorded in record:
        for waits, change in recorded.option_changes(run):
            if waits and not run.stopped:
                _ask(run, recorded)
            change(run)
        if recorded.is_told(run):
            recorded.tell(run, _ask(run, recorded))
        yield recorded


def _ask(run: Run, recorded: RecordedBatch) -> Batch:
    batch = recorded.ask(run)
    recorded.ask_ahead(run)
    return batch


def rests_on_changed(changes: Iterable[tuple[int | None, int]], after: int) -> bool:
    """Whether a batch may have been asked for by rewards that were changed since.

    It was asked for ``after`` so many batches were told. A change is of a reward of one batch, and
    was made when so many had been asked for; a batch that counts no more has no number.
    """
    return any(after <= asked and (batch is None or batch < after) for batch, asked in changes)

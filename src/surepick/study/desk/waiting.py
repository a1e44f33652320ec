"""Who is at work on the open batches, and for whom the others wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from surepick.storage.contract import Transaction
from surepick.storage.records import StudyProgress
from surepick.study.pulls import has_a_name

_MOST = 10_000  # pulls that are looked at


class Held(NamedTuple):
    """What somebody has of the open batch, and has not told yet."""

    worker: str | None  #: None: somebody who gave no name
    pulls: int
    since: float  #: the first of them was handed out then, by the database's clock,
    until: float  #: and the last of them may go to others from then on


def workers(tx: Transaction, study: int, at: StudyProgress) -> set[str]:
    """Who has told or holds pulls of the open batches.

    Many who give no name may be one and the same: of those only what they hold now counts.
    """
    told = {one.worker for one in tx.told(study, at.first, at.last) if one.worker is not None}
    out = {one.worker or "" for one in tx.longest_out(study, at.now, at.last, _MOST)}
    return out | {worker for worker in told if has_a_name(worker)}


def held(tx: Transaction, study: int, at: StudyProgress) -> list[Held]:
    """Who has pulls of the open batch, which all later ones wait for; longest first."""
    found: dict[str | None, Held] = {}
    for one in tx.longest_out(study, at.now, at.first + at.size, _MOST):
        named = one.worker is not None and has_a_name(one.worker)
        worker = one.worker if named else None
        before = found.get(worker, Held(worker, 0, one.since, one.until))
        until = max(before.until, one.until)
        found[worker] = before._replace(pulls=before.pulls + 1, until=until)
    return list(found.values())


def in_words(found: Sequence[Held], now: float) -> str:
    """For whom one waits, by the clock here.

    Examples
    --------
    >>> in_words([], 0.0)
    'waiting for other workers'
    """
    if not found:
        return "waiting for other workers"
    first, more = found[0], sum(one.pulls for one in found[1:])
    one = first.pulls == 1
    what = "1 measurement" if one else f"{first.pulls} measurements"
    who = "a worker without a name" if first.worker is None else first.worker
    text = f"waiting for {what} that {who} has had since {_clock(first.since, now)}"
    if more:
        text += f", and for {more} more that other workers have"
    return (
        f"{text}; unless told by {_clock(first.until, now)}, others get {'it' if one else 'them'}"
    )


def _clock(when: float, now: float) -> str:
    """A time of day; with the day where that is not today."""
    then, today = datetime.fromtimestamp(when), datetime.fromtimestamp(now)
    return f"{then:%H:%M}" if then.date() == today.date() else f"{then:%Y-%m-%d %H:%M}"

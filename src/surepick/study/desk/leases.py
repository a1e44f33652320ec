"""Who gets which pull, and which tell counts: the rules, on top of any storage.

Each function runs inside one transaction that has locked the study, so it sees and leaves the
study whole. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from surepick.errors import UnknownPullError
from surepick.storage.contract import Transaction
from surepick.storage.records import Event, Lease, StudyProgress, Tell
from surepick.study.desk.order import Order
from surepick.study.pulls import Reward, Told

#: seconds for which nobody else starts to work out the next batch
CLAIM = 30.0
FAILURES = ("failed", "expired")


@dataclass(frozen=True)
class Asked:
    """What an ask came to."""

    leases: list[Lease]
    finished: bool
    advance: bool  #: the batch is complete, and it falls to the asker to go on to the next
    batch: int = -1  #: number of the open batch
    place: int = 0  #: how many of its pulls have been handed out


def ask(
    tx: Transaction,
    study: int,
    n: int,
    *,
    holder: str,
    who: str,
    lease: float,
    back: bool,
    order_of: Callable[[Transaction, int], Order],
) -> Asked:
    """Hand out up to ``n`` pulls to ``holder``, who may have come ``back``.

    First the pulls that this worker holds already, then those never handed out, then those
    whose time ran out or that failed, longest first: an arm that cannot be measured holds up
    nothing else.
    """
    at = tx.progress(study, lock=True)
    if at.finished:
        return Asked([], True, False)
    if at.complete:
        return Asked([], False, claim(tx, study, at, who))
    until = at.now + lease
    held = tx.leases_of(study, holder, n) if back else []
    given = [replace(one, until=until) for one in held]
    tx.change_leases(study, given)
    fresh = min(n - len(given), at.size - at.asked)
    if fresh:
        arms = order_of(tx, at.batch).arms(at.asked, at.asked + fresh).tolist()
        start = at.first + at.asked
        new = [Lease(start + i, arm, holder, until) for i, arm in enumerate(arms)]
        tx.add_leases(study, new)
        at = replace(at, asked=at.asked + fresh)
        tx.set_progress(study, at)
        given += new
    if len(given) < n:
        free = tx.waiting(study, at.now, n - len(given))
        again = [replace(x, worker=holder, until=until, attempts=x.attempts + 1) for x in free]
        tx.change_leases(study, again)
        tx.add_events(
            study,
            [
                Event(x.pull, x.arm, "expired", x.worker, None, "not told in time", at.now)
                for x in free
                if x.worker is not None
            ],
        )
        given += again
    return Asked(given, False, False, at.batch, at.asked)


def tell(
    tx: Transaction, study: int, rewards: Sequence[Reward], who: str
) -> tuple[list[Told], bool]:
    """Take in rewards: what became of each, and whether the batch is complete.

    Whoever completes the batch gets the claim to work out the next one (as ``who``).
    """
    at = tx.progress(study, lock=True)
    pulls = list(dict.fromkeys(reward.pull for reward in rewards))
    out = tx.leases(study, pulls)
    known = tx.tells(study, [pull for pull in pulls if pull not in out])
    missing = next((pull for pull in pulls if pull not in out and pull not in known), None)
    if missing is not None:
        raise UnknownPullError(f"this study has handed out no pull {missing}; nothing was recorded")
    told: list[Told] = []
    tells: list[Tell] = []
    events: list[Event] = []
    for pull, value, worker in rewards:
        lease = out.pop(pull, None)
        if lease is not None:
            known[pull] = Tell(pull, lease.arm, value, worker or lease.worker, at.now)
            tells.append(known[pull])
            told.append(Told(pull, "accepted", value))
            continue
        first = known[pull]
        status = _status(first, value, worker)
        events.append(Event(pull, first.arm, status, worker, value, "", at.now))
        told.append(Told(pull, status, first.value))
    tx.drop_leases(study, [one.pull for one in tells])
    tx.add_tells(study, tells)
    tx.add_events(study, events)
    if tells:
        at = replace(at, told=at.told + len(tells))
        if at.complete:
            at = at.claimed(who, at.now + CLAIM)
        tx.set_progress(study, at)
    return told, bool(tells) and at.complete


def _status(
    first: Tell, value: float, worker: str | None
) -> Literal["duplicate", "late", "conflict"]:
    """What a tell is for a pull that has been told before."""
    if worker is not None and first.worker is not None and worker != first.worker:
        return "late"
    return "duplicate" if value == first.value else "conflict"


def fail(tx: Transaction, study: int, pull: int, reason: str, worker: str | None) -> bool:
    """Put a pull back in line; False when it is no longer this worker's to give back."""
    at = tx.progress(study, lock=True)
    lease = tx.leases(study, [pull]).get(pull)
    if lease is None:
        first = tx.tells(study, [pull]).get(pull)
        if first is None:
            raise UnknownPullError(f"this study has handed out no pull {pull}")
        tx.add_events(study, [Event(pull, first.arm, "late", worker, None, reason, at.now)])
        return False
    if lease.worker is None or (worker is not None and worker != lease.worker):
        tx.add_events(study, [Event(pull, lease.arm, "late", worker, None, reason, at.now)])
        return False
    tx.add_events(study, [Event(pull, lease.arm, "failed", lease.worker, None, reason, at.now)])
    tx.change_leases(study, [replace(lease, worker=None, until=at.now)])
    return True


def claim(tx: Transaction, study: int, at: StudyProgress, who: str) -> bool:
    """Whether ``who`` may work out the next batch now; others wait meanwhile."""
    if at.claimed_by not in (None, who) and at.claimed_until > at.now:
        return False
    tx.set_progress(study, at.claimed(who, at.now + CLAIM))
    return True

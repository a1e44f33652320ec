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
from surepick.storage.records import Event, Holder, Lease, StudyProgress, Tell
from surepick.study.desk.opened import OpenBatches
from surepick.study.pulls import Reward, Told

#: seconds for which nobody else starts to work out the next batch
CLAIM = 30.0
#: said again and again, these are counted and not kept: nobody can fill the database with them
REPEATED = ("duplicate", "conflict", "late")
FAILURES = ("failed", "expired")


@dataclass(frozen=True)
class Asked:
    """What an ask came to."""

    leases: list[Lease]
    finished: bool
    advance: bool  #: the batch is complete, and it falls to the asker to go on to the next
    batch: int = -1  #: number of the open batch
    place: int = 0  #: how many of its pulls, and of those ahead of it, have been handed out
    plan: bool = False  #: nothing is left, and it falls to the asker to ask for a batch ahead


def ask(
    tx: Transaction,
    study: int,
    n: int,
    *,
    holder: Holder,
    who: str,
    lease: float,
    longest: float | None,
    back: bool,
    opened: Callable[[Transaction, StudyProgress], OpenBatches],
    stamp: Callable[[float], str | None] = lambda now: None,
    on_items: bool = False,
    may_plan: Callable[[StudyProgress], bool] = lambda at: False,
) -> Asked:
    """Hand out up to ``n`` pulls to ``holder``, who may have come ``back``.

    First the pulls that this worker holds already, then those never handed out, then those
    whose time ran out or that failed, longest first: an arm that cannot be measured holds up
    nothing else. Coming back, a worker may keep a pull for ``longest`` seconds in all. What is
    handed out belongs to the stratum that ``stamp`` says; or, for good, to its item. Who would get
    nothing plans a batch ahead, where that ``may`` be.
    """
    worker, token = holder
    at = tx.progress(study, lock=True)
    if at.finished:
        return Asked([], True, False)
    if at.complete:
        mine = claim(tx, study, at, who)
        if mine or not at.ahead:
            return Asked([], False, mine)
    if at.paused:
        return Asked([], False, False)
    until, stratum = at.now + lease, stamp(at.now)

    def belongs(one: Lease) -> str | None:
        return one.stratum if on_items else stratum

    held = tx.leases_of(study, worker, token, n) if back else []
    given = [
        replace(one, until=_renewed(one, until, longest), stratum=belongs(one)) for one in held
    ]
    tx.change_leases(study, given)
    fresh = min(n - len(given), at.size + at.ahead - at.asked)
    if fresh:
        line, start, places = opened(tx, at), at.first + at.asked, (at.asked, at.asked + fresh)
        arms = line.arms(*places)
        named = line.items(*places) if on_items else [stratum] * fresh
        new = [
            Lease(start + i, arm, worker, until, token=token, since=at.now, stratum=name)
            for i, (arm, name) in enumerate(zip(arms, named))
        ]
        tx.add_leases(study, new)
        at = replace(at, asked=at.asked + fresh)
        tx.set_progress(study, at)
        given += new
    if len(given) < n:
        mine = {one.pull for one in given}
        free = [x for x in tx.waiting(study, at.now, n) if x.pull not in mine][: n - len(given)]
        again = [
            Lease(x.pull, x.arm, worker, until, x.attempts + 1, token, at.now, stratum=belongs(x))
            for x in free
        ]
        tx.change_leases(study, again)
        tx.add_events(
            study,
            [
                Event(x.pull, x.arm, "expired", x.worker, None, "not told in time", at.now, x.token)
                for x in free
                if x.worker is not None
            ],
        )
        given += again
    plan = not given and not at.complete and may_plan(at) and claim(tx, study, at, who)
    return Asked(given, False, False, at.batch, at.asked, plan)


def _renewed(lease: Lease, until: float, longest: float | None) -> float:
    """Until when a worker that has come back may keep a pull."""
    return until if longest is None else min(until, lease.since + longest)


def tell(
    tx: Transaction, study: int, rewards: Sequence[Reward], who: str
) -> tuple[list[Told], bool]:
    """Take in rewards: what became of each, and whether the batch is complete.

    A reward counts if it comes from whoever holds the pull, or held it last. Whoever completes the
    batch gets the claim to work out the next one (as ``who``).
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
    for pull, value, worker, token in rewards:
        lease = out.get(pull)
        if lease is not None and lease.is_of(worker, token):
            del out[pull]
            who_told = worker or lease.worker or lease.last
            known[pull] = Tell(pull, lease.arm, value, who_told, at.now, token, lease.stratum)
            tells.append(known[pull])
            told.append(Told(pull, "accepted", value))
            continue
        if lease is not None:  # it is with somebody else by now, whose reward will count
            status, arm, counts = "late", lease.arm, None
        else:
            first = known[pull]
            status, arm, counts = _status(first, value, worker, token), first.arm, first.value
        events.append(Event(pull, arm, status, worker, value, "", at.now, token))
        told.append(Told(pull, status, counts))
    tx.drop_leases(study, [one.pull for one in tells])
    tx.add_tells(study, tells)
    tx.count_or_add_events(study, _together(events))
    if tells:
        early = sum(one.pull >= at.first + at.size for one in tells)
        at = replace(at, told=at.told + len(tells) - early, early=at.early + early)
        if at.complete:
            at = at.claimed(who, at.now + CLAIM)
        tx.set_progress(study, at)
    return told, bool(tells) and at.complete


def _together(events: Sequence[Event]) -> list[Event]:
    """The same events; those of one pull, kind and token as one, with their count."""
    found: dict[tuple[int, str, str | None], Event] = {}
    for event in events:
        key = (event.pull, event.kind, event.token)
        there = found.get(key)
        found[key] = event if there is None else replace(there, count=there.count + event.count)
    return list(found.values())


def _status(
    first: Tell, value: float, worker: str | None, token: str | None
) -> Literal["duplicate", "late", "conflict"]:
    """What a tell is for a pull that has been told before."""
    if token is not None and token != first.token:
        return "late"
    if worker is not None and first.worker is not None and worker != first.worker:
        return "late"
    return "duplicate" if value == first.value else "conflict"


def fail(
    tx: Transaction, study: int, pull: int, reason: str, worker: str | None, token: str | None
) -> bool:
    """Put a pull back in line; False when it is no longer this worker's to give back."""
    at = tx.progress(study, lock=True)
    lease = tx.leases(study, [pull]).get(pull)
    about = lease or tx.tells(study, [pull]).get(pull)
    if about is None:
        raise UnknownPullError(f"this study has handed out no pull {pull}")
    theirs = lease is not None and lease.is_of(None, token) and worker in (None, lease.worker)
    if lease is None or lease.worker is None or not theirs:
        late = Event(pull, about.arm, "late", worker, None, reason, at.now, token)
        tx.count_or_add_events(study, [late])
        return False
    failed = Event(pull, lease.arm, "failed", lease.worker, None, reason, at.now, token)
    tx.add_events(study, [failed])
    tx.change_leases(study, [replace(lease, worker=None, last=lease.worker, until=at.now)])
    return True


def claim(tx: Transaction, study: int, at: StudyProgress, who: str) -> bool:
    """Whether ``who`` may work out the next batch now; others wait meanwhile."""
    if at.claimed_by != who and claimed(at):
        return False
    tx.set_progress(study, at.claimed(who, at.now + CLAIM))
    return True


def claimed(at: StudyProgress) -> bool:
    """Whether somebody is working out the next batch.

    A claim that has longer to go than any is given is from before the clock was set back.
    """
    return at.claimed_by is not None and at.now < at.claimed_until <= at.now + CLAIM

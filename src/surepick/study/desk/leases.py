"""Which tell counts, and whose pull it is: the rules, on top of any storage.

Each function runs inside one transaction that has locked the study, so it sees and leaves the
study whole. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from surepick.errors import UnknownPullError
from surepick.storage.contract import Transaction
from surepick.storage.records import Event, Holder, Lease, StudyProgress, Tell
from surepick.study.acts.reports import set_aside
from surepick.study.again import AGAIN
from surepick.study.hedge import HEDGED
from surepick.study.pulls import Reward, Told

#: seconds for which nobody else starts to work out the next batch
CLAIM = 30.0
#: said again and again, these are counted and not kept: nobody can fill the database with them
REPEATED = ("duplicate", "conflict", "late")
FAILURES = ("failed", "expired")
#: what cannot be measured at all, and counts as the worst score of a finite table
UNMEASURED = "unmeasured"
_MOST = 1_000  # pulls that are looked at


def tell(
    tx: Transaction,
    study: int,
    rewards: Sequence[Reward],
    who: str,
    aside: Mapping[int, str] | None = None,
    strata: str | None = None,
) -> tuple[list[Told], bool]:
    """Take in rewards: what became of each, and whether the batch is complete.

    A reward counts if it comes from whoever holds the pull, or held it last. Whoever completes the
    batch gets the claim to work out the next one (as ``who``). Where readings far from all before
    are measured again, ``aside`` says which are, and why; once each. So is what belongs to one of
    the ``strata`` that was set aside meanwhile.
    """
    at = tx.progress(study, lock=True)
    found = _Found(tx, study, rewards)
    out, known = found.out, found.known
    told: list[Told] = []
    tells: list[Tell] = []
    events: list[Event] = []
    before = {} if aside is None else {e.pull: e.note for e in tx.events(study, (AGAIN,))}
    gone = set_aside(tx, study) if strata is not None else frozenset[str]()
    for reward in rewards:
        pull, value, worker, token, _ = reward
        lease = out.get(pull)
        if lease is not None and lease.is_of(worker, token):
            if lease.stratum in gone:
                out[pull] = _set_aside(tx, study, lease)
                why = f"{strata} {lease.stratum!r} was set aside, so it does not count"
                late = Event(pull, lease.arm, "late", worker, value, why, at.now, token)
                events.append(late)
                told.append(Told(pull, "late", None, why))
                continue
            if aside is not None and pull in aside and pull not in before:
                before[pull], out[pull] = aside[pull], _set_aside(tx, study, lease)
                note = Event(pull, lease.arm, AGAIN, worker, value, aside[pull], at.now, token)
                tx.add(study, note)
                told.append(Told(pull, AGAIN, None, aside[pull]))
                continue
            if pull in before and lease.worker is None:  # not handed out again yet: a repeat
                told.append(Told(pull, AGAIN, None, before[pull]))
                continue
            del out[pull]
            who_told = worker or lease.worker or lease.last
            own = (lease.stratum, reward.written)
            known[pull] = Tell(pull, lease.arm, value, who_told, at.now, token, *own)
            tells.append(known[pull])
            told.append(Told(pull, "accepted", value))
            continue
        vain = found.vain(reward, at.now)
        events.append(vain.event)
        told.append(vain.told)
    tx.drop(study, Lease, [one.pull for one in tells])
    tx.add(study, *tells)
    tx.count_or_add_events(study, together(events))
    if tells:
        early = sum(one.pull >= at.first + at.size for one in tells)
        at = replace(at, told=at.told + len(tells) - early, early=at.early + early)
        if at.complete:
            at = at.claimed(who, at.now + CLAIM)
        tx.set_progress(study, at)
    return told, bool(tells) and at.complete


class Vain(NamedTuple):
    """What becomes of a reward that does not count."""

    told: Told
    event: Event


def in_vain(tx: Transaction, study: int, rewards: Sequence[Reward]) -> dict[int, Vain]:
    """Those that do not count, by their places; only looked at, so nobody is held up by many.

    The pull has been told, or is with somebody else. Rewards of a pull that somebody here holds are
    left out: :func:`tell` decides on them, in their order.
    """
    now, found = tx.progress(study).now, _Found(tx, study, rewards)
    theirs = {
        one.pull
        for one in rewards
        if one.pull in found.out and found.out[one.pull].is_of(one.worker, one.token)
    }
    places = (i for i, one in enumerate(rewards) if one.pull not in theirs)
    return {i: found.vain(rewards[i], now) for i in places}


def note(tx: Transaction, study: int, events: Sequence[Event]) -> None:
    """Keep, or count, what was told in vain; each kind of it once, see :func:`together`."""
    tx.progress(study, lock=True)
    tx.count_or_add_events(study, events)


class _Found:
    """What is known of the pulls of some rewards; all of them have been handed out."""

    def __init__(self, tx: Transaction, study: int, rewards: Sequence[Reward]) -> None:
        self._tx, self._study = tx, study
        pulls = list(dict.fromkeys(reward.pull for reward in rewards))
        self.out = {pull: one for pull, one in tx.leases(study, pulls).items() if one.attempts}
        self.known = tx.tells(study, [pull for pull in pulls if pull not in self.out])
        there = self.out.keys() | self.known.keys()
        missing = next((pull for pull in pulls if pull not in there), None)
        if missing is not None:
            raise UnknownPullError(
                f"this study never handed out measurement {missing}; nothing was recorded"
            )
        self._with_two: set[int] | None = None  # handed out twice, once that matters

    def vain(self, reward: Reward, now: float) -> Vain:
        """What becomes of a reward of a pull that the teller does not hold."""
        pull, value, worker, token, _ = reward
        lease = self.out.get(pull)
        if lease is not None:  # it is with somebody else by now, whose reward will count
            status, arm, counts = "late", lease.arm, None
        else:
            first = self.known[pull]
            status, arm, counts = _status(first, reward), first.arm, first.value
            if status == "conflict" and worker is None and self._may_be_the_other(pull):
                status = "late"
        event = Event(pull, arm, status, worker, value, "", now, token)
        return Vain(Told(pull, status, counts), event)

    def _may_be_the_other(self, pull: int) -> bool:
        """Whether who told this may be the other one of two who had the pull."""
        if self._with_two is None:
            self._with_two = {one.pull for one in self._tx.events(self._study, (HEDGED,))}
        return pull in self._with_two


def _set_aside(tx: Transaction, study: int, lease: Lease) -> Lease:
    """Put a pull back in line whose reading does not count."""
    last = lease.worker or lease.last
    back = replace(lease, worker=None, token=None, last=last, until=tx.progress(study).now)
    tx.change(study, back)
    return back


def together(events: Sequence[Event]) -> list[Event]:
    """Events with those of one pull, kind and token merged into one, with their count."""
    found: dict[tuple[int, str, str | None], Event] = {}
    for event in events:
        key = (event.pull, event.kind, event.token)
        there = found.get(key)
        found[key] = event if there is None else replace(there, count=there.count + event.count)
    return list(found.values())


def _status(first: Tell, reward: Reward) -> Literal["duplicate", "late", "conflict"]:
    """What a tell is for a pull that has been told before."""
    worker, token = reward.worker, reward.token
    if token is not None and token != first.token:
        return "late"
    if worker is not None and first.worker is not None and worker != first.worker:
        return "late"
    same = (reward.value, reward.written) == (first.value, first.numbers)
    return "duplicate" if same else "conflict"


def fail(
    tx: Transaction, study: int, pull: int, reason: str, worker: str | None, token: str | None
) -> bool:
    """Put a pull back in line; False when it is no longer this worker's to give back."""
    at = tx.progress(study, lock=True)
    lease = tx.leases(study, [pull]).get(pull)
    lease = None if lease is None or not lease.attempts else lease
    about = lease or tx.tells(study, [pull]).get(pull)
    if about is None:
        raise UnknownPullError(f"this study never handed out measurement {pull}")
    if lease is not None and lease.is_of_second(worker, token):
        event = Event(pull, lease.arm, "failed", worker, None, reason, at.now, token)
        tx.add(study, event)
        tx.change(study, lease.given_up_by_second())
        return True
    theirs = lease is not None and lease.is_of(None, token) and worker in (None, lease.worker)
    if lease is None or lease.worker is None or not theirs:
        late = Event(pull, about.arm, "late", worker, None, reason, at.now, token)
        tx.count_or_add_events(study, [late])
        return False
    failed = Event(pull, lease.arm, "failed", lease.worker, None, reason, at.now, token)
    tx.add(study, failed)
    back = replace(lease, worker=None, last=lease.worker, until=at.now)
    tx.change(study, back if lease.second is None else lease.given_up_by_first())
    return True


def keep(
    tx: Transaction,
    study: int,
    held: Mapping[Holder, Sequence[int]],
    lease: float,
    longest: float | None = None,
) -> list[Lease]:
    """Let these holders have their pulls for longer; then, who has what, longest first.

    Nothing is handed out, and nothing is measured again: so it is no event.
    """
    at = tx.progress(study, lock=bool(held))
    found = tx.leases(study, [pull for pulls in held.values() for pull in pulls])
    kept = []
    for holder, pulls in held.items():
        for one in (found[pull] for pull in pulls if pull in found):
            if holder.has(one):
                until = at.now + lease
                until = until if longest is None else min(until, one.since + longest)
                kept.append(replace(one, until=max(until, one.until)))
    tx.change(study, *kept)
    return tx.longest_out(study, at.now, at.last, _MOST)


def fail_for_good(
    tx: Transaction, study: int, reward: Reward, reason: str, who: str
) -> tuple[list[Told], bool]:
    """Take in the worst score for what cannot be measured, and note why, as :func:`tell` does."""
    told, complete = tell(tx, study, [reward], who)
    if told[0].status == "accepted":
        arm, now = tx.tells(study, [reward.pull])[reward.pull].arm, tx.progress(study).now
        pull, value, worker, token, _ = reward
        event = Event(pull, arm, UNMEASURED, worker, value, reason, now, token)
        tx.add(study, event)
    return told, complete


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

"""Who gets which pull: the rules, on top of any storage.

:func:`ask` runs inside one transaction that has locked the study, so it sees and leaves the study
whole. Times are the database's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from surepick.errors import StudyDamagedError
from surepick.storage.contract import Transaction
from surepick.storage.records import Event, Holder, Lease, StudyProgress
from surepick.study.desk.leases import claim
from surepick.study.desk.opened import OpenBatches
from surepick.study.hedge import HEDGED, holds_up
from surepick.study.pulls import has_a_name

#: what is recorded when a worker who comes back is handed out again what it has
RENEWED = "renewed"
#: places of the line, and pulls that wait, in which others of the same option are looked for
FAR = 10_000


@dataclass(frozen=True)
class Wanted:
    """What somebody asks for."""

    n: int
    holder: Holder
    lease: float  #: seconds
    longest: float | None = None  #: seconds for which a pull may be kept by asking again
    stratum: str | None = None  #: the day, plate, … that the pulls are for
    same: bool = False  #: pulls of one option only
    still: frozenset[int] = frozenset()  #: pulls that the holder has, and did not measure yet
    new: int | None = None  #: how many at most of those that the holder has not got yet
    request: str | None = None  #: id of the ask; whoever repeats it has not got what it gave


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
    wanted: Wanted,
    *,
    who: str,
    back: bool,
    opened: Callable[[Transaction, StudyProgress], OpenBatches],
    stamp: Callable[[float], str | None] = lambda now: None,
    on_items: bool = False,
    may_plan: Callable[[StudyProgress], bool] = lambda at: False,
    hedge: bool = False,
) -> Asked:
    """Hand out pulls to somebody, who may have come ``back``.

    First the pulls that this worker holds already, then those never handed out, then those
    whose time ran out or that failed, longest first: an arm that cannot be measured holds up
    nothing else. Coming back, a worker may keep a pull for ``longest`` seconds in all. What is
    handed out belongs to the stratum that ``stamp`` says; or, for good, to its item. Who would get
    nothing plans a batch ahead, where that ``may`` be. With ``hedge``, a worker gets what another
    one has: where that holds up much, before anything new, and else where nothing is to be had.
    """
    at = tx.progress(study, lock=True)
    if at.finished:
        return Asked([], True, False)
    if at.complete:
        mine = claim(tx, study, at, who)
        if mine or not at.ahead:
            return Asked([], False, mine)
    if at.paused:
        return Asked([], False, False)
    stratum = None if on_items else stamp(at.now)
    counter = _Counter(tx, study, wanted, at, lambda: opened(tx, at), stratum, on_items)
    held = tx.leases_of(study, *wanted.holder, wanted.n) if back else []
    _demand(all(map(wanted.holder.has, held)))
    if wanted.same:
        held = [one for one in held if one.arm == held[0].arm]
    counter.renew(held)
    helps = hedge and has_a_name(wanted.holder.worker)
    if helps and counter.left and counter.is_held_up() and not wanted.same:
        counter.hand_out_second()
    if counter.left:
        (counter.hand_out_same if wanted.same else counter.hand_out)()
    plan, waits = False, not counter.given and not counter.at.complete
    if waits and may_plan(counter.at):
        plan = claim(tx, study, counter.at, who)
    elif waits and helps:
        counter.hand_out_second()
    if waits:
        counter.check_out()
    at, given = counter.at, counter.given
    return Asked(given, False, False, at.batch, at.asked, plan)


def _demand(sound: bool) -> None:
    """Hand out nothing by what the database cannot have kept."""
    if not sound:
        raise StudyDamagedError(
            "which pulls are with whom is not as it was kept: the database was damaged or changed; "
            "go on from a backup"
        )


class _Counter:
    """Hands out pulls to one who asks."""

    def __init__(
        self,
        tx: Transaction,
        study: int,
        wanted: Wanted,
        at: StudyProgress,
        line: Callable[[], OpenBatches],
        stratum: str | None,
        on_items: bool,
    ) -> None:
        self._tx, self._study, self._wanted, self.at = tx, study, wanted, at
        self._line, self._stratum, self._on_items = line, stratum, on_items
        self._until = at.now + wanted.lease
        self.given: list[Lease] = []
        self._held = 0  # by who asks, before

    @property
    def left(self) -> int:
        wanted = self._wanted
        most = wanted.n if wanted.new is None else min(wanted.n, self._held + wanted.new)
        return most - len(self.given)

    def renew(self, held: Sequence[Lease]) -> None:
        """The pulls that a worker holds who has come back.

        It may have measured them, and not said what came out: so each is an event, but those that
        this very ask handed out, whose answer was lost.
        """
        wanted, now = self._wanted, self.at.now
        worker, token = wanted.holder
        longest = wanted.longest
        again = []
        for one in held:
            end = self._until if longest is None else min(self._until, one.since + longest)
            if one.second is not None:  # the other one has it, too
                end = max(end, one.until)
            same = one.asked_for(wanted.holder, wanted.request)
            again.append(replace(same, until=end, stratum=self._belongs(one)))
        self._tx.change(self._study, *again)
        come_back = [
            one
            for one in held
            if one.pull not in wanted.still and not one.is_from(wanted.holder, wanted.request)
        ]
        if come_back and has_a_name(worker):
            said = [Event(x.pull, x.arm, RENEWED, worker, None, "", now, token) for x in come_back]
            self._tx.count_or_add_events(self._study, said)
        self.given += again
        self._held = len(again)

    def hand_out(self) -> None:
        """What is next in line, then what waits to be handed out again."""
        at = self.at
        fresh = min(self.left, at.size + at.ahead - at.asked)
        self._first_time(range(at.asked, at.asked + fresh))
        if self.left:
            self._again(self._free(self.left + len(self.given))[: self.left])

    def hand_out_same(self) -> None:
        """Pulls of one option: the one that this worker holds, else the next.

        Others are passed over, and wait to be handed out: before all else to those who ask like
        this, and else when the line has come to its end.
        """
        at, free = self.at, self._free(FAR)
        last = min(at.size + at.ahead, at.asked + FAR)
        places = range(at.asked, last)
        ahead = dict(zip(places, self._line().arms(at.asked, last))) if places else {}
        passed, failed = [x for x in free if not x.attempts], [x for x in free if x.attempts]
        arms = [x.arm for x in (*self.given, *passed)] + list(ahead.values())
        arms += [x.arm for x in failed]
        if not arms:
            return
        arm = arms[0]
        self._again([x for x in passed if x.arm == arm][: self.left])
        self._first_time([place for place in places if ahead[place] == arm][: self.left])
        self._again([x for x in failed if x.arm == arm][: self.left])

    def is_held_up(self) -> bool:
        """Whether those who still have pulls of the open batch hold up too much."""
        at = self.at
        out = at.asked - at.told - at.early
        return at.told < at.size <= at.asked and holds_up(at.early, out, at.first)

    def hand_out_second(self) -> None:
        """A pull of the open batch that another worker has had for longest."""
        at, (worker, token) = self.at, self._wanted.holder
        out = self._tx.longest_out(self._study, at.now, at.first + at.size, FAR)
        others = (x for x in out if (x.worker, x.token) != (worker, token))
        one = next((x for x in others if has_a_name(x.worker or "")), None)
        if one is None:
            return
        until = max(one.until, self._until)
        both = replace(one, second=worker, second_token=token, until=until)
        both = both.asked_for(self._wanted.holder, self._wanted.request)
        self._tx.change(self._study, both)
        event = Event(one.pull, one.arm, HEDGED, worker, None, "", at.now, token)
        self._tx.add(self._study, event)
        self.given.append(both)

    def check_out(self) -> None:
        """Nothing can be had: whatever is neither told nor in line must be with somebody.

        Each row is checked as it is read; rows that a damaged page or index hides are not.
        """
        at = self.at
        out, free = self._tx.count_leases(self._study, at.now)
        _demand(out + free == at.asked - at.told - at.early and not free)

    def _first_time(self, places: Sequence[int]) -> None:
        """Hand out what is at some places of the line; what lies between them is passed over."""
        if not places:
            return
        at, (worker, token), wanted = self.at, self._wanted.holder, set(places)
        line, start, end = self._line(), at.asked, places[-1] + 1
        arms = line.arms(start, end)
        named = line.items(start, end) if self._on_items else [self._stratum] * len(arms)
        who, request = (worker, self._until), self._wanted.request
        new = [
            Lease(at.first + place, arm, *who, 1, token, at.now, stratum=name, request=request)
            if place in wanted
            else Lease(at.first + place, arm, None, at.now, 0, since=at.now, stratum=name)
            for place, arm, name in zip(range(start, end), arms, named)
        ]
        self._tx.add(self._study, *new)
        self.at = replace(at, asked=end)
        self._tx.set_progress(self._study, self.at)
        self.given += [one for one in new if one.attempts]

    def _free(self, most: int) -> list[Lease]:
        """Pulls that anyone may have, but those that were just given."""
        mine = {one.pull for one in self.given}
        waiting = self._tx.waiting(self._study, self.at.now, most)
        _demand(all(one.free(self.at.now) for one in waiting))
        return [one for one in waiting if one.pull not in mine]

    def _again(self, free: Sequence[Lease]) -> None:
        """Hand out what waits for it."""
        at, (worker, token) = self.at, self._wanted.holder
        again = [
            Lease(
                *(x.pull, x.arm, worker, self._until, x.attempts + 1, token, at.now),
                stratum=self._belongs(x),
                request=self._wanted.request,
            )
            for x in free
        ]
        self._tx.change(self._study, *again)
        late = "not told in time"
        self._tx.add(
            self._study,
            *(
                Event(x.pull, x.arm, "expired", x.worker, None, late, at.now, x.token)
                for x in free
                if x.worker is not None
            ),
        )
        self.given += again

    def _belongs(self, one: Lease) -> str | None:
        return one.stratum if self._on_items else self._stratum

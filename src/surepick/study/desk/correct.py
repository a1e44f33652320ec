"""Rewards that turn out to be wrong: corrected, or withdrawn.

As long as its batch is open, a reward is simply replaced; one that is withdrawn is measured again.
Once it has been counted, everything is worked out again from the log: every batch as it was asked
for, with the rewards that count now. A batch may then have fewer pulls than were asked for; bets on
it are made on what is left.

Why that keeps the guarantee: bets need pulls, rivals and stakes that are fixed before a block's
rewards are seen, and rewards whose noise is centred given all that. Rivals and stakes are worked
out again from the earlier blocks as they now are; the pulls are those that were asked for. If which
rewards are looked at again has nothing to do with them (nor with whom somebody favours), what
counts now is as good a measurement as any other, and what was withdrawn is missing at random.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from surepick.errors import InvalidInputError, UnknownPullError
from surepick.storage.contract import Storage, Transaction
from surepick.storage.records import Lease, Rewards, StudyProgress, StudyRecord, Tell
from surepick.study import chain, changes
from surepick.study.changes import Change
from surepick.study.desk import rebuild
from surepick.study.desk.rebuild import Followed, Log


@dataclass(frozen=True)
class Who:
    """Who changes rewards, and why."""

    reason: str
    by: str | None = None
    token: str | None = None


def change(
    storage: Storage, study: StudyRecord, values: dict[int, float | None], who: Who
) -> list[Change]:
    """Let other rewards count for these pulls (None: no reward at all).

    A change that was made before is not made again: a request may be repeated when its answer was
    lost.
    """
    while True:
        at, log, tells = storage.read(lambda tx: _read(tx, study, list(values)))
        new, known = _changes(at, log, tells, values, who)
        if not new:
            return known
        counted = [one for one in new if one.counted]
        found = None
        if counted:
            found = rebuild.follow(study, _with(log, counted))
        text = None if found is None else found.run.to_json()
        act = _Act(study, at, new, tells, found, text)
        if storage.write(act.write):
            return [replace(one, at=act.now) for one in new]


def _read(
    tx: Transaction, study: StudyRecord, pulls: Sequence[int]
) -> tuple[StudyProgress, Log, dict[int, Tell]]:
    at = tx.progress(study.id)
    return at, Log.read(tx, study, at), tx.tells(study.id, pulls)


def _changes(
    at: StudyProgress,
    log: Log,
    tells: dict[int, Tell],
    values: dict[int, float | None],
    who: Who,
) -> tuple[list[Change], list[Change]]:
    """What has to be changed, and where nothing has: the changes that were made before."""
    earlier = {one.pull: one for one in log.changes}
    new, known = [], []
    for pull, value in values.items():
        tell, last = tells.get(pull), earlier.get(pull)
        arm = tell.arm if tell is not None else last.arm if last is not None else -1
        batch = _batch_of(log, pull)
        gone = last is not None and last.new is None and last.counted
        if tell is None and not gone:
            waits = (
                ": it was withdrawn, and is waiting to be measured again"
                if last is not None
                else ""
            )
            raise UnknownPullError(f"pull {pull} has no reward{waits}; nothing was changed")
        old = None if tell is None else tell.value
        if old == value:
            if last is None:
                raise InvalidInputError(
                    f"pull {pull} already has the reward {value!r}; nothing was changed"
                )
            known.append(last)
            continue
        known_as = tell or last
        stratum = None if known_as is None else known_as.stratum
        said = (0.0, who.by, who.reason, who.token, stratum)
        new.append(Change(pull, arm, batch, at.batch, old, value, *said))
    return new, known


def _batch_of(log: Log, pull: int) -> int:
    firsts = [batch.first for batch in log.batches]
    return int(np.searchsorted(firsts, pull, side="right")) - 1


def _with(log: Log, counted: Iterable[Change]) -> Log:
    """The log as it is once these changes are made."""
    values = dict(zip(log.rewards.pulls.tolist(), log.rewards.values.tolist()))
    arms = dict(zip(log.rewards.pulls.tolist(), log.rewards.arms.tolist()))
    strata: dict[int, str | None] = dict.fromkeys(values)
    if log.rewards.strata is not None:
        strata = dict(zip(log.rewards.pulls.tolist(), log.rewards.strata.tolist()))
    made = list(counted)
    for one in made:
        if one.new is None:
            del values[one.pull]
        else:
            values[one.pull], arms[one.pull] = one.new, one.arm
            strata[one.pull] = one.stratum
    rows = [(pull, arms[pull], values[pull], 0.0, strata[pull]) for pull in sorted(values)]
    rewards = Rewards.of(rows)
    return log._replace(rewards=rewards, changes=[*log.changes, *made])


class _Act:
    """What is written in one transaction, if the study still stands where it stood."""

    def __init__(
        self,
        study: StudyRecord,
        at: StudyProgress,
        made: list[Change],
        tells: dict[int, Tell],
        found: Followed | None,
        text: str | None,
    ) -> None:
        self._study, self._at, self._made, self._tells = study, at, made, tells
        self._found, self._text = found, text
        self.now = 0.0

    def write(self, tx: Transaction) -> bool:
        """Whether it was written; False: something else happened first."""
        study, made = self._study, self._made
        now = tx.progress(study.id, lock=True)
        if self._is_there(tx, now):
            return True
        same = (now.batch, now.revision, now.finished, now.ahead) == (
            self._at.batch,
            self._at.revision,
            self._at.finished,
            self._at.ahead,
        )
        if not same or tx.tells(study.id, [one.pull for one in made]) != self._before():
            return False
        self.now = now.now
        run = None if self._found is None else self._found.run
        finished = now.finished if run is None else run.stopped
        kind = changes.WITHDRAWN if made[0].new is None else changes.CORRECTED
        content = changes.content_of(made, self._tells, chain.effect(self._text, finished))
        chain.change(tx, study, kind, content, now.now)
        now = self._change_rewards(tx, now)
        now = replace(now, revision=now.revision + 1, finished=finished)
        if self._found is not None:
            now = self._go_on(tx, self._found, now)
        tx.set_progress(study.id, now)
        return True

    def _is_there(self, tx: Transaction, now: StudyProgress) -> bool:
        """Whether an earlier try was written, and only its confirmation was lost."""
        if now.revision != self._at.revision + 1:
            return False
        last = changes.read(tx, self._study.id)[-len(self._made) :]
        if [replace(one, at=0.0) for one in last] != self._made:
            return False
        self.now = last[-1].at
        return True

    def _before(self) -> dict[int, Tell]:
        wanted = {one.pull for one in self._made}
        return {pull: tell for pull, tell in self._tells.items() if pull in wanted}

    def _change_rewards(self, tx: Transaction, now: StudyProgress) -> StudyProgress:
        number, tells = self._study.id, self._tells
        there = [one for one in self._made if one.pull in tells]
        gone = [one for one in there if one.new is None]
        back = [one for one in self._made if one.pull not in tells and one.new is not None]
        tx.change_tells(
            number,
            [replace(tells[one.pull], value=one.new) for one in there if one.new is not None],
        )
        tx.drop_tells(number, [one.pull for one in gone])
        for one in back:
            value = float(one.new or 0.0)
            told = Tell(one.pull, one.arm, value, one.by, now.now, one.token, one.stratum)
            tx.add_tells(number, [told])
        again = [one for one in gone if not one.counted]  # to be measured once more
        for one in again:
            free = Lease(one.pull, one.arm, None, now.now, since=now.now, stratum=one.stratum)
            tx.add_leases(number, [free])
        early = sum(one.pull >= now.first + now.size for one in again)
        return replace(now, told=now.told - len(again) + early, early=now.early - early)

    def _go_on(self, tx: Transaction, found: Followed, now: StudyProgress) -> StudyProgress:
        """Write what everything comes to."""
        number, run = self._study.id, found.run
        for batch, survivors in enumerate(found.survivors):
            tx.close_batch(number, batch, survivors)
        if not run.stopped and not now.size:  # it had ended, and goes on
            proposed = rebuild.record_of(run.ask(), now.first)
            tx.add_batch(number, proposed)
            assert self._text is not None
            chain.propose(tx, number, proposed, self._text, now.now)
            now = replace(now, size=proposed.size, asked=0, told=0)
        tx.set_summary(number, replace(rebuild.summary_of(run), batch=now.batch))
        assert self._text is not None
        tx.set_snapshot(number, now.batch, self._text)
        return now

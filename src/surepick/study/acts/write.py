"""How acts are written: in one transaction, if the study still stands where it stood.

An act is worked out outside any transaction, so that nobody waits for it with a lock. If something
else happened meanwhile, it is worked out again. Its link in the chain says whether it was written:
where only the confirmation of a try was lost, the next one finds the link.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from surepick.problem import Problem
from surepick.run import Run
from surepick.storage.contract import Transaction
from surepick.storage.records import Link, Report, StudyProgress, StudyRecord, Tell
from surepick.study import chain
from surepick.study.acts import registry
from surepick.study.acts.base import Act, ActKind, Measured, Scene, Step, Who
from surepick.study.acts.rewards import Change
from surepick.study.desk import rebuild
from surepick.study.desk.desk import Desk
from surepick.study.pulls import Reward
from surepick.study.traffic.rules import sends_traffic


def perform(desk: Desk, kind: ActKind, given: Mapping[str, Any], who: Who) -> Act | None:
    """Do something to a study; None where there was nothing to do.

    What was done before is not done again: a request may be repeated when its answer was lost.
    """
    scene = OnDesk(desk)
    return carried_out(scene, kind, kind.check(scene, dict(given)), who)


def carried_out(scene: OnDesk, kind: ActKind, checked: dict[str, Any], who: Who) -> Act | None:
    """What was done, of something that is checked."""
    while True:
        step = kind.apply(scene, checked, who)
        if not isinstance(step, Step):
            return step
        link = scene.storage.write(_Writing(scene.record, kind.link, step).write)
        if link is not None:
            act = kind.act(link, scene)
            for note in step.notes:
                warnings.warn(note, stacklevel=2)
            return replace(act, details=act.details | step.outcome)


def read(desk: Desk, kinds: Sequence[str] = ()) -> list[Act]:
    """What was done to a study, in order: everything, or acts of these kinds."""
    scene, known = OnDesk(desk), registry.by_link()
    wanted = [registry.get(kind).link for kind in kinds] or None
    links = desk.storage.read(lambda tx: tx.links(desk.record.id, wanted))
    found = [one for one in links if one.kind not in chain.STEPS]
    return [known.get(one.kind, _Unknown(one.kind)).act(one, scene) for one in found]


class _Unknown(ActKind):
    """An act whose kind nobody has made known here; its link says what it says."""

    def __init__(self, link: str) -> None:
        self.kind = self.link = link

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return content

    def words(self, details: dict[str, Any]) -> str:
        return f"{self.kind} (unknown to this version)."


class _Writing:
    """One act, to be written."""

    def __init__(self, study: StudyRecord, kind: str, step: Step) -> None:
        self._study, self._kind, self._step = study, kind, step
        self._text = step.kept()
        self._tried: Link | None = None

    def write(self, tx: Transaction) -> Link | None:
        """The link that was written; None: something else happened first."""
        study, step = self._study, self._step
        now = tx.progress(study.id, lock=True)
        if self._tried is not None and self._tried in tx.links(study.id, [self._kind]):
            return self._tried  # by an earlier try, and only its confirmation was lost
        if now.place != step.at.place or not step.same(tx):
            return None
        effect = chain.effect(self._text, step.finished) if step.effect else {}
        self._tried = chain.append(tx, study.id, self._kind, step.content | effect, now.now)
        now = step.more(tx, now)
        if step.run is not None:
            now = self._keep(tx, step.run, now)
        if step.effect:
            now = replace(now, finished=step.finished, revision=now.revision + 1)
        tx.set_progress(study.id, now)
        return self._tried

    def _keep(self, tx: Transaction, run: Run, now: StudyProgress) -> StudyProgress:
        """Keep the run as it now is; where the study had ended and goes on, with its next batch."""
        number, text = self._study.id, self._text
        assert text is not None
        if not (self._step.finished or now.size or sends_traffic(self._study)):
            proposed = rebuild.record_of(run.ask(), now.first)
            tx.add(number, proposed)
            chain.propose(tx, number, proposed, text, now.now)
            now = replace(now, size=proposed.size, asked=0, told=0)
        tx.set_summary(number, replace(rebuild.summary_of(run), batch=now.batch))
        tx.set_snapshot(number, now.batch, text)
        return now


class OnDesk:
    """A study, as acts see it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.storage, self.record = desk.storage, desk.record
        self._log: rebuild.Log | None = None

    @property
    def problem(self) -> Problem:
        return self._desk.problem

    def label(self, arm: int) -> str:
        known = self.problem.labels
        return known[arm] if arm < len(known) else self._desk.current().labels[arm]

    @property
    def paired(self) -> bool:
        return self._desk.problem.pairing is not None

    def check_reward(self, pull: int, value: float | str) -> float:
        return self._desk.check_value((pull, value), None).value

    def check_number(self, pull: int, name: str, value: float) -> float:
        one = Reward(pull, 0.0, numbers={name: value}).with_numbers(self.problem.numbers, ())
        return dict(one.numbers or {})[name]

    def told(self) -> Iterator[Tell]:
        return self._desk.told()

    def progress(self) -> StudyProgress:
        return self._desk.progress()

    def run(self) -> tuple[Run, StudyProgress]:
        return self._desk.read()

    def measured(self, pulls: Sequence[int]) -> Measured:
        def read(tx: Transaction) -> Measured:
            at = tx.progress(self.record.id)
            self._log = rebuild.Log.read(tx, self.record, at)
            firsts = [batch.first for batch in self._log.batches]
            return Measured(at, tx.tells(self.record.id, pulls), firsts)

        return self.storage.read(read)

    def recounted(self, changes: Sequence[Change]) -> tuple[Run, list[int]]:
        assert self._log is not None
        return rebuild.follow(self.record, self._log.with_changes(changes))

    def rereported(
        self, reports: Sequence[Report], aside: Sequence[str] = ()
    ) -> tuple[Run, list[int]]:
        return self.storage.read(
            lambda tx: rebuild.follow_reports(tx, self.record, reports, True, aside)
        )

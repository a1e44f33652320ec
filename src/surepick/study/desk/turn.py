"""Options that come and go in a study: what was asked for is finished first.

An act is written with the run as it then stands: it waits in the run, and takes effect when the
block is complete. A study that has ended goes on at once.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any

from surepick.errors import InvalidInputError
from surepick.problem.labels import look_alikes
from surepick.run import Run
from surepick.run.option_changes import ADDED, RETIRED
from surepick.storage.contract import Storage
from surepick.storage.records import StudyRecord
from surepick.study import turns
from surepick.study.desk import rebuild
from surepick.study.desk.acting import WriteAct
from surepick.study.desk.correct import Who
from surepick.study.newcomers import Newcomers
from surepick.study.pulls import as_name, as_reason
from surepick.study.traffic.rules import rules_of
from surepick.study.turns import Act, OptionChange


def who_of(reason: str, by: str | None, token: str | None, needed: bool = False) -> Who:
    """Who does it, and why, checked."""
    why = as_reason(reason).strip()
    if needed and not why:
        raise InvalidInputError(
            "reason: say why; the reason is stored with the study and appears in the certificate"
        )
    return Who(why, None if by is None else as_name(by, "by"), token)


def add(storage: Storage, study: StudyRecord, new: Newcomers, who: Who) -> OptionChange:
    """Add options; the same act again (its answer was lost, perhaps) changes nothing."""
    refuse(study)

    def content(run: Run, acts: list[Act]) -> dict[str, Any] | Act:
        for act in acts:  # once it has been done, the same table would be described otherwise
            if act.kind == ADDED and act.content["given"] == given and _by(act, who):
                return act
        meta = json.loads(study.meta)
        if meta.get("columns") is not None:
            meta["columns"] = turns.grown_columns(meta["columns"], acts)
        found = new.described(run.problem_ahead, meta)
        there = run.problem_ahead.labels
        alike[:] = look_alikes((*there, *found["labels"]), new=len(there))
        return found | {"given": given}

    alike: list[str] = []
    given = hashlib.sha256(json.dumps(new.to_dict(), sort_keys=True).encode()).hexdigest()
    made = _do(storage, study, ADDED, content, who)
    for note in alike:
        warnings.warn(note, stacklevel=2)
    return made


def retire(storage: Storage, study: StudyRecord, label: str, who: Who) -> OptionChange:
    """Retire an option; the same again changes nothing."""
    refuse(study)

    def content(run: Run, acts: list[Act]) -> dict[str, Any] | Act:
        for act in acts:
            if act.kind == RETIRED and act.content["labels"] == [label] and _by(act, who):
                return act
        return {"labels": [label]}

    return _do(storage, study, RETIRED, content, who)


def refuse(study: StudyRecord) -> None:
    """Raise where options cannot come and go, whatever they are."""
    if rules_of(study) is not None:
        raise InvalidInputError(
            "options cannot be added or retired in a traffic study, because every report covers "
            "all options; start a new study with these options"
        )


def _by(act: Act, who: Who) -> bool:
    content = act.content
    return (content["by"], content["reason"], content["token"]) == (who.by, who.reason, who.token)


def _do(storage: Storage, study: StudyRecord, kind: str, content: Any, who: Who) -> OptionChange:
    while True:
        run, at = rebuild.load_run(storage, study)
        acts = storage.read(lambda tx: turns.read(tx, study.id))
        found = content(run, acts)
        if isinstance(found, Act):
            return found.change
        waits = at.size > 0  # of a study that has ended, too: what was asked for ahead
        said = {"by": who.by, "reason": who.reason, "token": who.token, "at": at.now}
        act = Act(found | said | {"asked": at.batch, "waits": waits}, kind)
        act.apply(run)
        if not run.stopped:
            run.ask()  # it may have ended, and goes on
        if storage.write(WriteAct(study, at, kind, act.content, run).write):
            return act.change

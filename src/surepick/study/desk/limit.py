"""Other limits for a study: written with the run as it then stands, which may go on by that."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError
from surepick.storage.contract import Storage
from surepick.storage.records import StudyRecord
from surepick.study import limits
from surepick.study.desk import rebuild
from surepick.study.desk.acting import WriteAct
from surepick.study.desk.correct import Who
from surepick.study.limits import LIMITED, LimitChange
from surepick.study.traffic.rules import rules_of


def limit(
    storage: Storage, study: StudyRecord, max_samples: Any, budget: Any, who: Who
) -> LimitChange:
    """Change limits; the same act again (its answer was lost, perhaps) changes nothing."""
    if max_samples is None and budget is None:
        raise InvalidInputError("max_samples, budget: say which limit to change")
    while True:
        run, at = rebuild.load_run(storage, study)
        made = storage.read(lambda tx: limits.read(tx, study.id))
        if made and _same(made[-1], who) and run.limits.but(max_samples, budget) == run.limits:
            return made[-1]
        asked = run.asked
        new = run.limit(max_samples=max_samples, budget=budget)
        act = LimitChange(*new, asked, at.now, who.by, who.reason, who.token)
        run.limit_changes[-1] = act.change
        if not run.stopped and rules_of(study) is None:
            run.ask()  # it may have ended, and goes on
        if storage.write(WriteAct(study, at, LIMITED, act.to_dict(), run).write):
            return act


def _same(last: LimitChange, who: Who) -> bool:
    return (last.by, last.reason, last.token) == (who.by, who.reason, who.token)

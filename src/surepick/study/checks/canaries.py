"""Which cell of a study is asked again next, and what those say that were."""

from __future__ import annotations

import json

from surepick.storage.contract import Transaction
from surepick.storage.records import StudyRecord
from surepick.study.canaries import ASKED_AGAIN, CANARIES, Canary, Found, gathered, planned
from surepick.study.desk.leases import UNMEASURED
from surepick.study.desk.rebuild import order_seed


def canaries_of(tx: Transaction, study: StudyRecord) -> tuple[list[Canary], list[int]]:
    """Cells that were asked again, and the pulls of all that should have been by now, in order."""
    share = json.loads(study.meta).get(CANARIES, 0.0)
    if not share:
        return [], []
    told, seed = tx.rewards(study.id, 0, 2**62), order_seed(study)
    assert seed is not None  # a table has one
    lacking = {event.pull for event in tx.events(study.id, (UNMEASURED,))}
    pulls = [pull for pull in told.pulls.tolist() if pull not in lacking]
    first = dict(zip(told.pulls.tolist(), told.values.tolist()))
    links = (json.loads(link.content)["details"] for link in tx.links(study.id, [ASKED_AGAIN]))
    made = [(one["pull"], one["score"]) for one in links]
    plan = [pulls[number] for number in planned(share, seed, len(pulls))]
    return gathered({pull: first[pull] for pull in pulls}, made), plan


def due(tx: Transaction, study: StudyRecord) -> int | None:
    """The pull whose cell is to be asked again next; None: none by now."""
    made, plan = canaries_of(tx, study)
    if made and not made[-1].complete:
        return made[-1].pull
    return plan[len(made)] if len(made) < len(plan) else None


def found_in(tx: Transaction, study: StudyRecord) -> Found | None:
    """What cells that were asked again say; None where there are none."""
    return Found.of([one for one in canaries_of(tx, study)[0] if one.complete])

"""A cell that is asked again, as the plan of the study says; it counts for no option."""

from __future__ import annotations

import json
from typing import Any

from surepick.errors import InvalidInputError
from surepick.storage.contract import Transaction
from surepick.storage.records import StudyRecord
from surepick.study.acts.base import WORKER, Act, ActKind, Field, Scene, Step, Who
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


class _AskAgain(ActKind):
    kind, link = "ask-again", ASKED_AGAIN
    short = "Keep what a cell gave that was asked again."
    about = (
        "Keep what a cell of a complete table gave that was measured once more (canaries). Which "
        "cell that is says the plan of the study; no other is taken, and it counts for no option."
    )
    fields = (
        Field("pull", int, "Which cell.", limits={"minimum": 0}),
        Field("score", float, "What it gave now."),
    )
    role = WORKER

    def check(self, scene: Scene, given: dict[str, Any]) -> dict[str, Any]:
        """A score, of the cell that is due."""
        given = self.filled(given)
        pull = scene.storage.read(lambda tx: due(tx, scene.record))
        if pull != given["pull"]:
            next_ = "none is due now" if pull is None else f"the next one is measurement {pull}"
            raise InvalidInputError(
                f"pull: cells are asked again in an order that was drawn before; {next_}"
            )
        given["score"] = scene.check_reward(given["pull"], given["score"])
        return given

    def of_worker(self, scene: Scene, given: Any, who: Who) -> None:
        """Workers may."""

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Keep it, unless somebody else was quicker."""
        at, content = scene.progress(), {"by": who.by, "reason": who.reason, "token": who.token}
        made = scene.storage.read(lambda tx: due(tx, scene.record))
        if made != given["pull"]:
            return None
        same = lambda tx: due(tx, scene.record) == given["pull"]  # noqa: E731
        return Step(at, content | {"details": given}, effect=False, same=same)

    def words(self, details: dict[str, Any]) -> str:
        """What it gave."""
        return f"Measurement {details['pull']} was asked again: {details['score']:g}."


ASK_AGAIN = _AskAgain()

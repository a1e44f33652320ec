"""A cell that was asked again, as the plan of the study says; it counts for no option."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError
from surepick.study.acts.base import WORKER, Act, ActKind, Field, Scene, Step, Who
from surepick.study.canaries import ASKED_AGAIN
from surepick.study.checks.canaries import due


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
            next_ = "none is due now" if pull is None else f"the next one is pull {pull}"
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
        return f"Pull {details['pull']} was asked again: {details['score']:g}."


ASK_AGAIN = _AskAgain()

"""Studies that are paused and resumed: nothing is handed out meanwhile.

It does not depend on the algorithm, nor does it matter to a guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surepick.storage.contract import Transaction
from surepick.storage.records import Link, StudyProgress
from surepick.study.acts.base import Act, ActKind, Scene, Step, Who


class Steer(ActKind):
    """Says who did it and why, and nothing else."""

    sentence: str

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        """Nothing else."""
        return {}

    def words(self, details: dict[str, Any]) -> str:
        """What was done."""
        return self.sentence

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        """Whether something had to be changed."""
        return act is not None


def said(who: Who) -> dict[str, Any]:
    """Who and why; with the token only where there is one."""
    token = {} if who.token is None else {"token": who.token}
    return {"by": who.by, "reason": who.reason, **token}


class _Pause(Steer):
    paused: bool

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Hand out nothing from now on, or go on."""
        at = scene.progress()
        if at.finished or at.paused == self.paused:
            return None

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            return replace(now, paused=self.paused)

        return Step(at, said(who), effect=False, more=write)


class _Off(_Pause):
    kind, link, paused, sentence = "pause", "paused", True, "Paused."
    short = "Hand out nothing until the study is resumed."
    about = "Hand out nothing until the study is resumed; pulls that are out can still be told."


class _On(_Pause):
    kind, link, paused, sentence = "resume", "resumed", False, "Resumed."
    short = "Continue a study that is paused."
    about = "Hand out pulls again."


PAUSE, RESUME = _Off(), _On()

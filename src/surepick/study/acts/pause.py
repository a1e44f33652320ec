"""Studies that are paused, resumed, or stopped for good.

None of it depends on the algorithm, nor matters to a guarantee: what was dropped was dropped
rightly, whenever somebody stops. The rewards of a batch that is not complete are not counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from surepick.storage.contract import Transaction
from surepick.storage.records import Link, StudyProgress
from surepick.study.acts.base import Act, ActKind, Scene, Step, Who

STOPPED = "stopped"


class _Steer(ActKind):
    """Pauses, resumes or stops, and says who did it and why, and nothing else."""

    def __init__(
        self, kind: str, link: str, sentence: str, short: str, about: str, paused: bool | None
    ) -> None:
        self.kind, self.link, self.short, self.about = kind, link, short, about
        self._sentence = sentence
        self._paused = paused  # whether the study is paused then; None: it is stopped

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """Nothing happens where it stands so already, or has ended."""
        run, at = (None, scene.progress()) if self._paused is not None else scene.run()
        if at.finished or at.paused == self._paused:
            return None
        if run is not None:
            run.end()

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            return replace(now, paused=bool(self._paused))

        token = {} if who.token is None else {"token": who.token}
        content = {"by": who.by, "reason": who.reason, **token}
        ends = run is not None
        return Step(at, content, run, finished=ends, effect=ends, more=write)

    def details(self, content: dict[str, Any], link: Link, scene: Scene) -> dict[str, Any]:
        return {}

    def words(self, details: dict[str, Any]) -> str:
        return self._sentence

    def result(self, act: Act | None, given: Mapping[str, Any]) -> Any:
        return act is not None


PAUSE = _Steer(
    "pause",
    "paused",
    "Paused.",
    "Hand out nothing until the study is resumed.",
    "Hand out nothing until the study is resumed; pulls that are out can still be told.",
    paused=True,
)
RESUME = _Steer(
    "resume",
    "resumed",
    "Resumed.",
    "Continue a study that is paused.",
    "Hand out pulls again.",
    paused=False,
)
STOP = _Steer(
    "stop",
    STOPPED,
    "Stopped for good.",
    "End a study now, with what is known.",
    "End the study now, for good. The answer is the option that looks best; what is guaranteed, "
    "and what is not, is said in words. Rewards of a batch that is not complete are kept, but not "
    "counted.",
    paused=None,
)

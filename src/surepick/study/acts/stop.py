"""Studies that are stopped for good.

That does not depend on the algorithm, nor does it matter to a guarantee: what was dropped was
dropped rightly, whenever somebody stops. The rewards of a batch that is not complete are not
counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from surepick.storage.contract import Transaction
from surepick.storage.records import StudyProgress
from surepick.study.acts.base import Act, Scene, Step, Who
from surepick.study.acts.pause import Steer, said

STOPPED = "stopped"


class _Stop(Steer):
    kind, link, sentence = "stop", STOPPED, "Stopped for good."
    short = "End a study now, with what is known."
    about = (
        "End the study now, for good. The answer is the option that looks best; what is "
        "guaranteed, and what is not, is said in words. Rewards of a batch that is not complete "
        "are kept, but not counted."
    )

    def apply(self, scene: Scene, given: dict[str, Any], who: Who) -> Step | Act | None:
        """End it; nothing happens where it had ended before."""
        run, at = scene.run()
        if at.finished:
            return None
        run.end()

        def write(tx: Transaction, now: StudyProgress) -> StudyProgress:
            return replace(now, paused=False)

        return Step(at, said(who), run, finished=True, more=write)


STOP = _Stop()

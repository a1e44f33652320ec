"""What is answered to those who tell rewards, here or by a helper."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from surepick.errors import TellConflictError
from surepick.server import messages
from surepick.server.replies import in_rows
from surepick.study.again import AGAIN
from surepick.study.pulls import Reward, Said, Told
from surepick.text import plural


def given(body: messages.TellBody, token: str) -> tuple[list[Reward], list[Said]]:
    """The rewards of a body, and of which options some are said to be."""
    rewards = [
        Reward(one.pull, one.reward, body.worker, token, one.numbers) for one in body.rewards
    ]
    return rewards, [Said(one.pull, one.label) for one in body.rewards if one.label is not None]


class Outcome:
    """What became of rewards, as it is answered."""

    def __init__(self, told: Sequence[Told]) -> None:
        self.counts = Counter(one.status for one in told)
        vain = [one for one in told if not (one.used or one.status == AGAIN)]
        self.in_vain, self.status = len(vain), 409 if vain else 200
        self._told, self._first = told, vain[0] if vain else None

    def content(self) -> bytes:
        """The answer; writing many rows takes time."""
        before = "{"
        if self._first is not None:
            error = {"kind": TellConflictError.__name__, "message": self._unused(self._first)}
            before = f'{{"error":{json.dumps(error)},'
        return in_rows(before + '"told":[', (vars(one) for one in self._told))

    def head(self) -> dict[str, Any]:
        return {"status": self.status, "in_vain": self.in_vain, "counts": self.counts}

    def _unused(self, first: Told) -> str:
        counts = "another worker's will" if first.value is None else f"{first.value!r} does"
        return (
            f"{self.in_vain} of {plural(len(self._told), 'reward')} "
            f"{'does' if self.in_vain == 1 else 'do'} not count; of measurement {first.pull} "
            f"{counts} ({first.status}). The others are recorded."
        )

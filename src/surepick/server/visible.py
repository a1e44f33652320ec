"""What workers and judges get of answers that others get whole.

Who measures one option at a time may know how the study stands. Who compares two must not know who
is ahead, nor which options they are: a judge's token shows the comparison that it was handed, and
nothing else. A worker's token is for programs: it names the two options of a comparison, whose
judge has to tell them apart, but says nothing of where the study stands.

Which operations a role may use at all stands beside each of them (:mod:`surepick.server.routing`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from surepick.errors import InvalidInputError, NotAllowedError, UnknownNameError
from surepick.server.messages import TellBody
from surepick.server.tokens import JUDGE, WORKER
from surepick.study.pulls import Told

#: what is less for whom than for admins and viewers, by operation
LESS = {
    ("get", "/api/v1/studies", WORKER): "of studies of pairs neither who is left nor the answer",
    ("get", "/api/v1/studies", JUDGE): "names, how many comparisons, and whether it goes on",
    ("get", "/api/v1/studies/{name}", WORKER): "nothing of studies of pairs",
    ("post", "/api/v1/studies/{name}/ask", JUDGE): "what is shown of the two, without their names",
    ("post", "/api/v1/studies/{name}/tell", JUDGE): "whether it counts, not what others said",
    ("get", "/api/v1/studies/{name}/shown", JUDGE): "pictures that were handed out, by digest",
    ("post", "/api/v1/studies/{name}/acts/correct", JUDGE): "that it was done",
}
MOST = 20  #: comparisons that a judge may have at a time
_VERDICTS = (0, 0.5, 1, "tie")
_OF_A_PULL = ("id", "attempt", "stratum", "item", "shown")
_OF_A_STUDY = ("name", "algorithm", "pairs", "samples", "finished", "paused", "created")


def row(found: dict[str, Any], role: str) -> dict[str, Any]:
    """A study in the list of studies."""
    if role == JUDGE:
        plain = {key: found[key] for key in _OF_A_STUDY} | {"measuring": False}
        broken = None if found["broken"] is None else "it cannot be read"
        hidden = ("delta", "options", "survivors", "answer")
        return plain | dict.fromkeys(hidden) | {"broken": broken}
    if role == WORKER and found["pairs"]:
        return found | {"survivors": None, "answer": None}
    return found


def check_status(role: str, pairs: bool) -> None:
    """Refuse to say where a study stands to who compares its options."""
    if role == WORKER and pairs:
        raise NotAllowedError(
            "who compares options must not know which of them is ahead: a worker's token does not "
            "show where a study of pairs stands; a viewer's does"
        )


def check_pairs(role: str, pairs: bool) -> None:
    """Refuse judges where nothing is compared."""
    if role == JUDGE and not pairs:
        raise NotAllowedError(
            "this is a judge's token, and options of this study are measured one by one, not "
            "compared two at a time; measuring needs a worker's token"
        )


def comparisons(content: bytes, files: Mapping[str, str]) -> bytes:
    """An answer to an ask, as a judge gets it: without names, files by their digests."""
    found = json.loads(content)
    pulls = []
    for pull in found["pulls"]:
        one = {key: pull[key] for key in _OF_A_PULL}
        for things in one["shown"].values():
            for thing in things:
                if thing["kind"] == "file":
                    thing["content"] = _digest(files[thing["content"]])
        pulls.append(one)
    return json.dumps(found | {"pulls": pulls}).encode()


def file_of(files: Mapping[str, str], asked: str, role: str) -> str:
    """The name of a file that is asked for; a judge knows digests only."""
    if role == JUDGE:
        named = (name for name, content in files.items() if _digest(content) == asked)
        asked = next(named, "")
    if not files.get(asked, "").startswith("data:"):
        raise UnknownNameError(f"this study has no picture {asked!r:.80}")
    return asked


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def check_verdicts(body: TellBody) -> None:
    """Refuse what a judge has no need to say; the answer might tell what the options are called."""
    for one in body.rewards:
        check_verdict(one.reward)
        if one.numbers or one.label is not None or body.strict:
            raise InvalidInputError("rewards: a judge says which is better, and nothing else")


def check_verdict(given: Any) -> None:
    """See :func:`check_verdicts`."""
    if given not in _VERDICTS:
        raise InvalidInputError(
            "reward: a judge says 1 (the first is better), 0 (the second is) or 0.5 (neither)"
        )


def told(found: list[Told], role: str) -> list[Told]:
    """What became of verdicts; what others said of the same pull is not for judges."""
    if role != JUDGE:
        return found
    return [one if one.used else Told(one.pull, one.status, None) for one in found]


def act(content: bytes, role: str) -> bytes:
    """What was done, without words that name options."""
    found = json.loads(content) if role == JUDGE else None
    if not found or found["act"] is None:
        return content
    return json.dumps({"act": found["act"] | {"said": "", "details": {}}}).encode()

"""The bodies of requests: read whole, if they are neither too large, too slow nor too deep.

JSON is parsed by code that lets no other thread go on meanwhile: a text of 16 MB would hold up
everybody for seconds. So what is longer than :data:`LONG` goes to a helper as it is, and routes
that have no helper do not take it.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ValidationError
from starlette.types import Message, Receive

from surepick.errors import InvalidInputError
from surepick.server import replies
from surepick.server.acts import large_paths
from surepick.text import unfit_in_json

_SECONDS = 60.0
_STRANGERS_SECONDS = 10.0
_STRANGERS_BYTES = 4 * 2**10  # of a token, that is
#: bytes of a body that is looked at elsewhere
LONG = 64 * 2**10
_MANY_REWARDS = ("/tell", 2**20)  # end of an address, and bytes: for 10,000 rewards
_TABLES = ("/studies", "/tables", "/plan")  # and acts
_PART = 2**19  # bytes that are looked at together
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_STEP = np.zeros(256, dtype=np.int32)  # deeper, or back
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1

Model = TypeVar("Model", bound=BaseModel)


class Refused(Exception):
    """The request ends here, with this answer."""

    def __init__(self, why: str, reply: replies.Json) -> None:
        super().__init__(why)
        self.why, self.reply = why, reply


@dataclass(frozen=True)
class Large:
    """A body that a helper will parse."""

    content: bytes


def valid(model: type[Model], body: Any) -> Model:
    """A body as its model; what is wrong with it is said as FastAPI would."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise InvalidInputError(complaints(error.errors(), "body")) from None


def parsed(body: bytes) -> Any:
    """A body that is JSON."""
    try:
        return json.loads(body)
    except ValueError as error:
        raise InvalidInputError(f"body: not JSON: {error}") from None


def complaints(found: Any, *before: str) -> str:
    """The first few things that are wrong with a request, and where."""
    said = [(".".join(map(str, (*before, *one["loc"]))), one["msg"]) for one in found[:5]]
    return "; ".join(f"{where}: {what}" for where, what in said)


@dataclass(frozen=True)
class Cap:
    """How large a body may be, and how long it may take to come."""

    size: int
    seconds: float


class OnTheWay:
    """Bytes of bodies that are being sent, by caller: many slow ones must not fill the memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes: Counter[str] = Counter()

    @contextmanager
    def count(self, caller: str, headers: dict[bytes, bytes], cap: Cap) -> Iterator[int]:
        """Count a body of so many bytes until its request is answered; a small one finds room."""
        length = headers.get(b"content-length", b"")
        size = int(length) if length.isdigit() else cap.size
        if b"transfer-encoding" not in headers and not length:
            size = 0
        if size <= LONG:
            yield size
            return
        if self._bytes[caller] + size > self._most:
            text = "too much data is being sent with this token; try again later"
            reply = replies.refusal(429, "TooManyRequestsError", text, {"Retry-After": "5"})
            raise Refused("bodies", reply)
        self._bytes[caller] += size
        try:
            yield size
        finally:
            self._bytes[caller] -= size
            if not self._bytes[caller]:
                del self._bytes[caller]


def cap_of(path: str, stranger: bool, most: int) -> Cap:
    """What a request to this address may send; much less before anybody is known."""
    if stranger:
        return Cap(min(most, _STRANGERS_BYTES), _STRANGERS_SECONDS)
    end, many = _MANY_REWARDS
    tables = (*_TABLES, *large_paths())
    size = many if path.endswith(end) else most if path.endswith(tables) else LONG
    return Cap(min(most, size), _SECONDS)


async def whole_body(
    headers: dict[bytes, bytes], receive: Receive, cap: Cap, depth: int
) -> Receive:
    """The whole body, to be received again, or a refusal."""
    length = headers.get(b"content-length", b"0")
    if not length.isdigit() or int(length) > cap.size:
        raise _too_large(cap.size)
    parts, size = [], 0
    try:
        async with asyncio.timeout(cap.seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return _again(message, receive)
                part = message.get("body", b"")
                size += len(part)
                if size > cap.size:
                    raise _too_large(cap.size)
                parts.append(part)
                if not message.get("more_body", False):
                    break
    except TimeoutError:
        raise Refused(
            "slow", replies.refusal(400, "InvalidInputError", "the request arrived too slowly")
        ) from None
    body = b"".join(parts)
    deep = (
        too_deep(body, depth)
        if len(body) <= LONG
        else await asyncio.to_thread(too_deep, body, depth)
    )
    if deep:
        text = f"the JSON is nested more than {depth} deep"
        raise Refused("depth", replies.refusal(422, "InvalidInputError", text))
    wrong = await asyncio.to_thread(unfit_in_json, body, "body")
    if wrong:
        raise Refused("text", replies.refusal(422, "InvalidInputError", wrong))
    return _again({"type": "http.request", "body": body, "more_body": False}, receive)


def _again(message: Message, receive: Receive) -> Receive:
    """Receives ``message`` first, then what comes after it."""
    waiting = [message]

    async def replay() -> Message:
        return waiting.pop() if waiting else await receive()

    return replay


def _too_large(most: int) -> Refused:
    text = f"the request is larger than {most} bytes"
    return Refused("size", replies.refusal(413, "InvalidInputError", text))


def too_deep(body: bytes, most: int) -> bool:
    """Whether JSON is nested more deeply than ``most``; brackets in texts do not count.

    Takes time in proportion to the length, whatever it holds, and lets other threads go on.
    """
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    content = np.frombuffer(body, dtype=np.uint8)
    depth, inside, escaping = 0, False, False
    for start in range(0, len(content), _PART):
        part = content[start : start + _PART]
        quotes, escaping = _closing_quotes(part, escaping)
        texts = (np.cumsum(quotes, dtype=np.int32) + inside) % 2 == 1
        levels = depth + np.cumsum(np.where(texts, 0, _STEP[part]), dtype=np.int32)
        if levels.max() > most:
            return True
        depth, inside = int(levels[-1]), bool(texts[-1])
    return False


def _closing_quotes(part: NDArray[np.uint8], escaping: bool) -> tuple[NDArray[np.bool_], bool]:
    """The quotes that begin or end a text, and whether the next byte is escaped.

    A quote does not end a text after an odd number of backslashes; ``escaping`` says whether
    those before the part were odd.
    """
    place = np.arange(len(part), dtype=np.int32)
    other = np.where(part == _BACKSLASH, -1, place)  # the last byte so far that is no backslash
    last = np.maximum.accumulate(other)
    before = np.concatenate(([-1], last[:-1]))
    run = place - 1 - before  # backslashes right before each byte
    run += np.where(before < 0, escaping, 0).astype(np.int32)
    tail = len(part) - 1 - int(last[-1]) + (escaping if last[-1] < 0 else 0)
    return (part == _QUOTE) & (run % 2 == 0), tail % 2 == 1

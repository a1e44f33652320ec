"""How much anyone may ask of the service: requests per second, nesting of JSON."""

from __future__ import annotations

import ipaddress
import time
from collections import OrderedDict
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_KEPT = 10_000  # callers remembered
_LONGEST = 60.0  # seconds to wait for what was done already
_PART = 2**19  # bytes that are looked at together
_QUOTE, _BACKSLASH = ord('"'), ord("\\")
_STEP = np.zeros(256, dtype=np.int32)  # deeper, or back
_STEP[list(b"[{")], _STEP[list(b"]}")] = 1, -1


class Rate:
    """A bucket for each caller that fills at ``rate`` per second and holds ``burst``."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, when

    def wait(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that the caller must wait; 0: let through (and counted).

        Nothing costs more than the bucket holds: it would never be let through.
        """
        now, cost = time.monotonic(), min(cost, self._burst)
        level, when = self._buckets.get(caller, (self._burst, now))
        level = min(self._burst, level + (now - when) * self._rate)
        if level < cost:
            return (cost - level) / self._rate
        self._buckets[caller] = (level - cost, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        return 0.0

    def take(self, caller: str, most: float) -> tuple[float, float]:
        """Take as much as there is, ``most`` at most: how much that is, and seconds to wait.

        Only who owes something, or finds nothing, has to wait.
        """
        self.wait(caller, 0.0)
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        level = min(self._burst, level + (time.monotonic() - when) * self._rate)
        if level <= 0.0:
            return 0.0, max(-level / self._rate, 1e-3)
        taken = min(most, level)
        self._buckets[caller] = (level - taken, time.monotonic())
        return taken, 0.0

    def owe(self, caller: str, cost: float) -> None:
        """Count what has been done already, even if that is more than there was.

        Nobody waits for more than a minute because of it: many workers may share a token.
        """
        self.wait(caller, 0.0)
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        self._buckets[caller] = (max(level - cost, -_LONGEST * self._rate), when)

    def give_back(self, caller: str, cost: float = 1.0) -> None:
        """Undo the count of a request that turned out to be none of those."""
        level, when = self._buckets.get(caller, (self._burst, time.monotonic()))
        self._buckets[caller] = (min(self._burst, level + cost), when)


@lru_cache(maxsize=4096)
def neighbourhood(address: str) -> str:
    """What is counted as one address: of IPv6, where anybody has billions, the network."""
    try:
        given = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(given, ipaddress.IPv4Address):
        return address
    if given.ipv4_mapped is not None:
        return str(given.ipv4_mapped)
    return str(ipaddress.ip_network((int(given) >> 64 << 64, 64)))


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

"""How much anyone may ask of the service: requests per second, nesting of JSON."""

from __future__ import annotations

import re
import time
from collections import OrderedDict

_KEPT = 10_000  # callers remembered
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACES_TO_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class Rate:
    """A bucket for each caller that fills at ``rate`` per second and holds ``burst``."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # level, when

    def wait(self, caller: str, cost: float = 1.0) -> float:
        """Seconds that the caller must wait; 0: let through (and counted)."""
        now = time.monotonic()
        level, when = self._buckets.get(caller, (self._burst, now))
        level = min(self._burst, level + (now - when) * self._rate)
        if level < cost:
            return (cost - level) / self._rate
        self._buckets[caller] = (level - cost, now)
        self._buckets.move_to_end(caller)
        if len(self._buckets) > _KEPT:
            self._buckets.popitem(last=False)
        return 0.0


def too_deep(body: bytes, most: int) -> bool:
    """Whether JSON is nested more deeply than ``most`` (or has brackets without a partner)."""
    if body.count(b"[") + body.count(b"{") <= most:
        return False
    left = _STRINGS.sub(b"", body).translate(_BRACES_TO_BRACKETS, _NOT_BRACKETS)
    for _ in range(most):  # each round takes away the innermost level
        if not left:
            return False
        left = left.replace(b"[]", b"")
    return bool(left)

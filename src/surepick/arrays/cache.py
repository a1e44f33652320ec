"""What was worked out once, kept for all runs of this process."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from surepick.arrays.types import IntArray


class PlanCache:
    """Plans by what they depend on, shared by all runs of this process; oldest go first.

    Parameters
    ----------
    size
        How many to keep.
    numbers
        How many numbers they may hold together, as said by ``cost`` when they are stored.
    """

    def __init__(self, size: int = 4096, numbers: int = 1 << 24) -> None:
        self._plans: OrderedDict[Any, tuple[Any, int]] = OrderedDict()
        self._size, self._numbers, self._held = size, numbers, 0
        self._lock = threading.Lock()  # studies of a service share plans between threads

    @property
    def held(self) -> int:
        """How many numbers the plans hold together."""
        return self._held

    def get(self, key: Any, make: Callable[[], Any], cost: int = 1) -> Any:
        """The plan stored under ``key``, made when it is not there; it holds ``cost`` numbers.

        Two threads that miss the same plan both make it, since making one may take long and
        use other plans of this cache; the first one stays.
        """
        with self._lock:
            stored = self._plans.get(key)
            if stored is not None:
                self._plans.move_to_end(key)
                return stored[0]
        made = make()
        with self._lock:
            stored = self._plans.get(key)
            if stored is not None:
                return stored[0]
            self._plans[key] = made, cost
            self._held += cost
            # The newest one stays, however large: what was just made is about to be used again.
            while len(self._plans) > self._size or (
                self._held > self._numbers and len(self._plans) > 1
            ):
                self._held -= self._plans.popitem(last=False)[1][1]
        return made

    def clear(self) -> None:
        with self._lock:
            self._plans.clear()
            self._held = 0

    def forget(self, key: Any) -> None:
        with self._lock:
            self._held -= self._plans.pop(key, (None, 0))[1]


def fingerprint(indices: IntArray) -> bytes:
    """A short name for a set of candidates, however many: for the keys of plans."""
    return hashlib.blake2b(np.ascontiguousarray(indices).data, digest_size=16).digest()

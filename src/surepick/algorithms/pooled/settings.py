"""What the state of a run reads of its configuration."""

from __future__ import annotations

import math
from typing import Protocol


class BlockSettings(Protocol):
    """What the state reads of the configuration."""

    @property
    def delta(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def batch_growth(self) -> float: ...
    @property
    def min_batch(self) -> int: ...
    @property
    def max_batch(self) -> int | None: ...


def whole_batches(config: BlockSettings, size: float) -> int:
    """About so many pulls, as a number that can be asked for in whole pieces."""
    least, most = config.min_batch, config.max_batch
    size = max(math.ceil(size), least)
    if most is not None and size > most:
        size = most * math.ceil(size / most)
    return size

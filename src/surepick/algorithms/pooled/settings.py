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
    @property
    def items(self) -> int | None: ...
    @property
    def baseline(self) -> str | int | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def control(self) -> str: ...
    @property
    def top(self) -> int: ...


def whole_batches(settings: BlockSettings, size: float) -> int:
    """Pulls of a block that should have about this many: whole batches, where there is a most."""
    least, most = settings.min_batch, settings.max_batch
    pulls = max(math.ceil(size), least)
    if most is not None and pulls > most:
        pulls = most * math.ceil(pulls / most)
    return pulls

"""What the state of a run reads of its configuration."""

from __future__ import annotations

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

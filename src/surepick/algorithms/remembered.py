"""What an object remembers between two batches, by the names of its attributes."""

from __future__ import annotations

from typing import Any, ClassVar


class Remembered:
    """An object whose memory is kept with the run it belongs to, and taken on again."""

    saved: ClassVar[tuple[str, ...]] = ()  #: attributes: arrays and plain values

    def save(self) -> dict[str, Any]:
        """The memory."""
        return {name: getattr(self, name) for name in self.saved}

    def load(self, memory: dict[str, Any]) -> None:
        """Take on a saved memory."""
        for name in self.saved:
            setattr(self, name, memory[name])

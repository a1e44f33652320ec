"""Labels of arms and candidates: those given, or row numbers made when they are looked at."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any, overload

from surepick.arrays import limits
from surepick.arrays.validate import as_labels, is_dataframe


class RowNumbers(Sequence[str]):
    """The labels "0", "1", … of ``count`` rows, without a million strings in memory.

    Examples
    --------
    >>> numbers = RowNumbers(10**7)
    >>> numbers[-1], "12" in numbers
    ('9999999', True)
    """

    def __init__(self, count: int) -> None:
        self._range = range(count)

    def __len__(self) -> int:
        return len(self._range)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        found = self._range[index]
        return tuple(map(str, found)) if isinstance(found, range) else str(found)

    def __iter__(self) -> Iterator[str]:
        return map(str, self._range)

    def __contains__(self, label: object) -> bool:
        if not isinstance(label, str) or not label.isdecimal():
            return False
        return str(int(label)) == label and int(label) in self._range

    def __eq__(self, other: object) -> bool:
        if isinstance(other, RowNumbers):
            return len(self) == len(other)
        if isinstance(other, tuple):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash((RowNumbers, len(self)))

    def __repr__(self) -> str:
        return f"RowNumbers({len(self)})"


Labels = tuple[str, ...] | RowNumbers


def make_labels(source: Any, labels: Any, count: int, name: str) -> Labels:
    """The labels given, a DataFrame's index, or row numbers."""
    if isinstance(labels, RowNumbers) and len(labels) == count:
        return labels
    if labels is not None:
        return as_labels(labels, count, name)
    if is_dataframe(source):
        return as_labels(source.index, count, f"{name} (the DataFrame's index)")
    if count > limits.WRITTEN_LABELS:
        return RowNumbers(count)
    return tuple(str(i) for i in range(count))


def describe_labels(labels: Labels) -> list[str] | dict[str, str] | None:
    """Labels for a file that only refers to the arms.

    None for row numbers, all of them where they are few, otherwise the SHA-256 of their JSON.
    """
    if isinstance(labels, RowNumbers) or labels == RowNumbers(len(labels)):
        return None
    if len(labels) <= limits.WRITTEN_LABELS:
        return list(labels)
    text = json.dumps(labels, separators=(",", ":"))
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()}

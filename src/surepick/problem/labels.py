"""Labels of arms and candidates: those given, or row numbers made when they are looked at."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, overload

from surepick.arrays import cutoffs
from surepick.arrays.validate import as_labels, is_dataframe


class RowNumbers(Sequence[str]):
    """The labels "0", "1", … of ``count`` rows, without a million strings in memory."""

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
    if count > cutoffs.WRITTEN_LABELS:
        return RowNumbers(count)
    return tuple(str(i) for i in range(count))


# Letters of other alphabets that look like Latin ones in most fonts, and those.
_ALIKE = str.maketrans(
    "абсԁеһіјӏкмоԛрѕтуѵԝхᴠзαβγιкνορτυχωϲϳ",
    "abcdehijlkmoqpstyvwxv3abyiknoptuxwcj",
)


def look_alikes(labels: Labels, new: int = 0) -> list[str]:
    """Sentences about labels that people may take for each other; those from ``new`` on only.

    Compared without case, spaces and what cannot be seen, with one spelling of what Unicode calls
    compatible, and letters of other alphabets as the Latin ones that they look like.
    """
    if isinstance(labels, RowNumbers):
        return []
    first: dict[str, int] = {}
    pairs = []
    for place, label in enumerate(labels):
        other = first.setdefault(_skeleton(label), place)
        if other != place and place >= new:
            pairs.append(f"{_told(labels[other])} (row {other}) and {_told(label)} (row {place})")
    if not pairs:
        return []
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    return [
        f"Labels that look alike: {'; '.join(pairs[:3])}{more}; make sure that these are "
        "different options."
    ]


def _told(label: str) -> str:
    """A label so that one sees what is not Latin in it."""
    if label.isascii():
        return repr(label[:60])
    names = [unicodedata.name(c, "unnamed") for c in label[:60] if c.translate(_ALIKE) != c]
    hint = f" with {names[0].capitalize()}" if names else ""
    return f"{label[:60]!r}{hint}"


def _skeleton(label: str) -> str:
    folded = unicodedata.normalize("NFKC", label).casefold()
    seen = "".join(c for c in folded if unicodedata.category(c) != "Cf")
    return "".join(seen.translate(_ALIKE).split())


def describe_labels(labels: Labels) -> list[str] | dict[str, str] | None:
    """Labels for a file that only refers to the arms.

    None for row numbers, all of them where they are few, otherwise the SHA-256 of their JSON.
    """
    if isinstance(labels, RowNumbers) or labels == RowNumbers(len(labels)):
        return None
    if len(labels) <= cutoffs.WRITTEN_LABELS:
        return list(labels)
    text = json.dumps(labels, separators=(",", ":"))
    return {"sha256": hashlib.sha256(text.encode()).hexdigest()}

"""What each layer of the library needs of a kind of noise: declared under its name, looked up.

The problem says what a kind is (:mod:`surepick.problem.noise`). How blocks are read, how rewards
are drawn, which checks concern it, what reports have: each layer has one table of parts, and nobody
asks a kind for its name. A kind without its part is an error, never another kind's part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

from surepick import plugins
from surepick.errors import InvalidInputError
from surepick.problem.noise import NoiseKind

Part = TypeVar("Part")


class Layer(Generic[Part]):
    """The parts that kinds of noise have in one layer.

    Examples
    --------
    >>> from surepick.problem.noise import YesNo
    >>> colours = Layer("colour", {"yes-no": "green"})
    >>> colours.of(YesNo())
    'green'
    """

    def __init__(self, part: str, parts: Mapping[str, Part], of: str = "kind of noise") -> None:
        self.part, self._parts, self._of = part, dict(parts), of

    def declare(self, kind: str, part: Part) -> None:
        """The part of a kind of another package."""
        if kind in self._parts:
            raise InvalidInputError(f"the {self._of} {kind!r} has a {self.part} already")
        self._parts[kind] = part

    def of(self, kind: NoiseKind | type[NoiseKind] | str) -> Part:
        """The part of a kind, or of what else has this name; an error that names both."""
        name = kind if isinstance(kind, str) else kind.kind
        if name not in self._parts:
            plugins.load()
            if name not in self._parts:
                raise InvalidInputError(f"the {self._of} {name!r} has no {self.part}: declare one")
        return self._parts[name]

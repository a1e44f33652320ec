"""Things that take a while to make, made when a test first asks for them.

Every process of tests reads every file: what stands there as it is would be made in each of them.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any


class Lazily(Mapping[str, Any]):
    """Things by their names, each with the function that makes it."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        self._makers = makers
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

"""Whether somebody who hands in a reward means the option that its pull was for.

Sheets of a laboratory mostly name the option beside the number of the pull, as ``ask`` prints both.
Where they disagree, rows or samples were mixed up, and nobody but whoever measured can say which.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from surepick.errors import InvalidInputError
from surepick.problem.tables.cells import as_number
from surepick.problem.tables.naming import as_seen

_SHOWN = 5  # contradictions that an error lists


class Said(NamedTuple):
    """Which option a reward is said to be of."""

    pull: int
    option: Any  #: its label
    where: str = ""  #: the place in a file
    number: bool = False  #: whether it may be the number of the option instead


def is_meant(said: Any, arm: int, labels: Sequence[str], number: bool = False) -> bool:
    """Whether a text means the option of this number.

    Upper case, blanks and how a number is written do not matter, unless they tell options apart.

    Examples
    --------
    >>> is_meant("Red ", 0, ["red", "blue"]), is_meant("Red", 0, ["red", "Red"])
    (True, False)
    >>> is_meant(7.0, 1, ["6", "7"]), is_meant(1, 1, ["a", "b"]), is_meant(1, 1, ["a", "b"], True)
    (True, False, True)
    """
    text, label = str(said).strip(), labels[arm]
    if number and as_number(text) == arm:
        return True
    if text == label or text in labels:
        return text == label
    value = as_number(text)
    return _folded(text) == _folded(label) or (value is not None and value == as_number(label))


def contradictions(said: Sequence[Said], arms: dict[int, int], labels: Sequence[str]) -> list[str]:
    """What is said of another option than the pull was for, in words."""
    found = []
    for pull, option, where, number in said:
        if pull not in arms or is_meant(option, arms[pull], labels, number):
            continue
        at = f"{where}: " if where else ""
        found.append(f"{at}pull {pull} was for {labels[arms[pull]]!r}, not for {str(option)!r:.80}")
    return found


def refuse_others(said: Sequence[Said], arms: dict[int, int], labels: Sequence[str]) -> None:
    """Raise where a reward is said to be of another option than its pull was for."""
    found = contradictions(said, arms, labels)
    if found:
        more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise InvalidInputError(
            f"{'; '.join(found[:_SHOWN])}{more}. Nothing was recorded: check whether rows, "
            "samples or pull numbers were mixed up"
        )


def _folded(text: str) -> str:
    return " ".join(as_seen(text).casefold().split())

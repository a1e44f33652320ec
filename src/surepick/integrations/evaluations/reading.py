"""What the readers of evaluation files share."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surepick.calls.rule import NoScore, as_score
from surepick.errors import FormatError
from surepick.integrations.evaluations.scores import ScoreTable

_log = logging.getLogger(__name__)


def read_json(text: str, place: str) -> Any:
    """What a text of JSON says, or an error that names its file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise FormatError(f"{place} is not JSON: {error}") from None


def score_or_nan(value: Any, place: str) -> float:
    """A score of a file; not a number where it is none, which is said: one bad line is one cell."""
    try:
        return as_score(value)
    except NoScore as error:
        what = str(error).removeprefix("it returned ")
        _log.warning("%s: the score is %s; it counts as not evaluated", place, what)
        return math.nan


def as_table(cells: Iterable[tuple[str, str, float]], rewards: Any, place: str) -> ScoreTable:
    """The table of these (option, item, score), in the order in which names come up."""
    found: dict[tuple[str, str], float] = {}
    for option, item, score in cells:
        if (option, item) in found:
            raise FormatError(f"{place}: {option!r} has two scores on {item!r}")
        found[option, item] = score
    options = list(dict.fromkeys(option for option, _ in found))
    items = list(dict.fromkeys(item for _, item in found))
    if not options:
        raise FormatError(f"{place} has no results")
    scores = np.full((len(options), len(items)), np.nan)
    rows, columns = ({name: i for i, name in enumerate(names)} for names in (options, items))
    for (option, item), score in found.items():
        scores[rows[option], columns[item]] = score
    return ScoreTable(options, items, scores, rewards)


def numbers_of(items: Sequence[str], word: str) -> list[int]:
    """The number of each item in a file.

    Where all are called as readers call them, such as "doc 17", it is that number: what was read
    and written again is still about the same document. Else they are counted from 0.
    """
    found = [re.fullmatch(rf"{word} (\d+)", item) for item in items]
    own = {int(match[1]): None for match in found if match}
    return list(own) if len(own) == len(items) else list(range(len(items)))

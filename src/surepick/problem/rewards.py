"""What rewards can be, as people write it: ``number``, ``yes-no`` or ``LO..HI``."""

from __future__ import annotations

import re
from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.noise import noise_kind

_BOUNDS = re.compile(r"(.+?)\.\.(.+)")  # "0...5" is 0 to 0.5


def read_rewards(text: Any) -> Any:
    """What a problem's ``noise`` is for such rewards, as long as nothing else is known of it.

    Examples
    --------
    >>> read_rewards("number"), read_rewards("yes-no"), read_rewards("-1..2.5")
    (None, 'yes-no', (-1.0, 2.5))
    """
    if not isinstance(text, str):
        raise InvalidTypeError(f"rewards must be number, yes-no or LO..HI; got {text!r:.80}")
    word = text.strip()
    if word == "number":
        return None
    if word == "yes-no":
        return word
    ends = _BOUNDS.fullmatch(word)
    try:
        bounds = (float(ends[1]), float(ends[2])) if ends else ()
    except ValueError:
        bounds = ()
    if len(bounds) != 2:
        raise InvalidInputError(
            f"rewards must be number, yes-no, or the lowest and the highest as in 0..10; "
            f"got {text!r:.80}"
        )
    noise_kind(bounds, 1)  # refuses what is no interval
    return bounds

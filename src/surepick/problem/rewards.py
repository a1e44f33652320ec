"""What rewards can be, as people write it: ``number``, ``yes-no`` or ``LO..HI``."""

from __future__ import annotations

from typing import Any

from surepick.errors import InvalidInputError, InvalidTypeError
from surepick.problem.noise import forms, kinds


def read_rewards(text: Any) -> Any:
    """What a problem's ``noise`` is for such rewards, as long as nothing else is known of it.

    Examples
    --------
    >>> read_rewards("number"), read_rewards("yes-no"), read_rewards("-1..2.5")
    (None, 'yes-no', (-1.0, 2.5))
    """
    *first, last = forms()
    known = f"{', '.join(first)} or {last}"
    if not isinstance(text, str):
        raise InvalidTypeError(f"rewards must be {known}; got {text!r:.80}")
    for kind in kinds():
        found = kind.read_form(text.strip())
        if found is not None:
            return found.given
    raise InvalidInputError(
        f"rewards must be {known} (the lowest and the highest, as in 0..10); got {text!r:.80}"
    )

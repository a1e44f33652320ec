"""Numbers that nothing can be computed with."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from surepick.errors import InvalidInputError, SurepickError

_log = logging.getLogger(__name__)


@contextmanager
def refusing_extremes() -> Iterator[None]:
    """Refuse numbers that are so extreme that arithmetic with them fails somewhere."""
    try:
        yield
    except SurepickError:
        raise
    except (ArithmeticError, ValueError) as error:
        _log.warning("refused because of: %r", error, exc_info=True)
        raise InvalidInputError(
            "a number is too large, too small or too close to another one to compute with"
        ) from error

"""Progress of long computations, and a way to end them.

Loops that may take more than a moment call :func:`report`. It logs, and tells whoever watches;
a watcher that returns a true value ends the computation with a :class:`CancelledError`. Nothing a
run has recorded is lost by that: asking again starts the computation again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from surepick.errors import CancelledError, InvalidTypeError

_log = logging.getLogger("surepick.progress")


class SolverStep(NamedTuple):
    """What is going on."""

    task: str  #: such as "design"
    step: int  #: rounds of it that are done
    details: dict[str, Any]  #: numbers that say how far it got


_watcher: ContextVar[Callable[[SolverStep], Any] | None] = ContextVar("watcher", default=None)


@contextmanager
def watching(watcher: Callable[[SolverStep], Any]) -> Iterator[None]:
    """Have a function told of the progress of long computations inside a ``with`` block.

    Parameters
    ----------
    watcher
        Called with a :class:`SolverStep`. If it returns True, what is going on ends with a
        ``CancelledError``; an error that it raises comes through.

    Examples
    --------
    >>> import numpy as np
    >>> import surepick as sp
    >>> arms = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> try:
    ...     with sp.watching(lambda progress: progress.task == "design"):
    ...         sp.design.minimax(arms, sp.design.AllPairs(arms), tol=0.01)
    ... except sp.errors.CancelledError as ended:
    ...     print(ended)
    the watcher ended the design after round 1
    """
    if not callable(watcher):
        raise InvalidTypeError(f"watcher must be a function; got {watcher!r:.80}")
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(task: str, step: int, **details: Any) -> None:
    """Say how far a long computation got; ends it when the watcher wants that."""
    _log.debug("%s, round %d: %s", task, step, details)
    watcher = _watcher.get()
    if watcher is not None and watcher(SolverStep(task, step, details)):
        raise CancelledError(f"the watcher ended the {task} after round {step}")

"""Going through a batch before it matters, so that nobody waits for code to load.

The first batch that a process works out takes a second longer than the next ones: compiled code
is loaded when it is first called. Where hundreds of workers would wait for that, it is better
done before they come.
"""

from __future__ import annotations

import logging

from surepick.algorithms.base import Algorithm
from surepick.problem import Problem

_log = logging.getLogger(__name__)


def rehearse(algorithm: Algorithm) -> None:
    """Measure a problem of three options for two batches, in memory."""
    try:
        problem = Problem([[1.0, 0.0], [0.5, 1.0], [0.0, 1.0]], noise=1.0)
        run = algorithm.start(problem, 0)
        for _ in range(2):
            if run.stopped:
                break
            batch = run.ask()
            run.tell(batch, 5.0 * problem.arms[batch.arms, 0])
        run.to_json()
    except Exception as trouble:  # the settings may not suit this tiny problem
        _log.debug("rehearsal of %s: %s", type(algorithm).__name__, trouble)

"""The candidate that a baseline names."""

from __future__ import annotations

from typing import Any

import numpy as np

from surepick.errors import InvalidInputError, listed


def candidate_of(problem: Any, baseline: Any) -> int:
    """The number of the candidate that is the baseline: given as that, or by its label."""
    labels = problem.candidate_labels
    if isinstance(baseline, str):
        if baseline not in labels:
            raise InvalidInputError(
                f"baseline: no option is called {baseline!r:.80}; there are "
                f"{listed(map(repr, labels), repr(baseline))}"
            )
        return list(labels).index(baseline)
    if not 0 <= baseline < len(labels):
        raise InvalidInputError(
            f"baseline: there are options 0 to {len(labels) - 1}, not {baseline}"
        )
    return int(baseline)


def place_of(problem: Any, baseline: Any) -> int:
    """Its place among those that differ."""
    first = problem.same_as[candidate_of(problem, baseline)]
    return int(np.searchsorted(problem.distinct, first))
